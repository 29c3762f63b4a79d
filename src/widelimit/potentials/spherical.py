"""Means over a sphere: what A_0 becomes where |x| is fixed.

E σ(m + s √p T),   T the first coordinate of a uniform point of the unit sphere in R^p, density c (1 − t²)^{(p−3)/2}

piecewise linear   E (T − z)_+ = c (1 − z²)^{(p−1)/2}/(p − 1) − z P(T > z)
                   P(T > z) = ½ I_{1−z²}((p−1)/2, ½) for z ≥ 0
part               c E ς(αm + β + |α| s √p T) for σ = c ς(αx + β)
others             Gauss rules on both halves of (−1, 1), exact for polynomials up to degree 95
"""

from __future__ import annotations

import math
from functools import singledispatch

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import betainc

from widelimit.frozen import Frozen
from widelimit.potentials.smoothing import seen_inside
from widelimit.problem.activations import Activation, Hinges, Part, Sum
from widelimit.problem.data.nodes import sphere_half, symmetric_rule

NODES = 96
POINT = 1e-12  # a deviation below this is a point mass


class UnitSphere(Frozen, eq=False):
    """The law of T: p, the constant c of its density, and Gauss nodes with their weights."""

    p: float
    c: float
    nodes: Array
    weights: Array

    def hinge(self, z: Array) -> Array:
        """E (T − z)_+; its derivative is −P(T > z)."""
        return _hinge(z, self.p, self.c)

    def tail(self, z: Array) -> Array:
        """P(T > z); its derivative is minus the density."""
        return _tail(z, self.p, self.c)


@jax.custom_jvp
def _hinge(z: Array, p: Array, c: Array) -> Array:
    inside = jnp.clip(z, -1.0, 1.0)
    bump = c / (p - 1) * (1 - inside**2) ** ((p - 1) / 2)
    return jnp.where(z < -1, -z, jnp.where(z > 1, 0.0, bump - inside * _tail(inside, p, c)))


@jax.custom_jvp
def _tail(z: Array, p: Array, c: Array) -> Array:
    inside = jnp.clip(z, -1.0, 1.0)
    half = 0.5 * betainc((p - 1) / 2, 0.5, 1 - inside**2)
    return jnp.where(z >= 0, half, 1 - half)


def _density(z: Array, p: Array, c: Array) -> Array:
    """c (1 − z²)^{(p−3)/2}, 0 outside."""
    within = jnp.maximum(1 - z**2, 0.0)
    return c * jnp.where(within > 0, within, 1.0) ** ((p - 3) / 2) * (within > 0)


_hinge.defjvp(lambda at, move: (_hinge(*at), -_tail(*at) * move[0]))  # p and c do not move
_tail.defjvp(lambda at, move: (_tail(*at), -_density(*at) * move[0]))


def unit_sphere(p: float, times: int = 1) -> UnitSphere:
    """The unit sphere in R^p, with so many times as many nodes."""
    nodes, weights = symmetric_rule(NODES * times, sphere_half, p)
    c = float(np.exp(math.lgamma(p / 2) - math.lgamma((p - 1) / 2)) / math.sqrt(math.pi))
    return UnitSphere(float(p), c, jnp.asarray(nodes), jnp.asarray(weights))


@singledispatch
def sphere_mean(activation: Activation, m: Array, s: Array, sphere: UnitSphere) -> Array:
    """E σ(m + s √p T), of the shape of m and s."""
    return activation(m[..., None] + s[..., None] * (jnp.sqrt(sphere.p) * sphere.nodes)) @ sphere.weights


@sphere_mean.register
def _(activation: Sum, m: Array, s: Array, sphere: UnitSphere) -> Array:
    return sum((sphere_mean(part, m, s, sphere) for part in activation.parts), jnp.zeros_like(m))


@sphere_mean.register
def _(activation: Part, m: Array, s: Array, sphere: UnitSphere) -> Array:
    return activation.coefficient * sphere_mean(activation.activation, *seen_inside(activation, m, s), sphere)


@sphere_mean.register
def _(activation: Hinges, m: Array, s: Array, sphere: UnitSphere) -> Array:
    scale = jnp.sqrt(sphere.p) * jnp.maximum(s, POINT)
    z = (jnp.asarray(activation.knots) - m[..., None]) / scale[..., None]
    bends = sphere.hinge(z) @ jnp.asarray(activation.jumps)
    return activation.intercept + activation.slope * m + scale * bends
