"""Weights that make moments exact: those nearest to given ones with the right means of polynomials.

    min over w ≥ 0 of   Σ_j (w_j − p_j)²/p_j     with   Σ_j w_j P_α(θ_j) = ∫ P_α dρ = δ_{α0}    for |α| ≤ order

    θ    nodes (m, k), one column for each independent coordinate
    p    weights (m,) of the nodes before
    P_α  products of the orthonormal polynomials of the coordinates, of total degree |α|

The order is the highest one, up to ORDER, with no more conditions than m/SHARE (and MOST): weights that meet more of
them differ too much from one another. So 54 nodes give moments of order 8 in one coordinate, 256 in two, 512 in three,
2048 in four, where 512 give order 5. Where no weights w ≥ 0 do it, the next lower order.

Scheme: Newton's method on the dual, w = p max(0, 1 + Σ_α λ_α P_α), which is convex and without constraints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widelimit.potentials.damped_newton import Budget, Direction, minimise
from widelimit.problem.data.nodes import Rule, recurrence

ORDER = 8
SHARE = 3
MOST = 500
EXACT = 1e-12
BUDGET = Budget(steps=40, shortest=1e-6, rounding=1e-15)


def moment_weights(nodes: np.ndarray, weights: np.ndarray, marginals: Sequence[Rule]) -> np.ndarray:
    """The weights nearest to the given ones with exact moments; a fine rule of every coordinate tells its law."""
    steps = [recurrence(grid, mass, ORDER + 1) for grid, mass in marginals]
    columns = [_orthonormal(column, *step) for column, step in zip(nodes.T, steps, strict=True)]
    for order in range(highest_order(*nodes.shape), 0, -1):
        dual = _Dual(_products(columns, order), weights)
        found = dual.solved()
        if np.abs(dual.missed(found)).max() < EXACT:
            return found
    return weights


def highest_order(m: int, k: int) -> int:
    """The order of the moments in k coordinates that m nodes are asked for."""
    return max(n for n in range(ORDER + 1) if n == 0 or math.comb(n + k, k) <= min(m / SHARE, MOST))


def _orthonormal(x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> list[np.ndarray]:
    """The orthonormal polynomials of degrees 0, …, ORDER at x."""
    found, before = [np.ones_like(x)], np.zeros_like(x)
    for j in range(ORDER):
        after = ((x - alpha[j]) * found[-1] - math.sqrt(beta[j]) * before) / math.sqrt(beta[j + 1])
        before = found[-1]
        found.append(after)
    return found


def _products(columns: list[list[np.ndarray]], order: int) -> np.ndarray:
    """All products of total degree at most ``order``, one per row, the constant first."""
    rows = [(0, np.ones_like(columns[0][0]))]
    for column in columns:
        rows = [(n + j, row * column[j]) for n, row in rows for j in range(order - n + 1)]
    return np.stack([row for _, row in rows])


@dataclass(frozen=True)
class _Dual:
    """½ Σ_j p_j max(0, 1 + Σ_α λ_α P_αj)² − λ_0."""

    rows: np.ndarray
    weights: np.ndarray

    def primal(self, multipliers: np.ndarray) -> np.ndarray:
        """w."""
        return self.weights * np.maximum(0.0, 1 + multipliers @ self.rows)

    def missed(self, w: np.ndarray) -> np.ndarray:
        """Moments less those that are wanted: the gradient."""
        missed = self.rows @ w
        missed[0] -= 1
        return missed

    def value(self, multipliers: np.ndarray) -> float:
        """The dual itself."""
        return float(self.primal(multipliers) ** 2 @ (0.5 / self.weights) - multipliers[0])

    def descent(self, multipliers: np.ndarray) -> Direction:
        """The direction of Newton's method."""
        w = self.primal(multipliers)
        gradient = self.missed(w)
        hessian = (self.rows * np.where(w > 0, self.weights, 0.0)) @ self.rows.T
        direction = np.linalg.lstsq(hessian, -gradient)[0]
        return Direction(direction, float(gradient @ direction), bool(np.abs(gradient).max() < EXACT / 10))

    def solved(self) -> np.ndarray:
        """The weights found."""
        start = np.zeros(len(self.rows))
        found = minimise(start, self.value, self.descent, lambda x, size, move: x + size * move, BUDGET)
        return self.primal(found.point)
