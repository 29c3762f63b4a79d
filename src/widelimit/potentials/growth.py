"""How an activation grows: what bounds of its smoothed versions need to know of it.

    σ(x) = c_± + l_± x + e(x)        for x > 0 and x < 0
    |σ(x) − σ(x')| ≤ L |x − x'|,     sup σ − inf σ ≤ 2 O,     σ(x) = σ(0) + σ'(0) x for |x| ≤ t_0

    l_±, c_±   left, right   lines to which σ tends; l_± = 0 if it is bounded
    ∫ e        signed        ∫ |e|, ∫ |x e|   area, moment   of what is between σ and its lines
    L          lipschitz     O   half   half the oscillation, infinite if σ is not bounded      t_0   flat

    E[σ(sG) h_k(G)] = s E[l_± G h_k] + E[c_± h_k] + h_k(0) φ(0) ∫e/s + error,    |error| ≤ κ √(k+1) ∫|x e|/s²
    |E[e(sG) h_k(G)]| ≤ κ ∫|e|/s,       κ = sup |h_k φ| ≤ 1.0865/√(2π)

κ is Cramér's bound of Hermite functions, and (h_k φ)' = −√(k+1) h_{k+1} φ. What is not known for an activation makes
`growth` None: functions without a form, sinusoids, polynomials of degree two or more, exponentials.
"""

from __future__ import annotations

import math
from functools import singledispatch
from itertools import pairwise
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from widelimit.problem.activations import Activation, ErrorFunction, Hinges, Logistic, Part, Polynomial, Sum

CRAMER = 1.0865 / math.sqrt(2 * math.pi)
FLAT = 1e-13  # relative slope that jumps leave by rounding


class Line(NamedTuple):
    """c + l x."""

    c: float
    l: float  # noqa: E741  the letter of the equation

    def at(self, x: float) -> float:
        """c + l x."""
        return self.c + self.l * x


class Growth(NamedTuple):
    """Lines to which σ tends on the left and on the right, and what it does between; see above."""

    left: Line
    right: Line
    signed: float
    area: float
    moment: float
    lipschitz: float
    half: float
    flat: float = 0.0


@singledispatch
def growth(activation: Activation) -> Growth | None:
    """The growth of an activation in the form its smoothed versions are known for; None if it is not known.

    >>> from widelimit.problem.activations import ramp
    >>> growth(ramp((0.5, -2.5), (1.5, 7.5)).form).half
    5.0
    """
    return None


@growth.register
def _(activation: Hinges) -> Growth:
    slopes, knots = [activation.slope], activation.knots
    for jump in activation.jumps:
        slopes.append(slopes[-1] + jump)
    slopes = [slope if abs(slope) > FLAT * max(map(abs, slopes)) else 0.0 for slope in slopes]
    values = _values(activation, slopes)
    left = Line(activation.intercept, slopes[0])
    right = Line(values[-1] - slopes[-1] * knots[-1], slopes[-1]) if knots else left
    bounded = slopes[0] == 0 == slopes[-1]
    half = (max(values, default=0.0) - min(values, default=0.0)) / 2 if bounded else math.inf
    flat = min(map(abs, knots), default=math.inf)
    signed, area, moment = _between(activation, left, right)
    return Growth(left, right, signed, area, moment, max(map(abs, slopes)), half, flat)


def _values(activation: Hinges, slopes: list[float]) -> list[float]:
    """σ at the knots, exactly as the lines add up."""
    found: list[float] = []
    for i, knot in enumerate(activation.knots):
        before = activation.intercept + activation.slope * knot
        found.append(before if not i else found[-1] + slopes[i] * (knot - activation.knots[i - 1]))
    return found


