"""The infimum of Ψ over one radius, as a theorem.

    Ψ(r) = Σ_q v_q √M_k A_k(0, τ_c r) + λ v(r),      q = (class c, even order k),   x = log r

Derivatives in x act on the Hermite polynomial alone: (s ∂_s) A_k = E[σ(sG) T h_k(G)],
T h_k = √((k+1)(k+2)) h_{k+2} + k h_k. T² h_k has even orders of 2 and more, so that σ counts less any line, and the
constants to which a bounded σ tends, one on each side of 0, have no derivative. So

    |∂_x² A_k| ≤ min(O, L s, 2 L s ω(t_0/s)) |T² h_k|₂,     ω(z)² = E G² 1{|G| > z} = 2 (z φ(z) + Φ̄(z))
    |∂_x² A_k| ≤ κ ∫|e|/s |T² h_k|₁     if σ is bounded; letters as in widelimit.potentials.growth
    Ψ ≥ min(Ψ(x_1), Ψ(x_2)) − (x_2 − x_1)²/8 · sup |∂_x² Ψ|      on an interval [x_1, x_2]
    |Ψ(r) − Ψ(0)| ≤ L r Σ_q |v_q| √M_k τ_c                       left of all intervals
    Ψ(r) ≥ α r + β + γ/r − δ/r² + λ v(r)                         right of all intervals

    α = Σ_q v_q √M_k τ_c E[l_± G h_k]                   β = Σ_c v_c0 (c_+ + c_-)/2
    γ = Σ_q v_q √M_k h_k(0) φ(0) ∫e/τ_c                 δ = κ ∫|x e| Σ_q |v_q| √M_k √(k+1)/τ_c²

If α < 0 without a regulariser that grows faster, Ψ falls without end. Scheme: intervals whose bound is below the lowest
value met, less the tolerance, are halved until none is left. The reach is where δ/r² is below the tolerance; farther
out rounding would grow, which is ε L s. The number that comes out is a lower bound; that rounding is taken off it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from widelimit.potentials.growth import CRAMER, Growth, growth
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.reduced_landscape import ReducedLandscape
from widelimit.potentials.smoothing import smoothed
from widelimit.problem.activations import relu
from widelimit.problem.regularisers import Rounded, Squares
from widelimit.theory.noise.far_field import Field

CLOSE = 1e-10  # tolerance relative to Σ_q |v_q| |Φ_q|
ROUNDING = 1e-15  # of Ψ, relative to Σ_q |v_q| L s
FIRST = 1024  # intervals at first
MOST = 400_000  # intervals at a time
LEVELS = 60


@dataclass(frozen=True)
class Bracket:
    """inf Ψ lies between the two.

    lower     a bound, −∞ if Ψ falls without end
    upper     the lowest value met, at the radius r
    r         where that was
    points    at which Ψ was evaluated
    reach     radius beyond which the tail is bounded
    """

    lower: float
    upper: float
    r: float
    points: int
    reach: float


class Tail(NamedTuple):
    """Ψ beyond the radius ``reach``: a bound, −∞ if it falls without end, and its limit, ∞ if it grows."""

    reach: float
    bound: float
    limit: float


def is_radial(land: Landscape) -> bool:
    """Whether the theorem above is about this landscape."""
    if not isinstance(land, ReducedLandscape) or land.coordinates != ("r",) or land.sphere is not None:
        return False
    known = isinstance(land.penalty.regulariser, Squares | Rounded) or float(land.penalty.ridge) == 0
    return known and growth(land.sigma) is not None


@dataclass(frozen=True)
class Radial:
    """Ψ of one radius for residuals v, scaled by √p, with its bounds."""

    field: Field
    v: np.ndarray

    @cached_property
    def land(self) -> ReducedLandscape:
        """The landscape, of one radius."""
        assert isinstance(self.field.land, ReducedLandscape)
        return self.field.land

    @cached_property
    def growth(self) -> Growth:
        """How σ grows towards ±∞."""
        found = growth(self.land.sigma)
        assert found is not None
        return found

    @cached_property
    def k(self) -> np.ndarray:
        """Orders, (orders,)."""
        return np.array([sum(order) for order in self.land.orders])

    @cached_property
    def tau(self) -> np.ndarray:
        """τ of the classes, (classes,)."""
        return np.asarray(self.land.tau)[0]

    @cached_property
    def signed(self) -> np.ndarray:
        """v_q √M_k, (classes, orders)."""
        v = self.v * np.sqrt(np.asarray(self.land.fit.p))
        return v.reshape(len(self.tau), -1) * np.asarray(self.land.roots)

    @property
    def mass(self) -> float:
        """Σ_q |v_q| √M_k."""
        return float(np.abs(self.signed).sum())

    def scale(self, r: float) -> float:
        """Σ_q |v_q| |Φ_q| at most, up to the radius r."""
        spread = np.minimum(self.growth.half, self.growth.lipschitz * self.tau * r)
        constant = abs(float(self.land.sigma(jnp.asarray(0.0))))
        return float(np.abs(self.signed).sum(axis=1) @ (spread + constant))

    def values(self, r: np.ndarray) -> np.ndarray:
        """Ψ(r)."""
        features, penalty = self.field.evaluated(r[:, None])
        return features @ self.v + penalty

    def curvature(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """A bound of |∂_x² Ψ| between two radii, (n,)."""
        k, size = self.k, np.abs(self.signed)
        up, once = np.sqrt((k + 1.0) * (k + 2)), np.sqrt((k + 3.0) * (k + 4))
        parts = np.stack([up * once, up * (2 * k + 2), k * k])  # T² h_k in h_{k+4}, h_{k+2}, h_k
        mean, most = np.sqrt((parts**2).sum(axis=0)), parts.sum(axis=0)
        s, steep = high[:, None] * self.tau, self.growth.lipschitz
        z = np.minimum(self.growth.flat / s, 40.0)
        bent = 2 * np.sqrt(2 * (z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) + ndtr(-z)))
        near = np.minimum(self.growth.half, steep * s * np.minimum(1.0, bent))
        bound = near @ (size @ mean)[:, None]
        if math.isfinite(self.growth.half):
            far = CRAMER * self.growth.area / (low[:, None] * self.tau)
            bound = np.minimum(bound, far @ (size @ most)[:, None])
        return bound[:, 0] + 2 * self.grown * high**2

    @property
    def grown(self) -> float:
        """λ times the weight of |w|²/2, or λ for other regularisers: |∂_x² λv| ≤ 2 · `grown` · r²."""
        v, ridge = self.land.penalty.regulariser, float(self.land.penalty.ridge)
        return ridge * (v.w if isinstance(v, Squares) else 1.0)

    def tail(self, tolerance: float) -> Tail:
        """Where the intervals end, and what Ψ does beyond."""
        lines, v = self.growth, self.land.penalty.regulariser
        ramp = np.asarray(smoothed(relu.form, int(self.k[-1]), jnp.zeros(1), jnp.ones(1)))[0, self.k]
        alpha = float((self.signed * self.tau[:, None] * ramp).sum()) * (lines.right.l - lines.left.l)
        beta = float(self.signed[:, 0].sum()) * (lines.right.c + lines.left.c) / 2
        inverse, peak = self.signed / self.tau[:, None], orthonormal_hermite(np.zeros(()), int(self.k[-1]))[self.k]
        gamma = float((inverse * peak).sum()) * lines.signed / math.sqrt(2 * math.pi)
        delta = CRAMER * lines.moment * float((np.abs(inverse) / self.tau[:, None] * np.sqrt(self.k + 1)).sum())
        squares = self.grown if isinstance(v, Squares) else 0.0
        cone = self.grown if isinstance(v, Rounded) else 0.0  # λ √(1 + r²) ≥ λ r
        if alpha + cone < 0 and squares == 0:
            return Tail(math.inf, -math.inf, -math.inf)
        turn = max(-(alpha + cone), 0.0) / squares if squares else 0.0  # beyond it α r + λ v(r) grows
        reach = max(1.0, 2 * turn, math.sqrt(delta / tolerance))
        grown = (alpha + cone) * reach + squares * reach**2 / 2
        end = beta if grown == 0 else math.inf
        return Tail(reach, grown + beta + min(gamma, 0.0) / reach - delta / reach**2, end)

    def bracket(self) -> Bracket:
        """Bounds of the infimum."""
        if not self.mass:
            lowest = float(self.values(np.zeros(1))[0])  # v grows with r
            return Bracket(lowest, lowest, 0.0, 1, 0.0)
        tolerance = CLOSE * self.scale(1.0)
        reach, beyond, end = self.tail(tolerance)
        if math.isinf(reach):
            return Bracket(-math.inf, -math.inf, math.inf, 0, math.inf)
        steep = self.growth.lipschitz * float(np.abs(self.signed).sum(axis=1) @ self.tau)
        least = min(tolerance / steep if steep else 1.0, reach / 2)
        x = np.linspace(math.log(least), math.log(reach), FIRST + 1)
        values = self.values(np.concatenate([[0.0], np.exp(x)]))
        upper, r = float(values.min()), float(np.concatenate([[0.0], np.exp(x)])[np.argmin(values)])
        upper, r = (end, math.inf) if end < upper else (upper, r)
        lower = min(float(values[0]) - tolerance, beyond)
        points, ends = len(values), values[1:]
        low, high, f_low, f_high = x[:-1], x[1:], ends[:-1], ends[1:]
        for _ in range(LEVELS):
            bound = np.minimum(f_low, f_high) - (high - low) ** 2 / 8 * self.curvature(np.exp(low), np.exp(high))
            open_ = bound < upper - tolerance
            lower = min(lower, float(bound[~open_].min(initial=math.inf)))
            low, high, f_low, f_high, bound = (part[open_] for part in (low, high, f_low, f_high, bound))
            if not len(low) or len(low) > MOST:
                break
            middle = (low + high) / 2
            f = self.values(np.exp(middle))
            points += len(f)
            if f.min() < upper:
                upper, r = float(f.min()), float(np.exp(middle[np.argmin(f)]))
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            f_low, f_high = np.concatenate([f_low, f]), np.concatenate([f, f_high])
        rounding = ROUNDING * (self.scale(1.0) + steep * min(r, reach))
        lower = min(lower, float(bound.min(initial=math.inf))) - rounding
        return Bracket(min(lower, upper), upper, r, points, reach)
