"""Distances and entropies from their definitions.

W_p^p = min Σ π_ij |x_i − y_j|^p over plans π with the right sums: a linear programme;
        on the line ∫_0^1 |F^{-1}(u) − F'^{-1}(u)|^p du, by sorting
"""

import numpy as np
from scipy.optimize import linprog


def by_plan(x, p, y, q, order):
    """W_p between weighted points (n, D) and (m, D)."""
    cost = np.linalg.norm(x[:, None] - y[None], axis=-1) ** order
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    found = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]), method="highs")
    return found.fun ** (1 / order)


def by_sorting(x, p, y, q, order):
    """W_p on the line, walking along both sorted lists and moving what is left of the lighter point."""
    i, j = np.argsort(x), np.argsort(y)
    x, p, y, q = x[i], p[i].copy(), y[j], q[j].copy()
    a, b, total = 0, 0, 0.0
    while a < len(x) and b < len(y):
        moved = min(p[a], q[b])
        total += moved * abs(x[a] - y[b]) ** order
        p[a] -= moved
        q[b] -= moved
        if p[a] <= q[b]:
            a += 1
        else:
            b += 1
    return total ** (1 / order)