def _between(activation: Hinges, left: Line, right: Line) -> tuple[float, ...]:
    """∫ e, ∫ |e| and ∫ |x e|: where nothing bends e is a line; without a sign at most the trapezium."""
    signed = area = moment = 0.0
    for low, high in pairwise(sorted({0.0, *activation.knots})):
        line = right if low >= 0 else left
        ends = [float(activation(jnp.asarray(x))) - line.at(x) for x in (low, high)]
        size = (high - low) * (abs(ends[0]) + abs(ends[1])) / 2
        signed, area = signed + (high - low) * sum(ends) / 2, area + size
        moment += max(abs(low), abs(high)) * size
    return signed, area, moment


@growth.register
def _(activation: ErrorFunction) -> Growth:
    root = 2 / math.sqrt(math.pi)
    return Growth(Line(-1.0, 0.0), Line(1.0, 0.0), 0.0, root, 0.5, root, 1.0)


_ZERO, _IDENTITY = Line(0.0, 0.0), Line(0.0, 1.0)
_SIXTH, _ETA = math.pi**2 / 6, 0.9015426773696957  # η(2) = π²/12, η(3) = Σ (−1)^{n+1}/n³
_LOGISTIC = {
    "sigmoid": Growth(_ZERO, Line(1.0, 0.0), 0.0, 2 * math.log(2), _SIXTH, 0.25, 0.5),
    "tanh": Growth(Line(-1.0, 0.0), Line(1.0, 0.0), 0.0, 2 * math.log(2), _SIXTH / 2, 1.0, 1.0),
    "softplus": Growth(_ZERO, _IDENTITY, _SIXTH, _SIXTH, 2 * _ETA, 1.0, math.inf),
    "silu": Growth(_ZERO, _IDENTITY, -_SIXTH, _SIXTH, 4 * _ETA, 1.1, math.inf),  # largest slope 1.0998
    "gelu": Growth(_ZERO, _IDENTITY, -0.5, 0.5, 4 / (3 * math.sqrt(2 * math.pi)), 1.13, math.inf),  # 1.1290
}


@growth.register
def _(activation: Logistic) -> Growth:
    return _LOGISTIC[activation.kind]


@growth.register
def _(activation: Polynomial) -> Growth | None:
    if any(activation.coefficients[2:]):
        return None
    c, slope = (*activation.coefficients, 0.0)[:2]
    line = Line(float(c), float(slope))
    return Growth(line, line, 0.0, 0.0, 0.0, abs(line.l), 0.0 if line.l == 0 else math.inf, math.inf)


@growth.register
def _(activation: Part) -> Growth | None:
    """c ς(αx + β): the lines change sides if α < 0, and meet at −β/α instead of 0, which moves some area."""
    inner = growth(activation.activation)
    if inner is None:
        return None
    c, alpha, beta = float(activation.coefficient), float(activation.scale), float(activation.shift)
    left, right = (Line(c * line.at(beta), c * alpha * line.l) for line in inner[:2][:: 1 if alpha > 0 else -1])
    meet, dc, dl, size = -beta / alpha, left.c - right.c, left.l - right.l, abs(c)
    moved = abs(meet) * (abs(dc) + abs(dl) * abs(meet))
    return Growth(
        left, right, c * inner.signed / abs(alpha) + dc * meet + dl * meet**2 / 2,
        size * inner.area / abs(alpha) + moved,
        size * (inner.moment + abs(beta) * inner.area) / alpha**2 + moved * abs(meet),
        size * abs(alpha) * inner.lipschitz, size * inner.half, inner.flat / abs(alpha) if beta == 0 else 0.0,
    )  # fmt: skip


@growth.register
def _(activation: Sum) -> Growth | None:
    parts = [growth(part) for part in activation.parts]
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    left = Line(sum(p.left.c for p in known), sum(p.left.l for p in known))
    right = Line(sum(p.right.c for p in known), sum(p.right.l for p in known))
    signed, area, moment, lipschitz, half = np.array([p[2:7] for p in known], float).sum(axis=0).tolist()
    return Growth(left, right, signed, area, moment, lipschitz, half, min(p.flat for p in known))
