"""Random streams, one per cause, so that changing one cause does not reshuffle another."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

CAUSES = ("initial", "data", "noise", "report", "field", "remark")
REPLICAS = 2**31  # replicas are told apart by numbers no block or step reaches


def stream(seed: int, cause: str, replica: int = 0) -> Array:
    """The key of one cause of randomness; replica 0 is the run without replicas."""
    key = _stream(np.int64(seed), np.uint32(CAUSES.index(cause)))
    return jax.random.fold_in(key, REPLICAS + replica) if replica else key


@jax.jit
def _stream(seed: Array, cause: Array) -> Array:
    return jax.random.fold_in(jax.random.key(seed), cause)


def streams(seed: int, cause: str, replicas: int | None) -> Array:
    """The key of a single run (None), or the keys of all replicas, (R,)."""
    key = stream(seed, cause)
    if replicas is None:
        return key
    others = jax.vmap(jax.random.fold_in, (None, 0))(key, REPLICAS + jnp.arange(1, replicas, dtype="uint32"))
    return jnp.concatenate([key[None], others])
