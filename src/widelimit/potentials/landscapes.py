"""The landscape of a problem, in full or reduced coordinates, and the map between the two."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import InputError, is_finite, require
from widelimit.potentials.features import FeatureLandscape
from widelimit.potentials.landscape_base import Landscape, length
from widelimit.potentials.pairwise import PairwiseLandscape
from widelimit.potentials.quadrature import check_traceable
from widelimit.potentials.samples import SampleLandscape, check_custom
from widelimit.problem.activations import General
from widelimit.problem.law import DataLaw, require_finite
from widelimit.problem.neurons import Custom, Neuron, Ridge
from widelimit.problem.statement import Problem


def landscape(problem: Problem, reduced: bool = False, tolerance: float = 1e-10) -> Landscape:
    """V, U, psi, grad_psi and risk of a problem; ``.coordinates`` names the columns they expect.

    reduced    in the coordinates a, b, r_1.. that the symmetry of the data leaves, instead of a, b, w_1..
    tolerance  error allowed, in U relative to E σ*² (reduced), or in R and in ∇Ψ relative to its scale (full): how many
               orders are summed
    """
    require(isinstance(problem, Problem), "landscape needs a wl.Problem", type(problem).__name__, "build one first")
    require(is_finite(tolerance) and 0 < tolerance < 1, "tolerance must lie in (0, 1)", tolerance, "try 1e-10")
    if isinstance(problem.neuron, Ridge) and isinstance(problem.neuron.activation, General):
        check_traceable(problem.neuron.activation)
    if isinstance(problem.neuron, Custom):
        check_custom(problem.neuron, require_finite(problem.data.d, "custom neurons"))
    if reduced and problem.groups and problem.data.no_reduction:
        raise InputError(
            f"there is no exact landscape in reduced coordinates, got d = {problem.data.d:g}: "
            f"{problem.data.no_reduction}; full coordinates work."
        )
    names = problem.reduced_coordinates if reduced else problem.coordinates
    return _cached(problem.data, problem.neuron, float(problem.ridge), reduced, names, float(tolerance))


@lru_cache(maxsize=64)
def _cached(
    data: DataLaw, neuron: Neuron, ridge: float, reduced: bool, names: tuple[str, ...], tolerance: float
) -> Landscape:
    if isinstance(neuron, Custom) or not data.groups or (not reduced and data.mixture is None):
        return SampleLandscape(data, neuron, ridge, names)
    kind = FeatureLandscape if reduced else PairwiseLandscape
    return kind(data, neuron, ridge, names, tolerance=tolerance)


def reduce(problem: Problem, theta: Any) -> Array:
    """Full coordinates (n, D) to reduced ones: w keeps its first coordinates, and its length in every group."""
    theta = jnp.asarray(theta)
    require(
        theta.ndim == 2 and theta.shape[1] == problem.D,
        f"reduce needs neurons in full coordinates, shape (n, {problem.D})",
        theta.shape,
        "check whether they are reduced already",
    )
    if not problem.groups:
        return theta
    kept = len(problem.neuron.scalars) + problem.kept
    cuts = np.cumsum([int(g.d) for g in problem.groups])[:-1]
    radii = [length(w)[:, None] for w in jnp.split(theta[:, kept:], cuts, axis=1)]
    return jnp.concatenate([theta[:, :kept], *radii], axis=1)
