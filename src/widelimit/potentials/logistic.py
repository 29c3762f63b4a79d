"""Smoothed logistic activations: sigmoid, tanh, softplus, silu and gelu through a mixture of normal laws.

    F(x) = Σ_i ω_i Φ(x/τ_i),      sigmoid = F,   tanh = 2F(2·) − 1,   softplus' = F,   silu = xF,   gelu = xΦ (one node)
    c_i = √(τ_i² + s²),  q_i = 1/c_i²,  z_i = m/c_i
    E F(m + sG)       = Σ_i ω_i Φ(z_i)
    E F^{(j)}(m + sG) = Σ_i p_{j,i},   p_1 = ω φ(z)/c,   p_{j+1} = −q (m p_j + (j−1) p_{j−1})
    B_k = s^{k−1}/√k! E σ^{(k)}(m + sG)                 the factor s is carried along in the recurrence, as u below
    x F:  B_k = m B_k^F + s √(k+1) B_{k+1}^F + √k A_{k−1}^F,      E x f = m E f + s² E f'

    m, s  mean and deviation of the pre-activation, one shape        τ, ω  tau, omega  (nodes,)
    u     unit of the derivatives: u^{j−1} E F^{(j)}                 T     Owen's function, E Φ² = Φ − 2T

The logistic law is a scale mixture of normal laws, τ = 2K with K of Kolmogorov's law, of density
    k(y) = 8y Σ_j (−1)^{j+1} j² e^{−2j²y²} = √(2π) Σ_j (2a_j/y⁴ − 1/y²) e^{−a_j/y²},   a_j = (2j−1)² π²/8
Scheme: trapezoidal rule in log y, 26 nodes on [−1.65, 1.4]: F, its integral and its slope err by less than 3e−16.
Squares: F² = F − F',  tanh² = 1 − tanh',  F'² = (F' − F''')/6,  tanh'² = (4 tanh' − tanh''')/6,  F F' = (F' − F'')/2.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.integrals import gauss
from widelimit.potentials.chunks import by_chunks
from widelimit.potentials.normal import density, tail
from widelimit.potentials.quadrature import mean_value
from widelimit.problem.activations import General
from widelimit.problem.activations.smooth import Kind

KINDS: tuple[Kind, ...] = ("sigmoid", "tanh", "softplus", "silu", "gelu")
NODES, LEFT, RIGHT = 26, -1.65, 1.4
ROWS = 512  # points at a time, so that a node's numbers stay in the cache
UNROLLED = 24  # orders written out one by one


class ScaleMixture(NamedTuple):
    """Σ_i ω_i Φ(x/τ_i)."""

    tau: np.ndarray
    omega: np.ndarray


def value(kind: Kind, m: Array, s: Array) -> Array:
    """A_0 = E σ(m + sG)."""
    if kind == "softplus":
        tau, omega = mixture(kind)
        c = jnp.sqrt(tau**2 + (s * s)[..., None])
        size = jnp.abs(m)[..., None]
        return jnp.maximum(m, 0.0) + jnp.sum(omega * (c * density(size / c) - size * tail(size / c)), axis=-1)
    if kind in ("silu", "gelu"):
        return m * _level(kind, m, s) + s * s * derivatives(kind, m, s, 1)[..., 0]
    return _level(kind, m, s)


def slopes(kind: Kind, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order, stacked on a new last axis."""
    if kind in ("silu", "gelu"):
        return _slopes_times_x(m, s, _level(kind, m, s), _inner_slopes(kind, m, s, order + 1))
    if kind == "softplus":  # B_1 = E F, B_k = A_{k−1}^F/√k
        first = _level(kind, m, s)[..., None]
        if order == 1:
            return first
        higher = s[..., None] * _inner_slopes(kind, m, s, order - 1) / np.sqrt(np.arange(2.0, order + 1))
        return jnp.concatenate([first, higher], axis=-1)
    return _inner_slopes(kind, m, s, order)


