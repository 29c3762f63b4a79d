"""One step of minimising movements in one coordinate, exactly in quantile variables.

    ρ has mass w_i, spread evenly, between the edges X_i < X_{i+1} (i = 0 … n − 1); masses stay, edges move:

    F(X) = ½ Σ_q p_q (F_q − y_q)² + Σ_i w_i [(λ/2) c_i² + β^{-1} log(w_i/v_i)],    F_q = Σ_i w_i Φ_q(c_i)
    W_2²(X, X') = Σ_i w_i (δ_i² + δ_i δ_{i+1} + δ_{i+1}²)/3,    δ = X − X'

    c   centres   (n,)   (X_i + X_{i+1})/2
    v   volumes   (n,)   ∫ S r^{d−1} dr between the edges of a radius, X_{i+1} − X_i for a scalar

In one dimension the monotone map is the best one, so that nothing but the pieces is approximated.
Scheme: Newton's method with a line search that keeps the edges in order. The Hessian is T + A diag(p) Aᵀ, T a band and
A = ∂F/∂X, so that a step costs O(n Q²); where T is not positive a multiple of the metric is added. The edges start at
equal steps of the normal score, which resolves both tails; an edge of a radius does not pass below 0.
Reference: [jko98].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.linalg import LinAlgError, solveh_banded
from scipy.special import ndtr

from widelimit.dynamics.methods import JKO
from widelimit.dynamics.motion import motion
from widelimit.dynamics.run import DensityRun, Tick, proximal_steps, whole_steps
from widelimit.dynamics.start import initial_factors
from widelimit.errors import require
from widelimit.measures import Density, log_volumes
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.least_squares import LeastSquares
from widelimit.problem.initial import Explicit
from widelimit.problem.statement import Problem

CELLS = 400
SCORE = 6.0  # of the outermost edges
NEWTON = 100
ENOUGH = 1e-14  # decrease of F that Newton's method still promises


def quantile_run(method: JKO, problem: Problem) -> DensityRun:
    """The scheme, ready for the driver."""
    rules = motion(problem, reduced=True)
    edges, weights = _start(problem, method.cells or CELLS)
    land = landscape(problem, reduced=True)
    assert isinstance(land, LeastSquares)
    d = problem.groups[0].d if problem.groups else None

    def advance(edges: np.ndarray, start: float, stop: float, tick: Tick) -> np.ndarray:
        for middle, end, eta in proximal_steps(problem, method.step, start, stop):
            size = eta * float(rules.rates(middle)[0])
            if size > 0:
                edges = Movement(land, problem.beta, d, weights, edges, size).minimum()
            tick(end)
        return edges

    def density(edges: np.ndarray) -> Density:
        return Density((edges,), weights, problem.reduced_coordinates, (d,))

    advice = "the step cannot be solved: try a smaller one"
    return DensityRun(edges, land, advance, whole_steps(method.step), advice, density)


def _start(problem: Problem, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges at equal steps of the normal score, and the masses between them."""
    factor = None if isinstance(problem.initial, Explicit) else initial_factors(problem)[0]
    curve = factor.curve if factor is not None else None
    good = curve is not None
    require(good, "JKO with noise needs a start with a density", problem.initial, "use FiniteVolume")
    assert curve is not None
    scores = np.linspace(-SCORE, SCORE, cells + 1)
    masses = np.where(scores[1:] > 0, ndtr(-scores[:-1]) - ndtr(-scores[1:]), ndtr(scores[1:]) - ndtr(scores[:-1]))
    return curve(scores[:, None])[:, 0], masses / masses.sum()


@dataclass(frozen=True)
class Movement:
    """The problem of one step: from the edges ``start`` in the time η."""

    land: LeastSquares
    beta: float
    d: float | None
    weights: np.ndarray
    start: np.ndarray
    eta: float
    metric: np.ndarray = field(init=False)  # of W_2², a band

    def __post_init__(self) -> None:
        third, sixth = self.weights / 3, self.weights / 6
        object.__setattr__(self, "metric", _band(third, sixth, third))

    def value(self, edges: np.ndarray) -> float:
        """F + W²/2η; infinite where the edges are out of order."""
        if not (np.diff(edges) > 0).all() or (self.d is not None and edges[0] < 0):
            return math.inf
        p, y = self.land.targets
        centres, move = _middle(edges), edges - self.start
        off = self.weights @ np.asarray(_features(self.land, jnp.asarray(centres))[0]) - y
        logs = np.log(self.weights) - log_volumes(edges, self.d)
        inside = self.land.ridge / 2 * centres**2 + logs / self.beta
        return float(p @ off**2 / 2 + self.weights @ inside + move @ _times(self.metric, move) / (2 * self.eta))

    def slopes(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradient (n + 1,) of the value, and its Hessian: the band T and A (n + 1, Q)."""
        p, y = self.land.targets
        centres = _middle(edges)
        phi, first, second = (np.asarray(x) for x in _features(self.land, jnp.asarray(centres)))
        residual = p * (self.weights @ phi - y)
        pull = self.weights * (first @ residual + self.land.ridge * centres) / 2
        bend = self.weights * (second @ residual + self.land.ridge) / 4
        gradient = _onto_edges(pull, pull) + _times(self.metric, edges - self.start) / self.eta
        band = _band(bend, bend, bend) + self.metric / self.eta
        half = self.weights[:, None] * first / 2
        low, high, low_low, low_high, high_high = _volume_slopes(edges, self.d)
        share = self.weights / self.beta
        gradient -= _onto_edges(share * low, share * high)
        band -= _band(share * low_low, share * low_high, share * high_high)
        return gradient, band, _onto_edges(half, half)

    def minimum(self) -> np.ndarray:
        """The edges after the step."""
        edges, value = self.start, self.value(self.start)
        for _ in range(NEWTON):
            gradient, band, features = self.slopes(edges)
            if self.d is not None and edges[0] <= 0 and gradient[0] > 0:  # held at the origin
                gradient[0], features[0], band[0, 0], band[1, 0] = 0.0, 0.0, 1.0, 0.0
            direction = -self._solved(gradient, band, features)
            gain, size = float(gradient @ direction), 1.0
            if -gain < ENOUGH * (1 + abs(value)):
                break
            tried = edges + direction
            while self._value_of(tried) > value + 1e-4 * size * gain + 1e-15 * abs(value):
                size /= 2
                if size < 1e-12:
                    return edges
                tried = edges + size * direction
            edges = self._bounded(tried)
            value = self.value(edges)
        return edges

    def _bounded(self, edges: np.ndarray) -> np.ndarray:
        if self.d is None or edges[0] >= 0:
            return edges
        return np.concatenate([[0.0], edges[1:]])

    def _value_of(self, edges: np.ndarray) -> float:
        return self.value(self._bounded(edges))

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
        inner = np.diag(1 / self.land.targets[0]) + features.T @ columns
        return plain - columns @ np.linalg.solve(inner, features.T @ plain)


def _middle(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


@partial(jax.jit, static_argnums=0)
def _features(land: LeastSquares, centres: Array) -> tuple[Array, Array, Array]:
    """Φ, Φ' and Φ'' of one coordinate, (n, Q) each."""

    def at(shift: Array) -> Array:
        return land.features(centres[:, None] + shift)

    def slope(shift: Array) -> tuple[Array, Array]:
        return jax.jvp(at, (shift,), (1.0,))

    (phi, first), (_, second) = jax.jvp(slope, (0.0,), (1.0,))
    return phi, first, second


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
