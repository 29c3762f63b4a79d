"""One implicit step of a chain of cells that exchange mass with their neighbours.

    (1 + l_i + r_i) m_i − r_{i−1} m_{i−1} − l_{i+1} m_{i+1} = g_i          l, r ≥ 0, l_0 = r_{n−1} = 0

    l, r   left, right   (…, n)   share that cell i sends to its left and right neighbour, rate times step
    g      source        (…, n)   masses before the step
    m                    (…, n)   masses after it

Scheme: every second cell is eliminated, again and again. What leaves an eliminated cell is shared out among its
neighbours and the excess e_i (1 at first) of the column sums; sums of positive numbers only, no difference is ever
formed. So m ≥ 0, Σ m = Σ g, and every m_i is correct to a few units of its last digit, however long the step.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array


def implicit_step(left: Array, right: Array, source: Array) -> Array:
    """The masses m after one step."""
    return _eliminate(jnp.ones_like(source), left, right, source)


def patankar_step(left: Array, right: Array, source: Array) -> Array:
    """The same exchange to order 2: a modified Patankar–Runge–Kutta step, positive and conservative for every step."""
    first = implicit_step(left, right, source)
    share = 0.5 + 0.5 * jnp.where(first > 0, source / jnp.where(first > 0, first, 1.0), 1.0)
    return implicit_step(left * share, right * share, source)


def _eliminate(excess: Array, left: Array, right: Array, source: Array) -> Array:
    """(e_i + l_i + r_i) m_i − r_{i−1} m_{i−1} − l_{i+1} m_{i+1} = g_i, solved for m."""
    n = source.shape[-1]
    if n == 1:
        return source / excess
    if n % 2:  # an isolated cell makes the number even
        pad = [(0, 0)] * (source.ndim - 1) + [(0, 1)]
        wider = [jnp.pad(x, pad, constant_values=c) for x, c in ((excess, 1), (left, 0), (right, 0), (source, 0))]
        return _eliminate(*wider)[..., :n]
    e, low, high, g = (x[..., 0::2] for x in (excess, left, right, source))
    excess, left, right, source = (x[..., 1::2] for x in (excess, left, right, source))
    total = excess + left + right
    to_left, to_right, to_excess = left / total, right / total, excess / total
    kept = _eliminate(
        e + high * to_excess + low * _shifted(to_excess),
        low * _shifted(to_left),
        high * to_right,
        g + to_left * source + _shifted(to_right * source),
    )
    gone = (source + high * kept + _shifted_back(low * kept)) / total
    return jnp.stack([kept, gone], axis=-1).reshape(*kept.shape[:-1], n)


def _shifted(x: Array) -> Array:
    """x_{k−1}, 0 at the first."""
    return jnp.pad(x[..., :-1], [(0, 0)] * (x.ndim - 1) + [(1, 0)])


def _shifted_back(x: Array) -> Array:
    """x_{k+1}, 0 at the last."""
    return jnp.pad(x[..., 1:], [(0, 0)] * (x.ndim - 1) + [(0, 1)])
