"""What Mehler's series of a cloud leaves out when it is cut at order K = 8, 16, …, 104.

    |R − R_K| ≤ Σ_c p_c Σ_{i≠j} |c_ij|^K |l_i| t_i |l_j| t_j/(K + 1)          found with R_K, in pair_series.risk
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
an error of ∇Ψ is compared. The sums over j are bounded for all orders at once, by one matrix product:
    Σ_{j≠i} |c_ij|^K |l_j| t_j ≤ (max_j |c_ij|)^{K−4} Σ_{j≠i} c_ij⁴ |l_j| t_j

A lean pass takes the orders k > 8 in single precision, u = 2^{−24}. Horner's rule multiplies order k by at most
2(k − 8) + 5 rounded factors, its c^k by k more, so that run r = 1, 2, …, of k = 8r + 1, …, 8r + 8, loses at most
(24 r + 21) u times what is left after K = 8r.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.pair_kernels import RUN, SERIES_ORDER
from widelimit.potentials.pair_series import LEAN_ORDER, Family, Neurons, tails
from widelimit.potentials.square_moments import mean_square_slope
from widelimit.problem.activations import Activation

ORDERS = np.arange(RUN, SERIES_ORDER + 1, RUN)  # K, for 1, 2, … runs of orders


SINGLE = 2.0**-24  # unit roundoff


class Bounds(NamedTuple):
    """What one family adds to the bound of ∇Ψ_i (orders, n), and to its scale (n,)."""

    gradient: Array
    scale: Array


def bounds(family: Family, activation: Activation, at: Neurons, weights: Array, scalars: tuple[str, ...]) -> Bounds:
    """The bounds of every order in ORDERS up to that of the neurons."""
    load, p, tau = jnp.abs(weights * at.a), jnp.asarray(family.p)[:, None], jnp.asarray(family.tau)[:, None]
    has_a, has_b = "a" in scalars, "b" in scalars
    whole = mean_square_slope(activation, at.m, at.s)
    orders = ORDERS[at.order >= ORDERS]
    K = orders[:, None, None]

    def arm(cut: Array, kappa: np.ndarray | float, K: np.ndarray | int) -> Array:
        return jnp.abs(at.a) * cut * (kappa * tau + has_b / np.sqrt(K + 1)) + has_a * at.s * cut / (K + 1)

    cut = tails(activation, at, orders)
    push = load * at.s * cut
    near = (at.corr**4 @ push.reshape(-1, push.shape[-1]).T).T.reshape(push.shape)  # this way round: 8 times as fast
    pull = jnp.max(jnp.abs(at.corr), axis=1) ** (K - 4.0) * near
    kappa = 1 + np.sqrt((K + 2) / (K + 1))
    whole_cut = jnp.sqrt(whole)
    return Bounds(
        jnp.sum(p * arm(cut, kappa, K) * pull, axis=1),
        jnp.sum(p * arm(whole_cut, 1.0, 0) * ((at.s * whole_cut) @ load)[:, None], axis=0),
    )  # fmt: skip


def of_lean_passes(errors: np.ndarray) -> np.ndarray:
    """The errors of lean passes of 1, 2, … runs from those of passes in double precision, (runs,)."""
    r = np.arange(1, LEAN_ORDER // RUN)
    rounded = SINGLE * (24 * r + 21) * errors[: len(r)]
    return errors[: len(r) + 1] + np.concatenate([[0.0], np.cumsum(rounded)])
