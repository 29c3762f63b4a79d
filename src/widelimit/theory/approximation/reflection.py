"""Waves of a function on an interval: its slope is continued by reflection.

    g = f' on [−r, r],   g(2r − x) = g(x) beyond: a Fourier series, even part cos(jπx/r), odd part sin((j + ½)πx/r)

    C = Σ_j |a_j| + Σ_j |b_j|
    a_j = (1/r) ∫ g cos(jπx/r) dx (half of it for j = 0),   b_j = (1/r) ∫ g sin((j + ½)πx/r) dx

Only f is needed: the integrals are taken by parts. On [−r, r] this is an upper bound of the smallest C that any
extension of f has, and C ≥ max |f'| for all of them. For a power x^n both are n r^{n−1}.

The tail: (−1)^j a_j = A/j² + B/j⁴ + C/j⁶ + …, fitted to the last terms and summed beyond them; the same in j + ½ for b.
A slope that jumps inside has coefficients like 1/j: C is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from widelimit.integrals import panel_rule
from widelimit.theory.approximation.waves import Waves
from widelimit.theory.learning.spectrum import WithError

POINTS, PANEL = 16, 2.0  # nodes of a panel, which is so many radians of the highest frequency wide
TERMS = 256
SEEN = 20_000  # intervals in which the largest slope is looked for
GROWING = 0.75  # ratio of two successive gains of the sum: 1/2 if it converges like Σ 1/j², 1 if like Σ 1/j


class Reflected(NamedTuple):
    """Waves of the first terms; C with its error, infinite if the slope jumps; and the largest slope seen, below C."""

    waves: Waves
    total: WithError
    steepest: float


def reflected(f: Callable[[np.ndarray], np.ndarray], r: float, cuts: tuple[float, ...] = ()) -> Reflected:
    """The waves of f on [−r, r]; cuts are where its slope bends."""
    panels = math.ceil(2 * TERMS * math.pi / PANEL)
    edges = np.unique([*np.linspace(-r, r, panels + 1), *(t for t in cuts if abs(t) < r)])
    nodes, weights = (part.ravel() for part in panel_rule(edges, POINTS))
    y, ends = f(nodes) * weights, f(np.array([-r, r]))
    j = np.arange(TERMS)
    even, odd = j * math.pi / r, (j + 0.5) * math.pi / r
    a = ((ends[1] - ends[0]) * np.cos(even * r) + even * np.array([y @ np.sin(v * nodes) for v in even])) / r
    b = ((ends[1] + ends[0]) * np.sin(odd * r) - odd * np.array([y @ np.cos(v * nodes) for v in odd])) / r
    a[0] /= 2
    noise = (
        8
        * float(np.finfo(float).eps)
        * TERMS
        * math.pi
        * float(np.abs([*ends, y.sum() / r, *f(nodes[::64])]).max())
        / r
    )
    a, b = np.where(np.abs(a) > noise, a, 0.0), np.where(np.abs(b) > noise, b, 0.0)
    slopes = np.diff(f(np.linspace(-r, r, SEEN + 1))) * SEEN / (2 * r)
    steepest = float(np.abs(slopes).max())
    tails = [_tail(np.abs(a), 0.0, noise), _tail(np.abs(b), 0.5, noise)]
    waves = Waves(
        np.ones((2 * TERMS, 1)), np.concatenate([even, odd]), np.abs(np.concatenate([a, b])),
        np.concatenate([np.where(a < 0, np.pi, 0.0), np.where(b < 0, np.pi / 2, -np.pi / 2)]),
    )  # fmt: skip
    return Reflected(
        waves, WithError(waves.total + tails[0].value + tails[1].value, tails[0].error + tails[1].error), steepest
    )


def _tail(size: np.ndarray, start: float, noise: float) -> WithError:
    """What Σ|c_j| has beyond the last term, c_j at j + start."""
    last = size[TERMS // 2 :]
    if last.max() == 0:
        return WithError(0.0, noise * TERMS)
    gains = [float(size[TERMS >> (n + 1) : TERMS >> n].sum()) for n in range(2)]
    if gains[0] > GROWING * gains[1]:
        return WithError(math.inf, math.inf)
    j = np.arange(TERMS // 2, TERMS) + start
    powers = np.stack([(TERMS / j) ** n for n in (2, 4, 6)], axis=1)
    fit = np.linalg.lstsq(powers, last, rcond=None)[0]
    sums = [TERMS**n * polygamma(n - 1, TERMS + start) / math.factorial(n - 1) for n in (2, 4, 6)]
    off = float(np.abs(powers @ fit - last).max()) * TERMS
    return WithError(float(fit @ sums), off + noise * TERMS)
