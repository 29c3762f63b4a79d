"""The derivative of a field that neurons make themselves: blocks on the diagonal, and a part of low rank.

    θ ↦ g_i(θ),     ∂g_i/∂θ_j = B_i δ_ij + L_i R_jᵀ
    (1 − ηJ) x = b:     x = A (b + η L z),   A = (1 − ηB)^{-1},   (1 − η Rᵀ A L) z = Rᵀ A b

    B   blocks   (n, D, D)    every neuron in the field as it is: for ∇Ψ, B_i = ∇²Ψ(θ_i; ρ)
    L   left     (n, D, K)    how the field acts on a neuron: ∇Φ_q(θ_i) p_q
    R   right    (n, D, K)    how a neuron changes the field: w_j ∇Φ_q(θ_j)
    η   eta                   a number > 0

Neurons meet in the Q features alone, so that a linear system costs O(n D³ + n D Q² + Q³), not O(n³ D³).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Curvature(NamedTuple):
    """B, L and R; see above."""

    blocks: Array
    left: Array
    right: Array

    def applied(self, to_columns: Callable[[Array], Array]) -> Curvature:
        """The derivative of T g, T a linear map of (n, D), from that of g."""
        each = jax.vmap(to_columns, in_axes=2, out_axes=2)
        return self._replace(blocks=each(self.blocks), left=each(self.left))

    def unmoved(self, fixed: Array) -> Curvature:
        """The derivative where some numbers (n, D) do not matter."""
        blocks, right = jnp.where(fixed[:, None], 0.0, self.blocks), jnp.where(fixed[..., None], 0.0, self.right)
        return self._replace(blocks=blocks, right=right)

    def solver(self, eta: Array) -> Callable[[Array], Array]:
        """b ↦ (1 − ηJ)^{-1} b, both (n, D)."""
        inverse = inverted(jnp.eye(self.blocks.shape[-1]) - eta * self.blocks)
        left = eta * inverse @ self.left  # η A L
        small = jnp.eye(left.shape[-1]) - jnp.tensordot(self.right, left, ((0, 1), (0, 1)))
        factors = jax.scipy.linalg.lu_factor(small)

        def solve(b: Array) -> Array:
            alone = jnp.einsum("nij,nj->ni", inverse, b)
            return alone + left @ jax.scipy.linalg.lu_solve(factors, jnp.tensordot(self.right, alone, ((0, 1), (0, 1))))

        return solve


def inverted(blocks: Array) -> Array:
    """Inverses of many small matrices (n, D, D), by Gauss and Jordan.

    Without pivots: 1 − ηB is similar to a positive matrix as long as η is below the time in which neurons part. Batched
    factorisations can wait for each other for ever on a CPU.
    """
    size = blocks.shape[-1]
    both = jnp.concatenate([blocks, jnp.broadcast_to(jnp.eye(size), blocks.shape)], axis=-1)

    def eliminate(k: Array, both: Array) -> Array:
        row = both[:, k] / both[:, k, k, None]
        return (both - both[:, :, k, None] * row[:, None]).at[:, k].set(row)

    return jax.lax.fori_loop(0, size, eliminate, both)[..., size:]


def dense(jacobian: Array) -> Curvature:
    """Any derivative, (n, D, n, D), as one without blocks."""
    n, D = jacobian.shape[:2]
    return Curvature(jnp.zeros((n, D, D)), jacobian.reshape(n, D, n * D), jnp.eye(n * D).reshape(n, D, n * D))
