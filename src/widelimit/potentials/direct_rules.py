"""Rules that integrate a function against the normal law, and a ladder of them.

    A_k = ∫ σ(m + sg) h_k(g) φ(g) dg,      B_k = (1/√k) ∫ σ'(m + sg) h_{k−1}(g) φ(g) dg

    m, s   mean and deviation, one shape        g   nodes of a rule        n   its size

Scheme: trapezoidal rule on [−12.5, 12.5], which for a function analytic in a strip of width w around the real axis
converges like exp(−2πw/(s h)), h the spacing; between kinks, Gauss–Legendre panels. For the first rule the largest s is
measured up to which it agrees with a rule of twice its size to 1e−12, which a smaller one confirms. For larger s there
is another: panels that follow the function (widelimit.potentials.line_panels), or a rule of eight times the size, whose
reach is eight times as far, for a function that oscillates far out. At run time the first rule is used if it is
sufficient for every point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from widelimit.errors import InputError, require
from widelimit.integrals import gauss
from widelimit.potentials.chunks import by_chunks
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.potentials.line_panels import POINTS, line_panels
from widelimit.problem.activations import General
from widelimit.problem.activations.kinks import slope_of
from widelimit.problem.activations.on_host import on_host

ArrayLike = TypeVar("ArrayLike", np.ndarray, Array)

REACH = 12.5  # √φ(12.5) < 1e−17, and |h_k √φ| < 1
RUNGS = (512, 4096)
SMALLER = 128  # nodes of the rule that shows how the reach grows with the size
VALUES = 1 << 18  # of the function at a time
AGREEMENT = 1e-12
MOST_KINKS = 32
TRIED = 10.0 ** np.arange(-2.0, 1.26, 0.125)  # deviations s at which a rule is tried
TRIED_ORDERS = 12  # with which it is; a higher one has a node more on every panel, as it oscillates there


class Rule(NamedTuple):
    """Nodes of the trapezoidal rule on [−reach, reach]; a panel between kinks has an eighth as many."""

    n: int
    reach: float = REACH


class Integrand(NamedTuple):
    """A function, on NumPy or on JAX arrays, and its kinks in increasing order."""

    function: Callable[[Any], Any]
    bends: tuple[float, ...]


def mean(activation: General, m: Array, s: Array, of: Callable[[Array], Array] | None = None) -> Array:
    """E σ(m + sG), or that of another function with the kinks of σ."""
    return _climb(activation, Integrand(of or activation, activation.bends), 1, m, s)[..., 0]


def slopes(activation: General, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order, stacked on a new last axis."""
    found = _climb(activation, Integrand(slope_of(activation), activation.bends), order, m, s)
    return found / np.sqrt(np.arange(1.0, order + 1))


def moments(of: Integrand, rule: Rule, count: int, m: ArrayLike, s: ArrayLike) -> ArrayLike:
    """E f(m + sG) h_k(G) for k < count at points (n,), (n, count)."""
    m, s = m[:, None], s[:, None]
    if not of.bends:
        g, weights = trapezoid(rule, count)
        return of.function(m + s * g) @ weights
    nodes, densities = _panels(of.bends, rule._replace(n=rule.n + 8 * max(count - TRIED_ORDERS, 0)), m, s)
    values = densities * of.function(m + s * nodes)
    xp = _module(values)
    if xp is jnp:
        return xp.einsum("pq,pqk->pk", values, orthonormal_hermite(nodes, count - 1))
    before, columns = 0 * values, []
    for k in range(count):  # the same without an array (n, nodes, count)
        columns.append(values.sum(axis=1))
        values, before = (nodes * values - math.sqrt(k) * before) / math.sqrt(k + 1), values
    return xp.stack(columns, axis=1)


def _module(x: Array | np.ndarray) -> ModuleType:
    return np if isinstance(x, np.ndarray) else jnp


