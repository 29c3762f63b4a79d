"""The pairwise kernel: two neurons seeing the same Gaussian input.

    K(m, s; m', s'; c) = E σ(h) σ(h'),   (h, h') bivariate normal, means m, m', deviations s, s', correlation c

    piecewise linear   through E (G − z)_+(G' − z')_+, exact for every c          widelimit.potentials.normal
    erf                4 L(−ζ, −ζ'; κ) − 2Φ(ζ) − 2Φ(ζ') + 1, ζ = √2 m/√(1+2s²), κ = 2 c s s'/√((1+2s²)(1+2s'²))
    sin, cos           ½ [E cos(h − h') ∓ E cos(h + h')]
    exp                e^{m + m' + (s² + s'² + 2 c s s')/2}
    polynomial         Mehler's series, which ends at the degree
    part               of σ = c ς(αx + β): that of ς at αm + β, |α| s, times c²
    others             Mehler's series K = Σ_k c^k A_k A'_k up to order 104 where that suffices, which nearly parallel
                       neurons with a large norm or a kink do not; those by a rule      widelimit.potentials.pair_rules

The series suffices where |c|^104 T T' ≤ 1e−11 √(E σ'(h)² E σ'(h')²), T² = E σ'² − Σ_{k ≤ 104} k B_k²: its tail and that
of its slopes are products with the left side, see widelimit.potentials.series_bounds.

Arrays: m, s of shape (n,), m', s' of shape (n',), c of shape (n, n').
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, singledispatch

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials import logistic
from widelimit.potentials.direct_rules import AGREEMENT
from widelimit.potentials.normal import bivariate_hinge, bivariate_tail, tail
from widelimit.potentials.pair_rules import Pair, by_rule
from widelimit.potentials.quadrature import square_of_slope
from widelimit.potentials.smoothing import seen_inside, slopes, smoothed
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
)

RUN = 8  # orders written out one by one
SERIES_ORDER = 13 * RUN
EXACT = 1e-11  # relative error of the series
ROUNDING = 1e-13  # of E σ'², below which its tail is not resolved
POINT = 1e-12  # a deviation below this is a point mass


@singledispatch
def kernel(activation: Activation, at: Pair) -> Array:
    """E σ(h) σ(h'), (n, n'); without a closed form that of any function."""
    return kernel(General(activation, name=type(activation).__name__), at)


@kernel.register
def _(activation: General, at: Pair) -> Array:
    return _series_or_rule(activation, partial(square_of_slope, activation), at)


@kernel.register
def _(activation: Logistic, at: Pair) -> Array:
    return _series_or_rule(activation, partial(logistic.mean_square_slope, activation.kind), at)


def _series_or_rule(activation: Activation, square: Callable[[Array, Array], Array], at: Pair) -> Array:
    """The kernel of a function whose slope has the mean ``square`` E σ'(m + sG)²."""
    left, left2 = (_left(activation, square, *x) for x in ((at.m, at.s), (at.m2, at.s2)))
    needed = jnp.abs(at.corr) ** SERIES_ORDER * jax.lax.stop_gradient(left[:, None] * left2) > EXACT
    return jnp.where(needed, by_rule(activation, at, needed), _series(activation, SERIES_ORDER, at))


def _left(activation: Activation, square: Callable[[Array, Array], Array], m: Array, s: Array) -> Array:
    """T/√(E σ'²)."""
    m, s = jax.lax.stop_gradient((m, s))
    whole, k = square(m, s), np.arange(1.0, SERIES_ORDER + 1)
    left = jnp.maximum(whole - slopes(activation, m, s, SERIES_ORDER) ** 2 @ k, unresolved(activation, whole))
    return jnp.sqrt(left / jnp.maximum(whole, 1e-300))


def unresolved(activation: Activation, whole: Array) -> Array:
    """What may be left of E σ'² = ``whole`` without being seen: rounding, and the error of a table or rule."""
    return ROUNDING * whole + (AGREEMENT if isinstance(activation, General) else 1e-15)


@kernel.register
def _(activation: Part, at: Pair) -> Array:
    (m, s), (m2, s2) = seen_inside(activation, at.m, at.s), seen_inside(activation, at.m2, at.s2)
    return activation.coefficient**2 * kernel(activation.activation, Pair(m, s, m2, s2, at.corr))


@kernel.register
def _(activation: ExponentialFunction, at: Pair) -> Array:
    m, s, m2, s2, corr = at
    return jnp.exp(m[:, None] + m2 + 0.5 * (s[:, None] ** 2 + s2**2) + corr * s[:, None] * s2)


