"""A function that JAX compiles once, on NumPy arrays of any shape."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
from jax import Array

CHUNK = 1 << 14  # points handed to the function at a time


def on_host(function: Callable[[Array], Array]) -> Callable[[np.ndarray], np.ndarray]:
    """The function on NumPy arrays; it takes points (n,) to values (…, n), the arrays any shape to (…, shape)."""
    compiled = jax.jit(function)

    def call(x: np.ndarray) -> np.ndarray:
        parts = np.resize(x, (-(-max(x.size, 1) // CHUNK), CHUNK))
        values = np.concatenate([compiled(part) for part in parts], axis=-1)[..., : x.size]
        return values.reshape(*values.shape[:-1], *x.shape)

    return call
