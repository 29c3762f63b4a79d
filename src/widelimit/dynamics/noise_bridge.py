"""The noise inside a block of SGD, given what the whole block has drawn.

    W_{k+1} = (D_{k+1}/D_k) W_k + ς_k g^k,    W_0 = 0,    n_l = ⟨x_l, W_l⟩,    Ξ = W_B

as in widelimit.dynamics.block_noise. With P_kl = D_l/D_k and v_kl = Σ_{k≤q<l} (D_l/D_{q+1})² ς_q², between two steps
i < j at which W is known

    W_l = P_il (v_lj/v_ij) W_i + (v_il/v_ij) P_lj W_j + b_l,     Cov(b_l, b_m) = κ_lm I,
    κ_lm = v_il P_lm v_mj/v_ij   (l ≤ m)

where b does not depend on W_i and W_j. The middle step h is drawn given the ⟨x_l, b_l⟩, which are known from n: this is
the law of Ξ given n, with κ ∘ G for K, κ_hl for c_l and κ_hh for v_B. W is a Markov chain, so halving the interval
again and again leads to every W_m, with the right joint law of all. A middle step has normals of its own, so that W_m
is the same whichever others are asked for.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.block_noise import Noise, Walk, along_given


def noise_until(key: Array, walk: Walk, noise: Noise, part: Walk, m: Array) -> Noise:
    """The noise of a block that is done up to step m and a share of step m, which ``part`` knows, given that of all."""
    inside, after = (jax.random.fold_in(key, i) for i in (3, 4))  # block_noise and the scalars use 0, 1 and 2
    g = jax.random.normal(after, noise.fresh.shape, noise.fresh.dtype)
    fresh = part.decay.shrink[m] * noise_at(inside, walk, noise, m) + jnp.sqrt(part.spread[m]) * g
    return Noise(noise.felt, jnp.zeros_like(noise.along), fresh)


def noise_at(key: Array, walk: Walk, noise: Noise, m: Array) -> Array:
    """W_m (n, d) for a step m < B of a block whose noise is drawn; in double, as n_m fixes W_m along x_m."""
    between = Between(walk, noise.felt.astype(float))
    last = (noise.fresh + noise.along.T @ walk.x).astype(float)

    def halved(at: Ends) -> Ends:
        h = (at.i + at.j) // 2
        drawn = between.drawn(at, h, jax.random.normal(jax.random.fold_in(key, h), last.shape, float))
        return jax.tree.map(partial(jnp.where, h <= m), Ends(h, at.j, drawn, at.last), Ends(at.i, h, at.first, drawn))

    first, i, j = jnp.zeros_like(last), jnp.asarray(0), jnp.asarray(len(walk.spread))
    start = Ends(i, j, (first, between.x @ first.T), (last, between.x @ last.T))
    return jax.lax.while_loop(lambda at: at.i < m, halved, start).first[0].astype(walk.x.dtype)


class Ends(NamedTuple):
    """Two steps i < j, and at each of them W (n, d) and X Wᵀ (B, n)."""

    i: Array
    j: Array
    first: tuple[Array, Array]
    last: tuple[Array, Array]


class Between:
    """What is known of W between two steps of a block: P and v, (B + 1, B + 1) from column to row, and n."""

    def __init__(self, walk: Walk, felt: Array):
        steps = len(walk.spread)
        decay = jnp.concatenate([walk.decay.within, walk.decay.left[None]]).astype(float)  # D_l/D_{k+1}
        after = jnp.cumsum((decay**2 * walk.spread)[:, ::-1], axis=1)[:, ::-1]
        self.x, self.felt, self.rows = walk.x.astype(float), felt, jnp.repeat(jnp.arange(steps), len(walk.x) // steps)
        self.gram = self.x @ self.x.T
        self.P = jnp.pad(decay * walk.decay.shrink, ((0, 0), (0, 1))) + jnp.eye(steps + 1)
        self.v = jnp.pad(after, ((0, 0), (0, 1)))

    def drawn(self, ends: Ends, h: Array, g: Array) -> tuple[Array, Array]:
        """W_h and X W_hᵀ from normals (n, d)."""
        (i, j, first, last), x, rows = ends, self.x, self.rows
        whole = jnp.where(self.v[j, i] > 0, self.v[j, i], 1.0)
        before, after = self.v[:, i], self.v[j]  # v_il, v_lj
        of_first = self.P[:, i] * jnp.where(self.v[j, i] > 0, after / whole, 1.0)
        of_last = self.P[j] * before / whole
        below = self.P * before * after[:, None] / whole
        kappa = jnp.tril(below) + jnp.tril(below, -1).T
        steps = jnp.arange(len(before))
        feels = ((steps > i) & (steps < j) & (before > 0) & (after > 0))[rows]
        line = of_first[rows, None] * first[1] + of_last[rows, None] * last[1]
        residual = jnp.where(feels[:, None], self.felt - line, 0.0)
        known = jnp.where(feels[:, None] & feels, kappa[rows][:, rows] * self.gram, jnp.eye(len(x)))
        cross, spread = jnp.where(feels, kappa[h][rows], 0.0)[:, None], kappa[h, h]
        xg = x @ g.T
        along = along_given(known, self.gram, cross, spread, residual, xg)
        bridge = jnp.sqrt(spread) * g + along.T @ x, jnp.sqrt(spread) * xg + self.gram @ along
        return jax.tree.map(lambda a, b, c: of_first[h] * a + of_last[h] * b + c, first, last, bridge)
