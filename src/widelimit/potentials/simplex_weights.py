"""The best weights of given neurons: a small convex problem on the simplex.

    min_w  ½ |Φᵀ w − y|² + ⟨c, w⟩,      w ≥ 0,  Σ w = 1

    Φ   (m, Q)   features of m neurons, scaled by √p          y   (Q,)   labels, likewise
    c   (m,)     λ v of the neurons

Scheme: active set. On the support S the equality-constrained problem is solved exactly; if a weight would become
negative, go as far as none does and drop that one; else let in the neuron whose Ψ = Φ(Φᵀw − y) + c is lowest, until
none is below the mean. Finitely many supports, each left with a lower value: it ends.
"""

from __future__ import annotations

import numpy as np

ENOUGH = 1e-14  # relative to the largest |Ψ|
NOTHING = 1e-15
RIDGE = 1e-14  # relative, so that equal neurons do not make the system singular


def simplex_weights(features: np.ndarray, y: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """w, (m,), from weights that are allowed."""
    gram = features @ features.T
    gram = gram + RIDGE * max(float(np.trace(gram)), 1e-300) * np.eye(len(gram))
    slope = c - features @ y
    w = start / start.sum()
    support = w > 0
    for _ in range(100 * len(w)):
        wanted = _on_support(gram, slope, support)
        falling = support & (wanted <= NOTHING) & (w > wanted)
        if falling.any():
            share = np.where(falling, w / np.where(falling, w - wanted, 1.0), np.inf)
            w = w + min(1.0, float(share.min())) * (wanted - w)
            support = support & ~(share <= share.min())
            w = np.where(support, np.maximum(w, 0.0), 0.0)
            w = w / w.sum()
            continue
        w = wanted
        psi = gram @ w + slope
        worst = int(np.argmin(np.where(support, np.inf, psi)))
        if support.all() or psi[worst] >= w @ psi - ENOUGH * float(np.abs(psi).max()):
            return w
        support[worst] = True
    return w


def _on_support(gram: np.ndarray, slope: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The minimum with Σ w = 1 on the support, signs ignored."""
    inside = np.flatnonzero(support)
    m = len(inside)
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = gram[np.ix_(inside, inside)]
    system[m, m] = 0.0
    w = np.zeros(len(slope))
    w[inside] = np.linalg.lstsq(system, np.append(-slope[inside], 1.0), rcond=None)[0][:m]
    return w
