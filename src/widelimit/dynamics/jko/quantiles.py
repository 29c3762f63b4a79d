"""One step of minimising movements in one coordinate, exactly in quantile variables.

    ρ has mass w_i, spread evenly, between the edges X_i < X_{i+1} (i = 0 … n − 1); masses stay, edges move:

    F(X) = ½ Σ_q p_q (F_q − y_q)² + Σ_i w_i [λ v(c_i) + β^{-1} log(w_i/vol_i)],    F_q = Σ_i w_i Φ_q(c_i)
    W_2²(X, X') = Σ_i w_i (δ_i² + δ_i δ_{i+1} + δ_{i+1}²)/3,    δ = X − X'

    c   centres   (n,)   (X_i + X_{i+1})/2
    vol           (n,)   ∫ S r^{d−1} dr between the edges of a radius, X_{i+1} − X_i for a scalar

In one dimension the monotone map is the best one, so that nothing but the pieces is approximated.
Scheme: Newton's method with a line search that keeps the edges in order. The Hessian is T + A diag(p) Aᵀ, T a band and
A = ∂F/∂X, so that a step costs O(n Q²); where T is not positive a multiple of the metric is added. The edges start at
equal steps of the normal score, which resolves both tails; an edge of a radius does not pass below 0.
Reference: [jko98].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.linalg import LinAlgError, solveh_banded

from widelimit.dynamics.jko.unsolved import Unsolved
from widelimit.dynamics.methods import JKO
from widelimit.dynamics.rules import rules_of
from widelimit.errors import require
from widelimit.measures import Density, log_volumes
from widelimit.potentials.damped_newton import Budget, Direction, Lowest, minimise
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import ON_CELLS
from widelimit.problem.initial import Explicit
from widelimit.problem.problem import Problem
from widelimit.solving.clock import proximal_steps, whole_steps
from widelimit.solving.placement import initial_factors, normal_masses
from widelimit.solving.protocol import CellView, Run, Tick

CELLS = 400
SCORE = 6.0  # of the outermost edges
ENOUGH = 1e-14  # decrease of F that Newton's method still promises
BUDGET = Budget(steps=100, shortest=1e-12, rounding=1e-15)


def quantile_run(method: JKO, problem: Problem) -> Run:
    """The scheme, ready for the driver."""
    rules, columns = rules_of(problem, reduced=True), problem.reduced
    edges, weights = _start(problem, method.cells or CELLS)
    land = landscape(problem, reduced=True)
    assert isinstance(land, FeatureLandscape)
    d, unsolved = columns.directions[0] if columns.is_reduced else None, Unsolved()

    def advance(edges: np.ndarray, start: float, stop: float, tick: Tick) -> np.ndarray:
        for step in proximal_steps(problem, method.step, start, stop):
            size = step.eta * float(rules.rates(step.middle)[0])
            if size > 0:
                edges, solved = QuantileStep(land, problem.beta, d, weights, edges, size).minimum()
                if not solved:
                    unsolved.add(step.end)
            tick(step.end)
        return edges

    def density(edges: np.ndarray) -> Density:
        return Density((edges,), weights, columns.names, (d,))

    advice = "the step cannot be solved: try a smaller one"
    view = CellView(land, problem.beta, density)
    return Run(
        edges, advance, view, whole_steps(method.step), advice, slopes=ON_CELLS, notes=unsolved.notes,
        remark=unsolved.remark,
    )  # fmt: skip


def _start(problem: Problem, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges at equal steps of the normal score, and the masses between them."""
    factor = None if isinstance(problem.initial, Explicit) else initial_factors(problem)[0]
    curve = factor.curve if factor is not None else None
    good = curve is not None
    require(good, "JKO with noise needs a start with a density", problem.initial, "use FiniteVolume")
    assert curve is not None
    scores = np.linspace(-SCORE, SCORE, cells + 1)
    masses = normal_masses(scores)
    return curve(scores[:, None])[:, 0], masses / masses.sum()


class StepSlopes(NamedTuple):
    """Gradient (n + 1,) of the value of a step, and its Hessian: the band T and A (n + 1, Q)."""

    gradient: np.ndarray
    band: np.ndarray
    features: np.ndarray


