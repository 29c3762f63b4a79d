"""Random streams, one per cause, so that changing one cause does not reshuffle another."""

from __future__ import annotations

import jax
from jax import Array

from widelimit.errors import is_whole, require

CAUSES = ("initial", "data", "noise", "batch")


def stream(seed: int, cause: str) -> Array:
    """The key of one cause of randomness."""
    return jax.random.fold_in(jax.random.key(seed), CAUSES.index(cause))


def check_seed(seed: int) -> int:
    """The seed, if it is one."""
    require(is_whole(seed) and 0 <= seed < 2**32, "seed must be a whole number from 0 to 2³² − 1", seed, "try seed=0")
    return int(seed)
