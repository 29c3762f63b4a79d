"""The landscape of a problem, in full or reduced coordinates, and the map between the two."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import is_finite, require
from widelimit.potentials.features import FeatureLandscape
from widelimit.potentials.landscape_base import Landscape, length
from widelimit.potentials.pairwise import PairwiseLandscape
from widelimit.potentials.quadrature import check_traceable
from widelimit.problem.activations import General
from widelimit.problem.data import GaussianClasses
from widelimit.problem.neurons import Ridge
from widelimit.problem.statement import Problem


def landscape(problem: Problem, reduced: bool = False, tolerance: float = 1e-10) -> Landscape:
    """V, U, psi, grad_psi and risk of a problem; ``.coordinates`` names the columns they expect.

    reduced    in the coordinates a, b, r_1.. that the symmetry of the data leaves, instead of a, b, w_1..
    tolerance  error allowed, in U relative to E σ*² (reduced), or in R and in ∇Ψ relative to its scale (full): how many
               orders are summed
    """
    require(isinstance(problem, Problem), "landscape needs a wl.Problem", type(problem).__name__, "build one first")
    require(is_finite(tolerance) and 0 < tolerance < 1, "tolerance must lie in (0, 1)", tolerance, "try 1e-10")
    if isinstance(problem.neuron.activation, General):
        check_traceable(problem.neuron.activation)
    names = problem.reduced_coordinates if reduced else problem.coordinates
    return _cached(problem.data, problem.neuron, float(problem.ridge), reduced, names, float(tolerance))


@lru_cache(maxsize=64)
def _cached(
    data: GaussianClasses, neuron: Ridge, ridge: float, reduced: bool, names: tuple[str, ...], tolerance: float
) -> Landscape:
    kind = FeatureLandscape if reduced else PairwiseLandscape
    return kind(data, neuron, ridge, names, tolerance)


def reduce(problem: Problem, theta: Any) -> Array:
    """Full coordinates (n, D) to reduced ones: w becomes its length in every group of directions."""
    theta = jnp.asarray(theta)
    require(
        theta.ndim == 2 and theta.shape[1] == problem.D,
        f"reduce needs neurons in full coordinates, shape (n, {problem.D})",
        theta.shape,
        "check whether they are reduced already",
    )
    scalars = len(problem.neuron.scalars)
    cuts = np.cumsum([int(g.d) for g in problem.data.groups])[:-1]
    radii = [length(w)[:, None] for w in jnp.split(theta[:, scalars:], cuts, axis=1)]
    return jnp.concatenate([theta[:, :scalars], *radii], axis=1)
