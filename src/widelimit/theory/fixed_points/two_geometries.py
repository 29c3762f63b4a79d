"""The risk along the two ways from one network to another.

    mixture        s ↦ R((1 − s) ρ + s ρ')                a parabola, convex: the slope at 0 is 2 ∫Ψ d(ρ' − ρ)
    displacement   s ↦ R of the W_2 geodesic              what training sees: neurons move, and there may be a barrier

The certificate and `minimise` live in the first geometry, gradient flow (and its implicit steps, JKO) in the second.
References: [mmn18], [cb18].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widelimit.arguments import instance_of
from widelimit.errors import is_whole, require
from widelimit.observables.interpolation import displacement, mixture
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.theory.fixed_points.given_measures import Given, measure_in


@dataclass(frozen=True, eq=False)
class TwoGeometries:
    """R along both ways.

    s             (points,) from 0 to 1
    mixture       R of the mixtures
    displacement  R along the W_2 geodesic

    >>> s = np.linspace(0, 1, 3)
    >>> TwoGeometries(s, 1 - s**2, np.array([1.0, 2.0, 0.0])).barrier
    1.0
    """

    s: np.ndarray
    mixture: np.ndarray
    displacement: np.ndarray

    @property
    def barrier(self) -> float:
        """How far R rises along the displacement above the larger of its ends; 0 if it does not."""
        ends = max(self.displacement[0], self.displacement[-1])
        return float(max(self.displacement.max() - ends, 0.0))


def two_geometries(problem: Problem, rho: Given, other: Given, points: int = 51) -> TwoGeometries:
    """R along mixtures and along the displacement from one measure to another.

    rho, other   in the same coordinates, full or reduced, see `certificate`
    points       values of s, ends included

    >>> import widelimit as wl
    >>> ramp = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
    >>> problem = wl.Problem(wl.data.gaussian_classes(float("inf"), 0.8), ramp, wl.initial.gaussian(0.8))
    >>> found = wl.two_geometries(problem, [[0.1]], [[3.0]], points=5)
    >>> bool(np.all(np.diff(found.mixture, 2) >= 0)), bool(np.all(np.diff(found.displacement, 2) >= 0))
    (True, False)
    """
    instance_of(Problem, problem, "two_geometries", "build one first")
    good = is_whole(points) and points >= 3
    require(good, "points must be a whole number of at least 3", points, "try points=51")
    one, two = measure_in(problem, rho), measure_in(problem, other)
    is_reduced = tuple(one.coordinates) == tuple(problem.reduced_coordinates) and not problem.no_reduction
    land, s = landscape(problem, reduced=is_reduced), np.linspace(0.0, 1.0, int(points))
    risks = [[land.risk(way(one, two, float(t))) for t in s] for way in (mixture, displacement)]
    return TwoGeometries(s, np.array(risks[0]), np.array(risks[1]))
