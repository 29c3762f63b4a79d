"""The line cut into panels on which a function is a polynomial, to rounding: for deviations that equal panels miss.

    σ(x) = Σ_{j < DEGREE} c_j P_j(x) on every panel, with the rest below RESOLVED of what σ is there or near 0

Panels are halved until that holds for σ and for the length of a panel times σ'. A function with a scale of its own
near 0, and none far out, has panels that grow with |x|: a few dozen of them reach X, the largest |x| they are made for,
where equal ones would be thousands. Panels of the normal score g end where h = m + s g meets an edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from widelimit.agreement import until_two_agree
from widelimit.integrals import panel_rule, to_legendre
from widelimit.problem.activations import General
from widelimit.problem.activations.kinks import slope_of
from widelimit.problem.activations.on_host import on_host

POINTS, DEGREE = 48, 36  # nodes of a panel; a product with another function has them to spare
RESOLVED = 1e-13
FARTHEST = 4.0**11  # X, at most
MOST = 96  # panels
HALVINGS = 30


class LinePanels(NamedTuple):
    """Edges of panels in x inside of ±X, and kinks; and X itself."""

    edges: np.ndarray
    farthest: float


@lru_cache(maxsize=64)
def line_panels(activation: General) -> LinePanels:
    """The panels of a function, as far out as MOST of them reach."""
    farthest, powers = FARTHEST, 4.0 ** np.arange(math.log(FARTHEST, 4) + 1)
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        jet = on_host(activation), on_host(slope_of(activation))
        near = float(np.abs(jet[0](np.linspace(-4.0, 4.0, 801))).max())
        first = np.unique([*-powers, *activation.bends, 0.0, *powers])
        edges = until_two_agree(_halved(first, lambda e: _rough(jet, near, e)), 0).value
    if len(edges) > MOST:  # as far out as so many reach
        farthest = float(np.sort(np.abs(edges))[MOST])
    return LinePanels(np.unique([*edges[np.abs(edges) < farthest], *activation.bends]), farthest)


def _halved(edges: np.ndarray, rough: Callable[[np.ndarray], np.ndarray]) -> Iterator[tuple[np.ndarray, int]]:
    """The edges, again and again with panels halved where they are rough, and how many are; beyond 4 MOST panels only
    the inner ones."""
    for _ in range(HALVINGS):
        marked = rough(edges)
        yield edges, int(marked.sum())
        edges = np.sort(np.concatenate([edges, ((edges[1:] + edges[:-1]) / 2)[marked]]))
        if len(edges) > 4 * MOST:
            inner = np.sort(np.abs(edges))[2 * MOST]
            edges = edges[np.abs(edges) <= inner]


def _rough(jet: tuple[Callable, Callable], near: float, edges: np.ndarray) -> np.ndarray:
    """Which panels do not have the polynomial."""
    last = to_legendre(POINTS)[DEGREE:]
    nodes, _ = panel_rule(edges, POINTS)
    value, slope = jet[0](nodes), jet[1](nodes) * np.diff(edges)[:, None]
    size = np.maximum(np.abs(value).max(axis=1), near)
    tails = [np.abs(part @ last.T).max(axis=1) for part in (value, slope)]
    return ~((tails[0] <= RESOLVED * size) & (tails[1] <= RESOLVED * np.maximum(np.abs(slope).max(axis=1), size)))
