"""Smoothed activations of general functions, by quadrature whose size is chosen by a convergence check.

    A_0 = ∫ σ(m + sg) φ(g) dg
    B_k = (1/√k) ∫ σ'(m + sg) h_{k−1}(g) φ(g) dg                     s not small
    B_k = s^{k−1}/√k! ∫ σ^{(k)}(m + sg) φ(g) dg,  k ≤ 14             s small: goes to 0 like s^{k−1} without noise

Scheme: trapezoidal rule on [−12.5, 12.5], which for a function analytic in a strip of width w around the real axis
converges like exp(−2πw/(s h)), h the spacing; between kinks, Gauss–Legendre panels. A ladder of rules is kept. For the
first two the largest s is measured up to which they agree with rules of twice their size to 1e−12; the reach of the
others follows, being proportional to their size. At run time the smallest sufficient rule is used. Higher derivatives
come from Taylor-mode differentiation where JAX has it for σ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap
from jax.experimental.jet import jet

from widelimit.errors import InputError
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.potentials.normal import density
from widelimit.problem.activations import General

REACH = 12.5  # √φ(12.5) < 1e−17, and |h_k √φ| < 1
RUNGS = (128, 512, 2048, 8192)
AGREEMENT = 1e-12
TRIED = 10.0 ** np.arange(-2.0, 1.26, 0.125)  # deviations s at which a rule is tried
TAYLOR_ORDER = 14


@dataclass(frozen=True)
class Ladder:
    """How far each rule reaches: ``limits[i]`` is the largest s for which RUNGS[i] nodes agree with twice as many.

    small  s below which the Taylor form of B_k is used (0: never)
    """

    limits: tuple[float, ...]
    small: float


def mean_value(activation: General, m: Array, s: Array) -> Array:
    """A_0(m, s)."""
    return _climb(activation, s, lambda n: _mean(activation, n, m, s))


def scaled_slopes(activation: General, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order, stacked on a new last axis."""
    wide = _climb(activation, s, lambda n: _direct(activation, n, m, s, order))
    small = ladder(activation).small
    if small == 0:
        return wide
    terms = min(order, TAYLOR_ORDER)
    narrow = _taylor(activation, m, jnp.minimum(s, small), terms)
    return jnp.concatenate(
        [jnp.where((s < small)[..., None], narrow, wide[..., :terms]), wide[..., terms:]],
        axis=-1,
    )


def square_of_slope(activation: General, m: Array, s: Array) -> Array:
    """E σ'(m + sG)²."""
    slope = _derivative(activation)
    return _climb(activation, s, lambda n: _mean(activation, n, m, s, lambda x: slope(x) ** 2))


def _climb(activation: General, s: Array, rule: Callable[[int], Array]) -> Array:
    """Apply the smallest rule that reaches the largest s."""
    limits = jnp.asarray(ladder(activation).limits[:-1])
    rung = jnp.searchsorted(limits, _largest(jax.lax.stop_gradient(s)))
    return jax.lax.switch(rung, [lambda n=n: rule(n) for n in RUNGS])


@custom_vmap
def _largest(s: Array) -> Array:
    return jnp.max(s, initial=0.0)


@_largest.def_vmap
def _(size: int, batched: list[bool], s: Array) -> tuple[Array, bool]:
    """One rule for the whole batch: a choice for each of its members would evaluate every rule."""
    return _largest(s), False


