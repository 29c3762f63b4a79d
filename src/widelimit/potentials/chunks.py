"""Functions of many rows, evaluated on a bounded number of them at a time.

    by_chunks    f(rows), for f that acts on every row alone
    sum_chunks   Σ over chunks of f(chunk), for f additive over rows

Rows that fit into one chunk are handed over directly.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array


def by_chunks(function: Callable[[Array], Array], rows: Array, size: int) -> Array:
    """function(rows), (n, …)."""
    whole, rest = _split(rows, size)
    if whole is None:
        return function(rest)
    done = jax.lax.map(function, whole)
    done = done.reshape(-1, *done.shape[2:])
    return jnp.concatenate([done, function(rest)]) if len(rest) else done


def sum_chunks(function: Callable[[Array], Array], rows: Array, size: int) -> Array:
    """Σ_chunks function(chunk)."""
    whole, rest = _split(rows, size)
    if whole is None:
        return function(rest)
    start = function(rest) if len(rest) else jnp.zeros_like(jax.eval_shape(function, whole[0]))
    return jax.lax.scan(lambda total, chunk: (total + function(chunk), None), start, whole)[0]


def _split(rows: Array, size: int) -> tuple[Array | None, Array]:
    """As many full chunks as there are, (chunks, size, …), None if one suffices; and the rows left over."""
    if len(rows) <= size:
        return None, rows
    full = len(rows) // size * size
    return rows[:full].reshape(-1, size, *rows.shape[1:]), rows[full:]
