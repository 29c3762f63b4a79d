"""The landscape of a problem, in full or reduced coordinates, and the map between the two."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from jax import Array
from jax.typing import ArrayLike

from widelimit.arguments import array_of, instance_of, require_flag
from widelimit.errors import InputError, is_finite, require
from widelimit.potentials.labels import OfPolynomial
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.pairwise_landscape import PairwiseLandscape, pairwise_landscape
from widelimit.potentials.polynomial_landscape import is_polynomial, polynomial_landscape
from widelimit.potentials.quadrature import check_traceable
from widelimit.potentials.reduced_landscape import ReducedLandscape, is_cut_short, reduced_landscape
from widelimit.potentials.refinement import Refinement, Rung
from widelimit.potentials.sample_landscape import check_custom, sample_landscape
from widelimit.potentials.series_landscape import with_series
from widelimit.problem.activations import General
from widelimit.problem.data.data_law import DataLaw, require_finite
from widelimit.problem.neurons import Custom, Neuron, Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Penalty


def landscape(problem: Problem, reduced: bool = False, tolerance: float = 1e-10) -> Landscape:
    """V, U, psi, grad_psi and risk of a problem; ``.coordinates`` names the columns they expect.

    reduced    in the coordinates a, b, u_1.., r_1.. that the symmetry of the data leaves, instead of a, b, w_1..
    tolerance  error allowed: of U, relative to E σ*² (reduced), or of R (full); it sets how many orders are summed

    >>> import widelimit as wl
    >>> line = wl.neurons.ridge("x")
    >>> problem = wl.Problem(wl.data.single_index(5, "2*z"), line, wl.initial.gaussian(1.0))
    >>> land = wl.landscape(problem, reduced=True)
    >>> round(land.risk([[1.0, 0.0]]), 9)  # E (2z − z)²: u = 1 and r = 0
    1.0
    """
    instance_of(Problem, problem, "landscape", "build one first")
    require_flag("reduced", reduced)
    require(is_finite(tolerance) and 0 < tolerance < 1, "tolerance must lie in (0, 1)", tolerance, "try 1e-10")
    if isinstance(problem.neuron, Ridge) and isinstance(problem.neuron.sigma.form, General):
        check_traceable(problem.neuron.sigma.form)
    if isinstance(problem.neuron, Custom):
        check_custom(problem.neuron, require_finite(problem.data.d, "custom neurons"))
    if reduced and problem.no_reduction:
        raise InputError(
            f"there is no exact landscape in reduced coordinates, got d = {problem.data.d:g}: {problem.no_reduction}."
        )
    columns = problem.reduced if reduced else problem.full
    return _cached(
        problem.data, problem.network, Penalty(problem.ridge, problem.regulariser, columns), float(tolerance)
    )


@lru_cache(maxsize=64)
def _cached(data: DataLaw, neuron: Neuron, penalty: Penalty, tolerance: float) -> Landscape:
    if isinstance(neuron, Custom) or not data.groups or (not penalty.columns.is_reduced and data.mixture is None):
        return sample_landscape(data, neuron, penalty)
    return _rung(data, neuron, penalty, Rung(tolerance))


def _rung(data: DataLaw, neuron: Ridge, penalty: Penalty, rung: Rung) -> Landscape:
    """A landscape, and the one it is compared with: other nodes, and once more orders."""
    if penalty.columns.is_reduced and is_polynomial(data):
        return polynomial_landscape(data, neuron, penalty, rung)
    make = reduced_landscape if penalty.columns.is_reduced else pairwise_landscape
    land, is_first = make(data, neuron, penalty, rung), rung.height == 0
    exact = isinstance(land, PairwiseLandscape) and isinstance(land.labels, OfPolynomial)
    if exact or (data.other is None and not (is_first and penalty.columns.is_reduced and math.isfinite(data.d))):
        return land
    given = is_first and getattr(data, "nodes", None) is not None

    def other() -> Landscape:
        return _rung(data.other or data, neuron, penalty, rung._replace(height=rung.height + 1))

    matters = data.other is not None or is_cut_short(data.groups, rung.tolerance)
    found = replace(land, refinement=Refinement(other, data.climbs and not given, matters))
    if given or not isinstance(found, ReducedLandscape):
        return found
    return replace(found, moves_on=Refinement(lambda: with_series(found, rung.truncation), False))


def reduce(problem: Problem, theta: ArrayLike) -> Array:
    """Full coordinates (n, D) to reduced ones: w keeps its first coordinates, and its length in every group.

    >>> import widelimit as wl
    >>> neuron, start = wl.neurons.ridge("relu"), wl.initial.gaussian(1.0)
    >>> wl.reduce(wl.Problem(wl.data.gaussian_classes(2, 0.5), neuron, start), [[3.0, 4.0]]).tolist()
    [[5.0]]
    """
    instance_of(Problem, problem, "reduce", "build one first")
    return problem.full.reduce(array_of("theta", theta, "(n, D)", "give one row per neuron"))
