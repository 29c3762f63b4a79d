"""Orthonormal Hermite polynomials and the moments of random angles.

h_k = He_k/√k!,    √(k+1) h_{k+1}(x) = x h_k(x) − √k h_{k−1}(x)
M_k(d) = E cos^k(angle of two random directions in R^d) = Γ((k+1)/2) Γ(d/2) / (Γ(1/2) Γ((d+k)/2)), k even
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.product_families import Index

SHORT = 8  # terms
ArrayLike = TypeVar("ArrayLike", np.ndarray, Array)


def orthonormal_hermite(x: ArrayLike, order: int) -> ArrayLike:
    """h_0(x), …, h_order(x), stacked on a new last axis; NumPy in, NumPy out."""
    first = [0 * x + 1, x][: order + 1]
    if isinstance(x, np.ndarray):
        for k in range(1, order):
            first.append(_next(x, first[-2], first[-1], k))
        return np.stack(first, axis=-1)
    return _recurrence(x, first, order, lambda h: h)


def hermite_products(z: np.ndarray, chosen: Sequence[Index]) -> np.ndarray:
    """Π_i h_{α_i}(z_i) at rows z (n, k), (n, number of indices)."""
    result = np.ones((len(z), len(chosen)))
    for i in range(z.shape[1]):
        degrees = [alpha[i] for alpha in chosen]
        result *= orthonormal_hermite(z[:, i], max(*degrees, 1))[:, degrees]
    return result


def hermite_sums(x: Array, c: Array, order: int) -> Array:
    """Σ_j c_j h_k(x_j) over the first axis of x and c, for k = 0, …, order on a new last axis."""
    first = [0 * x + 1, x][: order + 1]
    return _recurrence(x, first, order, lambda h: short_sum(c * h))


def short_sum(terms: Array) -> Array:
    """Σ over the first axis; of few terms written out, since a reduction of so short an axis makes the sums over nodes
    around it up to five times slower."""
    return sum(terms[1:], terms[0]) if len(terms) <= SHORT else jnp.sum(terms, axis=0)


def _recurrence(x: Array, first: list[Array], order: int, seen: Callable[[Array], Array]) -> Array:
    """What is ``seen`` of h_0(x), …, h_order(x), stacked on a new last axis."""
    beginning = jnp.stack([seen(h) for h in first], axis=-1)
    if order < 2:
        return beginning

    def step(last: tuple[Array, Array], k: Array) -> tuple[tuple[Array, Array], Array]:
        following = _next(x, *last, k)
        return (last[1], following), seen(following)

    _, rest = jax.lax.scan(step, (first[0], first[1]), jnp.arange(1.0, order))
    return jnp.concatenate([beginning, jnp.moveaxis(rest, 0, -1)], axis=-1)


def _next(x: Any, before: Any, last: Any, k: Any) -> Any:
    """h_{k+1} from h_{k−1} and h_k."""
    return (x * last - k**0.5 * before) / (k + 1) ** 0.5


def angle_moment(k: int, d: float) -> float:
    """M_k(d), d may be traced; 0 for odd k, and for every k > 0 at d = ∞.

    >>> angle_moment(2, 40)
    0.025
    """
    if k == 0:
        return 1.0
    if k % 2:
        return 0.0
    return math.prod((2 * j + 1) / (d + 2 * j) for j in range(k // 2))
