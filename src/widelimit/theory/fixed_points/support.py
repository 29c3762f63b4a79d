"""The support of a measure, and the gradient that its neurons feel.

    ∇Ψ(θ_i; ρ)   at every θ_i in the support of ρ, as far as it can move a neuron:
    frozen       columns whose mobility is 0 do not count
    sphere       the tangential part, where |w| = 1
    origin       at r_g = 0 a slope ∂Ψ/∂r_g ≥ 0 holds the neuron there: the force points inwards

    θ   theta     (n, D)   full or reduced coordinates, those of ρ
    p   weights   (n,)

Of a `Density` the support is the fullest cells, all but a share ``LEFT_OUT`` of the mass: a grid leaves some in every
cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.arguments import instance_of
from widelimit.coordinates import Coordinates
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.errors import require
from widelimit.measures import Density
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import ROUNDING, SAFETY
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Schedule
from widelimit.theory.fixed_points.given_measures import Given, measure_in

LEFT_OUT = 1e-6


@dataclass(frozen=True, eq=False)
class Support:
    """The neurons of a measure, on their landscape.

    points, masses   all of ρ, which makes the field
    theta, weights   the neurons of the support
    moves            which columns have a mobility, (D,)
    """

    land: Landscape
    rules: Rules
    points: Array
    masses: Array
    theta: np.ndarray
    weights: np.ndarray
    moves: np.ndarray

    @property
    def columns(self) -> Coordinates:
        """The columns of θ."""
        return self.rules.columns

    def lands(self) -> list[tuple[Landscape, float]]:
        """The landscape, and those it is compared with; the share of their spread that is an error."""
        first = self.land
        if isinstance(first, FeatureLandscape) and first.sets > 1:
            parts = [first.on_nodes(nodes) for nodes in first.nodes_of_sets]
            return [(first, 0.0), *((part, 1 / math.sqrt(first.sets)) for part in parts)]
        return [(first, 0.0)] if first.other is None else [(first, 0.0), (first.other, SAFETY)]

    def slopes(self, land: Landscape | None = None) -> np.ndarray:
        """∇Ψ itself at the support, (n, D)."""
        return np.asarray((land or self.land).gradient(jnp.asarray(self.theta), self.points, self.masses))

    def pulls(self) -> tuple[np.ndarray, np.ndarray]:
        """∇Ψ as far as it moves neurons (n, D), and how far it may be off (n,)."""
        found = [(self._felt(self.slopes(land)), share) for land, share in self.lands()]
        first, others = found[0][0], [(np.linalg.norm(g - found[0][0], axis=1), share) for g, share in found[1:]]
        spread = np.sqrt(np.mean([(gap * share) ** 2 for gap, share in others], axis=0)) if others else 0.0
        return first, spread + ROUNDING * (np.abs(first).max(initial=0.0) + np.abs(self.theta).max(initial=0.0))

    def _felt(self, slope: np.ndarray) -> np.ndarray:
        """The part of a gradient that moves neurons."""
        theta, pull = jnp.asarray(self.theta), jnp.where(self.moves, jnp.asarray(slope), 0.0)
        return -np.asarray(self.rules.held(theta, self.rules.tangent(theta, -pull)))


def support_of(problem: Problem, rho: Given, who: str) -> Support:
    """The support of a measure in full or reduced coordinates."""
    instance_of(Problem, problem, who, "build one first")
    require(not problem.is_noisy, f"{who} speaks of a problem without noise, beta = inf", problem.beta,
            "drop beta, or compare with wl.gibbs, the fixed point with noise")  # fmt: skip
    measure = measure_in(problem, rho)
    reduced = tuple(measure.coordinates) == problem.reduced_coordinates
    rules, land = rules_of(problem, reduced), landscape(problem, reduced)
    points, masses = land.measure(measure)
    chosen = np.asarray(masses) > 0
    if isinstance(measure, Density):
        order = np.argsort(-np.asarray(masses), kind="stable")
        behind = 1 - np.cumsum(np.asarray(masses)[order]) / float(masses.sum())
        chosen[order[np.r_[False, behind[:-1] < LEFT_OUT]]] = False
    blocks = zip(rules.columns.blocks, rules.columns.sizes, strict=True)
    rates = problem.rates
    moves = np.concatenate([np.full(size, _can_move(getattr(rates, block))) for block, size in blocks])
    theta = np.asarray(points)[chosen]
    return Support(land.resolving(points), rules, points, masses, theta, np.asarray(masses)[chosen], moves)


def _can_move(rate: float | Schedule) -> bool:
    return isinstance(rate, Schedule) or rate > 0
