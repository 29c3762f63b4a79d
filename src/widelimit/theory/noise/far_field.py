"""How far a law can reach.

    Ψ_v(θ) = Σ_q v_q Φ_q(θ) + λ v(θ) ≥ λ v(θ) − |v| √U(θ, θ),      |v|² = Σ_q v_q²/p_q,  U(θ, θ) = Σ_q p_q Φ_q²
    e(θ) = log μ(θ) − β Ψ_v(θ)

so that far away, where the regulariser exceeds |v| √U, nothing lives, whatever the wells on the way there. Both sides
are smooth functions of log |θ|. They are evaluated on rays θ = t·direction, max_c |θ_c| = t, at geometric t; between
two of them e may exceed the larger value by their difference, or by that of the two before, whichever is less. The
reach is the smallest t beyond which the mass is below e^{−40} of what the largest e on the rays has. Where √U grows as
fast as the regulariser (trained outer weights and ReLU, for instance) there is no such bound, and Ψ_v itself is
followed along the rays, as far as rounding allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.measures import Measure
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.spheres import log_sphere_area
from widelimit.theory.noise.panels import DEPTH

PER_OCTAVE = {1: 8, 2: 4}
DIRECTIONS = 17  # on every side of the unit square
ROUNDING = 1e-12
LOWEST = -1e300
ROWS, FEW = 1024, 32


class Reach(NamedTuple):
    """Where to look, and what may lie beyond.

    length    of the half axes of the box
    log_tail  bound of the logarithm of the mass outside
    """

    length: float
    log_tail: float


@dataclass(frozen=True)
class Field:
    """Ψ_v of a landscape for any residuals, here scaled by √p, on any number of rows.

    beta     inverse temperature
    volumes  whether μ is the Lebesgue measure of the full space, or 1
    """

    land: FeatureLandscape
    beta: float
    volumes: bool = True

    @property
    def signed(self) -> list[bool]:
        """Which coordinates have a sign."""
        return [not radius for radius in self.land.penalty.columns.is_radius()]

    def evaluated(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """√p Φ, (n, Q), and λ v, (n,): in chunks of two sizes, so that another number of rows compiles nothing."""
        features, penalty = np.empty((len(theta), len(self.land.fit.p))), np.empty(len(theta))
        size = FEW if len(theta) <= FEW else ROWS
        for start in range(0, len(theta), size):
            rows = theta[start : start + size]
            padded = jnp.asarray(np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), axis=0)]))
            part = slice(start, start + len(rows))
            features[part], penalty[part] = (np.asarray(x)[: len(rows)] for x in _evaluated(self.land, padded))
        return features, penalty

    def measure(self, rho: Measure) -> tuple[Array, Array]:
        """ρ on whole chunks of rows, the last ones without mass: another number of nodes compiles nothing."""
        rest = ((0, -len(rho.theta) % ROWS), (0, 0))
        return jnp.asarray(np.pad(rho.theta, rest, mode="edge")), jnp.asarray(np.pad(rho.weights, rest[0]))

    def log_volume(self, theta: np.ndarray) -> np.ndarray:
        """log μ, (n,)."""
        columns, found = self.land.penalty.columns, np.zeros(len(theta))
        for g, d in enumerate(columns.directions if self.volumes else ()):
            with np.errstate(divide="ignore"):
                found += log_sphere_area(d) + ((d - 1) * np.log(theta[:, columns.first_radius + g]) if d > 1 else 0.0)
        return found

    def exponent(self, theta: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """e of every law, (n, V), for residuals (Q, V); features are not held."""
        found = []
        for start in range(0, len(theta), ROWS):
            features, penalty = self.evaluated(theta[start : start + ROWS])
            found.append(-self.beta * (features @ residuals + penalty[:, None]))
        return np.concatenate(found) + self.log_volume(theta)[:, None]


@jax.jit
def _evaluated(land: FeatureLandscape, theta: Array) -> tuple[Array, Array]:
    return jnp.sqrt(land.fit.p) * land.all_features(theta), land.penalty(theta)


class Rays:
    """A field on rays, evaluated once for all residuals."""

    def __init__(self, field: Field) -> None:
        signed, ridge = field.signed, float(field.land.penalty.ridge)
        k, spread = len(signed), 1 / math.sqrt(field.beta * ridge)
        low, high = math.log2(min(1.0, spread)) - 8, math.log2(max(1.0, spread, 1 / ridge)) + 20
        self.field, self.t = field, 2.0 ** np.arange(low, high, 1 / PER_OCTAVE[k])
        directions = _directions(signed)
        theta = (self.t[:, None, None] * directions).reshape(-1, k)
        shape = (len(self.t), len(directions))
        features, penalty = field.evaluated(theta)
        self.features, self.penalty = features.reshape(*shape, -1), penalty.reshape(shape)
        self.size = np.linalg.norm(self.features, axis=2)
        area = math.log(2 * k) + (k - 1) * np.log(2 * self.t)
        self.log_volume = field.log_volume(theta).reshape(shape) + area[:, None]

    def reach(self, v: np.ndarray) -> Reach | None:
        """The reach of exp(e) for residuals v; None if e does not fall."""
        beta, most = self.field.beta, np.linalg.norm(v) * self.size
        with np.errstate(invalid="ignore", over="ignore"):
            psi = self.features @ v + self.penalty
            exact = np.nan_to_num(self.log_volume - beta * psi, nan=-np.inf)
            bound = self.log_volume - beta * (self.penalty - most)
            sound = np.all(ROUNDING * most < np.abs(psi) + 1 / beta, axis=1)
        last = len(sound) if sound.all() else int(np.argmin(sound))
        if not last:
            return None
        level = exact[:last].max()
        if np.all(most[-1] <= self.penalty[-1] / 2):
            return self._beyond(bound, level)
        return self._beyond(exact[:last], level)

    def _beyond(self, e: np.ndarray, level: float) -> Reach | None:
        largest = np.maximum(e.max(axis=1), LOWEST)
        step = np.abs(np.diff(largest))
        margin = np.minimum(step, np.concatenate([step[:1], step[:-1]]))
        cells = np.maximum(largest[1:], largest[:-1]) + margin + np.log(np.diff(self.t[: len(e)]))
        tail = np.logaddexp.accumulate(cells[::-1])[::-1]
        below = np.flatnonzero(tail < level - DEPTH)
        return Reach(float(self.t[below[0]]), float(tail[below[0]])) if len(below) else None


def _directions(signed: list[bool]) -> np.ndarray:
    """Points on the sides of the unit square, or the ends of the interval, (E, k)."""
    found = []
    for c, both in enumerate(signed):
        others = [np.linspace(-1.0 if s else 0.0, 1.0, DIRECTIONS) for i, s in enumerate(signed) if i != c]
        side = np.stack([g.ravel() for g in np.meshgrid(*others)], axis=1) if others else np.zeros((1, 0))
        found += [np.insert(side, c, end, axis=1) for end in ((-1.0, 1.0) if both else (1.0,))]
    return np.concatenate(found)