def mean_square(kind: Kind, m: Array, s: Array) -> Array:
    """E σ(m + sG)²."""
    if kind == "tanh":
        return _square_of_tanh(m, s)
    if kind == "softplus":
        return mean_value(SOFTPLUS_SQUARED, m, s)
    if kind == "gelu":
        return _times_x_squared(m, s, _square_of_normal(m, s))
    d = derivatives(kind, m, s, 3)
    square = _level(kind, m, s) - d[..., 0]  # of F
    return square if kind == "sigmoid" else _times_x_squared(m, s, (square, *_columns(d[..., :2] - d[..., 1:])))


def mean_square_slope(kind: Kind, m: Array, s: Array) -> Array:
    """E σ'(m + sG)²."""
    if kind == "gelu":
        return _square_of_gelu_slope(m, s)
    d = derivatives(kind, m, s, 5)
    first, second, third = (d[..., j] for j in range(3))
    if kind == "tanh":
        return (4 * first - third) / 6
    if kind == "sigmoid":
        return (first - third) / 6
    square = _level(kind, m, s) - first  # of F
    if kind == "softplus":
        return square
    cross = m * (first - second) + s * s * (second - third)  # E x (F' − F'')
    return square + cross + _times_x_squared(m, s, _columns(d[..., :3] - d[..., 2:])) / 6


@lru_cache(maxsize=8)
def mixture(kind: Kind) -> ScaleMixture:
    """The nodes of F for a kind; for tanh those of x ↦ sigmoid(2x)."""
    if kind == "gelu":
        return ScaleMixture(np.ones(1), np.ones(1))
    y = np.exp(np.linspace(LEFT, RIGHT, NODES))
    j = np.arange(1, 12)[:, None]
    a = ((2 * j - 1) * math.pi) ** 2 / 8
    near = math.sqrt(2 * math.pi) * np.sum((2 * a / y**4 - 1 / y**2) * np.exp(-a / y**2), axis=0)
    far = 8 * y * np.sum((-1.0) ** (j + 1) * j**2 * np.exp(-2 * j**2 * y**2), axis=0)
    omega = y * np.where(y < 0.6, near, far)
    return ScaleMixture(y if kind == "tanh" else 2 * y, omega / omega.sum())


def derivatives(kind: Kind, m: Array, s: Array, count: int) -> Array:
    """E F^{(j)}(m + sG) for j = 1, …, count on a new last axis, F being tanh itself for tanh."""
    return _bells(kind, m, s, jnp.ones_like(m), count)


def _level(kind: Kind, m: Array, s: Array) -> Array:
    """E F(m + sG); an odd function for tanh, without cancellation at 0."""
    tau, omega = mixture(kind)
    x = m[..., None] / jnp.sqrt(2 * (tau**2 + (s * s)[..., None]))
    return jnp.sum(omega * (jax.lax.erf(x) if kind == "tanh" else 0.5 * jax.lax.erfc(-x)), axis=-1)


