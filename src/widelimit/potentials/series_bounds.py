"""What Mehler's series of a cloud leaves out when it is cut at order K.

    |R − R_K| ≤ Σ_c p_c Σ_{i≠j} |c_ij|^K |l_i| t_i |l_j| t_j/(K + 1)
    |∇Ψ_i − ∇Ψ_{i,K}| ≤ Σ_c p_c [|a_i| T_i (κ τ_c + 1_b/√(K+1)) + 1_a t_i/(K + 1)] Σ_{j≠i} |c_ij|^K |l_j| t_j
    S = max_i Σ_c p_c [|a_i| T⁰_i (τ_c + 1_b) + 1_a t⁰_i] Σ_j |l_j| t⁰_j

    T² = Σ_{k≥K} A'_k² = E σ'² − Σ_{k<K} A'_k²,  t = s T;   T⁰, t⁰ the same at K = 0
    A'_k = E[σ'(m + sG) h_k(G)] = √(k+1) B_{k+1},  κ = 1 + √((K+2)/(K+1));   1_a, 1_b: 1 if θ has a, b

Stein's identity √k A_k = s A'_{k−1} turns every tail into one of A', then Cauchy–Schwarz. With v = s u, the tail of
∇_v is Σ_{k>K} A_k(j) [c^k ∂_s A_k u + k c^{k−1} (A_k/s) (u_j − c u)], where
    Σ_{k>K} k c^{k−1} (A_k/s) A_k(j) = s_j Σ_{k≥K} c^k A'_k A'_k(j)                           ≤ |c|^K T t_j
    ∂_s A_k = √(k+1) A'_{k+1} + √k A'_{k−1},  Σ_{k>K} c^k ∂_s A_k A_k(j)                     ≤ κ |c|^{K+1} T t_j
and u_j − c u ⊥ u has length √(1 − c²), so that its length is at most κ |c|^K T t_j. Those of ∂_b and ∂_a follow from
Σ_{k>K} A_k² ≤ t²/(K + 1). S is the size the same sum would have, uncut, were all neurons parallel: the scale to which
an error of ∇Ψ is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.pair_kernels import SERIES_ORDER
from widelimit.potentials.pair_series import Family, Neurons
from widelimit.potentials.smoothing import slopes
from widelimit.potentials.square_moments import mean_square_slope
from widelimit.problem.activations import Activation

ROUNDING = 1e-13  # of E σ'², below which its tail is not resolved

Bounds = Callable[[Any], tuple[Array, Array]]


def bounds(
    family: Family, activation: Activation, at: Neurons, weights: Array, scalars: tuple[str, ...]
) -> tuple[Bounds, Array]:
    """K ↦ what one family adds to the bounds of R and of ∇Ψ_i, (n,); and what it adds to the scale of ∇Ψ_i, (n,)."""
    load, p, tau = jnp.abs(weights * at.a), jnp.asarray(family.p)[:, None], jnp.asarray(family.tau)[:, None]
    has_a, has_b = "a" in scalars, "b" in scalars
    whole = mean_square_slope(activation, at.m, at.s)
    k = np.arange(1.0, SERIES_ORDER + 1)
    squares = slopes(activation, at.m, at.s, SERIES_ORDER) ** 2

    decay = jnp.log(jnp.abs(at.corr))  # once for all orders

    def arm(cut: Array, kappa: Any, order: Any) -> Array:
        return jnp.abs(at.a) * cut * (kappa * tau + has_b / jnp.sqrt(order + 1)) + has_a * at.s * cut / (order + 1)

    def beyond(order: Any) -> tuple[Array, Array]:
        left = whole - squares @ jnp.where(k <= order, k, 0.0)
        cut = jnp.sqrt(jnp.maximum(left, ROUNDING * whole))
        push = load * at.s * cut
        pull = push @ jnp.exp(order * decay)
        kappa = 1 + jnp.sqrt((order + 2) / (order + 1))
        return jnp.sum(p * push * pull) / (order + 1), jnp.sum(p * arm(cut, kappa, order) * pull, axis=0)

    cut = jnp.sqrt(whole)
    return beyond, jnp.sum(p * arm(cut, 1.0, 0.0) * ((at.s * cut) @ load)[:, None], axis=0)


def climb(error: Callable[[Array], Array], orders: Array, limits: Array) -> tuple[Array, Array]:
    """The position of the first order whose errors are within the limits (the last, if none is), and its errors."""

    def is_large(state: tuple[Array, Array]) -> Array:
        return (state[0] + 1 < len(orders)) & ~jnp.all(state[1] <= limits)

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return state[0] + 1, error(orders[state[0] + 1])

    return jax.lax.while_loop(is_large, step, (jnp.zeros((), int), error(orders[0])))
