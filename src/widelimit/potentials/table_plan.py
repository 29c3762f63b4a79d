"""Planning a table of smoothed moments: which levels, by which rule, trusted how far.

    Q_n = √n! E f(m_i + s_l G) h_n(G)      s_l > 0: the rules of widelimit.potentials.direct_rules, panels only where a
                                           kink is within their reach
    Q_n = b^n f^{(n)}(m_i)                 level 0: Chebyshev interpolation on m_i ± 8b, degree 26

    f   function      evaluated on the host, at a fixed number of points at a time, so that it is compiled once
    R   reach         largest s that 512 nodes, or 64 in a panel, can be trusted with; here about 100 + 600 s/R are
                      taken, in a panel 100 + 100 s/R

The finished table is compared at random points, in the orders 0, …, 16, to rules of twice the size on a wider interval;
it is cut below the first level that errs by more than AGREEMENT of 1 + max_k |A_k|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from jax import Array

from widelimit.potentials.direct_rules import AGREEMENT, REACH, Integrand, Rule, moments
from widelimit.potentials.moment_table import HIGHEST, RATIO, Level, MomentTable, root, width
from widelimit.problem.activations.on_host import on_host

BROAD, FAR, SIDE = 8.0, 16.0, 320.0  # largest deviation, largest |m|, and largest |m|/b
LOWEST = 0.1  # smallest deviation of a function with kinks
UNITS = (0.25, 0.125, 0.0625, 0.03125, 0.015625)  # units b tried for level 0
DEGREE, RADIUS = 26, 8.0  # of the interpolation, the radius in units b
WIDER = 14.0
INTERPOLATION = 1e-14  # relative size of the last Chebyshev coefficients


@dataclass(frozen=True)
class Planned:
    """What is integrated, and how far 512 nodes reach."""

    of: Integrand
    reach: float

    def _nodes(self, s: float, by: int) -> int:
        return 32 * math.ceil((100 + by * s / self.reach) / 32)

    def moments(self, m: np.ndarray, s: float, count: int, finer: bool = False) -> np.ndarray:
        """A_0, …, A_{count−1} at means m, (m, count); finer: by a rule of twice the size on a wider interval."""
        reach, (n, in_panel) = WIDER if finer else REACH, (self._nodes(s, by) * (1 + finer) for by in (600, 100))
        bent = np.any(np.abs(np.array(self.of.bends) - m[:, None]) < reach * s, axis=1)
        a, deviations = np.empty((len(m), count)), np.full_like(m, s)
        a[~bent] = moments(Integrand(self.of.function, ()), Rule(n, reach), count, m[~bent], deviations[~bent])
        if bent.any():
            a[bent] = moments(self.of, Rule(8 * in_panel, reach), count, m[bent], deviations[bent])
        return a


def plan(function: Callable[[Array], Array], bends: tuple[float, ...], reach: float) -> MomentTable | None:
    """The table of a function; None if no level can be trusted."""
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        planned = Planned(Integrand(on_host(function), bends), reach)
        base = () if bends else _base(planned)
        low = base[0].unit if base else LOWEST
        count = math.ceil(math.log(BROAD / low) / math.log(RATIO))
        levels = (*base, *(_level(planned, low * RATIO ** (i + 0.5)) for i in range(count)))
        good = _good_levels(planned, MomentTable(levels))
        return MomentTable(levels[:good]) if good > 1 else None


def _means(unit: float) -> np.ndarray:
    half = math.ceil(2 * min(FAR / unit, SIDE))
    return np.arange(-half, half + 1) * unit / 2


def _level(planned: Planned, unit: float) -> Level:
    """The level s_l = b."""
    roots = np.array([root(n) for n in range(width(HIGHEST))])
    return Level(unit, unit**2, planned.moments(_means(unit), unit, width(HIGHEST)) * roots)


def _base(planned: Planned) -> tuple[Level, ...]:
    """Level 0, with the largest unit that can be trusted, if there is one."""
    for unit in UNITS:
        rows, rest = _derivatives(planned, _means(unit), unit)
        level = Level(unit, 0.0, rows)
        if rest <= INTERPOLATION and _good_levels(planned, MomentTable((level,))) == 1:
            return (level,)
    return ()


def _derivatives(planned: Planned, m: np.ndarray, unit: float) -> tuple[np.ndarray, float]:
    """b^n f^{(n)}(m) for n < DEGREE, zeros beyond; and the largest of the last coefficients, relative to the first."""
    chebyshev = np.polynomial.chebyshev
    x = chebyshev.chebpts1(DEGREE)
    fit = np.linalg.inv(chebyshev.chebvander(x, DEGREE - 1))
    powers = np.zeros((DEGREE, width(HIGHEST)))  # of x/8b, for every Chebyshev polynomial
    for n in range(DEGREE):
        powers[n, : n + 1] = chebyshev.cheb2poly(np.eye(DEGREE)[n])
    factorials = np.array([float(math.factorial(n)) for n in range(width(HIGHEST))])
    c = planned.of.function(m[:, None] + RADIUS * unit * x) @ fit.T
    rest = np.max(np.abs(c[:, -3:]) / (1 + np.max(np.abs(c), axis=1, keepdims=True)))
    return c @ powers * factorials / RADIUS ** np.arange(width(HIGHEST)), float(rest)


def _good_levels(planned: Planned, table: MomentTable) -> int:
    """How many of the first levels agree with a finer rule at random points, and rows are finite."""
    rng = np.random.default_rng(1)
    for level, (unit, variance, _) in enumerate(table.levels):
        based = variance == 0
        ends = (0.0, unit) if based else (unit / math.sqrt(RATIO), unit * math.sqrt(RATIO))
        for _ in range(8 if based else 1):
            s = float(rng.uniform(*ends) * (1 - 1e-9) + 1e-9 * unit)
            m = rng.uniform(-1.0, 1.0, 12) * min(FAR, SIDE * unit)
            m[:6] = np.clip(rng.normal(size=6), -abs(m[:6]), abs(m[:6]))
            if not _agrees(planned, table, m, s):
                return level
    return len(table.levels)


def _agrees(planned: Planned, table: MomentTable, m: np.ndarray, s: float) -> bool:
    k, roots = np.arange(HIGHEST + 1), np.array([root(n) for n in range(HIGHEST + 1)])
    scaled, unit = table.derivatives(m, np.full(m.shape, s), HIGHEST, np)
    finer = planned.moments(m, s, HIGHEST + 1, finer=True)
    error = np.abs(scaled * (s / unit[:, None]) ** k / roots - finer)
    return bool(np.all(error <= AGREEMENT * (1 + np.max(np.abs(finer), axis=1, keepdims=True))))
