"""Many steps of gradient descent in one leap.

    θ_{k+1} = θ_k + f(θ_k)                                                      a step; m of them at once:
    θ_{k+m} = θ_k + m Σ_i b_i f_i + O((mf')⁵),    f_i = f(θ_k + m Σ_{j<i} a_ij f_j),    i = 1, …, 4

    m b    = (m+2)/8q, 3(m−2)/8q, 3(m−2)/8q, (m+2)/8q  times m,     q = m − 1
    m c_i  = 0, q/3, 2q/3, q                          the stages stand for the steps k, k + q/3, k + 2q/3 and k + q
    m a_32 = m − 3,   m a_43 = q(m−2)/(m+2),   m a_42 = −(m−2)(m−7)/(m+2),     a_i1 = c_i − Σ_{j>1} a_ij

A Runge–Kutta scheme that is of order 4 with respect to m steps of Euler's, not to the flow: for every tree of up to
four nodes its weight is that of the m-stage scheme a_ij = b_i = 1/m (j < i). For m = 4 it is the four steps themselves,
for m → ∞ the 3/8 rule. So the steps are what they would be one by one, however large they are.

The error, a 15th of the distance between two leaps and one of twice the length, is below tolerance (1 + |θ|) at every
neuron, as in the adaptive solvers. Where no leap passes, steps are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.solving.clock import Chunk

LEAST, FIRST = 6, 512  # steps of a half leap: shorter ones cost more than the steps, and the first that is tried
PLAIN = 32  # steps one by one before a leap is tried again
Force = Callable[[Array], Array]


class Place(NamedTuple):
    """Where a descent stands: θ, the number of the next step, and how many steps the next half leap has."""

    theta: Array
    k: Array
    m: Array


def scheme(m: Array | float) -> tuple[Array, Array]:
    """m a, (4, 4), and m b, (4,)."""
    q = m - 1.0
    a32, a43, a42 = m - 3.0, q * (m - 2) / (m + 2), -(m - 2.0) * (m - 7) / (m + 2)
    ends, inner = m * (m + 2) / (8 * q), 3 * m * (m - 2.0) / (8 * q)
    below = [q / 3, 2 * q / 3 - a32, a32, q - a42 - a43, a42, a43]
    a = jnp.zeros((4, 4)).at[jnp.tril_indices(4, -1)].set(jnp.array(below, float))
    return a, jnp.array([ends, inner, inner, ends], float)


def leap(force: Force, theta: Array, m: Array | float) -> Array:
    """θ after m steps."""
    return staged(force, theta, scheme(m), 4)


def staged(force: Force, theta: Array, weights: tuple[Array, Array], stages: Array | int) -> Array:
    """θ + Σ_i b_i f_i, over the first few of four stages."""
    a, b = weights

    def stage(i: Array, f: Array) -> Array:
        return f.at[i].set(force(theta + jnp.tensordot(a[i], f, 1)))

    return theta + jnp.tensordot(b, jax.lax.fori_loop(0, stages, stage, jnp.zeros((4, *theta.shape))), 1)


def evenly(left: Array, most: Array) -> Array:
    """Steps of a half leap, at most so many, of which an even number covers what is left, but for a few steps."""
    leaps = jnp.maximum(-(-left // (2 * most)), 1)
    return left // (2 * leaps)


def descend(force: Force, theta: Array, chunk: Chunk, tolerance: float) -> Array:
    """θ after the steps of a chunk; one loop serves leaps and steps, because a force takes seconds to compile."""
    whole = jnp.floor(jnp.asarray(chunk.end)).astype(int)

    def go_on(place: Place) -> Place:
        theta, k, m = place._replace(m=evenly(whole - place.k, place.m))
        leaps, stop = m >= LEAST, jnp.minimum(chunk.last, place.k + PLAIN)

        # the first half, the whole by two halves, the whole at once; or steps
        def each(i: Array, ends: Array) -> Array:
            a, b = scheme(jnp.where(i == 2, 2 * m, m))
            b = jnp.where(leaps, b, jnp.zeros(4).at[0].set(chunk.share(k + i)))
            start, end = jnp.where(leaps, jnp.where(i == 1, 0, i), 1), jnp.where(leaps, i, 1)
            return ends.at[end].set(staged(force, ends[start], (a, b), jnp.where(leaps, 4, 1)))

        _, end, rough = jax.lax.fori_loop(0, jnp.where(leaps, 3, stop - k), each, jnp.stack([theta] * 3))
        rest = (end - rough) / 15
        error = jnp.max(jnp.abs(rest) / (1 + jnp.abs(end))) / tolerance
        grown = jnp.floor(m * jnp.clip(0.9 * jnp.maximum(error, 1e-10) ** -0.2, 0.2, 3.0)).astype(m.dtype)
        good = error <= 1
        longer = Place(jnp.where(good, end + rest, theta), jnp.where(good, k + 2 * m, k), grown)
        one_by_one = Place(end, stop, jnp.full_like(m, LEAST))
        return jax.tree.map(lambda a, b: jnp.where(leaps, a, b), longer, one_by_one)

    def under_way(place: Place) -> Array:
        return (place.k < chunk.last) & jnp.isfinite(place.theta).all()

    k = jnp.asarray(chunk.first)
    return jax.lax.while_loop(under_way, go_on, Place(theta, k, jnp.full_like(k, FIRST))).theta