@kernel.register
def _(activation: Polynomial, at: Pair) -> Array:
    return _series(activation, activation.degree, at)


def _series(activation: Activation, order: int, at: Pair) -> Array:
    a, a2 = (smoothed(activation, order, *x).T[:, None] for x in ((at.m, at.s), (at.m2, at.s2)))
    return mehler(a, a2, at.corr)


@kernel.register
def _(activation: Sinusoid, at: Pair) -> Array:
    m, s, m2, s2, corr = at
    squares, cross = s[:, None] ** 2 + s2**2, 2 * corr * s[:, None] * s2
    minus = jnp.exp(-0.5 * (squares - cross)) * jnp.cos(m[:, None] - m2)
    plus = jnp.exp(-0.5 * (squares + cross)) * jnp.cos(m[:, None] + m2)
    return 0.5 * (minus - plus if activation.quarter % 2 == 0 else minus + plus)


@kernel.register
def _(activation: ErrorFunction, at: Pair) -> Array:
    m, s, m2, s2, corr = at
    width, width2 = jnp.sqrt(1 + 2 * s * s)[:, None], jnp.sqrt(1 + 2 * s2 * s2)
    zeta, zeta2 = (jnp.broadcast_to(math.sqrt(2) * x, corr.shape) for x in (m[:, None] / width, m2 / width2))
    both = bivariate_tail(-zeta, -zeta2, 2 * corr * s[:, None] * s2 / (width * width2))
    return 4 * both - 2 * tail(-zeta) - 2 * tail(-zeta2) + 1


@kernel.register
def _(activation: Hinges, at: Pair) -> Array:
    m, s, m2, s2, corr = at
    s, s2 = jnp.maximum(s, POINT), jnp.maximum(s2, POINT)
    knots, jumps = jnp.asarray(activation.knots), jnp.asarray(activation.jumps)
    z, z2 = (knots - m[:, None]) / s[:, None], (knots - m2[:, None]) / s2[:, None]
    shape = (*corr.shape, len(knots), len(knots))
    hinges = bivariate_hinge(
        jnp.broadcast_to(z[:, None, :, None], shape),
        jnp.broadcast_to(z2[None, :, None, :], shape),
        jnp.broadcast_to(corr[:, :, None, None], shape),
    )
    covariance = corr * s[:, None] * s2
    both = s[:, None] * s2 * jnp.einsum("ijkl,k,l->ij", hinges, jumps, jumps)
    line, line2 = (activation.intercept + activation.slope * x for x in (m, m2))
    bent = Hinges.trusted(knots=activation.knots, jumps=activation.jumps, intercept=0.0, slope=0.0)
    rest, rest2 = smoothed(bent, 1, m, s), smoothed(bent, 1, m2, s2)
    one = line[:, None] * rest2[:, 0] + activation.slope * corr * s[:, None] * rest2[:, 1]
    two = rest[:, :1] * line2 + activation.slope * corr * rest[:, 1:] * s2
    return both + one + two + line[:, None] * line2 + activation.slope**2 * covariance


def mehler(a: Array, a2: Array, corr: Array, runs: Array | int | None = None, lean: bool = False) -> Array:
    """Σ_k c^k Σ_q A_kq A'_kq by Horner's rule, (n, n'), for A of shape (orders, q, n), A' of shape (orders, q, n').

    runs   how many runs of RUN orders are summed, which may be traced; all of them if left out
    lean   sum all but the first run in single precision
    """
    a, a2 = (jnp.pad(x, ((0, -len(x) % RUN), (0, 0), (0, 0))).reshape(-1, RUN, *x.shape[1:]) for x in (a, a2))
    count = len(a) if runs is None else runs
    rows, rows2, c = (x.astype(jnp.float32) for x in (a, a2, corr)) if lean else (a, a2, corr)

    def run(i: Array | int, total: Array) -> Array:
        return _horner(total, rows[count - 1 - i], rows2[count - 1 - i], c)

    if lean:
        return _horner(jax.lax.fori_loop(0, count - 1, run, jnp.zeros_like(c)).astype(corr.dtype), a[0], a2[0], corr)
    return run(0, jnp.zeros_like(c)) if len(a) == 1 else jax.lax.fori_loop(0, count, run, jnp.zeros_like(c))


def _horner(total: Array, a: Array, a2: Array, corr: Array) -> Array:
    for one, two in zip(a[::-1], a2[::-1], strict=True):
        total = total * corr + sum(x[:, None] * y for x, y in zip(one, two, strict=True))
    return total
