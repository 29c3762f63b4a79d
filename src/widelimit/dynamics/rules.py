"""The rules of motion: what every dynamics does with θ besides following the gradient.

M = diag(m_a, m_b, m_w)                       rates of the columns
v − ⟨v, w⟩ w,    w/|w|                        tangential part, return to the unit sphere
ṙ = max(v, 0)    at r = 0                     a radius at the origin stays there while the force points inwards
θ + √(4 Δ M/β) g                              noise over a stretch Δ of the clock ∫ξ
r_g ← √( (r_g + ς g)² + ς² χ²_{d_g − 1} )     the same in the radii r_g = |P_g w|, exactly in law:
                                              this is where the drift (d_g − 1)/r_g comes from

θ   theta   (…, n, D)   full coordinates a, b, w_1.. or reduced ones a, b, u_1.., r_1..
ς²  = 4 Δ m_w/β
"""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import require
from widelimit.frozen import Frozen, static
from widelimit.problem.mobility import Mobility
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Schedule
from widelimit.solving.clock import Stretch


class Rules(Frozen):
    """Rates, noise and constraint in one system of coordinates.

    columns    of θ
    mobility   of the blocks
    beta       inverse temperature, None without noise
    xi         the schedule, None on the clock ∫ξ dt
    on_sphere  whether |w| = 1
    floor      radius below which the landscape is that at the floor
    """

    columns: Coordinates
    mobility: Mobility
    beta: float | None
    xi: Schedule | None = None
    on_sphere: bool = static(default=False)
    floor: float = 0.0

    @property
    def scalars(self) -> int:
        """Number of columns before the inner weights."""
        return len(self.columns.scalars)

    @property
    def is_noisy(self) -> bool:
        """Whether the temperature is positive."""
        return self.beta is not None

    def rates(self, t: Array | float) -> Array:
        """ξ m of every column at time t, (D,); m alone on the clock."""
        blocks = zip(self.columns.blocks, self.columns.sizes, strict=True)
        rates = jnp.concatenate([jnp.broadcast_to(self.mobility.at(b, t), (c,)) for b, c in blocks]).astype(float)
        return rates if self.xi is None else rates * self.xi(t)

    def columnwise(self, values: Array) -> Array:
        """Numbers of the blocks (blocks,) for every column, (D,)."""
        return jnp.repeat(values, jnp.asarray(self.columns.sizes), total_repeat_length=self.columns.D)

    def during(self, stretch: Stretch) -> Rules:
        """The rules in a stretch of time."""
        return replace(self, mobility=stretch.rates, xi=stretch.xi)

    def tangent(self, theta: Array, velocity: Array) -> Array:
        """The part of a velocity that keeps |w| = 1, if w lives on the sphere."""
        if not self.on_sphere:
            return velocity
        w, v = theta[..., self.scalars :], velocity[..., self.scalars :]
        along = jnp.sum(v * w, axis=-1, keepdims=True) / jnp.sum(w * w, axis=-1, keepdims=True)
        return velocity.at[..., self.scalars :].set(v - along * w)

    def retract(self, theta: Array) -> Array:
        """θ with w back on the unit sphere, if w lives there; neurons on it up to rounding stay as they are."""
        if not self.on_sphere:
            return theta
        w = theta[..., self.scalars :]
        norm = jnp.linalg.norm(w, axis=-1, keepdims=True)
        is_on = jnp.abs(norm - 1) < 16 * jnp.finfo(theta.dtype).eps
        return theta.at[..., self.scalars :].set(w / jnp.where(is_on, 1, norm))

    def inside(self, theta: Array) -> Array:
        """θ with radii below 0 at the origin."""
        return jnp.where(self.columns.is_radius() & (theta < 0), 0.0, theta) if self.columns.is_reduced else theta

    def is_below(self, theta: Array) -> Array:
        """Which numbers are radii below the floor, (…, n, D)."""
        return jnp.asarray(self.columns.is_radius()) & (theta < self.floor)

    def seen(self, theta: Array) -> Array:
        """θ as the landscape sees it: no radius below the floor.

        The kink of a smoothed ReLU is as wide as the radius. Neurons whose radius goes to 0 slide along the kink, and
        no solver can resolve a kink of width 0.
        """
        return jnp.where(self.is_below(theta), self.floor, theta) if self.columns.is_reduced else theta

    def held(self, theta: Array, velocity: Array) -> Array:
        """A velocity without its part that would take a radius at the origin below 0.

        Only at 0 itself: in the stages of a step a radius may pass below, where it moves on as at 0, so that a step
        across the origin looks smooth to the solver.
        """
        stays = self.columns.is_radius() & (theta == 0) & (velocity < 0)
        return jnp.where(stays, 0.0, velocity) if self.columns.is_reduced else velocity

    def lengths(self, theta: Array) -> Array:
        """θ with |r| for a radius r that a step made negative: w has passed through the origin."""
        first = self.columns.first_radius
        return theta.at[..., first:].set(jnp.abs(theta[..., first:])) if self.columns.is_reduced else theta

    def kick(self, key: Array, theta: Array, rates: Array, stretch: Array | float) -> Array:
        """θ after the noise of a stretch of the clock, with the rates of its columns; g are the normals of the key."""
        return self.kick_by(jax.random.normal(key, theta.shape, theta.dtype), key, theta, rates, stretch)

    def kick_by(self, g: Array, key: Array, theta: Array, rates: Array, stretch: Array | float) -> Array:
        """The same with given normals g (…, n, D); the key draws what radii need besides, χ²."""
        assert self.beta is not None
        spread = jnp.sqrt(4 * stretch * rates / self.beta).astype(theta.dtype)
        kicked = theta + spread * g
        first = self.columns.first_radius
        parts = [kicked[..., :first]]
        for c, d in enumerate(self.columns.directions):
            radius, width = kicked[..., first + c, None], spread[first + c]
            half = jnp.where(d > 1, (d - 1) / 2, 1.0)
            drawn = 2 * jax.random.gamma(jax.random.fold_in(key, c + 1), half, radius.shape)
            parts.append(jnp.sqrt(radius**2 + width**2 * jnp.where(d > 1, drawn, 0.0)))
        return jnp.concatenate(parts, axis=-1) if len(parts) > 1 else kicked


def rules_of(problem: Problem, reduced: bool) -> Rules:
    """The rules of a problem in full or reduced coordinates."""
    if reduced and problem.is_noisy:
        require(
            all(math.isfinite(g.d) for g in problem.groups),
            "noise in infinitely many directions moves every radius at once and needs a finite d",
            math.inf,
            "choose a finite d or beta = inf",
        )
    columns = problem.reduced if reduced else problem.full
    beta = problem.beta if problem.is_noisy else None
    return Rules(columns, problem.rates, beta, on_sphere=problem.neuron.inner == "sphere")
