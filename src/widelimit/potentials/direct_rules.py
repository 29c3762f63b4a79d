"""Rules that integrate a function against the normal law, and a ladder of them.

    A_0 = ∫ σ(m + sg) φ(g) dg
    B_k = (1/√k) ∫ σ'(m + sg) h_{k−1}(g) φ(g) dg

    m, s   mean and deviation, one shape        g   nodes of a rule        n   its size

Scheme: trapezoidal rule on [−12.5, 12.5], which for a function analytic in a strip of width w around the real axis
converges like exp(−2πw/(s h)), h the spacing; between kinks, Gauss–Legendre panels. A ladder of rules is kept. For the
first the largest s is measured up to which it agrees with a rule of twice its size to 1e−12; the reach of the others
follows, being proportional to their size, which is checked with a smaller one. At run time the smallest rule sufficient for every point is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from widelimit.errors import InputError, require
from widelimit.potentials.chunks import by_chunks
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.potentials.normal import density
from widelimit.problem.activations import General
from widelimit.problem.activations.kinks import slope_of

REACH = 12.5  # √φ(12.5) < 1e−17, and |h_k √φ| < 1
RUNGS = (512, 4096)
SMALLER = 128  # nodes of the rule that shows how the reach grows with the size
VALUES = 1 << 18  # of the function at a time
AGREEMENT = 1e-12
MOST_KINKS = 32
TRIED = 10.0 ** np.arange(-2.0, 1.26, 0.125)  # deviations s at which a rule is tried


Points = tuple[Array, Array]  # m and s


@dataclass(frozen=True)
class Ladder:
    """How far each rule reaches: ``limits[i]`` is the largest s for which RUNGS[i] nodes agree with twice as many."""

    limits: tuple[float, ...]


def mean(activation: General, m: Array, s: Array, of: Callable[[Array], Array] | None = None) -> Array:
    """E σ(m + sG), or that of another function with the kinks of σ."""
    return _climb(activation, m, s, lambda n, at: _mean(activation, n, at, of or activation)[..., None])[..., 0]


def slopes(activation: General, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order, stacked on a new last axis."""
    return _climb(activation, m, s, lambda n, at: _slopes(activation, n, at, order))


