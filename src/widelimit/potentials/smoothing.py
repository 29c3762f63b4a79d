"""Smoothed activations: σ seen through Gaussian noise.

    A_k(m, s) = E[σ(m + sG) h_k(G)],   G ~ N(0, 1),  k = 0, 1, 2, …
    B_k(m, s) = A_k/s = E[σ'(m + sG) h_{k−1}(G)]/√k,  k = 1, 2, …       finite at s = 0

    m   mean of the pre-activation                 any shape
    s   its standard deviation, s ≥ 0              same shape
    A   smoothed(...), orders on a new last axis   (…, order + 1)

Closed forms. Piecewise linear, z_j = (t_j − m)/s, no cancellation between far knots:
    A_0 = σ(m) + s Σ_j δ_j ψ(|z_j|),      A_1 = s [σ'(m) + Σ_j δ_j sgn(z_j) Φ̄(|z_j|)]
    A_k = s Σ_j δ_j φ(z_j) h_{k−2}(z_j)/√(k(k−1))
erf, with c² = 1 + 2s²:   A_k = (2/√π) (−1)^{k−1} (s/c)^k √(2^{k−1}/k) h_{k−1}(√2 m/c) e^{−m²/c²},  A_0 = erf(m/c)
    B_{k+1} = −(2s/c²) [m B_k/√(k+1) + (k−1) s B_{k−1}/√(k(k+1))],   B_1 = (2/√π) e^{−m²/c²}/c
sin, cos:                 A_k = s^k/√k! e^{−s²/2} σ^{(k)}(m)
polynomial:               A_k = s^k/√k! Σ_j s^{2j} σ^{(k+2j)}(m)/(2^j j!)
exp:                      A_k = s^k/√k! e^{m + s²/2}
part, σ = c ς(αx + β):    A_k(m, s) = c sgn(α)^k A_k^ς(αm + β, |α| s);   a sum has the sum of those of its parts
The logistic family (sigmoid, tanh, softplus, silu, gelu) is in widelimit.potentials.logistic; general functions are
integrated in widelimit.potentials.quadrature.

Derivatives, exact for every σ (Stein's identity and the recurrence of h_k):
    ∂A_k/∂m = √(k+1) B_{k+1},      ∂A_k/∂s = √((k+1)(k+2)) B_{k+2} + k B_k
"""

from __future__ import annotations

import math
from functools import partial, singledispatch
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials import logistic
from widelimit.potentials.hermite import hermite_sums, short_sum
from widelimit.potentials.normal import FAR, density, hinge, tail
from widelimit.potentials.quadrature import mean_value, scaled_slopes
from widelimit.problem.activations import (
    Activation,
    ErrorFunction,
    ExponentialFunction,
    General,
    Hinges,
    Logistic,
    Part,
    Polynomial,
    Sinusoid,
    Sum,
)


def smoothed(activation: Activation, order: int, m: Array, s: Array) -> Array:
    """A_0, …, A_order at (m, s), stacked on a new last axis; differentiable in m and s."""
    return _smoothed(order, activation, m, s)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _smoothed(order: int, activation: Activation, m: Array, s: Array) -> Array:
    first = value(activation, m, s)[..., None]
    if order == 0:
        return first
    return jnp.concatenate([first, s[..., None] * slopes(activation, m, s, order)], axis=-1)


@_smoothed.defjvp
def _(order: int, at: tuple[Activation, Array, Array], moves: tuple[Activation, Array, Array]) -> tuple[Array, Array]:
    activation, m, s = at
    dm, ds = (move[..., None] for move in moves[1:])
    b = slopes(activation, m, s, order + 2)  # b[..., k−1] is B_k
    k = jnp.arange(order + 1.0)
    by_m = jnp.sqrt(k + 1) * b[..., : order + 1]
    by_s = jnp.sqrt((k + 1) * (k + 2)) * b[..., 1:]
    by_s = by_s.at[..., 1:].add(k[1:] * b[..., :order])
    first = value(activation, m, s)[..., None]
    return jnp.concatenate([first, s[..., None] * b[..., :order]], axis=-1), by_m * dm + by_s * ds


