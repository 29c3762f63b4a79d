"""Means over a sphere: what A_0 becomes where |x| is fixed.

E σ(m + s √p T),   T the first coordinate of a uniform point of the unit sphere in R^p, density c (1 − t²)^{(p−3)/2}

piecewise linear   E (T − z)_+ = c (1 − z²)^{(p−1)/2}/(p − 1) − z P(T > z)
                   P(T > z) = ½ I_{1−z²}((p−1)/2, ½) for z ≥ 0
others             Gauss rules on both halves of (−1, 1), exact for polynomials up to degree 95
"""

from __future__ import annotations

import math
from functools import partial, singledispatch

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import betainc

from widelimit.problem.activations import Activation, PiecewiseLinear
from widelimit.problem.nodes import sphere_half, symmetric_rule

NODES = 96
POINT = 1e-12  # a deviation below this is a point mass


@singledispatch
def sphere_mean(activation: Activation, m: Array, s: Array, p: float) -> Array:
    """E σ(m + s √p T), of the shape of m and s."""
    t, weights = symmetric_rule(NODES, sphere_half, p)
    return activation(m[..., None] + s[..., None] * (math.sqrt(p) * t)) @ weights


@sphere_mean.register
def _(activation: PiecewiseLinear, m: Array, s: Array, p: float) -> Array:
    scale = math.sqrt(p) * jnp.maximum(s, POINT)
    z = (jnp.asarray(activation.knots) - m[..., None]) / scale[..., None]
    return activation.intercept + activation.slope * m + scale * (hinge(p, z) @ jnp.asarray(activation.jumps))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def hinge(p: float, z: Array) -> Array:
    """E (T − z)_+; its derivative is −P(T > z)."""
    inside = jnp.clip(z, -1.0, 1.0)
    bump = _constant(p) / (p - 1) * (1 - inside**2) ** ((p - 1) / 2)
    return jnp.where(z < -1, -z, jnp.where(z > 1, 0.0, bump - inside * tail(p, inside)))


@hinge.defjvp
def _(p: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (slope,) = primals, tangents
    return hinge(p, z), -tail(p, z) * slope


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def tail(p: float, z: Array) -> Array:
    """P(T > z); its derivative is minus the density."""
    inside = jnp.clip(z, -1.0, 1.0)
    half = 0.5 * betainc((p - 1) / 2, 0.5, 1 - inside**2)
    return jnp.where(z >= 0, half, 1 - half)


@tail.defjvp
def _(p: float, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (slope,) = primals, tangents
    within = jnp.maximum(1 - z**2, 0.0)
    return tail(p, z), -_constant(p) * jnp.where(within > 0, within, 1.0) ** ((p - 3) / 2) * (within > 0) * slope


def _constant(p: float) -> float:
    """c, so that the density of T has mass 1."""
    return float(np.exp(math.lgamma(p / 2) - math.lgamma((p - 1) / 2)) / math.sqrt(math.pi))
