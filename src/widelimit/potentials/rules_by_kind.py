"""A function of single entries with several rules, every entry by the rule of its kind.

    f(x) = f_k(x),    k = kind of x, one of 0, …, K − 1

The entries are put together by their kinds, BLOCK at a time and every kind from a block of its own on, so that a block
is evaluated by one rule only: a choice inside an array would evaluate all of them everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

BLOCK = 1024  # entries: they stay in the cache
Rule = Callable[..., Array]


def by_kind(rules: Sequence[Rule], kinds: Array, *entries: Array) -> Array:
    """f of the entries, arrays of one shape like their kinds; of a batch of them as of one larger array."""
    shape = kinds.shape

    @custom_vmap
    def whole(kinds: Array, *entries: Array) -> Array:
        return _by_kind(rules, kinds.reshape(-1), *(x.reshape(-1) for x in entries)).reshape(kinds.shape)

    @whole.def_vmap
    def _(size: int, batched: list[bool], *arguments: Array) -> tuple[Array, bool]:
        spread = partial(jnp.broadcast_to, shape=(size, *shape))
        both = zip(arguments, batched, strict=True)
        return by_kind(rules, *(x if is_batched else spread(x) for x, is_batched in both)), True

    return whole(kinds, *entries)


def _by_kind(rules: Sequence[Rule], kinds: Array, *entries: Array) -> Array:
    """The same for arrays (N,)."""
    block = min(BLOCK, len(kinds))
    is_kind = kinds == jnp.arange(len(rules))[:, None]
    rank = jnp.cumsum(is_kind, axis=1)
    ends = jnp.cumsum(-(-rank[:, -1] // block))  # in blocks, (K,)
    starts = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]]) * block
    place = jnp.sum(jnp.where(is_kind, starts[:, None] + rank - 1, 0), axis=0)
    count = -(-len(kinds) // block) + len(rules)
    held = jnp.zeros(count * block, int).at[place].set(jnp.arange(len(kinds)), unique_indices=True)
    rule = jnp.searchsorted(ends, jnp.arange(count), side="right")  # K for the blocks that are left over
    ways = [*rules, lambda *some: jnp.zeros_like(some[0])]
    blocks = (x[held].reshape(count, block) for x in entries)
    found = jax.lax.map(lambda of: jax.lax.switch(of[0], ways, *of[1:]), (rule, *blocks))
    return found.reshape(-1)[place]
