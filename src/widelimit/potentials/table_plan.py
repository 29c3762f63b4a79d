"""Planning a table of smoothed moments: which levels, by which rule, trusted how far.

    Q_n = √n! E f(m_i + s_l G) h_n(G)      s_l > 0: trapezoidal rule on [−12.5, 12.5]; if a kink is within reach,
                                           Gauss–Legendre panels between the kinks
    Q_n = b^n f^{(n)}(m_i)                 level 0: Chebyshev interpolation on m_i ± 8b, degree 26

    f   function      evaluated on the host, at a fixed number of points at a time, so that it is compiled once
    w   scale         length on which f varies: rules have about 100 (1 + s/w) nodes; the largest w that suffices is taken

Every rule and the finished table are compared at random points, in the orders 0, …, 16, to a rule of twice the size and
a wider interval; the table is cut below the first level that errs by more than AGREEMENT of 1 + max_k |A_k|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import jax
import numpy as np
from jax import Array

from widelimit.potentials.direct_rules import legendre
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.potentials.moment_table import HIGHEST, RATIO, Table, width
from widelimit.problem.activations.on_host import on_host

BROAD, FAR, SIDE = 8.0, 16.0, 320.0  # largest deviation, largest |m|, and largest |m|/b
LOWEST = 0.1  # smallest deviation of a function with kinks
UNITS = (0.25, 0.125, 0.0625, 0.03125, 0.015625)  # units b tried for level 0
TRIED = (0.1, 0.2, 0.4, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # deviations at which a scale is tried
SCALES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)
DEGREE, RADIUS = 26, 8.0  # of the interpolation, the radius in units b
REACH, WIDER = 12.5, 14.0
AGREEMENT = 1e-12
INTERPOLATION = 1e-14  # relative size of the last Chebyshev coefficients


@dataclass(frozen=True)
class Integrand:
    """A function on NumPy arrays, its kinks, and the scale on which it varies."""

    function: Callable[[np.ndarray], np.ndarray]
    kinks: tuple[float, ...]
    scale: float = 1.0

    def nodes(self, s: float) -> int:
        """Nodes that a deviation s needs."""
        return 32 * math.ceil((100 + 100 * s / self.scale) / 32)

    def moments(self, m: np.ndarray, s: float, count: int, finer: bool = False) -> np.ndarray:
        """A_0, …, A_{count−1} at means m, (m, count); finer: by a rule of twice the size on a wider interval."""
        n, reach = (2 * self.nodes(s), WIDER) if finer else (self.nodes(s), REACH)
        bent = np.zeros(m.shape, bool)
        for t in self.kinks:
            bent |= np.abs(t - m) < reach * s
        a = np.empty((len(m), count))
        a[~bent] = self._trapezoid(m[~bent], s, (n, reach, count))
        if bent.any():
            a[bent] = self._panels(m[bent], s, (n, reach, count))
        return a

    def _trapezoid(self, m: np.ndarray, s: float, rule: tuple[int, float, int]) -> np.ndarray:
        g, weights = _weights(*rule)
        return self.function(m[:, None] + s * g) @ weights

    def _panels(self, m: np.ndarray, s: float, rule: tuple[int, float, int]) -> np.ndarray:
        n, reach, count = rule
        breaks = np.clip((np.array(self.kinks) - m[:, None]) / s, -reach, reach)
        end = np.full((len(m), 1), reach)
        edges = np.concatenate([-end, breaks, end], axis=1)
        x, w = legendre(n)
        half = np.diff(edges)[..., None] / 2
        g = (edges[:, :-1, None] + half + half * x).reshape(len(m), -1)
        weights = (half * w).reshape(len(m), -1) * np.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
        here, before, columns = weights * self.function(m[:, None] + s * g), np.zeros_like(g), []
        for k in range(count):
            columns.append(here.sum(axis=1))
            here, before = (g * here - math.sqrt(k) * before) / math.sqrt(k + 1), here
        return np.stack(columns, axis=1)


@lru_cache(maxsize=256)
def _weights(n: int, reach: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Equally spaced nodes, and for every order weights with h_k φ in them."""
    g = np.linspace(-reach, reach, n)
    weights = np.exp(-0.5 * g * g) * (g[1] - g[0]) / math.sqrt(2 * math.pi)
    return g, weights[:, None] * orthonormal_hermite(g, count - 1)


def plan(function: Callable[[Array], Array], kinks: tuple[float, ...]) -> Table | None:
    """The table of a function; None if no rule can be trusted."""
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        integrand = _with_scale(Integrand(on_host(function), kinks))
        if integrand is None:
            return None
        base = None if kinks else _base(integrand)
        table = _with_levels(integrand, base)
        good = _good_levels(integrand, table)
        return _first_levels(table, good) if good > 1 else None


def _with_scale(integrand: Integrand) -> Integrand | None:
    """The integrand with the scale whose rules agree with finer ones furthest; None if they reach no s = 1."""
    rng, best, furthest = np.random.default_rng(0), None, 0.0
    for scale in SCALES:
        tried, reach = replace(integrand, scale=scale), 0.0
        for s in TRIED:
            if not _agrees(tried, rng.uniform(-6.0, 6.0, 6), s):
                break
            reach = s
        if reach > furthest:
            best, furthest = tried, reach
        if furthest == TRIED[-1]:
            break
    return best if furthest >= 1 else None


