"""Which known functions an expression is made of.

    σ(x) = Σ_k p_k x^k + Σ_j δ_j (x − t_j)_+ + Σ_i c_i σ_i(α_i x + β_i),      σ_i one of FUNCTIONS

read from the leaves up:
    f + g, c f          term by term; products of polynomials are multiplied out
    σ_i(f)              for f affine; sinh and cosh are sums of exp
    (f)_+               for f piecewise linear: its pieces, cut where it changes sign
    max(f, g) = g + (f − g)_+,    min(f, g) = f − (f − g)_+,    |f| = 2 (f)_+ − f

Anything else is not known and is left to quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from widelimit.problem.activations.activation import Activation
from widelimit.problem.activations.piecewise_linear import Hinges
from widelimit.problem.activations.smooth import (
    HIGHEST_DEGREE,
    ErrorFunction,
    ExponentialFunction,
    Logistic,
    Polynomial,
    Sinusoid,
)
from widelimit.problem.activations.sums import Part, Sum
from widelimit.problem.combinations import Combination, Unknown, combine
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import Item, fold

FUNCTIONS: dict[str, Activation] = {
    "exp": ExponentialFunction(), "sin": Sinusoid(0), "cos": Sinusoid(1), "erf": ErrorFunction(),
    "tanh": Logistic("tanh"), "sigmoid": Logistic("sigmoid"), "softplus": Logistic("softplus"),
}  # fmt: skip
LINE = ((0,), (1,))  # 1 and x
ROUNDING = 1e-15  # of the terms of a value, below which it is 0


@dataclass(frozen=True)
class Hinge:
    """(x − t)_+."""

    t: float


@dataclass(frozen=True)
class Inside:
    """σ(α x + β)."""

    activation: Activation
    scale: float
    shift: float


def recognised(function: Expression) -> Activation | None:
    """The form of an expression in x that is made of known functions; None if it is not."""
    try:
        return _form(fold(function.prefix, _join))
    except ArithmeticError:
        return None


def _join(item: Item, *parts: Combination) -> Combination:
    """An item of the grammar and its parts as a combination of 1, x, x², …, hinges and functions of affine ones."""
    known = RULES.get(item) if isinstance(item, str) else None
    if known is None or all(part.is_constant for part in parts):
        return combine(1, item, *parts)
    return known(*parts)


def _inside(activation: Activation, f: Combination) -> Combination:
    """σ(f) for f affine."""
    if not f.terms.keys() <= set(LINE):
        raise Unknown
    return Combination({Inside(activation, f.terms[1,], f.terms.get((0,), 0.0)): 1.0}, 1)


def _hyperbolic(sign: float, f: Combination) -> Combination:
    """(e^f ± e^{−f})/2."""
    return (_inside(FUNCTIONS["exp"], f) + sign * _inside(FUNCTIONS["exp"], -f)) / 2.0


def _positive(f: Combination) -> Combination:
    """(f)_+ for f piecewise linear: the slope of f where f > 0, else 0, between its knots and roots."""
    if f.is_constant:
        return combine(1, "relu", f)
    if not all(isinstance(k, Hinge) or k in LINE for k in f.terms):
        raise Unknown
    start, slope = (f.terms.get(k, 0.0) for k in LINE)
    hinges = sorted((k.t, jump) for k, jump in f.terms.items() if isinstance(k, Hinge))

    def value(x: float) -> float:
        return _sum(start, slope * x, *(jump * (x - t) for t, jump in hinges if x > t))

    def slope_at(x: float) -> float:
        return _sum(slope, *(jump for t, jump in hinges if x > t))

    cuts = _with_roots([t for t, _ in hinges] or [0.0 - start / slope], value, slope_at)
    between = [cuts[0] - 1, *((s + t) / 2 for s, t in pairwise(cuts)), cuts[-1] + 1]
    slopes = [slope_at(x) if value(x) > 0 else 0.0 for x in between]
    terms: dict[Hashable, float] = {(0,): start if value(between[0]) > 0 else 0.0, (1,): slopes[0]}
    for t, (before, after) in zip(cuts, pairwise(slopes), strict=True):
        terms[Hinge(t)] = after - before
    return Combination({}, 1) + Combination(terms, 1)


def _with_roots(knots: list[float], value: Callable[[float], float], slope_at: Callable[[float], float]) -> list[float]:
    """The knots of a piecewise linear function and where it changes sign, in order."""
    left, right, roots = knots[0], knots[-1], []
    for s, t in pairwise(knots):
        if value(s) * value(t) < 0:
            roots.append(s - value(s) * (t - s) / (value(t) - value(s)))
    if value(left) * slope_at(left - 1) > 0:
        roots.append(left - value(left) / slope_at(left - 1))
    if value(right) * slope_at(right + 1) < 0:
        roots.append(right - value(right) / slope_at(right + 1))
    return sorted({*knots, *roots})


def _sum(*terms: float) -> float:
    """Their sum, 0 where only rounding is left of it."""
    total = sum(terms)
    return total if abs(total) > ROUNDING * sum(map(abs, terms)) else 0.0


RULES: dict[str, Callable[..., Combination]] = {
    **{name: partial(_inside, activation) for name, activation in FUNCTIONS.items()},
    "cosh": partial(_hyperbolic, 1.0),
    "sinh": partial(_hyperbolic, -1.0),
    "relu": _positive,
    "abs": lambda f: 2.0 * _positive(f) - f,
    "max": lambda f, g: g + _positive(f - g),
    "min": lambda f, g: f - _positive(f - g),
}


def _form(f: Combination) -> Activation:
    """The polynomial, the hinges and the parts of a combination, as one activation."""
    if not all(map(math.isfinite, f.terms.values())):
        raise Unknown
    powers = {k[0]: c for k, c in f.terms.items() if isinstance(k, tuple)}
    hinges = sorted((k.t, jump) for k, jump in f.terms.items() if isinstance(k, Hinge))
    parts = [_part(k, c) for k, c in f.terms.items() if isinstance(k, Inside)]
    degree = max(powers, default=0)
    if degree > HIGHEST_DEGREE:
        raise Unknown
    if hinges:
        line = [powers.pop(k, 0.0) for k in (0, 1)] if degree <= 1 else (0.0, 0.0)
        parts.insert(0, Hinges([t for t, _ in hinges], [jump for _, jump in hinges], *line))
    if powers or not parts:
        parts.insert(0, Polynomial([powers.get(k, 0.0) for k in range(degree + 1)]))
    return parts[0] if len(parts) == 1 else Sum(parts)


def _part(inside: Inside, coefficient: float) -> Activation:
    """c σ(α x + β)."""
    numbers = (coefficient, inside.scale, inside.shift)
    return inside.activation if numbers == (1.0, 1.0, 0.0) else Part(inside.activation, *numbers)
