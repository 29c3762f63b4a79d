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

from widelimit.arguments import array_of, words_of
from widelimit.errors import is_number, require, require_known, shortened
from widelimit.frozen import public_names
from widelimit.spheres import log_sphere_area

MASS = 1e-6  # by which a sum of masses may miss 1: records and single precision round


class _Points:
    """How a measure is read: weighted points with named columns."""

    theta: np.ndarray
    weights: np.ndarray
    coordinates: tuple[str, ...]

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    @property
    def n(self) -> int:
        """Number of particles, or of cells."""
        return self.theta.shape[0]

    def __repr__(self) -> str:
        what = "particles" if isinstance(self, Cloud) else "cells"
        return f"<{type(self).__name__}: {self.n} {what} in {shortened(self.coordinates)}>"

    def column(self, coordinate: str) -> np.ndarray:
        """One coordinate of every particle, (n,)."""
        require_known("coordinate", coordinate, self.coordinates)
        return np.asarray(self.theta)[:, self.coordinates.index(coordinate)]

    def mean(self, values: object) -> np.ndarray:
        """∫ χ dρ for the values χ(θ_i), (n, …)."""
        do = "compute them from rho.theta"
        chi = array_of("the values of a mean", values, "(n,) or (n, k) or (n, k, l)", do)
        require(len(chi) == self.n, f"a mean needs one value for each of the {self.n} points", chi.shape, do)
        return np.tensordot(np.asarray(self.weights), chi, axes=1)


@dataclass(frozen=True, eq=False, repr=False)
class Cloud(_Points):
    """Weighted particles.

    theta        (n, D)  one row per neuron
    weights      (n,)    p_i, equal for a finite network
    coordinates          names of the columns

    >>> import widelimit as wl
    >>> wl.Cloud([[1.0], [3.0]], [0.25, 0.75], ("r",)).column("r")
    array([1., 3.])
    """

    theta: np.ndarray
    weights: np.ndarray
    coordinates: tuple[str, ...]

    def __post_init__(self) -> None:
        names = _columns_of(self.coordinates)
        do = "give one row per neuron and one column per coordinate"
        theta = array_of("theta", self.theta, "(n, D)", do)
        good = theta.shape[1] == len(names)
        require(good, f"theta must have shape (n, {len(names)}), columns {shortened(names)}", theta.shape, do)
        weights = array_of("weights", self.weights, "(n,)", "give one weight per neuron")
        n = len(theta)
        require(len(weights) == n, f"weights must have shape ({n},)", weights.shape, "give one weight per neuron")
        require_masses("the weights of a cloud", weights)
        vars(self).update(theta=theta, weights=weights, coordinates=names)


@dataclass(frozen=True, eq=False, repr=False)
class Density(_Points):
    """Masses of the cells of a grid.

    edges        for every coordinate (cells + 1,), increasing
    masses       (cells of the first coordinate, …)
    coordinates  names of the coordinates
    dimensions   of each of them: None for a scalar, d_g for the radius of a group of directions, 0 for a coordinate
                 that takes separate values, one for each cell, which have no volume

    >>> import widelimit as wl
    >>> wl.Density(([0.0, 1.0, 3.0],), [0.5, 0.5], ("b",), (None,)).marginal("b")[1]
    array([0.5 , 0.25])
    """

    edges: tuple[np.ndarray, ...]
    masses: np.ndarray
    coordinates: tuple[str, ...]
    dimensions: tuple[float | None, ...]

    def __post_init__(self) -> None:
        names, sizes = _columns_of(self.coordinates), self.dimensions
        listed = isinstance(self.edges, list | tuple) and isinstance(sizes, list | tuple)
        good = listed and len(self.edges) == len(names) == len(sizes)
        require(good, f"edges and dimensions must be lists of {len(names)}, one for each of {shortened(names)}",
                (self.edges, sizes), "give as many")  # fmt: skip
        for name, d in zip(names, sizes, strict=True):
            good = d is None or (is_number(d) and d >= 0)
            require(good, f"the dimension of {name} must be None or a number >= 0", d, "see wl.Density")
        edges = tuple(map(edges_of, self.edges))
        shape = tuple(len(e) - 1 for e in edges)
        axes = (
            f"({', '.join('cells' for _ in names)},)" if len(names) == 1 else f"({', '.join('cells' for _ in names)})"
        )
        masses = array_of("masses", self.masses, axes, "give one mass per cell")
        require(masses.shape == shape, f"masses must have shape {shape}, one axis for each coordinate", masses.shape,
                "give one mass per cell")  # fmt: skip
        vars(self).update(edges=edges, masses=masses, coordinates=names, dimensions=tuple(sizes))

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


def measure_of(rho: Any, who: str) -> Measure:
    """A measure, where one is needed."""
    good = isinstance(rho, Measure)
    require(good, f"{who} needs a wl.Cloud or a wl.Density", type(rho).__name__, "try solution.final or solution.at(t)")
    return rho


def edges_of(edges: object) -> np.ndarray:
    """Edges of cells or bins, (bins + 1,), checked."""
    array = array_of("edges", edges, "(bins + 1,)", "try numpy.linspace(0, 5, 51)", finite=True)
    good = len(array) >= 2 and bool((np.diff(array) > 0).all())
    require(good, "edges must be two or more increasing numbers", edges, "try numpy.linspace(0, 5, 51)")
    return array


def _columns_of(coordinates: object) -> tuple[str, ...]:
    """Names of columns, checked."""
    names = words_of("coordinates", coordinates, "('a', 'r')")
    good = not isinstance(coordinates, str) and len({*names}) == len(names) > 0
    require(good, "coordinates must be a list of different names, one for each column", coordinates, "try ('a', 'r')")
    return names


def require_masses(what: str, masses: np.ndarray) -> None:
    """Refuse masses that are negative or do not add up to 1."""
    total = float(masses.sum())
    good = abs(total - 1) < MASS and bool((masses >= 0).all())
    require(good, f"{what} must be >= 0 and sum to 1", f"a sum of {total:.6g}", "divide by their sum")


def uniform_cloud(theta: object, coordinates: tuple[str, ...]) -> Cloud:
    """The empirical measure (1/n) Σ_i δ(θ_i)."""
    theta = np.asarray(theta)
    return Cloud(theta, np.full(len(theta), 1 / max(len(theta), 1)), coordinates)


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
