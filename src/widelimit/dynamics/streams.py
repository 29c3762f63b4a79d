"""Random streams, one per cause, so that changing one cause does not reshuffle another."""

from __future__ import annotations

import jax
from jax import Array

from widelimit.errors import require

CAUSES = ("initial", "data", "noise", "batch")


def stream(seed: int, cause: str) -> Array:
    """The key of one cause of randomness."""
    require(isinstance(seed, int) and seed >= 0, "seed must be a whole number >= 0", seed, "try seed=0")
    return jax.random.fold_in(jax.random.key(seed), CAUSES.index(cause))
