"""A table of smoothed moments, from which every A_k in its range follows by two Taylor series.

    u(m, s) = E f(m + sG),    Q_n = b^n ∂_m^n u(m_i, s_l),    A_k = s^k/√k! ∂_m^k u,    ∂_v u = ½ ∂_m² u,  v = s²
    b^k ∂_m^k u(m, s) = Σ_i t^i/i! Σ_j ρ^j/j! Q_{k+2i+j},     ρ = (m − m_i)/b,   t = (s² − v_l)/(2b²)

    m_i, s_l   nodes: spacing b/2 in m, ratio RATIO in s, b = s_l, v_l = s_l²         so |ρ| ≤ 1/4 and |t| ≤ DRIFT
    level 0    for a function without kinks: v_0 = 0, Q_n = b^n f^{(n)}(m_i), used for 0 ≤ s ≤ b
    Q          rows (nodes, WIDTH)

Because |Q_n| ≤ √n! √(E f²), both series converge whatever f is; their lengths follow from that bound. Rows with s > 0
are integrated, Q_n = √n! E f(m_i + s_l G) h_n(G); how, and how far the table is to be trusted, is decided in
widelimit.potentials.table_plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np
from jax import Array

ArrayLike = TypeVar("ArrayLike", np.ndarray, Array)

HIGHEST = 16  # order
NEAR, DRIFT = 0.25, 0.02  # largest |ρ| and |t|
RATIO = math.sqrt((1 + 2 * DRIFT) / (1 - 2 * DRIFT))


@lru_cache(maxsize=64)
def lengths(order: int) -> tuple[int, int]:
    """Lengths of the series in t and in ρ that leave less than 1e−13 of √(E f²) in A_0, …, A_order."""

    def size(k: int, i: int, j: int) -> float:
        return DRIFT**i / math.factorial(i) * NEAR**j / math.factorial(j) * root(k + 2 * i + j) / root(k)

    heat = next(i for i in range(60) if size(order, i + 1, 0) < 1e-13)
    shift = next(j for j in range(80) if max(size(order, i, j + 1) for i in range(heat + 1)) < 1e-13)
    return heat, shift


def root(n: int) -> float:
    """√n!."""
    return math.sqrt(math.factorial(n))


def width(order: int) -> int:
    """Entries of a row that orders 0, …, order need."""
    heat, shift = lengths(order)
    return order + 2 * heat + shift + 1


class Level(NamedTuple):
    """b, v and the rows Q of one level, those of m = 0 in the middle."""

    unit: float
    variance: float
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class MomentTable:
    """Levels in the order of s; the first is level 0 if its variance is 0."""

    levels: tuple[Level, ...]

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows of all levels, one level after the other."""
        return np.concatenate([level.rows for level in self.levels])

    @cached_property
    def columns(self) -> np.ndarray:
        """b, v, the row of m = 0 and how many are on each side of it, (levels, 4)."""
        half = np.array([len(level.rows) // 2 for level in self.levels])
        numbers = np.array([level[:2] for level in self.levels])
        return np.column_stack([numbers, np.cumsum(2 * half + 1) - half - 1, half])

    def place(self, s: ArrayLike, xp: ModuleType) -> tuple[ArrayLike, ArrayLike]:
        """Whether a deviation has a level, and its columns (…, 4)."""
        (unit, variance, _), count = self.levels[0], len(self.levels)
        based = variance == 0
        low = unit if based else unit / math.sqrt(RATIO)
        steps = xp.floor(xp.log(xp.maximum(s, 1e-300) / low) / math.log(RATIO)) + based
        level = xp.clip(steps, 0, count - 1).astype(int)
        return (steps < count) & ((steps >= 0) | based), xp.asarray(self.columns)[level]

    def covers(self, m: ArrayLike, s: ArrayLike, xp: ModuleType) -> ArrayLike:
        """Where the table answers; a point that is NaN counts as covered and gives NaN."""
        inside, columns = self.place(s, xp)
        return (inside & (2 * xp.abs(m) <= columns[..., 0] * columns[..., 3])) | xp.isnan(m + s)

    def derivatives(self, m: ArrayLike, s: ArrayLike, order: int, xp: ModuleType) -> tuple[ArrayLike, ArrayLike]:
        """b^k ∂_m^k u for k = 0, …, order on a new last axis, and b, at points that the table covers."""
        columns = self.place(s, xp)[1]
        unit, variance, middle, half = (columns[..., j] for j in range(4))
        step = xp.clip(xp.round(m / (unit / 2)), -half, half)
        rows = xp.asarray(self.rows[:, : width(order)])[(middle + step).astype(int)]
        rho, t = m / unit - step / 2, (s * s - variance) / (2 * unit**2)
        return two_series(rows, rho[..., None], t[..., None], order), unit


def two_series(rows: ArrayLike, rho: ArrayLike, t: ArrayLike, order: int) -> ArrayLike:
    """Σ_i t^i/i! Σ_j ρ^j/j! Q_{k+2i+j} for k = 0, …, order."""
    heat, shift = lengths(order)
    inner = order + 2 * heat + 1
    moved = rows[..., shift : shift + inner]
    for j in range(shift, 0, -1):
        moved = rows[..., j - 1 : j - 1 + inner] + (rho / j) * moved
    spread = moved[..., 2 * heat :]
    for i in range(heat, 0, -1):
        spread = moved[..., 2 * i - 2 : 2 * i - 1 + order] + (t / i) * spread
    return spread
