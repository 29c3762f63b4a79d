"""Every pair of neurons once, a panel of them at a time.

    Σ_{i≠j} f(c_ij, x_i, x_j),   f symmetric,   c_ij = ⟨u_i, u_j⟩,  |u_i| = 1 or 0

The neurons stand on a circle of P panels of t neurons, P odd, the last filled up with u = x = 0. A panel meets itself
and the (P − 1)/2 panels after it: so every two panels meet once, each has as many partners as any other, and one
compiled block of t rows and t (P + 1)/2 columns serves them all. What a panel has with others counts twice.
Half of the products ⟨u_i, u_j⟩ are saved, and no matrix of all pairs is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array

X = TypeVar("X")
ROWS = 200  # neurons of a panel, at most: a block stays in the cache, and its product with itself is not small


def sum_pairs(term: Callable[[Array, X, X], Array], u: Array, x: X) -> Array:
    """Σ_{i≠j} f(c_ij, x_i, x_j) for directions u (n, d) and arrays x (…, n).

    term   of the cosines of a block (t, w), which are 0 for i = j, with x (…, t) and (…, w) of its rows and columns:
           Σ_i f(c_ij, x_i, x_j) for every column, (…, w); f is 0 where x = 0, and at c = 0
    """
    count = -(-len(u) // ROWS) // 2 * 2 + 1  # odd
    rows = -(-len(u) // count)
    width = rows * (count + 1) // 2
    fill, more = rows * count - len(u), width - rows
    u = jnp.pad(u, ((0, fill), (0, 0)))
    u = jnp.concatenate([u, u[:more]])  # around the circle
    x = jax.tree.map(lambda y: jnp.pad(y, [(0, 0)] * (y.ndim - 1) + [(0, fill)]), x)
    x = jax.tree.map(lambda y: jnp.concatenate([y, y[..., :more]], axis=-1), x)
    counted = jnp.where(jnp.arange(width) < rows, 1.0, 2.0)
    itself = jnp.arange(rows)[:, None] == jnp.arange(width)

    def meet(panel: Array | int) -> Array:
        def cut(y: Array, size: int, axis: int = -1) -> Array:
            return jax.lax.dynamic_slice_in_dim(y, panel * rows, size, axis)

        mine, theirs = (jax.tree.map(lambda y, size=size: cut(y, size), x) for size in (rows, width))
        corr = jnp.clip(cut(u, rows, 0) @ cut(u, width, 0).T, -1.0, 1.0)
        return term(jnp.where(itself, 0.0, corr), mine, theirs) @ counted

    start = jnp.zeros(jax.eval_shape(meet, 0).shape)
    return jax.lax.fori_loop(0, count, lambda panel, total: total + meet(panel), start)
