"""The normal law, far into its tails, in one and two dimensions.

    φ(z), Φ̄(z)                  density and tail
    ψ(z) = φ(z) − z Φ̄(z)        = E (G − z)_+, the hinge; without cancellation for every z ≥ 0
    L(z, z'; c) = P(G > z, G' > z')                       corr(G, G') = c
    H(z, z'; c) = E (G − z)_+ (G' − z')_+
                = (c + z z') L − z φ(z') Φ̄(v) − z' φ(z) Φ̄(v') + (1 − c²) φ_2
      v = (z − c z')/√(1−c²),  v' = (z' − c z)/√(1−c²),  φ_2 the joint density
    |c| < 0.925:   L = Φ̄(z) Φ̄(z') + (1/2π) ∫_0^{asin c} exp(−(z² + z'² − 2 z z' sin t)/(2 cos² t)) dt
    c ≥ 0.925:     L = Φ̄(max(z, z')) − (1/2π) ∫_0^{√(1−c²)} e^{−q/x²} p(x) dx
      q = (z − z')²/2,   p(x) = exp(−z z'/(1 + √(1−x²)))/√(1−x²) = e^{−zz'/2} (1 + αx² + αγx⁴ + O(x⁶)),
      α = (4 − zz')/8,   γ = (12 − zz')/16;  e^{−q/x²} has a layer at 0, so the first three terms are integrated exactly

Scheme: ψ = φ(z) g(z) with (1 + z)² g a polynomial in (z − 3)/(z + 3); the integrals of L by 20 Gauss points, the first
by 6 and 12 for |c| < 0.3 and 0.75, which leaves rounding errors only.  Reference: [genz04].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.integrals import gauss, integrate
from widelimit.potentials.rules_by_kind import by_kind

FAR = 39.0  # φ(39) underflows in double precision
NEAR = 0.925  # correlation from which L is integrated from 1
NODES = ((0.3, 6), (0.75, 12), (NEAR, 20))  # Gauss points below a correlation


def density(z: Array) -> Array:
    """φ(z)."""
    return jnp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def tail(z: Array) -> Array:
    """Φ̄(z) = P(G > z), to relative accuracy also for large z."""
    return 0.5 * jax.lax.erfc(z / math.sqrt(2))


@lru_cache(maxsize=1)
def _hinge_series() -> np.ndarray:
    """(1 + z)² g(z), g(z) = ∫_0^∞ t exp(−zt − t²/2) dt, as a polynomial in v = (z − 3)/(z + 3). Its Chebyshev series
    falls so fast that the coefficients of its powers are small too, and Horner's rule loses no digit."""

    nodes = np.polynomial.chebyshev.chebpts1(40)
    z = 3 * (1 + nodes) / (1 - nodes)

    def scaled(u: np.ndarray) -> np.ndarray:
        t = u[:, None] / (1 + z)
        return u[:, None] * np.exp(-u[:, None] - 0.5 * t**2 + t)

    fitted = np.polynomial.chebyshev.chebfit(nodes, integrate(scaled, np.linspace(0.0, 90.0, 31)).values, 28)
    return np.polynomial.chebyshev.cheb2poly(fitted)


@jax.custom_jvp
def hinge(z: Array) -> Array:
    """ψ(z) = E (G − z)_+ for z ≥ 0."""
    v = (z - 3) / (z + 3)
    g = jnp.zeros_like(v)
    for c in _hinge_series()[::-1]:  # Horner: each sum is used once, so that XLA makes one loop of all
        g = c + v * g
    return density(z) * g / (1 + z) ** 2


@hinge.defjvp
def _hinge_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """ψ' = −Φ̄."""
    return hinge(*primals), -tail(*primals) * tangents[0]


@jax.custom_jvp
def bivariate_tail(z: Array, z2: Array, corr: Array) -> Array:
    """L(z, z'; c) for arrays of one shape, node by node so that memory does not grow with the rule."""
    flip = jnp.where(corr < 0, -1.0, 1.0)  # L(z, z'; −c) = Φ̄(z) − L(z, −z'; c)
    c = jnp.clip(jnp.abs(corr), 0.0, 1.0)
    kinds = sum((c >= top).astype(int) for top, _ in NODES) + (c == 1)
    positive = by_kind([*(partial(_from_zero, n) for _, n in NODES), _from_one, _at_one], kinds, z, flip * z2, c)
    return jnp.where(corr < 0, tail(z) - positive, positive)


@bivariate_tail.defjvp
def _bivariate_tail_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """∂L/∂z = −φ(z) Φ̄(v'), ∂L/∂c = φ_2, away from |c| = 1."""
    z, z2, corr = primals
    v, v2, root = _conditioned(z, z2, corr)
    slopes = (-density(z) * tail(v2), -density(z2) * tail(v), density(z2) * density(v) / root)
    return bivariate_tail(*primals), sum(
        (slope * t for slope, t in zip(slopes, tangents, strict=True)), jnp.zeros_like(z)
    )


