"""What every dynamics does with θ besides following the gradient.

M = diag(m_a, m_b, m_w)                       rates of the columns
v − ⟨v, w⟩ w,    w/|w|                        tangential part, return to the unit sphere
θ + √(4 Δ M/β) g                              noise over a stretch Δ of the clock ∫ξ
r_g ← √( (r_g + ς g)² + ς² χ²_{d_g − 1} )     the same in the radii r_g = |P_g w|, exactly in law:
                                              this is where the drift (d_g − 1)/r_g comes from

θ   theta   (…, n, D)   full coordinates a, b, w_1.. or reduced ones a, b, u_1.., r_1..
ς²  = 4 Δ m_w/β
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.errors import require
from widelimit.problem.mobility import Mobility
from widelimit.problem.statement import Problem


@dataclass(frozen=True)
class Motion:
    """The rules of motion in one system of coordinates.

    blocks      a, b, w: those that exist
    columns     how many columns each block has
    dimensions  d_g of every radius in reduced coordinates, None in full ones
    """

    blocks: tuple[str, ...]
    columns: tuple[int, ...]
    dimensions: tuple[float, ...] | None
    mobility: Mobility
    beta: float
    on_sphere: bool

    @property
    def scalars(self) -> int:
        """Number of columns before the inner weights."""
        return len(self.blocks) - 1

    @property
    def radii(self) -> int:
        """Number of columns before the radii; all of them in full coordinates."""
        return sum(self.columns) - len(self.dimensions or ())

    @property
    def is_noisy(self) -> bool:
        """Whether the temperature is positive."""
        return math.isfinite(self.beta)

    def rates(self, t: Array | float) -> Array:
        """m of every column at time t, (D,)."""
        parts = [jnp.broadcast_to(self.mobility.at(b, t), (c,)) for b, c in zip(self.blocks, self.columns, strict=True)]
        return jnp.concatenate(parts).astype(float)

    def tangent(self, theta: Array, velocity: Array) -> Array:
        """The part of a velocity that keeps |w| = 1, where that is asked."""
        if not self.on_sphere:
            return velocity
        w, v = theta[..., self.scalars :], velocity[..., self.scalars :]
        along = jnp.sum(v * w, axis=-1, keepdims=True) / jnp.sum(w * w, axis=-1, keepdims=True)
        return velocity.at[..., self.scalars :].set(v - along * w)

    def retract(self, theta: Array) -> Array:
        """θ with w back on the unit sphere, where that is asked; neurons on it up to rounding stay as they are."""
        if not self.on_sphere:
            return theta
        w = theta[..., self.scalars :]
        norm = jnp.linalg.norm(w, axis=-1, keepdims=True)
        is_on = jnp.abs(norm - 1) < 16 * jnp.finfo(theta.dtype).eps
        return theta.at[..., self.scalars :].set(w / jnp.where(is_on, 1, norm))

    def lengths(self, theta: Array) -> Array:
        """θ with no radius below 0: a step of w through the origin comes out on the other side."""
        if not self.dimensions:
            return theta
        return theta.at[..., self.radii :].set(jnp.abs(theta[..., self.radii :]))

    def kick(self, key: Array, theta: Array, rates: Array, stretch: Array | float) -> Array:
        """θ after the noise of a stretch of the clock, with the rates of its columns."""
        spread = jnp.sqrt(4 * stretch * rates / self.beta).astype(theta.dtype)
        kicked = theta + spread * jax.random.normal(key, theta.shape, theta.dtype)
        if not self.dimensions:
            return kicked
        parts = [kicked[..., : self.radii]]
        for g, d in enumerate(self.dimensions):
            column = slice(self.radii + g, self.radii + g + 1)
            shape = kicked[..., column].shape
            across = 2 * jax.random.gamma(jax.random.fold_in(key, g + 1), max(d - 1, 0.0) / 2, shape) if d > 1 else 0.0
            parts.append(jnp.sqrt(kicked[..., column] ** 2 + spread[column] ** 2 * across))
        return jnp.concatenate(parts, axis=-1)


def motion(problem: Problem, reduced: bool) -> Motion:
    """The rules of a problem in full or reduced coordinates."""
    groups = problem.groups
    if reduced and math.isfinite(problem.beta):
        require(
            all(math.isfinite(g.d) for g in groups),
            "noise in infinitely many directions moves every radius at once and needs a finite d",
            math.inf,
            "choose a finite d or beta = inf",
        )
    width = problem.kept + len(groups) if reduced else problem.D - len(problem.neuron.scalars)
    dimensions = tuple(g.d for g in groups) if reduced else None
    columns = (*(1 for _ in problem.neuron.scalars), width)
    on_sphere = problem.neuron.inner == "sphere"
    return Motion(problem.blocks, columns, dimensions, problem.rates, problem.beta, on_sphere)
