"""Neurons in their own field: Mehler's series of a whole cloud, exact on the diagonal.

    ∂_a Ψ = f_a,   ∂_b Ψ = a f_b,   ∂_v Ψ = a f_r u + a Σ_{j≠i} l_j u_j Σ_c p_c τ_c Σ_{k≤K} c_ij^{k−1} k B_k(i) A_k(j)
    f_X = Σ_c p_c [X_0 (F_c − y_c) + π_i a_i (o_X − A_0 X_0)] + Σ_{j≠i} l_j Σ_c p_c Σ_{1≤k≤K} c_ij^k X_k(i) A_k(j)

    ρ = Σ_j π_j δ(θ_j),  l_j = π_j a_j,  F_c = Σ_j l_j A_0(j)
    v = base ∘ w = r u,  c_ij = ⟨u_i, u_j⟩,  deviation s_c = τ_c r of class c
    X = a:  X_k = A_k,                        o = E σ²
    X = b:  X_k = ∂A_k/∂m = √(k+1) B_{k+1},    o = ½ ∂E σ²/∂m
    X = r:  X_k = τ √((k+1)(k+2)) B_{k+2},     o = ½ τ ∂E σ²/∂s

This is (1/π_i) ∂/∂θ_i of ½R with the series cut at order K off the diagonal, finite also where π_i = 0 or w_i = 0:
∂A_k/∂s = √((k+1)(k+2)) B_{k+2} + k B_k, and its second term is written with u_j, in the sum over j.
Classes whose covariances are proportional, a family, share the cosines and one pass of Horner's rule:
O(n² d) for two matrix products and O(n² K) for the rest, in O(n²) memory. A lean pass takes the orders above 8, which
are small, in single precision; widelimit.potentials.series_bounds knows what it loses. R is symmetric in i and j: every
pair is met once, in blocks (widelimit.potentials.pair_panels), with the bound of what K orders leave out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import length
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.pair_kernels import RUN, SERIES_ORDER, mehler, unresolved
from widelimit.potentials.pair_panels import sum_pairs
from widelimit.potentials.smoothing import slopes, value
from widelimit.potentials.square_moments import mean_square, mean_square_slope
from widelimit.problem.activations import Activation
from widelimit.problem.data import DataLaw

LEAN_ORDER = 6 * RUN  # of a lean pass
BY_SINGLES = 1 + 1e-4  # a bound whose terms, all positive, are multiplied and added in single precision: with margin


class Family(NamedTuple):
    """Classes with proportional covariances.

    base   (d,)        standard deviations of the directions of x, the largest of them 1
    tau    (classes,)  the deviations in class c are τ_c · base
    p, y   (classes,)  probabilities and labels
    """

    base: Array
    tau: Array
    p: Array
    y: Array


class Neurons(NamedTuple):
    """Neurons as a family of classes sees them.

    a      (n,)            outer weights
    u      (n, d)          directions, 0 for w = 0
    m, s   (classes, n)    mean and deviation of the pre-activation
    b      (classes, n, …) B_1, B_2, …, two more of them than the series may have orders
    corr   (n, n)          cosines, 0 on the diagonal
    """

    a: Array
    u: Array
    m: Array
    s: Array
    b: Array
    corr: Array

    @property
    def order(self) -> int:
        """The highest that a series may have."""
        return self.b.shape[-1] - 2


def deviations(data: DataLaw) -> np.ndarray:
    """Standard deviation of every direction of x in every class, (classes, d)."""
    assert data.mixture is not None
    return np.concatenate([np.repeat(np.array([tau]), d, axis=0) for d, tau in data.mixture.groups]).T


def families(data: DataLaw) -> tuple[Family, ...]:
    """The classes, those with proportional covariances together; labels that belong to nodes are left out."""
    assert data.mixture is not None
    found: dict[bytes, list] = {}
    for scale, p, y in zip(deviations(data), data.mixture.p, data.mixture.y, strict=True):
        tau = scale.max()
        found.setdefault((scale / tau).tobytes(), []).append((tau, p, y))
    parts = [(np.frombuffer(base), *np.array(rows).T) for base, rows in found.items()]
    return tuple(Family(*map(jnp.asarray, part)) for part in parts)


def seen_by(family: Family, activation: Activation, a: Array, b: Array, w: Array, order: int = SERIES_ORDER) -> Neurons:
    """The neurons a σ(⟨w, x⟩ + b) in the coordinates of one family, for series up to ``order``."""
    v = w * family.base
    r = length(v)
    u = v / jnp.where(r > 0, r, 1.0)[:, None]
    s = jnp.asarray(family.tau)[:, None] * r
    corr = off_diagonal(jnp.clip(u @ u.T, -1.0, 1.0))
    m = jnp.broadcast_to(b, s.shape)
    return Neurons(a, u, m, s, slopes(activation, m, s, order + 2), corr)


def off_diagonal(x: Array) -> Array:
    """A square matrix with its diagonal set to 0."""
    i = jnp.arange(len(x))
    return jnp.where(i[:, None] == i, 0.0, x)


def orders_first(b: Array, order: int, shift: int, factor: Callable[[np.ndarray], np.ndarray]) -> Array:
    """factor(k) B_{k+shift} for k = 1, …, order, (order, classes, n), kept apart from the loop over pairs."""
    rows = factor(np.arange(1.0, order + 1)) * b[..., shift : shift + order]
    return jax.lax.optimization_barrier(jnp.moveaxis(rows, -1, 0))  # a transposition inside the loop would be slow


def field(
    family: Family, activation: Activation, runs: Array | int, at: Neurons, weights: Array, scalars: tuple[str, ...]
) -> tuple[dict[str, Array], Array]:
    """What one family adds to ∂Ψ/∂a and ∂Ψ/∂b, for those that exist, and to ∂Ψ/∂w, (n, d); K = 8 ``runs``,
    in a lean pass for neurons seen up to LEAN_ORDER."""
    order, lean = at.order, at.order <= LEAN_ORDER
    load, p, tau = weights * at.a, jnp.asarray(family.p)[:, None], jnp.asarray(family.tau)[:, None]
    b, mean = at.b, value(activation, at.m, at.s)
    own, by_m, by_s = _moments(activation, at)
    residual = mean @ load - family.y
    right = orders_first(b * at.s[..., None], order, 0, np.ones_like)

    def pairs(scale: Array, shift: int, factor: Callable[[np.ndarray], np.ndarray]) -> Array:
        return mehler(orders_first(b * scale[..., None], order, shift, factor), right, at.corr, runs, lean)

    def total(first: Array, moment: Array, rest: Array) -> Array:
        return jnp.sum(p * (first * residual[:, None] + load * (moment - mean * first)), 0) + (rest * at.corr) @ load

    scalar = {}
    if "a" in scalars:
        scalar["a"] = total(mean, own, pairs(p * at.s, 0, np.ones_like))
    if "b" in scalars:
        scalar["b"] = at.a * total(b[..., 0], by_m, pairs(p, 1, lambda k: np.sqrt(k + 1)))
    radial = pairs(p * tau, 2, lambda k: np.sqrt((k + 1) * (k + 2)))
    along = total(tau * math.sqrt(2) * b[..., 1], tau * by_s, radial)
    itself = jnp.sum(p * tau * at.s * b[..., 0] ** 2, 0)  # c^0 of the first order, on a diagonal of c = 0
    across = pairs(p * tau, 0, lambda k: k) @ (load[:, None] * at.u) - (itself * load)[:, None] * at.u
    return scalar, at.a[:, None] * (along[:, None] * at.u + across) * family.base


def _moments(activation: Activation, at: Neurons) -> tuple[Array, Array, Array]:
    """E σ², and half its derivatives in m and s, (classes, n) each."""
    own, pull = jax.vjp(partial(mean_square, activation), at.m, at.s)
    return own, *pull(jnp.full_like(own, 0.5))


def tails(activation: Activation, at: Neurons, orders: Array | np.ndarray) -> Array:
    """T = √(Σ_{k≥K} A'_k²) for every K of ``orders``, (orders, classes, n); E σ'² − Σ_{k<K} A'_k², where it is seen."""
    whole, k = mean_square_slope(activation, at.m, at.s), np.arange(1.0, at.order + 1)
    squares = at.b[..., : at.order] ** 2
    left = whole - jnp.einsum("cnk,ok->ocn", squares, jnp.where(k <= jnp.asarray(orders)[:, None], k, 0.0))
    return jnp.sqrt(jnp.maximum(left, unresolved(activation, whole)))


class CutRisk(NamedTuple):
    """R by Mehler's series, and a bound of what that leaves out (widelimit.potentials.series_bounds)."""

    value: Array
    left_out: Array


class PairLoads(NamedTuple):
    """What two neurons need to meet: l A_k (orders, classes, n), and |l| t for K = 8, 16, … (runs, classes, n)."""

    terms: Array
    push: Array


class RiskParts(NamedTuple):
    """What one family adds to R: Σ_c p_c [(y_c − F_c)² + Σ_i l_i² (E σ² − A_0²)], and what the pairs need.

    own     the sum without the pairs
    p       (classes, 1)
    u       (n, d)
    loads   of the neurons
    """

    own: Array
    p: Array
    u: Array
    loads: PairLoads

    @property
    def left_out_at_random(self) -> Array:
        """What is left out at K = 8, 16, …, if directions are random: Σ_c p_c (Σ_i |l_i| t_i)² M_K(d)/(K + 1)."""
        K, d = RUN * np.arange(1, len(self.loads.push) + 1), self.u.shape[1]
        moments = jnp.asarray([angle_moment(int(k), d) for k in K]) / (K + 1)
        return moments * (jnp.sum(self.loads.push, axis=-1) ** 2 @ self.p[:, 0])

    def cut(self, runs: Array | int) -> CutRisk:
        """With Σ_c p_c Σ_{i≠j} l_i l_j Σ_{1≤k≤K} c_ij^k A_k(i) A_k(j), K = 8 ``runs``, which may be traced."""
        order = RUN * jnp.asarray(runs)
        push = jax.lax.dynamic_index_in_dim(self.loads.push, jnp.asarray(runs) - 1, keepdims=False)
        most = jnp.maximum(jnp.max(push), jnp.finfo(float).tiny)

        def pairs(corr: Array, i: PairLoads, j: PairLoads) -> Array:
            series = mehler(i.terms * self.p, j.terms, corr, runs) * corr
            mine, power = (i.push * self.p).astype(jnp.float32), _power(corr.astype(jnp.float32), runs)
            return jnp.stack([jnp.sum(series, axis=0), jnp.sum((mine @ power) * j.push, axis=0)])

        series, left_out = sum_pairs(pairs, self.u, PairLoads(self.loads.terms, push / most))
        return CutRisk(self.own + series, BY_SINGLES * most**2 * left_out / (order + 1))


def risk_parts(family: Family, activation: Activation, at: Neurons, weights: Array) -> RiskParts:
    """All of R that does not depend on where the series is cut."""
    load, p = weights * at.a, jnp.asarray(family.p)[:, None]
    mean = value(activation, at.m, at.s)
    diagonal = (mean_square(activation, at.m, at.s) - mean**2) @ load**2
    terms = orders_first(at.b * (load * at.s)[..., None], at.order, 0, np.ones_like)
    push = jnp.abs(load) * at.s * tails(activation, at, np.arange(RUN, at.order + 1, RUN))
    return RiskParts(p[:, 0] @ ((family.y - mean @ load) ** 2 + diagonal), p, at.u, PairLoads(terms, push))


def _power(corr: Array, runs: Array | int) -> Array:
    """c^K of K = 8 ``runs``."""
    one = jax.lax.integer_pow(corr, RUN)
    return jax.lax.fori_loop(1, runs, lambda _, power: power * one, one)