def _sum_nodes(term: Callable[[Array], Array], like: Array, n: int = 20) -> Array:
    """∫_0^1 term(x) dx by n Gauss points."""
    x, w = gauss(n)

    def add(total: Array, rule: tuple[Array, Array]) -> tuple[Array, None]:
        node, weight = rule
        return total + weight * term(node), None

    return jax.lax.scan(add, jnp.zeros_like(like), (jnp.asarray((x + 1) / 2), jnp.asarray(w / 2)))[0]


def _from_zero(n: int, z: Array, z2: Array, c: Array) -> Array:
    """L for 0 ≤ c < NEAR, by n points."""
    angle, squares, product = jnp.arcsin(c), 0.5 * (z * z + z2 * z2), z * z2

    def term(x: Array) -> Array:
        sine = _sine(angle * x)
        return jnp.exp((product * sine - squares) / (1 - sine * sine))

    return tail(z) * tail(z2) + angle / (2 * math.pi) * _sum_nodes(term, angle, n)


def _sine(t: Array) -> Array:
    """sin t for |t| ≤ asin NEAR < 1.2 by Taylor's series, to rounding: that of any t would be half of the time of L."""
    square, total = t * t, jnp.zeros_like(t)
    for k in range(9, -1, -1):
        total = total * square + (-1) ** k / math.factorial(2 * k + 1)
    return t * total


def _from_one(z: Array, z2: Array, c: Array) -> Array:
    """L for NEAR ≤ c < 1."""
    product, q, end = z * z2, 0.5 * (z - z2) ** 2, jnp.sqrt((1 - c) * (1 + c))
    safe = jnp.maximum(end, 1e-150)
    alpha, gamma = (4 - product) / 8, (12 - product) / 16
    height = jnp.exp(-0.5 * jnp.maximum(product, -600.0))
    layer = jnp.exp(-q / safe**2) * height
    zeroth = end * layer - 2 * jnp.sqrt(math.pi * q) * tail(jnp.sqrt(2 * q) / safe) * height
    second = end**3 * layer / 3 - 2 * q / 3 * zeroth
    fourth = end**5 * layer / 5 - 2 * q / 5 * second

    def term(node: Array) -> Array:
        x2 = (end * node) ** 2
        root = jnp.sqrt(1 - x2)
        exponent = -q / jnp.maximum(x2, 1e-300)
        smooth = jnp.exp(exponent - product / (1 + root)) / root
        return smooth - jnp.exp(exponent - 0.5 * product) * (1 + alpha * x2 * (1 + gamma * x2))

    rest = end * _sum_nodes(term, end)
    return _at_one(z, z2, c) - (zeroth + alpha * (second + gamma * fourth) + rest) / (2 * math.pi)


def _at_one(z: Array, z2: Array, c: Array) -> Array:
    """L for c = 1, where G = G'; every two neurons in one dimension have c = ±1."""
    return tail(jnp.maximum(z, z2))


@jax.custom_jvp
def bivariate_hinge(z: Array, z2: Array, corr: Array) -> Array:
    """H(z, z'; c) = E (G − z)_+ (G' − z')_+, and exact first derivatives at every correlation including ±1."""
    return _hinge_and_slopes(z, z2, corr)[0]


@bivariate_hinge.defjvp
def _bivariate_hinge_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    value, *slopes = _hinge_and_slopes(*primals)
    return value, sum((slope * t for slope, t in zip(slopes, tangents, strict=True)), jnp.zeros_like(value))


def _hinge_and_slopes(z: Array, z2: Array, corr: Array) -> tuple[Array, Array, Array, Array]:
    """H and its derivatives in z, z', c: ∂H/∂c = L, ∂H/∂z = −E 1{G > z}(G' − z')_+."""
    v, v2, root = _conditioned(z, z2, corr)
    both = bivariate_tail(z, z2, corr)
    one, two = density(z) * tail(v2), density(z2) * tail(v)
    joint = density(z2) * density(v) * root  # (1 − c²) φ_2 = √(1−c²) φ(z') φ(v)
    value = (corr + z * z2) * both - z * two - z2 * one + joint
    return value, z2 * both - corr * one - two, z * both - corr * two - one, both


def _conditioned(z: Array, z2: Array, corr: Array) -> tuple[Array, Array, Array]:
    """v, v' and √(1−c²); written as (z − z')/√(1−c²) + z' √((1−c)/(1+c)), which keeps its digits as c → 1."""
    flip, c = jnp.where(corr < 0, -1.0, 1.0), jnp.abs(corr)
    y, root = flip * z2, jnp.sqrt(jnp.maximum((1 - c) * (1 + c), 0.0))
    slant = jnp.sqrt(jnp.maximum(1 - c, 0.0) / (1 + c))
    gap = jnp.where(root > 0, (z - y) / jnp.where(root > 0, root, 1.0), _sign_at_end(z - y))
    return gap + y * slant, flip * (z * slant - gap), root


def _sign_at_end(gap: Array) -> Array:
    """lim gap/√(1−c²) as |c| → 1: 0 where the gap closes too, far away otherwise."""
    return jnp.where(jnp.abs(gap) < 1e-14, 0.0, FAR * jnp.sign(gap))
