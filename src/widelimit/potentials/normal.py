"""The normal law, far into its tails, in one and two dimensions.

    φ(z), Φ̄(z)                  density and tail
    ψ(z) = φ(z) − z Φ̄(z)        = E (G − z)_+, the hinge; without cancellation for every z ≥ 0
    L(z, z'; c) = P(G > z, G' > z')                       corr(G, G') = c
    H(z, z'; c) = E (G − z)_+ (G' − z')_+
                = (c + z z') L − z φ(z') Φ̄(v) − z' φ(z) Φ̄(v') + (1 − c²) φ_2
      v = (z − c z')/√(1−c²),  v' = (z' − c z)/√(1−c²),  φ_2 the joint density
    L = Φ̄(z) Φ̄(z') + (1/2π) ∫_0^{asin c} q(t) dt = Φ̄(max(z, z')) − (1/2π) ∫_{asin c}^{π/2} q(t) dt
      q(t) = exp(−(z² + z'² − 2 z z' sin t)/(2 cos² t))

Scheme: ψ = φ(z) g(z) with g a Chebyshev series in (z − 3)/(z + 3); L by 28 Gauss points from the nearer end.
"""

from __future__ import annotations

import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.integrate import quad

FAR = 39.0  # φ(39) underflows in double precision


def density(z: Array) -> Array:
    """φ(z)."""
    return jnp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def tail(z: Array) -> Array:
    """Φ̄(z) = P(G > z), to relative accuracy also for large z."""
    return 0.5 * jax.lax.erfc(z / math.sqrt(2))


@lru_cache(maxsize=1)
def _hinge_series() -> np.ndarray:
    """Chebyshev coefficients of (1 + z)² g(z), g(z) = ∫_0^∞ t exp(−zt − t²/2) dt, in v = (z − 3)/(z + 3)."""

    def scaled(v: float) -> float:
        z = 3 * (1 + v) / (1 - v)
        integral, _ = quad(lambda u: u * math.exp(-u - 0.5 * (u / (1 + z)) ** 2 + u / (1 + z)), 0, 90, epsrel=2e-14,
                           epsabs=0, limit=200)  # fmt: skip
        return integral

    nodes = np.polynomial.chebyshev.chebpts1(40)
    return np.polynomial.chebyshev.chebfit(nodes, [scaled(v) for v in nodes], 32)


def hinge(z: Array) -> Array:
    """ψ(z) = E (G − z)_+ for z ≥ 0."""
    v = (z - 3) / (z + 3)
    here = after = jnp.zeros_like(v)
    for c in _hinge_series()[:0:-1]:  # Clenshaw
        here, after = c + 2 * v * here - after, here
    g = (_hinge_series()[0] + v * here - after) / (1 + z) ** 2
    return density(z) * g


@lru_cache(maxsize=1)
def _layer_rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1], clustered at 0."""
    x, w = np.polynomial.legendre.leggauss(28)
    right = (1 + x) / 2
    return right**2, w * right


def bivariate_tail(z: Array, z2: Array, corr: Array) -> Array:
    """L(z, z'; c) for arrays of one shape, node by node so that memory does not grow with the rule."""
    flip = jnp.where(corr < 0, -1.0, 1.0)  # L(z, z'; −c) = Φ̄(z) − L(z, −z'; c)
    c, y = jnp.abs(corr), flip * z2
    near = c > 0.75
    end = jnp.arccos(jnp.clip(c, 0.0, 1.0))  # u = π/2 − t; integrate u over [0, end] or [end, π/2]
    start, length = jnp.where(near, 0.0, end), jnp.where(near, end, math.pi / 2 - end)
    gap, product = 0.5 * (z - y) ** 2, z * y

    def add(total: Array, rule: tuple[Array, Array]) -> tuple[Array, None]:
        node, weight = rule
        u = start + length * node
        sine2 = jnp.maximum(jnp.sin(u) ** 2, 1e-300)
        return total + weight * jnp.exp(-gap / sine2 - product / (1 + jnp.cos(u))), None

    nodes, weights = _layer_rule()
    integral, _ = jax.lax.scan(add, jnp.zeros_like(c), (jnp.asarray(nodes), jnp.asarray(weights)))
    integral = length / (2 * math.pi) * integral
    positive = jnp.where(near, tail(jnp.maximum(z, y)) - integral, tail(z) * tail(y) + integral)
    return jnp.where(corr < 0, tail(z) - positive, positive)


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
    root = jnp.sqrt(jnp.maximum((1 - corr) * (1 + corr), 0.0))
    safe = jnp.where(root > 0, root, 1.0)
    v = jnp.where(root > 0, (z - corr * z2) / safe, _sign_at_end(z - corr * z2))
    v2 = jnp.where(root > 0, (z2 - corr * z) / safe, _sign_at_end(z2 - corr * z))
    both = bivariate_tail(z, z2, corr)
    one, two = density(z) * tail(v2), density(z2) * tail(v)
    joint = density(z2) * density(v) * root  # (1 − c²) φ_2 = √(1−c²) φ(z') φ(v)
    value = (corr + z * z2) * both - z * two - z2 * one + joint
    return value, z2 * both - corr * one - two, z * both - corr * two - one, both


def _sign_at_end(gap: Array) -> Array:
    """lim gap/√(1−c²) as |c| → 1: 0 where the gap closes too, far away otherwise."""
    return jnp.where(jnp.abs(gap) < 1e-14, 0.0, FAR * jnp.sign(gap))
