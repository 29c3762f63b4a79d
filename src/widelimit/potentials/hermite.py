"""Orthonormal Hermite polynomials and the moments of random angles.

h_k = He_k/√k!,    √(k+1) h_{k+1}(x) = x h_k(x) − √k h_{k−1}(x)
M_k(d) = E cos^k(angle of two random directions in R^d) = Γ((k+1)/2) Γ(d/2) / (Γ(1/2) Γ((d+k)/2)), k even
"""

from __future__ import annotations

import math
from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array

ArrayLike = TypeVar("ArrayLike", np.ndarray, Array)


def orthonormal_hermite(x: ArrayLike, order: int) -> ArrayLike:
    """h_0(x), …, h_order(x), stacked on a new last axis; NumPy in, NumPy out."""
    columns = [0 * x + 1, x][: order + 1]
    for k in range(1, order):
        columns.append((x * columns[k] - math.sqrt(k) * columns[k - 1]) / math.sqrt(k + 1))
    return np.stack(columns, axis=-1) if isinstance(x, np.ndarray) else jnp.stack(columns, axis=-1)


def angle_moment(k: int, d: float) -> float:
    """M_k(d); 0 for odd k, and for every k > 0 at d = ∞.

    >>> angle_moment(2, 40)
    0.025
    """
    if k == 0:
        return 1.0
    if k % 2 or math.isinf(d):
        return 0.0
    return math.prod((2 * j + 1) / (d + 2 * j) for j in range(k // 2))
