"""Integrals over an interval by panels that are halved until two rules agree, and state their error.

    ∫ f dx = Σ_panels Σ_i w_i f(x_i)          Gauss–Legendre nodes x_i and weights w_i on every panel
    error  = Σ_panels |panel − its halves| + rounding

A panel is halved while it and its halves differ by more than the tolerance, so that kinks, jumps and integrable poles
are found by bisection. What is asked for is rounding, unless a tolerance is given; what is reached is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

POINTS = 20  # of a panel
DEEPEST, LATE = 64, 40  # halvings; a panel so narrow that only a pole gives it mass
MOST = 50_000  # panels at a time
ROUNDING = 8 * float(np.finfo(float).eps)

Sizes = Callable[[np.ndarray], np.ndarray]  # ∫|f| of every entry → what its errors are compared to


class Integral(NamedTuple):
    """∫ f of every entry (m,) and its error, ∫ over the panels halved LATE times and more, and the edges of panels."""

    values: np.ndarray
    errors: np.ndarray
    narrow: np.ndarray
    edges: np.ndarray


@lru_cache(maxsize=256)
def gauss(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights of [−1, 1]."""
    x, w = np.polynomial.legendre.leggauss(points)
    return x, w


@lru_cache(maxsize=256)
def to_legendre(points: int) -> np.ndarray:
    """The matrix (points, points) from values at these nodes to the coefficients of P_0, P_1, …"""
    x, w = gauss(points)
    return (np.arange(points) + 0.5)[:, None] * w * np.polynomial.legendre.legvander(x, points - 1).T


def panel_rule(edges: np.ndarray, points: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (…, panels, points) between edges (…, panels + 1)."""
    x, w = gauss(points)
    half = np.diff(edges)[..., None] / 2
    return edges[..., :-1, None] + half * (x + 1), half * w


def integrate(
    f: Callable[[np.ndarray], np.ndarray],
    edges: np.ndarray,
    tolerance: float = ROUNDING / 64,
    sizes: Sizes = lambda absolute: absolute,
) -> Integral:
    """∫ f over the panels between ``edges`` and their halves; f takes points (n,) to values (n,) or (n, m).

    tolerance   how far a panel may be from its halves, relative to ∫|f|
    sizes       what takes the place of ∫|f|

    >>> found = integrate(np.abs, np.array([-1.0, 2.0]))
    >>> round(float(found.values[0]), 12), bool(found.errors[0] < 1e-14)
    (2.5, True)
    """

    def on(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integrals over panels, (panels, m), and those of the absolute values."""
        nodes, weights = panel_rule(np.stack([low, high], axis=1))
        terms = f(nodes.ravel()).reshape(*nodes.shape[::2], -1) * weights.reshape(*nodes.shape[::2], 1)
        return terms.sum(axis=1), np.abs(terms).sum(axis=1)

    low, high = edges[:-1], edges[1:]
    coarse, sized = on(low, high)
    values, errors, narrow = np.zeros((3, coarse.shape[1]))
    absolute, kept = sized.sum(axis=0), [edges]
    for level in range(DEEPEST):
        middle = (low + high) / 2
        fine, sized = on(np.concatenate([low, middle]), np.concatenate([middle, high]))
        absolute = np.maximum(absolute, sized.sum(axis=0))
        left, right = np.split(fine, 2)
        apart = np.abs(left + right - coarse)
        rough = (apart > tolerance * sizes(absolute)).any(axis=1)
        if level == DEEPEST - 1 or rough.sum() > MOST:
            rough[:] = False
        done = (left + right)[~rough].sum(axis=0)
        values, errors = values + done, errors + apart[~rough].sum(axis=0)
        narrow += np.abs(done) * (level >= LATE)
        if not rough.any():
            break
        kept.append(middle[rough])
        low, high = np.concatenate([low[rough], middle[rough]]), np.concatenate([middle[rough], high[rough]])
        coarse = np.concatenate([left[rough], right[rough]])
    return Integral(values, errors + ROUNDING * absolute, narrow, np.unique(np.concatenate(kept)))
