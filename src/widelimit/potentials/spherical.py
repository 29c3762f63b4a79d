"""Means over a sphere: what A_0 becomes where |x| is fixed.

E σ(m + s √p T),   T the first coordinate of a uniform point of the unit sphere in R^p, density c (1 − t²)^{(p−3)/2}

piecewise linear   E (T − z)_+ = c (1 − z²)^{(p−1)/2}/(p − 1) − z P(T > z)
                   P(T > z) = ½ I_{1−z²}((p−1)/2, ½) for z ≥ 0, in many dimensions with ν = (p−1)/2, e^{−q} = 1 − z²:
                            = (c/2) ∫_q^∞ e^{−νq'} (1 − e^{−q'})^{−1/2} dq' = (c/2) Σ_k g_k ν^{−k−1/2} Γ(k + ½, νq)
                   g_k      Taylor coefficients of ((1 − e^{−q})/q)^{−1/2}
part               c E ς(αm + β + |α| s √p T) for σ = c ς(αx + β)
others             Gauss rules on both halves of (−1, 1), exact for polynomials up to degree 95
"""

from __future__ import annotations

import math
from functools import singledispatch

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import betainc, erfc

from widelimit.frozen import Frozen
from widelimit.potentials.smoothing import seen_inside
from widelimit.problem.activations import Activation, Hinges, Part, Sum
from widelimit.problem.data.nodes import sphere_half, symmetric_rule
from widelimit.spheres import equator_density

MANY = 200.0  # dimensions
NODES = 96
POINT = 1e-12  # a deviation below this is a point mass


def _taylor(count: int) -> list[float]:
    """g_0, g_1, …: the power −½ of Σ_k (−q)^k/(k + 1)!, order by order."""
    found = [1.0]
    for n in range(1, count):
        terms = ((k / 2 - n) * (-1) ** k / math.factorial(k + 1) * found[n - k] for k in range(1, n + 1))
        found.append(sum(terms) / n)
    return found


TAYLOR = _taylor(12)


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
    bump = c / (p - 1) * _fall(inside, (p - 1) / 2)
    return jnp.where(z < -1, -z, jnp.where(z > 1, 0.0, bump - inside * _tail(inside, p, c)))


@jax.custom_jvp
def _tail(z: Array, p: Array, c: Array) -> Array:
    inside = jnp.clip(z, -1.0, 1.0)
    half = jax.lax.cond(jnp.asarray(p) < MANY, _few_dimensions, _many_dimensions, inside, p, c)
    return jnp.where(z >= 0, half, 1 - half)


def _few_dimensions(z: Array, p: Array, c: Array) -> Array:
    """P(T > |z|)."""
    return 0.5 * betainc((p - 1) / 2, 0.5, 1 - z**2)


def _many_dimensions(z: Array, p: Array, c: Array) -> Array:
    """P(T > |z|), where e^{−ν} is nothing; Γ(k + ½, y) by recurrence, with ν^{−k} in it."""
    nu = (p - 1) / 2
    y = -nu * jnp.log1p(-jnp.minimum(z * z, 0.9))
    term, power, total = math.sqrt(math.pi) * erfc(jnp.sqrt(y)), jnp.exp(-y) * jnp.sqrt(y), jnp.zeros_like(y)
    for k, g in enumerate(TAYLOR):
        total = total + g * term
        term, power = ((k + 0.5) * term + power) / nu, power * y / nu
    return c / 2 / jnp.sqrt(nu) * total


def _fall(z: Array, power: Array) -> Array:
    """(1 − z²)^power, 0 for |z| ≥ 1."""
    within = z * z < 1
    return jnp.exp(power * jnp.log1p(-jnp.where(within, z * z, 0.0))) * within


def _density(z: Array, p: Array, c: Array) -> Array:
    """c (1 − z²)^{(p−3)/2}, 0 outside."""
    return c * _fall(z, (p - 3) / 2)


_hinge.defjvp(lambda at, move: (_hinge(*at), -_tail(*at) * move[0]))  # p and c do not move
_tail.defjvp(lambda at, move: (_tail(*at), -_density(*at) * move[0]))


def unit_sphere(p: float, times: int = 1) -> UnitSphere:
    """The unit sphere in R^p, with so many times as many nodes."""
    nodes, weights = symmetric_rule(NODES * times, sphere_half, p)
    return UnitSphere(float(p), equator_density(p), jnp.asarray(nodes), jnp.asarray(weights))


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
