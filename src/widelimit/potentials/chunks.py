"""Functions of many rows, evaluated on a bounded number of them at a time.

    by_chunks    f(rows), for f that acts on every row alone
    sum_chunks   Σ over chunks of f(chunk), for f additive over rows
    one_by_one   f of every row, one after the other
    each         f of one cloud, or of each of several
    all_finite   whether no number is infinite or not a number

Rows that fit into one chunk are handed over directly. Rows that are spread over devices (widelimit.solving.devices) are
first cut into those of each device, (K, n/K, …), so that every device loops over its own rows and none sees those of
another; inside the loop there is one device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import AbstractMesh

AXIS = "devices"  # of the mesh over which rows are spread
ONE_DEVICE = AbstractMesh((), ())
Tree = TypeVar("Tree")
Found = TypeVar("Found")
Arguments = ParamSpec("Arguments")


def by_chunks(function: Callable[[Array], Array], rows: Array, size: int) -> Array:
    """function(rows), (n, …)."""
    return _of_shares(partial(_by_chunks, function, size), rows)


def sum_chunks(function: Callable[[Tree], Array], rows: Tree, size: int) -> Array:
    """Σ_chunks function(chunk); the rows of an array, or of arrays of as many rows."""
    shares, total = _shares(rows), partial(_sum_chunks, function, size)
    return total(rows) if shares is None else jax.vmap(on_one_device(total))(shares).sum(axis=0)


def one_by_one(function: Callable[[Tree], Found], rows: Tree) -> Found:
    """function of every row of an array, or of arrays of as many rows."""
    return _of_shares(partial(jax.lax.map, function), rows)


def each(function: Callable[[Array], Found], points: Array) -> Found:
    """``function`` of one cloud (n, D), or of each of several (R, n, D); traceable."""
    return function(points) if points.ndim == 2 else one_by_one(function, points)


def on_one_device(function: Callable[Arguments, Found]) -> Callable[Arguments, Found]:
    """The same function, whose rows are all on one device."""

    def alone(*arguments: Arguments.args, **named: Arguments.kwargs) -> Found:
        if _count() == 1:
            return function(*arguments, **named)
        with jax.sharding.use_abstract_mesh(ONE_DEVICE):
            return function(*arguments, **named)

    return alone


def _of_shares(function: Callable[[Tree], Found], rows: Tree) -> Found:
    """A function that acts on every row alone, of the rows of all devices."""
    shares = _shares(rows)
    if shares is None:
        return function(rows)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), jax.vmap(on_one_device(function))(shares))


def _shares(rows: Tree) -> Tree | None:
    """Rows by the device they are on, (K, n/K, …); None where they are not spread."""
    count = _count()
    if count == 1 or _length(rows) % count:
        return None
    return jax.tree.map(lambda x: x.reshape(count, -1, *x.shape[1:]), rows)


def _count() -> int:
    """Devices over which rows are spread where this is traced."""
    return jax.sharding.get_abstract_mesh().shape.get(AXIS, 1)


def _by_chunks(function: Callable[[Array], Array], size: int, rows: Array) -> Array:
    whole, rest = _split(rows, size)
    if whole is None:
        return function(rest)
    done = jax.lax.map(function, whole)
    done = done.reshape(-1, *done.shape[2:])
    return jnp.concatenate([done, function(rest)]) if len(rest) else done


def _sum_chunks(function: Callable[[Tree], Array], size: int, rows: Tree) -> Array:
    whole, rest = _split(rows, size)
    if whole is None:
        return function(rest)
    one = jax.tree.map(lambda x: x[0], whole)
    start = function(rest) if _length(rest) else jnp.zeros_like(jax.eval_shape(function, one))
    return jax.lax.scan(lambda total, chunk: (total + function(chunk), None), start, whole)[0]


def _split(rows: Tree, size: int) -> tuple[Tree | None, Tree]:
    """As many full chunks as there are, (chunks, size, …), None if one suffices; and the rows left over."""
    if _length(rows) <= size:
        return None, rows
    full = _length(rows) // size * size
    whole = jax.tree.map(lambda x: x[:full].reshape(-1, size, *x.shape[1:]), rows)
    return whole, jax.tree.map(lambda x: x[full:], rows)


def _length(rows: Tree) -> int:
    return len(jax.tree.leaves(rows)[0])


def all_finite(tree: Tree) -> bool:
    """Whether all numbers of arrays are finite, each looked at on its own device."""
    return all(bool(np.isfinite(part.data).all()) for x in jax.tree.leaves(tree) for part in x.addressable_shards)
