"""Half of the nodes, where a neuron of an even or odd σ sees no difference between z and −z.

    σ(−x) = ς σ(x),  ς = ±1, and no bias:   Φ(−z) = ς Φ(z), so that f(−z) = ς f(z)
    E (y − f)² = E (y₊ − f)² + E y₋²,       y± = (y(z) ± ς y(−z))/2

The nodes come in pairs ±z_j of equal weights: one of each pair stays, with the weight of both and the label y₊, and y₋,
which no network sees, belongs to the floor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widelimit.problem.data.data_law import Nodes


class Half(NamedTuple):
    """One node of each pair.

    kept    numbers of the nodes that stay, (J,)
    nodes   z, p and y₊ of these
    unseen  E y₋²
    """

    kept: np.ndarray
    nodes: Nodes
    unseen: float


def half_of(nodes: Nodes, tau: np.ndarray, parity: int) -> Half | None:
    """The half that stays of nodes where groups have deviations ``tau`` (groups, J); None if not all have partners."""
    z, p, y = nodes
    if not parity or not z.shape[1]:
        return None
    partner = np.empty(len(z), int)
    partner[np.lexsort(z.T)] = np.lexsort(-z.T)
    alike = ((-z, z), (p, p), (tau.T, tau.T))
    if not all(np.array_equal(mine, its[partner]) for mine, its in alike):
        return None
    kept = np.flatnonzero(partner >= np.arange(len(z)))
    mirrored = parity * y[partner]
    mass = np.where(partner == np.arange(len(z)), 1.0, 2.0) * p
    return Half(kept, Nodes(z[kept], mass[kept], ((y + mirrored) / 2)[kept]), float(p @ ((y - mirrored) / 2) ** 2))