def _climb(activation: General, m: Array, s: Array, rule: Callable[[int, Points], Array]) -> Array:
    """Apply the smallest rule that reaches the largest s, to a bounded number of points at a time."""
    limits = jnp.asarray(ladder(activation).limits[:-1])
    rung = jnp.searchsorted(limits, _largest(jax.lax.stop_gradient(s)))
    rows = jnp.stack([m.ravel(), s.ravel()], axis=-1)

    def by(n: int) -> Callable[[Array], Array]:
        size = min(VALUES // n, len(rows))
        return lambda rows: by_chunks(
            lambda some: rule(n, (some[:, 0], some[:, 1])), jnp.pad(rows, ((0, -len(rows) % size), (0, 0))), size
        )[: len(rows)]

    found = jax.lax.switch(rung, [by(n) for n in RUNGS], rows)
    return found.reshape(*m.shape, found.shape[-1])


@custom_vmap
def _largest(s: Array) -> Array:
    return jnp.max(s, initial=0.0)


@_largest.def_vmap
def _(size: int, batched: list[bool], s: Array) -> tuple[Array, bool]:
    """One rule for the whole batch: a choice for each of its members would evaluate every rule."""
    return _largest(s), False


@lru_cache(maxsize=32)
def _trapezoid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Equally spaced nodes and the weights of the normal law on them."""
    g = np.linspace(-REACH, REACH, n)
    weights = np.exp(-0.5 * g * g)
    return g, weights / weights.sum()


@lru_cache(maxsize=256)
def legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights on [−1, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return x, w


def _panels(activation: General, n: int, m: Array, s: Array) -> tuple[Array, Array]:
    """Gauss–Legendre nodes between the kinks, and their weights with the normal density in them, (…, nodes)."""
    x, w = legendre(n // 8)
    gap = jnp.asarray(activation.bends) - m[..., None]
    breaks = jnp.clip(gap / jnp.maximum(s, 1e-300)[..., None], -REACH, REACH)
    end = jnp.full((*m.shape, 1), REACH)
    edges = jnp.concatenate([-end, breaks, end], axis=-1)
    half = jnp.diff(edges)[..., None] / 2
    g = (edges[..., :-1, None] + half) + half * x
    weights = half * w * density(g)
    return g.reshape(*m.shape, -1), weights.reshape(*m.shape, -1)


def _mean(activation: General, n: int, at: Points, of: Callable[[Array], Array]) -> Array:
    m, s = at
    g, weights = _panels(activation, n, m, s) if activation.bends else _trapezoid(n)
    return jnp.sum(weights * of(m[..., None] + s[..., None] * g), axis=-1)


def _slopes(activation: General, n: int, at: Points, order: int) -> Array:
    m, s = at
    roots = np.sqrt(np.arange(1.0, order + 1))
    slope = slope_of(activation)
    if not activation.bends:
        g, weights = _trapezoid(n)
        table = weights[:, None] * orthonormal_hermite(g, order - 1) / roots
        return slope(m[..., None] + s[..., None] * g) @ table
    nodes, density_ = _panels(activation, n, m, s)
    values = density_ * slope(m[..., None] + s[..., None] * nodes)
    return jnp.einsum("...q,...qk->...k", values, orthonormal_hermite(nodes, order - 1)) / roots


@lru_cache(maxsize=64)
def ladder(activation: General) -> Ladder:
    """Measure the reach of every rule for this function; refuse a function that no rule can integrate."""
    with jax.ensure_compile_time_eval():
        _check_kinks(activation)
        first, second = (_reach(activation, n) for n in (SMALLER, RUNGS[0]))
        if second < min(max(1.0, 2.5 * first), TRIED[-1]):
            raise InputError(
                f"the activation {activation.name!r} must be smooth between its kinks, got a quadrature that does not "
                f"converge to {AGREEMENT:g}: list the points where its slope jumps in "
                "activations.custom(function, kinks=[...])."
            )
        return Ladder(tuple(second * n / RUNGS[0] for n in RUNGS))


def _check_kinks(activation: General) -> None:
    """Refuse too many kinks, and a jump of σ itself at one."""
    require(
        len(activation.bends) <= MOST_KINKS,
        f"the activation {activation.name!r} must have at most {MOST_KINKS} kinks to be integrated",
        len(activation.bends),
        "take one that bends less often",
    )
    for t in activation.bends:
        below, above = (float(activation(jnp.asarray(t + shift))) for shift in (-1e-9, 1e-9))
        if abs(above - below) > 1e-6 * (1 + abs(above)):
            raise InputError(
                f"the activation {activation.name!r} must be continuous, got a jump of {above - below:.3g} at its kink "
                f"{t:g}: smooth it."
            )


def _reach(activation: General, n: int) -> float:
    """Largest s tried up to which n and 2n − 1 nodes agree at every mean tried, relative to the largest value."""

    @jax.jit
    def disagreement(m: Array, s: Array) -> Array:
        one, two = (
            jnp.concatenate(
                [_mean(activation, k, (m, s), activation)[..., None], _slopes(activation, k, (m, s), 12)], axis=-1
            )
            for k in (n, 2 * n - 1)
        )
        return jnp.max(jnp.abs(one - two), axis=(1, 2)) / (1 + jnp.max(jnp.abs(two), axis=(1, 2)))

    s = TRIED[:, None]
    m = np.concatenate([0 * s + np.linspace(-3.0, 3.0, 13), s * np.linspace(-3.0, 3.0, 5)], axis=1) + 0.0123
    agrees = np.asarray(disagreement(m, s + 0 * m)) <= AGREEMENT
    return float(TRIED[-1] if agrees.all() else TRIED[: np.argmin(agrees)].max(initial=0.0))