@lru_cache(maxsize=32)
def _trapezoid(n: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Equally spaced nodes and the weights of the normal law on them."""
    g = np.linspace(-reach, reach, n)
    weights = np.exp(-0.5 * g * g)
    return g, weights / weights.sum()


def _panels(activation: General, n: int, m: Array, s: Array) -> tuple[Array, Array]:
    """Gauss–Legendre nodes between the kinks, and their weights with the normal density in them, (…, nodes)."""
    x, w = np.polynomial.legendre.leggauss(n // 8)
    gap = jnp.asarray(activation.kinks) - m[..., None]
    breaks = jnp.clip(gap / jnp.maximum(s, 1e-300)[..., None], -REACH, REACH)
    end = jnp.full((*m.shape, 1), REACH)
    edges = jnp.concatenate([-end, breaks, end], axis=-1)
    half = jnp.diff(edges)[..., None] / 2
    g = (edges[..., :-1, None] + half) + half * x
    weights = half * w * density(g)
    return g.reshape(*m.shape, -1), weights.reshape(*m.shape, -1)


def _mean(activation: General, n: int, m: Array, s: Array, of: Callable[[Array], Array] | None = None) -> Array:
    """E σ(m + sG), or that of a function with the kinks of σ."""
    g, weights = _panels(activation, n, m, s) if activation.kinks else _trapezoid(n, REACH)
    return jnp.sum(weights * (of or activation)(m[..., None] + s[..., None] * g), axis=-1)


def _direct(activation: General, n: int, m: Array, s: Array, order: int) -> Array:
    roots = np.sqrt(np.arange(1.0, order + 1))
    slope = _derivative(activation)
    if not activation.kinks:
        g, weights = _trapezoid(n, REACH)
        table = weights[:, None] * orthonormal_hermite(g, order - 1) / roots
        return slope(m[..., None] + s[..., None] * g) @ table
    nodes, density_ = _panels(activation, n, m, s)
    values = density_ * slope(m[..., None] + s[..., None] * nodes)
    return jnp.einsum("...q,...qk->...k", values, orthonormal_hermite(nodes, order - 1)) / roots


def _taylor(activation: General, m: Array, s: Array, order: int) -> Array:
    g, weights = _trapezoid(33, 9.0)
    derivatives = _higher(activation, m[..., None] + s[..., None] * g, order)
    columns = [
        s ** (k - 1) / math.sqrt(math.factorial(k)) * jnp.sum(weights * derivative, axis=-1)
        for k, derivative in enumerate(derivatives, 1)
    ]
    return jnp.stack(columns, axis=-1)


def _derivative(activation: General) -> Callable[[Array], Array]:
    if activation.derivative is not None:
        return activation.derivative
    return lambda x: jax.jvp(activation, (x,), (jnp.ones_like(x),))[1]


def _higher(activation: General, x: Array, order: int) -> list[Array]:
    """σ', σ'', …, order of them."""
    zero = jnp.zeros_like(x)
    if order == 1:
        return [_derivative(activation)(x)]
    first, rest = jet(_derivative(activation), (x,), ([jnp.ones_like(x)] + [zero] * (order - 2),))
    return [first, *rest]


@lru_cache(maxsize=64)
def ladder(activation: General) -> Ladder:
    """Measure the reach of every rule for this function; refuse a function that no rule can integrate."""
    with jax.ensure_compile_time_eval():
        _check_continuous(activation)
        first, second = (_reach(activation, n) for n in RUNGS[:2])
        if second < min(max(1.0, 2.5 * first), TRIED[-1]):
            raise InputError(
                f"the activation {activation.name!r} must be smooth between its kinks, got a quadrature that does not "
                f"converge to {AGREEMENT:g}: list the points where its slope jumps in "
                "activations.custom(function, kinks=[...])."
            )
        limits = (first, *(second * n / RUNGS[1] for n in RUNGS[1:]))
        return Ladder(limits, 0.0 if activation.kinks else _small(activation, first / 8))


def check_traceable(activation: General) -> None:
    """Refuse a function that JAX cannot trace elementwise."""
    probe = jax.ShapeDtypeStruct((3,), float)
    try:
        good = jax.eval_shape(activation, probe).shape == probe.shape
    except Exception:  # whatever the function does with a tracer
        good = False
    if not good:
        raise InputError(
            f"the activation {activation.name!r} must be elementwise and traceable by JAX, got one that is not: "
            "write it with jax.numpy, e.g. jax.numpy.tanh for numpy.tanh."
        )


def _check_continuous(activation: General) -> None:
    """Refuse a jump of σ itself at a kink."""
    for t in activation.kinks:
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
            jnp.concatenate([_mean(activation, k, m, s)[..., None], _direct(activation, k, m, s, 12)], axis=-1)
            for k in (n, 2 * n - 1)
        )
        return jnp.max(jnp.abs(one - two), axis=(1, 2)) / (1 + jnp.max(jnp.abs(two), axis=(1, 2)))

    s = TRIED[:, None]
    m = np.concatenate([0 * s + np.linspace(-3.0, 3.0, 13), s * np.linspace(-3.0, 3.0, 5)], axis=1) + 0.0123
    agrees = np.asarray(disagreement(m, s + 0 * m)) <= AGREEMENT
    return float(TRIED[-1] if agrees.all() else TRIED[: np.argmin(agrees)].max(initial=0.0))


def _small(activation: General, s: float) -> float:
    """The crossover to the Taylor form, if it is available and agrees there; else 0."""
    if s == 0:
        return 0.0
    m = jnp.linspace(-2.0, 2.0, 9)
    spread = jnp.full_like(m, s)
    try:
        narrow = jax.jit(lambda m, s: _taylor(activation, m, s, TAYLOR_ORDER))(m, spread)
    except Exception:  # Taylor mode lacks a rule for a primitive of σ: it says so in many ways
        return 0.0
    wide = _direct(activation, RUNGS[0], m, spread, TAYLOR_ORDER)
    agrees = bool(jnp.max(jnp.abs(narrow - wide)) <= 1e-11 * (1 + jnp.max(jnp.abs(wide))))
    return s if agrees else 0.0