def _agrees(integrand: Integrand, m: np.ndarray, s: float) -> bool:
    count = width(HIGHEST)
    rule, finer = integrand.moments(m, s, count), integrand.moments(m, s, count, finer=True)
    return bool(np.all(np.abs(rule - finer) <= AGREEMENT * _size(finer) / 4))


def _size(a: np.ndarray) -> np.ndarray:
    """1 + max_k |A_k|, (points, 1)."""
    return 1 + np.max(np.abs(a), axis=1, keepdims=True)


def _half(unit: np.ndarray) -> np.ndarray:
    """Nodes on each side of m = 0."""
    return np.ceil(2 * np.minimum(FAR / unit, SIDE)).astype(int)


def _means(unit: float) -> np.ndarray:
    half = int(_half(np.array(unit)))
    return np.arange(-half, half + 1) * unit / 2


def _base(integrand: Integrand) -> Table | None:
    """A table of level 0 alone, with the largest unit that can be trusted."""
    for unit in UNITS:
        units = np.array([unit])
        rows, rest = _derivatives(integrand, _means(unit), unit)
        table = Table(unit, True, units, np.zeros(1), _half(units), rows)
        if rest <= INTERPOLATION and _good_levels(integrand, table) == 1:
            return table
    return None


def _derivatives(integrand: Integrand, m: np.ndarray, unit: float) -> tuple[np.ndarray, float]:
    """b^n f^{(n)}(m) for n < DEGREE, zeros beyond; and the largest of the last coefficients, relative to the first."""
    chebyshev = np.polynomial.chebyshev
    x = chebyshev.chebpts1(DEGREE)
    fit = np.linalg.inv(chebyshev.chebvander(x, DEGREE - 1))
    powers = np.zeros((DEGREE, width(HIGHEST)))  # of x/8b, for every Chebyshev polynomial
    for n in range(DEGREE):
        powers[n, : n + 1] = chebyshev.cheb2poly(np.eye(DEGREE)[n])
    factorials = np.array([float(math.factorial(n)) for n in range(width(HIGHEST))])
    c = integrand.function(m[:, None] + RADIUS * unit * x) @ fit.T
    rest = np.max(np.abs(c[:, -3:]) / (1 + np.max(np.abs(c), axis=1, keepdims=True)))
    return c @ powers * factorials / RADIUS ** np.arange(width(HIGHEST)), float(rest)


def _with_levels(integrand: Integrand, base: Table | None) -> Table:
    """Levels from the base, or LOWEST, to BROAD."""
    low = base.low if base else LOWEST
    count = math.ceil(math.log(BROAD / low) / math.log(RATIO))
    unit = low * RATIO ** (np.arange(count) + 0.5)
    roots = np.array([math.sqrt(math.factorial(n)) for n in range(width(HIGHEST))])
    rows = [integrand.moments(_means(b), b, width(HIGHEST)) * roots for b in unit]
    first = [base] if base else []
    return Table(
        low,
        base is not None,
        np.concatenate([*(t.unit for t in first), unit]),
        np.concatenate([*(t.variance for t in first), unit**2]),
        np.concatenate([*(t.half for t in first), _half(unit)]),
        np.concatenate([*(t.rows for t in first), *rows]),
    )


def _good_levels(integrand: Integrand, table: Table) -> int:
    """How many of the first levels agree with a finer rule at random points, and rows are finite."""
    rng = np.random.default_rng(1)
    for level, unit in enumerate(table.unit):
        ends = (0.0, unit) if level < table.based else (unit / math.sqrt(RATIO), unit * math.sqrt(RATIO))
        for _ in range(8 if level < table.based else 1):
            s = float(rng.uniform(*ends) * (1 - 1e-9) + 1e-9 * unit)
            m = rng.uniform(-1.0, 1.0, 12) * min(FAR, SIDE * unit)
            m[:6] = np.clip(rng.normal(size=6), -abs(m[:6]), abs(m[:6]))
            if not _table_agrees(integrand, table, m, s):
                return level
    return len(table.unit)


def _table_agrees(integrand: Integrand, table: Table, m: np.ndarray, s: float) -> bool:
    k = np.arange(HIGHEST + 1)
    roots = np.array([math.sqrt(math.factorial(n)) for n in k])
    scaled, unit = table.derivatives(m, np.full(m.shape, s), HIGHEST, np)
    finer = integrand.moments(m, s, HIGHEST + 1, finer=True)
    error = np.abs(scaled * (s / unit[:, None]) ** k / roots - finer)
    return bool(np.all(error <= AGREEMENT * _size(finer)))


def _first_levels(table: Table, count: int) -> Table:
    """The same without the levels beyond."""
    rows = int(np.sum(2 * table.half[:count] + 1))
    return Table(
        table.low, table.based, table.unit[:count], table.variance[:count], table.half[:count], table.rows[:rows]
    )
