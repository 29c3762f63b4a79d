"""ρ, the measure over neurons that every part of the library speaks about.

    Cloud     ρ = Σ_i p_i δ(θ_i),     Σ_i p_i = 1
    Density   a mass m_i in every cell of a grid, spread evenly over the volume v_i of the cell

    v_i = Π_c (width of the cell for a scalar, ∫_cell S_c r^{d_c − 1} dr for a radius behind which there are
          d_c directions of the full space, S_c the area of their unit sphere)

Both are read in the same way: ``theta`` (the centres of the cells), ``weights`` (their masses), ``coordinates``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from widelimit.errors import require, require_known

MASS = 1e-6  # by which a sum of masses may miss 1: records and single precision round


class _Points:
    """How a measure is read: weighted points with named columns."""

    theta: np.ndarray
    weights: np.ndarray
    coordinates: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of particles, or of cells."""
        return self.theta.shape[0]

    def column(self, coordinate: str) -> np.ndarray:
        """One coordinate of every particle, (n,)."""
        require_known("coordinate", coordinate, self.coordinates)
        return np.asarray(self.theta)[:, self.coordinates.index(coordinate)]

    def mean(self, values: Any) -> np.ndarray:
        """∫ χ dρ for the values χ(θ_i), (n, …)."""
        return np.tensordot(np.asarray(self.weights), np.asarray(values), axes=1)


@dataclass(frozen=True, eq=False)
class Cloud(_Points):
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
        _require_masses("the weights of a cloud", np.asarray(self.weights))


@dataclass(frozen=True, eq=False)
class Density(_Points):
    """Masses of the cells of a grid.

    edges        for every coordinate (cells + 1,), increasing
    masses       (cells of the first coordinate, …)
    coordinates  names of the coordinates
    dimensions   of each of them: None for a scalar, d_g for the radius of a group of directions, 0 for a coordinate
                 that takes separate values, one for each cell, which have no volume
    """

    edges: tuple[np.ndarray, ...]
    masses: np.ndarray
    coordinates: tuple[str, ...]
    dimensions: tuple[float | None, ...]

    def __post_init__(self) -> None:
        shape = tuple(len(e) - 1 for e in self.edges)
        good = len(shape) == len(self.coordinates) == len(self.dimensions) and np.shape(self.masses) == shape
        require(good, f"masses must have shape {shape}, one coordinate for each axis", np.shape(self.masses),
                "give one mass per cell")  # fmt: skip

    @cached_property
    def theta(self) -> np.ndarray:  # type: ignore[override]
        """Centres of the cells, (n, D)."""
        centres = [(e[1:] + e[:-1]) / 2 for e in self.edges]
        return np.stack([c.ravel() for c in np.meshgrid(*centres, indexing="ij")], axis=1)

    @property
    def weights(self) -> np.ndarray:  # type: ignore[override]
        """Masses of the cells, (n,)."""
        return np.asarray(self.masses).ravel()

    @cached_property
    def log_volumes(self) -> np.ndarray:
        """log v of every cell, in the shape of the masses."""
        sides = [log_volumes(e, d) for e, d in zip(self.edges, self.dimensions, strict=True)]
        total: np.ndarray = np.zeros(())
        for side in sides:
            total = total[..., None] + side
        return total

    @property
    def entropy(self) -> float:
        """−∫ ρ log ρ over the full space."""
        some = self.masses > 0
        return -float(np.sum(self.masses[some] * (np.log(self.masses[some]) - self.log_volumes[some])))

    def marginal(self, coordinate: str) -> tuple[np.ndarray, np.ndarray]:
        """Edges (m + 1,) and the density of one coordinate in each of its cells (m,)."""
        require_known("coordinate", coordinate, self.coordinates)
        axis = self.coordinates.index(coordinate)
        others = tuple(c for c in range(len(self.coordinates)) if c != axis)
        return self.edges[axis], self.masses.sum(axis=others) / np.diff(self.edges[axis])


Measure = Cloud | Density


def _require_masses(what: str, masses: np.ndarray) -> None:
    """Refuse masses that are negative or do not add up to 1."""
    total = float(masses.sum())
    good = abs(total - 1) < MASS and bool((masses >= 0).all())
    require(good, f"{what} must be >= 0 and sum to 1", f"a sum of {total:.6g}", "divide by their sum")


def uniform_cloud(theta: Any, coordinates: tuple[str, ...]) -> Cloud:
    """The empirical measure (1/n) Σ_i δ(θ_i)."""
    theta = np.asarray(theta)
    return Cloud(theta, np.full(len(theta), 1 / max(len(theta), 1)), coordinates)


def log_sphere_area(d: float) -> float:
    """log of the area 2 π^{d/2}/Γ(d/2) of the unit sphere in R^d."""
    return math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)


def log_volumes(edges: np.ndarray, d: float | None) -> np.ndarray:
    """log of the volume of every cell of one coordinate, see `Density`."""
    low, high = edges[:-1], edges[1:]
    if d is None:
        return np.log(high - low)
    if d == 0 or math.isinf(d):
        return np.zeros(len(low))
    with np.errstate(divide="ignore"):
        ratio = np.where(low > 0, np.log(np.maximum(low, 0)) - np.log(high), -math.inf)
    return log_sphere_area(d) - math.log(d) + d * np.log(high) + np.log(-np.expm1(d * ratio))