@dataclass(frozen=True)
class QuantileStep:
    """The problem of one step: from the edges ``start`` in the time η."""

    land: FeatureLandscape
    beta: float
    d: float | None
    weights: np.ndarray
    start: np.ndarray
    eta: float

    @cached_property
    def metric(self) -> np.ndarray:
        """The matrix of W_2² as a quadratic form in the edges, a band."""
        third, sixth = self.weights / 3, self.weights / 6
        return _band(third, sixth, third)

    def value(self, edges: np.ndarray) -> float:
        """F + W²/2η; infinite where the edges are out of order."""
        if not (np.diff(edges) > 0).all() or (self.d is not None and edges[0] < 0):
            return math.inf
        centres, move = _middle(edges), edges - self.start
        energy = self.land.energy_of(jnp.asarray(centres[:, None]), jnp.asarray(self.weights))
        logs = np.log(self.weights) - log_volumes(edges, self.d)
        return float(energy) + float(
            self.weights @ logs / self.beta + move @ _times(self.metric, move) / (2 * self.eta)
        )

    def slopes(self, edges: np.ndarray) -> StepSlopes:
        """Those of the value."""
        at = derivatives(self.land, jnp.asarray(_middle(edges)))
        phi, first, second, steep, bent = (np.asarray(x) for x in at)
        residual = np.asarray(self.land.fit.residual(jnp.asarray(self.weights @ phi)))
        pull = self.weights * (first @ residual + steep) / 2
        bend = self.weights * (second @ residual + bent) / 4
        gradient = _onto_edges(pull, pull) + _times(self.metric, edges - self.start) / self.eta
        band = _band(bend, bend, bend) + self.metric / self.eta
        half = self.weights[:, None] * first / 2
        low, high, low_low, low_high, high_high = _volume_slopes(edges, self.d)
        share = self.weights / self.beta
        gradient -= _onto_edges(share * low, share * high)
        band -= _band(share * low_low, share * low_high, share * high_high)
        return StepSlopes(gradient, band, _onto_edges(half, half))

    def minimum(self) -> Lowest[np.ndarray]:
        """The edges after the step."""
        return minimise(self.start, self.value, self._descent, self._shifted, BUDGET)

    def _descent(self, edges: np.ndarray) -> Direction:
        gradient, band, features = self.slopes(edges)
        if self.d is not None and edges[0] <= 0 and gradient[0] > 0:  # held at the origin
            gradient[0], features[0], band[0, 0], band[1, 0] = 0.0, 0.0, 1.0, 0.0
        direction = -self._solved(gradient, band, features)
        slope = float(gradient @ direction)
        return Direction(direction, slope, -slope < ENOUGH * (1 + abs(self.value(edges))))

    def _shifted(self, edges: np.ndarray, size: float, direction: np.ndarray) -> np.ndarray:
        """The edges moved, the first of a radius not below 0."""
        moved = edges + size * direction
        return moved if self.d is None or moved[0] >= 0 else np.concatenate([[0.0], moved[1:]])

    def _solved(self, gradient: np.ndarray, band: np.ndarray, features: np.ndarray) -> np.ndarray:
        """(T + A diag(p) Aᵀ)^{-1} gradient, with as much of the metric in T as makes it positive."""
        shift = 0.0
        while True:
            try:
                both = solveh_banded(band + shift * self.metric, np.column_stack([gradient, features]), lower=True)
                break
            except LinAlgError:
                shift = max(2 * shift, 1 / self.eta)
        plain, columns = both[:, 0], both[:, 1:]
        inner = np.diag(1 / np.asarray(self.land.fit.p)) + features.T @ columns
        return plain - columns @ np.linalg.solve(inner, features.T @ plain)


def _middle(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


class Derivatives(NamedTuple):
    """Φ, Φ', Φ'' of one coordinate, (n, Q) each, and (λ v)', (λ v)'', (n,) each."""

    phi: Array
    first: Array
    second: Array
    steep: Array
    bent: Array


@jax.jit
def derivatives(land: FeatureLandscape, centres: Array) -> Derivatives:
    """Those at the centres of cells."""

    def along(function: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
        def slope(shift: Array) -> tuple[Array, Array]:
            return jax.jvp(lambda shift: function(centres[:, None] + shift), (shift,), (1.0,))

        (value, first), (_, second) = jax.jvp(slope, (0.0,), (1.0,))
        return value, first, second

    return Derivatives(*along(land.features), *along(land.penalty)[1:])


def _onto_edges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums at the edges of what every cell gives to its low and its high one, (n + 1, …)."""
    total = np.zeros((len(low) + 1, *low.shape[1:]))
    total[:-1] += low
    total[1:] += high
    return total


def _band(low_low: np.ndarray, low_high: np.ndarray, high_high: np.ndarray) -> np.ndarray:
    """A symmetric band over the edges from the 2 × 2 matrices of the cells: its diagonal and the line below it."""
    return np.stack([_onto_edges(low_low, high_high), np.append(low_high, 0.0)])


def _times(band: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The band times a vector."""
    beside = band[1, :-1]
    return band[0] * x + np.append(beside * x[1:], 0.0) + np.append(0.0, beside * x[:-1])


def _volume_slopes(edges: np.ndarray, d: float | None) -> tuple[np.ndarray, ...]:
    """First and second derivatives of log v of every cell by its low and its high edge."""
    low, high = edges[:-1], edges[1:]
    if d is None:
        inverse = 1 / (high - low)
        return -inverse, inverse, -(inverse**2), inverse**2, -(inverse**2)
    with np.errstate(divide="ignore", over="ignore"):
        stretch = d * np.log(high / low)
        at_high = d / high / -np.expm1(-stretch)  # b^{d−1}/∫
        at_low = np.where(
            low > 0, d / np.where(low > 0, low, 1.0) / np.expm1(stretch), float(d == 1) / high
        )  # a^{d−1}/∫
        bent = np.where(low > 0, (d - 1) / np.where(low > 0, low, 1.0) * at_low, float(d == 2) * d / high**2)
    return (
        -at_low, at_high, -bent - at_low**2, at_low * at_high, (d - 1) / high * at_high - at_high**2,
    )  # fmt: skip
