"""Waves of a function on an interval: its slope is continued by reflection.

    g = f' on [−r, r],   g(2r − x) = g(x) beyond: a Fourier series, even part cos(jπx/r), odd part sin((j + ½)πx/r)

    C = Σ_j |a_j| + Σ_j |b_j|
    a_j = (1/r) ∫ g cos(jπx/r) dx (half of it for j = 0),   b_j = (1/r) ∫ g sin((j + ½)πx/r) dx

Only f is needed: the integrals are taken by parts. On [−r, r] this is an upper bound of the smallest C that any
extension of f has, and C ≥ max |f'| for all of them. For a power x^n both are n r^{n−1}.

The tail: (−1)^j a_j = A/j² + B/j⁴ + C/j⁶ + …, fitted to the last terms and summed beyond them; the same in j + ½ for b.
There are four times as many terms until two sums agree. A slope that jumps inside has coefficients like 1/j: C is
infinite, and so is it said to be where a slope is steeper than the largest number of terms resolves.

Panels of equal width: the sum over panels is a fast Fourier transform for each of their nodes. One in which the slope
bends is cut there, and its nodes are summed one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

from widelimit.agreement import in_a_row, until_two_agree
from widelimit.integrals import panel_rule
from widelimit.theory.approximation.waves import Waves
from widelimit.theory.learning.spectrum import WithError

POINTS, PANEL = 16, 2.0  # nodes of a panel, which is so many radians of the highest frequency wide
TERMS = tuple(4**n for n in range(4, 9))
AGREEMENT = 1e-7
GROWING = 0.75  # ratio of two successive gains of the sum: 1/2 if it converges like Σ 1/j², 1 if like Σ 1/j

Function = Callable[[np.ndarray], np.ndarray]


class Reflected(NamedTuple):
    """Waves of the first terms, and C with its error, infinite if the slope jumps."""

    waves: Waves
    total: WithError


def reflected(f: Function, r: float, cuts: tuple[float, ...] = ()) -> Reflected:
    """The waves of f on [−r, r]; cuts are where its slope bends."""
    found = until_two_agree(in_a_row((_waves(f, r, cuts, terms) for terms in TERMS), _apart), AGREEMENT)
    waves, (total, error) = found.value.now
    return Reflected(waves, WithError(total, error if math.isinf(total) else max(error, found.off * total)))


def _apart(before: Reflected, now: Reflected) -> float:
    """How far two sums are apart, in units of the second; one that is infinite tells nothing."""
    one, two = before.total.value, now.total.value
    return abs(one - two) / max(two, 1e-300) if math.isfinite(one) and math.isfinite(two) else math.inf


def _waves(f: Function, r: float, cuts: tuple[float, ...], terms: int) -> Reflected:
    """The waves of so many terms of either kind."""
    ends, j = f(np.array([-r, r])), np.arange(terms)
    even, odd = j * math.pi / r, (j + 0.5) * math.pi / r
    (nodes, weights), bent = _panels(r, cuts, terms)
    values = weights * f(nodes.ravel()).reshape(nodes.shape)
    rest = bent.weights * f(bent.nodes) if len(bent.nodes) else bent.weights

    def transform(shift: float) -> np.ndarray:
        """∫ f(x) e^{iωx} dx at all ω = jπ/r + shift."""
        first = np.exp(1j * np.outer(nodes[0], even))  # on the first panel; the others follow in equal steps
        steps = np.fft.ifft(values * np.exp(1j * shift * nodes), axis=0, norm="forward")[:terms].T
        direct = sum((y * np.exp(1j * (even + shift) * x) for x, y in zip(bent.nodes, rest, strict=True)), 0j)
        return np.sum(first * steps, axis=0) + direct

    a = ((ends[1] - ends[0]) * np.cos(even * r) + even * transform(0.0).imag) / r
    b = ((ends[1] + ends[0]) * np.sin(odd * r) - odd * transform(odd[0]).real) / r
    a[0] /= 2
    largest = float(np.abs([*ends, values.sum() / r, *f(nodes[::4, 0])]).max())
    noise = 4 * math.log2(len(nodes)) * float(np.finfo(float).eps) * odd[-1] * largest  # of the transform, times ω
    a, b = np.where(np.abs(a) > noise, a, 0.0), np.where(np.abs(b) > noise, b, 0.0)
    tails = [_tail(np.abs(a), 0.0, noise), _tail(np.abs(b), 0.5, noise)]
    waves = Waves(
        np.ones((2 * terms, 1)), np.concatenate([even, odd]), np.abs(np.concatenate([a, b])),
        np.concatenate([np.where(a < 0, np.pi, 0.0), np.where(b < 0, np.pi / 2, -np.pi / 2)]),
    )  # fmt: skip
    total = waves.total + tails[0].value + tails[1].value
    return Reflected(waves, WithError(total, tails[0].error + tails[1].error))


class _Rule(NamedTuple):
    """Nodes and weights, of one shape."""

    nodes: np.ndarray
    weights: np.ndarray


def _panels(r: float, cuts: tuple[float, ...], terms: int) -> tuple[_Rule, _Rule]:
    """Equal panels of [−r, r] for so many terms, (panels, POINTS), and the pieces of those that are cut, (n,), which
    have no weight among the first."""
    edges = np.linspace(-r, r, math.ceil(2 * terms * math.pi / PANEL) + 1)
    nodes, weights = panel_rule(edges, POINTS)
    inside = np.unique([t for t in cuts if abs(t) < r])
    hit = np.unique(np.searchsorted(edges, inside) - 1).astype(int)
    weights[hit] = 0.0
    pieces = [panel_rule(np.unique([*edges[i : i + 2], *inside[np.searchsorted(edges, inside) - 1 == i]]), POINTS)
              for i in hit]  # fmt: skip
    bent = [np.concatenate([np.zeros(0), *(part[k].ravel() for part in pieces)]) for k in range(2)]
    return _Rule(nodes, weights), _Rule(*bent)


def _tail(size: np.ndarray, start: float, noise: float) -> WithError:
    """What Σ|c_j| has beyond the last term, c_j at j + start."""
    terms = len(size)
    last = size[terms // 2 :]
    if last.sum() <= noise * terms:
        return WithError(0.0, noise * terms)
    gains = [float(size[terms >> (n + 1) : terms >> n].sum()) for n in range(2)]
    if gains[0] > GROWING * gains[1]:
        return WithError(math.inf, math.inf)
    j = np.arange(terms // 2, terms) + start
    powers = np.stack([(terms / j) ** n for n in (2, 4, 6)], axis=1)
    fit = np.linalg.lstsq(powers, last, rcond=None)[0]
    sums = [terms**n * polygamma(n - 1, terms + start) / math.factorial(n - 1) for n in (2, 4, 6)]
    off = float(np.abs(powers @ fit - last).max()) * terms
    return WithError(float(fit @ sums), off + noise * terms)