@singledispatch
def value(activation: Activation, m: Array, s: Array) -> Array:
    """A_0(m, s) = E σ(m + sG)."""
    raise TypeError(f"no smoothing is known for {activation!r}")


@singledispatch
def slopes(activation: Activation, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order at (m, s), stacked on a new last axis."""
    raise TypeError(f"no smoothing is known for {activation!r}")


class KnotScores(NamedTuple):
    """Distances t_j − m and scores z_j of the knots on a new first axis, and the jumps δ_j."""

    gap: Array
    z: Array
    jumps: Array


def knot_scores(activation: Hinges, m: Array, s: Array) -> KnotScores:
    """Where the knots lie, seen from (m, s).

    As a last axis, of one or two knots, they would be the inner loop of every sum over nodes.
    """
    knots, jumps = (jnp.reshape(jnp.asarray(x), (-1, *[1] * m.ndim)) for x in (activation.knots, activation.jumps))
    gap = knots - m
    spread = jnp.where(s > 0, s, 1.0)
    ends = jnp.where(gap == 0, 0.0, FAR * jnp.sign(gap))
    return KnotScores(gap, jnp.where(s > 0, jnp.clip(gap / spread, -FAR, FAR), ends), jumps)


@value.register
def _(activation: Hinges, m: Array, s: Array) -> Array:
    _, z, jumps = knot_scores(activation, m, s)
    return activation(m) + s * short_sum(jumps * hinge(jnp.abs(z)))


@slopes.register
def _(activation: Hinges, m: Array, s: Array, order: int) -> Array:
    gap, z, jumps = knot_scores(activation, m, s)
    # a knot at m itself counts half: its jump times Φ̄(0)
    local = activation.slope + short_sum(jumps * jnp.where(gap < 0, 1.0, 0.0))
    side = jnp.where(gap < 0, -1.0, 1.0)
    first = local + short_sum(jumps * side * tail(jnp.abs(z)))
    if order == 1:
        return first[..., None]
    k = jnp.arange(2, order + 1)
    higher = hermite_sums(z, jumps * density(z), order - 2) / jnp.sqrt(k * (k - 1.0))
    return jnp.concatenate([first[..., None], higher], axis=-1)


@value.register
def _(activation: ErrorFunction, m: Array, s: Array) -> Array:
    return activation(m / jnp.sqrt(1 + 2 * s * s))


@slopes.register
def _(activation: ErrorFunction, m: Array, s: Array, order: int) -> Array:
    q = 2 / (1 + 2 * s * s)
    first = jnp.sqrt(2 * q / math.pi) * jnp.exp(-0.5 * q * m * m)
    k = np.arange(1.0, order + 1)
    factors = np.stack([1 / np.sqrt(k + 1), (k - 1) / np.sqrt(k * (k + 1))], axis=1)

    def step(last: tuple[Array, Array], by: Array) -> tuple[tuple[Array, Array], Array]:
        before, b = last
        return (b, -q * s * (by[0] * m * b + by[1] * s * before)), b

    _, found = jax.lax.scan(step, (jnp.zeros_like(first), first), jnp.asarray(factors))
    return jnp.moveaxis(found, 0, -1)


def _derivatives(activation: Polynomial | Sinusoid, m: Array, count: int) -> list[Array]:
    """σ(m), σ'(m), …, count of them."""
    if isinstance(activation, Sinusoid):
        return [Sinusoid(activation.quarter + k)(m) for k in range(count)]
    table, derivative = [], activation
    for _ in range(count):
        table.append(derivative(m))
        derivative = slope_of(derivative)
    return table


def slope_of(polynomial: Polynomial) -> Polynomial:
    """σ'."""
    powers = tuple(j * c for j, c in enumerate(polynomial.coefficients))[1:]
    return Polynomial.trusted(coefficients=powers or (0.0,))


@value.register
def _(activation: Sinusoid, m: Array, s: Array) -> Array:
    return jnp.exp(-0.5 * s * s) * activation(m)


@slopes.register
def _(activation: Sinusoid, m: Array, s: Array, order: int) -> Array:
    cycle = jnp.stack(_derivatives(activation, m, 5)[1:], axis=-1)  # after four derivatives they come back
    waves = jnp.concatenate([cycle] * -(-order // 4), axis=-1)[..., :order]
    return _powers(s, order) * (jnp.exp(-0.5 * s * s)[..., None] * waves)


def _powers(s: Array, order: int) -> Array:
    """s^{k−1}/√k!, k = 1, …, order, on a new last axis."""
    factors = s[..., None] / np.sqrt(np.arange(1.0, order + 1))
    return jnp.cumprod(factors.at[..., 0].set(1.0), axis=-1)


def _heat(table: list[Array], k: int, s: Array) -> Array:
    """E σ^{(k)}(m + sG) = Σ_j s^{2j} σ^{(k+2j)}(m)/(2^j j!)."""
    terms = [s ** (2 * j) * table[k + 2 * j] / (2**j * math.factorial(j)) for j in range((len(table) - k + 1) // 2)]
    return sum(terms, jnp.zeros_like(s))


@value.register
def _(activation: Polynomial, m: Array, s: Array) -> Array:
    return _heat(_derivatives(activation, m, activation.degree + 1), 0, s)


@slopes.register
def _(activation: Polynomial, m: Array, s: Array, order: int) -> Array:
    last = min(order, max(activation.degree, 1))  # beyond the degree all are 0
    table = _derivatives(activation, m, activation.degree + 1)
    known = _powers(s, last) * jnp.stack([_heat(table, k, s) for k in range(1, last + 1)], axis=-1)
    return jnp.pad(known, [(0, 0)] * m.ndim + [(0, order - last)])


@value.register
def _(activation: General, m: Array, s: Array) -> Array:
    return mean_value(activation, m, s)


@slopes.register
def _(activation: General, m: Array, s: Array, order: int) -> Array:
    return scaled_slopes(activation, m, s, order)


@value.register
def _(activation: Logistic, m: Array, s: Array) -> Array:
    return logistic.value(activation.kind, m, s)


@slopes.register
def _(activation: Logistic, m: Array, s: Array, order: int) -> Array:
    return logistic.slopes(activation.kind, m, s, order)


@value.register
def _(activation: ExponentialFunction, m: Array, s: Array) -> Array:
    return jnp.exp(m + 0.5 * s * s)


@slopes.register
def _(activation: ExponentialFunction, m: Array, s: Array, order: int) -> Array:
    return _powers(s, order) * value(activation, m, s)[..., None]


def seen_inside(part: Part, m: Array, s: Array) -> tuple[Array, Array]:
    """αm + β and |α| s, the mean and the deviation of αx + β."""
    return part.scale * m + part.shift, jnp.abs(part.scale) * s


@value.register
def _(activation: Part, m: Array, s: Array) -> Array:
    return activation.coefficient * value(activation.activation, *seen_inside(activation, m, s))


@slopes.register
def _(activation: Part, m: Array, s: Array, order: int) -> Array:
    turned = jnp.where(np.arange(1, order + 1) % 2 == 1, activation.scale, jnp.abs(activation.scale))  # |α| sgn(α)^k
    return activation.coefficient * turned * slopes(activation.activation, *seen_inside(activation, m, s), order)


@value.register
def _(activation: Sum, m: Array, s: Array) -> Array:
    return sum((value(part, m, s) for part in activation.parts), jnp.zeros_like(m))


@slopes.register
def _(activation: Sum, m: Array, s: Array, order: int) -> Array:
    return sum((slopes(part, m, s, order) for part in activation.parts), jnp.zeros((*m.shape, order)))
