"""The pairwise kernel by a rule of its own for every pair, at every correlation.

    K = E σ(h) σ(h'),   h = m + s g,   h' = m' + s' (c g + q g'),   q = √(1 − c²),   g, g' independent, N(0, 1)

    ∂K/∂m = E σ'(h) σ(h'),    ∂K/∂s = E g σ'(h) σ(h'),      ∂K/∂c = s s' E σ'(h) σ'(h')      finite at c = ±1 too
    ∂K/∂m' = E σ(h) σ'(h'),   ∂K/∂s' = E (c g + q g') σ(h) σ'(h')

Scheme: for every g of a rule a rule in g'. The rules are those of widelimit.potentials.direct_rules, evenly spaced, or
Gauss–Legendre between the kinks, on equal parts of [−12.5, 12.5], as many as the deviations max(s, s') and q s' need:
how far a rule reaches is measured there for every σ. Panels in g end where h meets a kink, and around the place where
h' does at g' = 0, where the mean over g' bends within a few q/|c|. Where equal parts would be many, panels follow the
function instead (widelimit.potentials.line_panels): they end where h, and h' at g' = 0, meet one of its edges.

A panel has at most MOST parts, and panels that follow a function reach as far as they were made for: deviations up to
`largest_deviation`, 10⁵ for tanh. What is lost beyond is stated in widelimit.potentials.beyond_rules. Beyond FAR times
as much a quarter of K may be lost: neurons that long are diverging, and K is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.integrals import gauss
from widelimit.potentials.direct_rules import REACH, RUNGS, follows, ladder
from widelimit.potentials.line_panels import line_panels
from widelimit.potentials.normal import density
from widelimit.problem.activations import Activation, General

EVEN, GAUSS = 48, RUNGS[0] // 8  # nodes of a part, without kinks and between them
PRODUCT = math.sqrt(2)  # by which a product σσ' asks for more nodes than σ: frequencies of Gaussian decay add
LAYER = 8.5  # standard deviations, beyond which a kink is not felt
PAIRS = 32  # at a time
LONGEST = 4.0  # part of a panel that follows the function: the density is resolved on it
MOST = 512  # parts of a panel
FAR = 20.0  # times the largest deviation that the rules serve


class Pair(NamedTuple):
    """Two families of Gaussian pre-activations: means m (n,), m' (n',), deviations s, s', correlations c (n, n')."""

    m: Array
    s: Array
    m2: Array
    s2: Array
    corr: Array


class Parts(NamedTuple):
    """Nodes x and weights of a part [0, 1], the largest product of s and a length that they serve, and the kinks.

    wide    the same of a panel that follows the function
    edges   of such panels, the kinks among them
    near    the same number of edges, each moved on to the next kink or to ∞
    """

    x: np.ndarray
    weights: np.ndarray
    reach: float
    bends: np.ndarray
    wide: tuple[np.ndarray, np.ndarray]
    edges: np.ndarray
    near: np.ndarray


@lru_cache(maxsize=64)
def parts_of(activation: General) -> Parts:
    """The rule of a function."""
    first, bends = ladder(activation)[0] / PRODUCT, np.array(activation.bends)
    edges = line_panels(activation).edges if follows(activation) else bends
    near = np.append(bends, np.inf)[np.searchsorted(bends, edges)]
    nodes, reach = (GAUSS, first * REACH) if bends.size else (EVEN, first * EVEN * 2 * REACH / RUNGS[0])
    inside, shares = gauss(nodes)
    wide = (1 + inside) / 2, shares / 2
    x, weights = wide if bends.size else ((np.arange(EVEN) + 0.5) / EVEN, np.full(EVEN, 1 / EVEN))
    return Parts(x, weights, reach, bends, wide, edges, near)


def as_function(activation: Activation) -> General:
    """The activation as a function without a closed form."""
    return activation if isinstance(activation, General) else General(activation, (), type(activation).__name__)


def largest_deviation(activation: Activation) -> float:
    """ŝ, the largest deviation that the rules can cut into small enough parts."""
    sigma = as_function(activation)
    return max(parts_of(sigma).reach * MOST / (2 * REACH), ladder(sigma)[1] if follows(sigma) else 0.0)


def by_rule(activation: Activation, at: Pair, needed: Array) -> Array:
    """K of the pairs that are ``needed`` (n, n'), 0 for the others; differentiable in the numbers of the pair."""
    return _by_rule(activation, at, needed)


@jax.custom_jvp
def _by_rule(activation: Activation, at: Pair, needed: Array) -> Array:
    return _of_needed(activation, at, needed)[0]


@_by_rule.defjvp
def _(at: tuple[Activation, Pair, Array], moves: tuple[Activation, Pair, Array]) -> tuple[Array, Array]:
    value, *slopes = _of_needed(*at)
    m, s, m2, s2, corr = moves[1]
    steps = (m[:, None], s[:, None], m2, s2, corr)
    return value, sum((slope * step for slope, step in zip(slopes, steps, strict=True)), jnp.zeros_like(value))


def _of_needed(activation: Activation, at: Pair, needed: Array) -> Array:
    """K and its slopes in m, s, m', s', c for the needed pairs, (6, n, n'), a bounded number of them at a time."""
    n, n2 = needed.shape
    size = min(PAIRS, n * n2)
    places = jnp.nonzero(needed.ravel(), size=-(-n * n2 // size) * size, fill_value=n * n2)[0]

    def add(k: Array, found: Array) -> Array:
        some = jax.lax.dynamic_slice(places, (k * size,), (size,))
        i, j = jnp.divmod(jnp.minimum(some, n * n2 - 1), n2)
        some_pairs = Pair(at.m[i], at.s[i], at.m2[j], at.s2[j], at.corr[i, j])
        return found.at[:, some].set(value_and_slopes(activation, some_pairs), mode="drop")

    batches = -(-jnp.sum(needed) // size)
    return jax.lax.fori_loop(0, batches, add, jnp.zeros((6, n * n2))).reshape(6, n, n2)


def value_and_slopes(activation: Activation, at: Pair) -> Array:
    """K and its slopes in m, s, m', s', c for pairs whose numbers have one shape (pairs,), (6, pairs)."""
    sigma = as_function(activation)
    rule, longest = parts_of(sigma), FAR * largest_deviation(sigma)
    far = jnp.maximum(at.s, at.s2) > longest
    at = at._replace(s=jnp.where(far, 1.0, at.s), s2=jnp.where(far, 1.0, at.s2))
    m, s, m2, s2, corr = (x[:, None] for x in at)
    q = jnp.sqrt(jnp.maximum((1 - corr) * (1 + corr), 0.0))

    def term(g: Array, w: Array) -> Array:
        value, slope = _jet(sigma, m + s * g)
        other, other_slope, tilted = _given(rule, sigma, m2 + s2 * corr * g, s2 * q)
        both = (
            value * other, slope * other, g * slope * other, value * other_slope,
            value * (corr * g * other_slope + q * tilted), s * s2 * slope * other_slope,
        )  # fmt: skip
        return jnp.stack([jnp.sum(w * x, axis=1) for x in both])

    width, middle = LAYER * q / jnp.maximum(jnp.abs(corr), 0.5), _scores(rule.bends, m2, s2 * corr)
    wide = _many_parts(rule, jnp.maximum(jnp.max(at.s), jnp.max(at.s2)))
    lines = [_scores(_lines(rule, wide), *h) for h in ((m, s), (m2, s2 * corr))]
    edges = jnp.sort(_edges(jnp.concatenate([*lines, middle - width, middle + width], axis=1)), axis=0)
    return jnp.where(far, jnp.nan, _sum_parts(rule, wide, edges, jnp.maximum(at.s, at.s2), term))


def _given(rule: Parts, sigma: General, mean: Array, deviation: Array) -> Array:
    """E σ(h'), E σ'(h') and E g' σ'(h') of h' = mean + deviation g', (3, pairs, nodes)."""

    def term(g: Array, w: Array) -> Array:
        value, slope = _jet(sigma, mean[..., None] + deviation[..., None] * g)
        return jnp.stack([jnp.sum(w * x, axis=-1) for x in (value, slope, g * slope)])

    def between(lines: Array | np.ndarray, wide: Array | bool) -> Array:
        edges = _edges(_scores(lines, mean[..., None], deviation[..., None]))
        return _sum_parts(rule, wide, edges, deviation, term)

    if len(rule.edges) == len(rule.bends):
        return between(rule.bends, False)
    wide = _many_parts(rule, jnp.max(deviation))
    return jax.lax.cond(wide, lambda: between(_lines(rule, wide), wide), lambda: between(rule.bends, False))


def _many_parts(rule: Parts, deviation: Array) -> Array:
    """Whether equal parts would be more than the panels that follow the function."""
    return (len(rule.edges) > len(rule.bends)) & (2 * REACH * deviation > rule.reach * len(rule.edges))


def _lines(rule: Parts, wide: Array) -> Array:
    """Where h ends a panel."""
    return jnp.where(wide, rule.edges, rule.near)


def _jet(sigma: General, x: Array) -> tuple[Array, Array]:
    """σ and σ'."""
    return jax.jvp(sigma, (x,), (jnp.ones_like(x),))


def _scores(lines: Array | np.ndarray, mean: Array, deviation: Array) -> Array:
    """(t − mean)/deviation for every line t, on the last axis."""
    safe = jnp.where(jnp.abs(deviation) < 1e-200, 1e-200, deviation)
    return jnp.clip((lines - mean) / safe, -REACH, REACH)


def _edges(breaks: Array) -> Array:
    """Ends of the panels, on a new first axis; the same for all where there are no breaks."""
    inner = jnp.moveaxis(jnp.clip(breaks, -REACH, REACH), -1, 0)
    end = jnp.full((1, *inner.shape[1:]) if len(inner) else (1,) * inner.ndim, REACH)
    return jnp.concatenate([-end, inner, end] if len(inner) else [-end, end])


def _sum_parts(
    rule: Parts, wide: Array | bool, edges: Array, deviation: Array, term: Callable[[Array, Array], Array]
) -> Array:
    """Σ over panels and their parts of term(nodes, weights × density), both (…, nodes) for edges (panels + 1, …)."""
    lengths, inside = jnp.diff(edges, axis=0), range(1, edges.ndim)
    load = jnp.where(
        wide, jnp.max(lengths, axis=inside) / LONGEST, jnp.max(lengths * deviation, axis=inside) / rule.reach
    )
    parts = jnp.where(jnp.max(lengths, axis=inside) > 0, jnp.clip(jnp.ceil(load), 1, MOST), 0).astype(int)
    ends = jnp.cumsum(parts)
    x, weights = (jnp.where(wide, *both) for both in zip(rule.wide, (rule.x, rule.weights), strict=True))

    def add(k: Array | int, total: Array) -> Array:
        panel = jnp.searchsorted(ends, k, side="right")
        left, right = edges[panel][..., None], edges[panel + 1][..., None]
        step = (right - left) / parts[panel]
        g = left + step * (k - ends[panel] + parts[panel] + x)
        return total + term(g, step * weights * density(g))

    shape = jax.eval_shape(partial(add, 0), jnp.zeros(())).shape
    return jax.lax.fori_loop(0, ends[-1], add, jnp.zeros(shape))
