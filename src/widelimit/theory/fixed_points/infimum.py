"""inf Ψ over all neurons of a class.

    Ψ_v(θ) = Σ_q v_q Φ_q(θ) + λ v(θ),      v_q = p_q (F_q − y_q)

One radius: between two bounds, a theorem (widelimit.theory.fixed_points.radial_infimum). Otherwise it is searched for,
and what comes out is a value of Ψ that may not be the lowest: Ψ is evaluated at points of a Sobol sequence, θ =
t·direction with max_c |direction_c| = 1 and log t evenly spread, half of them at moderate t, since a landscape has its
structure at relative distances; from the lowest ones that lie apart, and from the lowest neurons of ρ, a local
minimiser goes down. What this could miss is a well narrower than the points are apart. Ψ falls without end if it still
doubles where t does, at the largest t.

    lowest ratio   min Ψ_0/(λ v),  Ψ_0 = Ψ without the regulariser, by the same search
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import minimize

from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.feature_landscape import FEATURES_HELD, FeatureLandscape
from widelimit.theory.fixed_points.neuron_classes import Allowed, Bounds
from widelimit.theory.fixed_points.radial_infimum import Radial, is_radial
from widelimit.theory.noise.far_field import Field

qmc = OnFirstUse("scipy.stats.qmc")

WIDE, MODERATE = (-10.0, 20.0), (-3.0, 4.0)  # log2 t
STARTS = 16  # local minimisers
OWN = 8  # of which may start at neurons of ρ
APART = 0.2  # relative distance of two starts
NEAR = 4.0  # largest entry of a neuron that stands for a ray on which Ψ falls without end
DOUBLES = 1.5  # growth of −Ψ between t and 2t beyond which it has no end
OPTIONS = {"ftol": 1e-16, "gtol": 1e-13}
RAYS = 256  # directions on which that is looked at


class Infimum(NamedTuple):
    """What is known of inf Ψ.

    lower     bound, or the lowest value met; −∞ if Ψ falls without end
    upper     the lowest value met
    neuron    where that was, (D,)
    others    (m, D) local minima met on the way, lowest first
    method    "intervals" (a theorem) or "starts" (a search)
    points    at which Ψ was evaluated, minimisers not counted
    starts    local minimisers
    """

    lower: float
    upper: float
    neuron: np.ndarray
    others: np.ndarray
    method: str
    points: int
    starts: int


@dataclass(frozen=True, eq=False)
class Probe:
    """Where to look: the landscape, the neurons allowed, and the points of the sequence with their features.

    field   the landscape
    among   the neurons allowed
    theta   (n, D) points, in the class
    """

    field: Field
    among: Allowed
    theta: np.ndarray
    features: np.ndarray
    penalty: np.ndarray

    @property
    def radial(self) -> bool:
        """Whether the infimum is a theorem."""
        free = math.isinf(float(self.among.ball)) and not float(self.among.sphere)
        return free and is_radial(self.field.land)

    def infimum(self, v: np.ndarray, own: np.ndarray) -> Infimum:
        """inf Ψ_v; ``own`` are neurons worth starting from, (m, D)."""
        if self.radial:
            found = Radial(self.field, v).bracket()
            if math.isinf(found.lower):
                return Infimum(-math.inf, -math.inf, np.array([math.inf]), np.empty((0, 1)), "intervals", 0, 0)
            near, place = self._down(np.array([found.r]), v) if math.isfinite(found.r) else (math.inf, own[0])
            lower, upper = found.lower, min(near, found.upper)
            place = place if near < found.upper else np.array([found.r])
            return Infimum(lower, upper, place, place[None], "intervals", found.points, 1)
        if self.falls(v):
            near = self.theta[np.abs(self.theta).max(axis=1) <= NEAR]
            lowest = apart(near[np.argsort(self.at(near, v))], STARTS)
            return Infimum(-math.inf, -math.inf, lowest[0], lowest, "starts", len(self.theta), 0)
        return self.descended(v, own)

    def at(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ψ_v, (n,)."""
        features, penalty = self.field.evaluated(theta)
        return features @ v + penalty

    def descended(self, v: np.ndarray, own: np.ndarray) -> Infimum:
        """The lowest of the local minima."""
        values = self.features @ v + self.penalty
        starts = np.concatenate([own[:OWN], apart(self.theta[np.argsort(values)], STARTS)])
        found = sorted((self._down(start, v) for start in starts), key=lambda pair: pair[0])
        theta = np.stack([place for _, place in found])
        return Infimum(found[0][0], found[0][0], theta[0], theta, "starts", len(self.theta), len(starts))

    def _down(self, start: np.ndarray, v: np.ndarray) -> tuple[float, np.ndarray]:
        scale = max(float(np.abs(self.features @ v).max()), 1e-300)
        land, among, unit = self.field.land, self.among, jnp.asarray(v / scale)
        value, end = downhill(lambda x: _slope(land, among, x, unit, 1 / scale), start, among.bounds, OPTIONS)
        place = np.asarray(among.place(jnp.asarray(end)[None]))[0]
        good = math.isfinite(value) and bool(np.isfinite(place).all())
        return (value * scale, place) if good else (math.inf, np.asarray(start))

    def falls(self, v: np.ndarray) -> bool:
        """Whether Ψ_v doubles with t where t is largest."""
        once, twice = (features @ v + penalty for features, penalty in self.far)
        size = float(np.abs(self.features @ v).max())
        return bool(np.any((twice < DOUBLES * once) & (twice < -size)))

    @cached_property
    def far(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Features and λ v at the two largest t."""
        directions, _ = _sequence(RAYS, self.among)
        far = [np.asarray(self.among.place(jnp.asarray(directions * 2.0**t))) for t in (WIDE[1] - 1, WIDE[1])]
        return [self.field.evaluated(rows) for rows in far]

    def lowest_ratio(self, v: np.ndarray) -> float:
        """min Ψ_0/(λ v), 0 at most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.penalty > 0, self.features @ v / self.penalty, np.inf)
        land, among, residual = self.field.land, self.among, jnp.asarray(v)
        starts = apart(self.theta[np.argsort(ratio)], STARTS)
        found = [downhill(lambda x: _ratio(land, among, x, residual), s, among.bounds, OPTIONS)[0] for s in starts]
        return min(0.0, float(ratio.min()), *found)