def _inner_slopes(kind: Kind, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order of F."""
    roots = np.array([math.sqrt(math.factorial(k)) for k in range(1, order + 1)])
    return _bells(kind, m, s, s, order) / roots


def _bells(kind: Kind, m: Array, s: Array, unit: Array, count: int) -> Array:
    """u^{j−1} E F^{(j)}(m + sG), j = 1, …, count, a bounded number of points at a time."""
    rows = jnp.stack([m * m, s * s, unit * m, unit * unit], axis=-1).reshape(-1, 4)
    return by_chunks(partial(_bells_of_rows, kind, count), rows, ROWS).reshape(*m.shape, count)


def _bells_of_rows(kind: Kind, count: int, rows: Array) -> Array:
    """u^{j−1} E F^{(j)}, j = 1, …, count, of points given as rows (m², s², um, u²); (rows, count)."""
    tau, omega = map(jnp.asarray, mixture(kind))
    m2, s2, um, u2 = (rows[:, j, None] for j in range(4))
    q = 1 / (tau**2 + s2)
    by_last, by_before = -um * q, -u2 * q
    height = (2 if kind == "tanh" else 1) * omega / math.sqrt(2 * math.pi)
    p, ones = height * jnp.sqrt(q) * jnp.exp(-0.5 * m2 * q), jnp.ones(len(tau))

    def step(last: tuple[Array, Array], j: Array | float) -> tuple[tuple[Array, Array], Array]:
        before, p = last
        return (p, by_last * p + ((j - 1) * by_before) * before), p @ ones

    last = (jnp.zeros_like(p), p)
    if count > UNROLLED:
        return jax.lax.scan(step, last, jnp.arange(1.0, count + 1), unroll=4)[1].T
    sums = []
    for j in range(1, count + 1):
        last, total = step(last, j)
        sums.append(total)
    return jnp.stack(sums, axis=-1)


def _slopes_times_x(m: Array, s: Array, level: Array, b: Array) -> Array:
    """B_1, …, B_order of xF from E F and B_1, …, B_{order+1} of F."""
    roots = np.sqrt(np.arange(1.0, b.shape[-1] + 1))
    below = jnp.concatenate([level[..., None], s[..., None] * b[..., :-2]], axis=-1)  # A_{k−1}
    return m[..., None] * b[..., :-1] + s[..., None] * roots[1:] * b[..., 1:] + roots[:-1] * below


def _columns(x: Array) -> tuple[Array, ...]:
    return tuple(x[..., j] for j in range(x.shape[-1]))


def _times_x_squared(m: Array, s: Array, f: tuple[Array, ...]) -> Array:
    """E x² f(x) at x = m + sG, from E f, E f', E f''."""
    variance = s * s
    return (m * m + variance) * f[0] + variance * (2 * m * f[1] + variance * f[2])


def _square_of_tanh(m: Array, s: Array) -> Array:
    """1 − E tanh' with Σ 2ωφ(0)/τ = 1 put in the place of 1: a sum of positive terms."""
    tau, omega = mixture("tanh")
    variance = (s * s)[..., None]
    c = jnp.sqrt(tau**2 + variance)
    spread = variance / ((c + tau) * tau)  # c/τ − 1
    bend = jnp.expm1(-0.5 * (m * m)[..., None] / c**2)
    return jnp.sum(2 * omega / (math.sqrt(2 * math.pi) * c) * (spread - bend), axis=-1)


def owen(h: Array, a: Array) -> Array:
    """T(h, a) = (1/2π) ∫_0^a e^{−h²(1+x²)/2}/(1+x²) dx for 0 ≤ a ≤ 1, by 20 Gauss points."""
    x, w = gauss(20)
    square = 1 + (a[..., None] * (x + 1) / 2) ** 2
    return a / (4 * math.pi) * jnp.sum(w * jnp.exp(-0.5 * (h * h)[..., None] * square) / square, axis=-1)


def _square_of_normal(m: Array, s: Array) -> tuple[Array, Array, Array]:
    """E f, E f', E f'' of f = Φ²:  f' = 2φΦ,  f'' = 2φ² − 2xφΦ."""
    z = m / jnp.sqrt(1 + s * s)
    level = tail(-z) - 2 * owen(z, 1 / jnp.sqrt(1 + 2 * s * s))
    bell, tilted = _bell_times_normal(m, s)
    return level, 2 * bell, 2 * (_squared_bell(m, s)[0] - tilted)


def _bell_times_normal(m: Array, s: Array) -> tuple[Array, Array]:
    """E φΦ and E xφΦ: φ times the law of x is a normal law around m/(1+s²) of variance s²/(1+s²)."""
    c = 1 + s * s
    mean, root = m / c, jnp.sqrt(1 + s * s / c)
    mass = density(m / jnp.sqrt(c)) / jnp.sqrt(c)
    level = tail(-mean / root)
    return mass * level, mass * (mean * level + s * s / (c * root) * density(mean / root))


def _squared_bell(m: Array, s: Array) -> tuple[Array, Array]:
    """E φ² and E x²φ²."""
    c = 1 + 2 * s * s
    mass = jnp.exp(-m * m / c) / (2 * math.pi * jnp.sqrt(c))
    return mass, mass * ((m / c) ** 2 + s * s / c)


def _square_of_gelu_slope(m: Array, s: Array) -> Array:
    """E (Φ + xφ)²."""
    return _square_of_normal(m, s)[0] + 2 * _bell_times_normal(m, s)[1] + _squared_bell(m, s)[1]


SOFTPLUS_SQUARED = General(lambda x: jax.nn.softplus(x) ** 2, (), "softplus²")  # no identity is known
