"""Two ways from one measure to another.

    mixture        ρ_s = (1 − s) ρ + s ρ'                          weights change, neurons stay; R is convex along it
    displacement   ρ_s = ((1 − s) x + s y)_# π(dx, dy)             neurons move, π optimal for W_2; R need not be convex

In reduced coordinates neurons move in (a, b, u, r): the distance of two rotation-invariant measures is that of their
radii, because a neuron and its partner can point the same way.  Schemes: one coordinate by the quantile functions, more
by the network simplex of POT.
"""

from __future__ import annotations

import numpy as np

from widelimit.errors import is_finite, require, shortened
from widelimit.measures import Cloud, Measure, measure_of
from widelimit.observables.distances import line_plan, optimal_plan


def mixture(rho: Measure, other: Measure, s: float) -> Cloud:
    """(1 − s) ρ + s ρ'.

    >>> import widelimit as wl
    >>> one, two = (wl.Cloud([[r]], [1.0], ("r",)) for r in (1.0, 3.0))
    >>> wl.observables.mixture(one, two, 0.25).weights
    array([0.75, 0.25])
    """
    _check(rho, other, s)
    theta = np.concatenate([np.asarray(rho.theta, float), np.asarray(other.theta, float)])
    weights = np.concatenate([(1 - s) * np.asarray(rho.weights), s * np.asarray(other.weights)])
    return Cloud(theta, weights, tuple(rho.coordinates))


def displacement(rho: Measure, other: Measure, s: float) -> Cloud:
    """The point s of the shortest way from ρ to ρ' in W_2.

    >>> import widelimit as wl
    >>> one, two = (wl.Cloud([[r]], [1.0], ("r",)) for r in (1.0, 3.0))
    >>> wl.observables.displacement(one, two, 0.25).theta
    array([[1.5]])
    """
    _check(rho, other, s)
    pairs = coupled(rho, other)
    return Cloud((1 - s) * pairs[0].theta + s * pairs[1].theta, pairs[0].weights, tuple(rho.coordinates))


def coupled(rho: Measure, other: Measure) -> tuple[Cloud, Cloud]:
    """Both measures on as many points, row i of one belonging to row i of the other in the optimal plan."""
    x, y = np.asarray(rho.theta, float), np.asarray(other.theta, float)
    weights, other_weights = np.asarray(rho.weights, float), np.asarray(other.weights, float)
    if x.shape[1] == 1:
        plan = line_plan(x[:, 0], weights, y[:, 0], other_weights)
        share, ends = plan.share, (plan.x[:, None], plan.y[:, None])
    else:
        masses = optimal_plan(x, weights, y, other_weights)
        i, j = np.nonzero(masses)
        share, ends = masses[i, j], (x[i], y[j])
    names = tuple(rho.coordinates)
    return Cloud(ends[0], share / share.sum(), names), Cloud(ends[1], share / share.sum(), names)


def _check(rho: Measure, other: Measure, s: float) -> None:
    one, two = measure_of(rho, "an interpolation"), measure_of(other, "an interpolation")
    same = tuple(one.coordinates) == tuple(two.coordinates)
    require(same, f"both measures must have the coordinates {shortened(one.coordinates)}", shortened(two.coordinates),
            "reduce the full one")  # fmt: skip
    require(is_finite(s) and 0 <= s <= 1, "s must lie in [0, 1]", s, "try 0.5")
    finite = bool(np.isfinite(one.theta).all() and np.isfinite(two.theta).all()) and one.n > 0 and two.n > 0
    require(finite, "an interpolation needs finite neurons", "none, or nan or inf", "stop before the run diverges")