def downhill(
    slope: Callable[[Array], tuple[Array, Array]], start: np.ndarray, bounds: Bounds, options: Mapping[str, float]
) -> tuple[float, np.ndarray]:
    """The value and the place at which L-BFGS ends, by a compiled value and gradient."""

    def on_host(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = slope(jnp.asarray(x))
        return float(value), np.asarray(gradient, float)

    found = minimize(on_host, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return float(found.fun), found.x


def probe(land: FeatureLandscape, among: Allowed, points: int) -> Probe:
    """Features at points of a Sobol sequence; in one radius a few, for starts."""
    field = Field(land, 1.0, volumes=False)
    directions, t = _sequence(min(points, max(64, FEATURES_HELD // land.size)), among)
    theta = np.asarray(among.place(jnp.asarray(directions * t[:, None])))
    return Probe(field, among, theta, *field.evaluated(theta))


def _sequence(points: int, among: Allowed) -> tuple[np.ndarray, np.ndarray]:
    """Directions (n, D) with largest entry 1, and lengths (n,)."""
    signed = np.asarray(among.lower) < 0
    whole = qmc.Sobol(len(signed) + 1, scramble=False).random_base2(max(1, (points - 1).bit_length()))[1:]
    inside, last = whole[:, :-1], whole[:, -1]
    directions = np.where(signed, 2 * inside - 1, inside)
    largest = np.abs(directions).max(axis=1, keepdims=True)
    directions = np.where(largest > 0, directions / np.where(largest > 0, largest, 1.0), 1.0)
    even = np.arange(len(last)) % 2 == 0
    low, high = np.where(even, WIDE[0], MODERATE[0]), np.where(even, WIDE[1], MODERATE[1])
    return directions, 2.0 ** (low + (high - low) * last)


def apart(rows: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` rows that lie apart from those before them."""
    chosen = rows[:0]
    while len(rows) and len(chosen) < count:
        first = rows[0]
        chosen = np.concatenate([chosen, first[None]])
        rows = rows[np.linalg.norm(rows - first, axis=1) > APART * np.linalg.norm(first)]
    return chosen


@jax.jit
def _slope(
    land: FeatureLandscape, among: Allowed, theta: Array, v: Array, share: Array | float
) -> tuple[Array, Array]:  # fmt: skip
    """Ψ_v, its regulariser times ``share``, at a point taken into the class, and the gradient."""

    def psi(theta: Array) -> Array:
        placed = among.place(theta[None])
        return land.features(placed)[0] @ (jnp.sqrt(land.fit.p) * v) + share * land.penalty(placed)[0]

    return jax.value_and_grad(psi)(theta)


@jax.jit
def _ratio(land: FeatureLandscape, among: Allowed, theta: Array, v: Array) -> tuple[Array, Array]:
    """Ψ_0/(λ v) at such a point, and the gradient, 0 where there is none."""

    def ratio(theta: Array) -> Array:
        placed = among.place(theta[None])
        value, penalty = land.features(placed)[0] @ (jnp.sqrt(land.fit.p) * v), land.penalty(placed)[0]
        return jnp.where(penalty > 0, value / jnp.where(penalty > 0, penalty, 1.0), 0.0)

    found, gradient = jax.value_and_grad(ratio)(theta)
    return found, jnp.nan_to_num(gradient)