@lru_cache(maxsize=256)
def trapezoid(rule: Rule, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Equally spaced nodes, and for every order weights with h_k φ in them, (n, count)."""
    g = np.linspace(-rule.reach, rule.reach, rule.n)
    weights = np.exp(-0.5 * g * g)
    return g, (weights / weights.sum())[:, None] * orthonormal_hermite(g, count - 1)


def _panels(bends: tuple[float, ...], rule: Rule, m: ArrayLike, s: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """Gauss–Legendre nodes between the kinks, and their weights with the normal density in them, (n, nodes)."""
    xp = _module(m)
    x, w = gauss(rule.n // 8)
    breaks = xp.clip((np.array(bends) - m) / xp.maximum(s, 1e-300), -rule.reach, rule.reach)
    end = xp.full(m.shape, rule.reach)
    edges = xp.concatenate([-end, breaks, end], axis=1)
    half = xp.diff(edges)[..., None] / 2
    g = edges[:, :-1, None] + half + half * x
    weights = half * w * xp.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
    return g.reshape(len(m), -1), weights.reshape(len(m), -1)


def _climb(activation: General, of: Integrand, count: int, m: Array, s: Array) -> Array:
    """Moments by the smallest rule that reaches the largest s, at a bounded number of points at a time."""
    first = _largest(jax.lax.stop_gradient(s)) <= ladder(activation)[0]
    rows = jnp.stack([m.ravel(), s.ravel()], axis=-1)

    def by(of: Integrand, rule: Rule) -> Callable[[Array], Array]:
        nodes = rule.n // 8 * (len(of.bends) + 1) * max(1, count // 16) if of.bends else rule.n
        size = min(max(VALUES // nodes, 1), len(rows))
        return lambda rows: by_chunks(
            lambda some: moments(of, rule, count, some[:, 0], some[:, 1]),
            jnp.pad(rows, ((0, -len(rows) % size), (0, 0))),
            size,
        )[: len(rows)]

    wide = by(of, Rule(RUNGS[1]))
    if follows(activation):
        wide = by(of._replace(bends=tuple(line_panels(activation).edges)), Rule(8 * POINTS))
    return jax.lax.cond(first, by(of, Rule(RUNGS[0])), wide, rows).reshape(*m.shape, count)


@custom_vmap
def _largest(s: Array) -> Array:
    return jnp.max(s, initial=0.0)


@_largest.def_vmap
def _(size: int, batched: list[bool], s: Array) -> tuple[Array, bool]:
    """One rule for the whole batch: a choice for each of its members would evaluate every rule."""
    return _largest(s), False


@lru_cache(maxsize=64)
def ladder(activation: General) -> tuple[float, ...]:
    """The largest s that each of the two rules can be trusted with; refuse a function that none can integrate."""
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        _check_kinks(activation)
        of = [
            (Integrand(on_host(f), activation.bends), k)
            for f, k in ((activation, 1), (slope_of(activation), TRIED_ORDERS))
        ]
        first, second = (_reach(of, n) for n in (SMALLER, RUNGS[0]))
    if second < min(max(1.0, 2.5 * first), TRIED[-1]):
        raise InputError(
            f"the activation {activation.name!r} must be smooth between its kinks, got a quadrature that does not "
            f"converge to {AGREEMENT:g}: list the points where its slope jumps in "
            "activations.custom(function, kinks=[...])."
        )
    return second, max(second * RUNGS[1] / RUNGS[0], _followed(activation))


def _followed(activation: General) -> float:
    """The largest s that panels following the function can be trusted with, for means |m| ≤ REACH s."""
    return line_panels(activation).farthest / (2 * REACH)


def follows(activation: General) -> bool:
    """Whether the rule for larger s has such panels."""
    return ladder(activation)[1] == _followed(activation)


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


def _reach(of: list[tuple[Integrand, int]], n: int) -> float:
    """Largest s tried up to which n and 2n − 1 nodes agree at every mean tried, relative to the largest value."""
    for i, s in enumerate(TRIED):
        m = np.concatenate([np.linspace(-3.0, 3.0, 13), s * np.linspace(-3.0, 3.0, 5)]) + 0.0123
        one, two = (
            np.hstack([moments(f, Rule(k), count, m, np.full_like(m, s)) for f, count in of]) for k in (n, 2 * n - 1)
        )
        if not np.max(np.abs(one - two)) <= AGREEMENT * (1 + np.max(np.abs(two))):
            return float(TRIED[i - 1]) if i else 0.0
    return float(TRIED[-1])
