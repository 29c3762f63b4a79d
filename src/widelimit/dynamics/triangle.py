"""The triangular sum inside a block of SGD: inside a sub-block one row at a time, between them by a matrix product.

    h_k = S_k + Σ_{l<k} G_{kl} C_l + b,      C_k = (2 s_k m_w/b)(y_k − f_k) a σ'(h_k),      f_k = (1/N) Σ_i a_i σ(h_ki)
    a ← (1 − 2 s_k m_a λ) a + (2 s_k m_a/b) Σ (y_k − f_k) σ(h_k)
    b ← (1 − 2 s_k m_b λ) b + (2 s_k m_b/b) Σ (y_k − f_k) a σ'(h_k)

    S, G   those of widelimit.dynamics.sgd times the decays of w in between; S with the noise that the samples feel
    Σ      over the batch of a step, of b samples; with noise a and b get their own after each step

The rows of later sub-blocks feel those of earlier ones by one product, so that most of the sum is matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.dynamics.block_layout import Layout
from widelimit.problem.activations import Activation


class Block(NamedTuple):
    """The samples of a block, s_k m of its steps, (steps, blocks of parameters), and the key of its noise."""

    x: Array  # (samples, d)
    y: Array  # (samples,)
    paces: Array
    key: Array


class Course(NamedTuple):
    """What happened in a block: its samples, its rows C, and the scalars after every step."""

    x: Array  # (samples, d)
    c: Array  # (samples, n)
    scalars: Array  # (steps, n, scalars)


class Triangle(NamedTuple):
    """Finds the rows of a block; what does not change from step to step.

    columns  of θ
    shrink   λ of every scalar
    """

    sigma: Activation
    columns: Coordinates
    layout: Layout
    shrink: tuple[float, ...]

    def course(self, scalars: Array, s: Array, gram: Array, block: Block, noise: Array | None) -> Course:
        """What happens in a block: sub-block after sub-block."""
        lay = self.layout
        done: list[Array] = []
        after: list[Array] = []
        for j in range(lay.subs):
            rows = slice(j * lay.sub_rows, (j + 1) * lay.sub_rows)
            steps = slice(j * lay.units, (j + 1) * lay.units)
            h = s[rows]
            if done:
                h = h + gram[rows, : j * lay.sub_rows] @ jnp.concatenate(done)
            part = block._replace(y=block.y[rows], paces=block.paces[steps])
            c, passed = self._sub_block(scalars, h, gram[rows, rows], part, None if noise is None else noise[steps])
            scalars = passed[-1]
            done.append(c)
            after.append(passed)
        return Course(block.x, jnp.concatenate(done), jnp.concatenate(after))

    def _sub_block(
        self, scalars: Array, h: Array, gram: Array, block: Block, noise: Array | None
    ) -> tuple[Array, Array]:
        """Batch by batch through one sub-block: its rows C (sub_rows, n), and the scalars after each (units, …)."""
        lay, n, columns, paces = self.layout, h.shape[1], self.columns, block.paces

        def step(k: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            c, scalars, after = carry
            a, b = (part.astype(h.dtype) for part in columns.split(scalars)[:2])
            base, g, labels = (
                jax.lax.dynamic_slice_in_dim(part, k * lay.batch, lay.batch) for part in (h, gram, block.y)
            )
            pre = base + g @ c
            if "b" in columns.scalars:
                pre = pre + b
            out, slope = jax.jvp(self.sigma, (pre,), (jnp.ones_like(pre),))
            error = 2 / lay.batch * (labels - out @ (a / n))
            pull = error[:, None] * (slope * a if "a" in columns.scalars else slope)
            c = jax.lax.dynamic_update_slice(c, paces[k, -1].astype(h.dtype) * pull, (k * lay.batch, 0))
            if columns.scalars:
                push = {"a": error @ out, "b": pull.sum(axis=0)}
                pushes = jnp.stack([push[name] for name in columns.scalars], axis=1)
                shrink = jnp.stack(self.shrink)
                scalars = (1 - 2 * shrink * paces[k, :-1]) * scalars + paces[k, :-1] * pushes
                scalars = scalars if noise is None else scalars + noise[k]
                after = jax.lax.dynamic_update_index_in_dim(after, scalars, k, 0)
            return c, scalars, after

        start = (jnp.zeros_like(h), scalars, jnp.zeros((lay.units, *scalars.shape)))
        c, _, after = jax.lax.fori_loop(0, lay.units, step, start, unroll=min(2, lay.units))
        return c, after
