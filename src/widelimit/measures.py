"""ρ, the measure over neurons that every part of the library speaks about.

ρ = Σ_i p_i δ(θ_i),     Σ_i p_i = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widelimit.errors import require, require_known


@dataclass(frozen=True, eq=False)
class Cloud:
    """Weighted particles.

    theta        (n, D)  one row per neuron
    weights      (n,)    p_i, equal for a finite network
    coordinates          names of the columns
    """

    theta: np.ndarray
    weights: np.ndarray
    coordinates: tuple[str, ...]

    def __post_init__(self) -> None:
        require(
            np.ndim(self.theta) == 2 and np.shape(self.theta)[1] == len(self.coordinates),
            f"theta must have shape (n, {len(self.coordinates)})",
            np.shape(self.theta),
            "give one row per neuron and one column per coordinate",
        )
        require(
            np.shape(self.weights) == (np.shape(self.theta)[0],),
            f"weights must have shape ({np.shape(self.theta)[0]},)",
            np.shape(self.weights),
            "give one weight per neuron",
        )

    @property
    def n(self) -> int:
        """Number of particles."""
        return self.theta.shape[0]

    def column(self, coordinate: str) -> np.ndarray:
        """One coordinate of every particle, (n,)."""
        require_known("coordinate", coordinate, self.coordinates)
        return np.asarray(self.theta)[:, self.coordinates.index(coordinate)]

    def mean(self, values: Any) -> np.ndarray:
        """∫ χ dρ for the values χ(θ_i), (n, …)."""
        return np.tensordot(np.asarray(self.weights), np.asarray(values), axes=1)


def uniform_cloud(theta: Any, coordinates: tuple[str, ...]) -> Cloud:
    """The empirical measure (1/n) Σ_i δ(θ_i)."""
    theta = np.asarray(theta)
    return Cloud(theta, np.full(len(theta), 1 / max(len(theta), 1)), coordinates)
