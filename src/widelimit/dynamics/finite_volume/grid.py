"""Cells over the reduced coordinates, and the start ρ_0 in them.

Scheme: mass of ρ_0 in a cell.
    a factor with a quantile function   Φ(x_{i+1}) − Φ(x_i), x_i the normal scores of the edges, to rounding
    atoms, neurons given one by one,    shared between the two nearest centres of each coordinate, which keeps the mean
    factors that tie coordinates
A coordinate that does not move and starts on atoms has one cell for each of them. The box of a radius begins at 0;
other sides grow by cells of the same width, so that masses are never interpolated.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from widelimit.errors import InputError, require, shortened
from widelimit.frozen import Frozen, static
from widelimit.measures import Density
from widelimit.problem.initial import Explicit, Factor
from widelimit.problem.problem import Problem
from widelimit.solving.placement import initial_factors, initial_points, normal_masses

CELLS = {1: 400, 2: 100}  # for each coordinate
LARGEST = 2**20  # cells
SCORE = 7.0  # a box reaches to this score of every factor: 1e-12 of the mass lies outside
SCORES = 39.0  # beyond, Φ is 0 or 1 in double precision
POINTS = 2**15  # that carry a start whose coordinates are not independent
OUTSIDE = 1e-9  # mass of the start that may lie outside of a box

Box = tuple[tuple[float, float], ...] | None


class Axis(Frozen):
    """Equal cells of one coordinate; ``dimension`` as in `Density`."""

    name: str = static()
    low: float
    width: float
    cells: int
    dimension: float | None = static()
    can_grow: bool = static()

    @property
    def edges(self) -> np.ndarray:
        """Ends of the cells, (cells + 1,)."""
        return self.low + self.width * np.arange(self.cells + 1)

    @property
    def at_origin(self) -> bool:
        """Whether the low end is r = 0."""
        return bool(self.dimension) and self.low == 0

    @property
    def ends(self) -> tuple[bool, bool]:
        """Whether the axis may grow at its low and its high end; a radius ends at 0."""
        return self.can_grow and not self.dimension, self.can_grow

    def grown(self, below: int, above: int) -> Axis:
        """The axis with more cells at its ends."""
        return replace(self, low=self.low - below * self.width, cells=self.cells + below + above)


class Grid(Frozen):
    """Cells in one or more coordinates: the product of the axes."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of every axis."""
        return tuple(axis.cells for axis in self.axes)

    def density(self, masses: np.ndarray) -> Density:
        """Masses on this grid."""
        names, dimensions = zip(*((axis.name, axis.dimension) for axis in self.axes), strict=True)
        return Density(tuple(axis.edges for axis in self.axes), np.asarray(masses), names, dimensions)

    def held_back(self, masses: np.ndarray) -> np.ndarray:
        """Mass in the outermost cells of every axis, (D, 2): low and high end; 0 at r = 0 and at separate values."""
        ends = [[np.take(masses, end, axis=c).sum() for end in (0, -1)] for c in range(len(self.axes))]
        artificial = [[axis.dimension != 0 and not axis.at_origin, axis.dimension != 0] for axis in self.axes]
        return np.where(artificial, ends, 0.0)

    def crowded(self, masses: np.ndarray, most: float) -> np.ndarray:
        """The ends (D, 2) that may grow and hold more mass than ``most``."""
        return (self.held_back(masses) > most) & np.array([axis.ends for axis in self.axes])


class Mass(Frozen, eq=False):
    """The state of a run on a grid: masses, and the step to try next where steps adapt."""

    grid: Grid
    masses: np.ndarray
    step: float = math.inf

    def density(self) -> Density:
        """The masses as a `Density`."""
        return self.grid.density(self.masses)

    def grown(self, crowded: np.ndarray) -> Mass:
        """The same masses on a larger grid: half as many cells again are added at every crowded end (D, 2)."""
        more = -(-np.array(self.grid.shape)[:, None] // 2) * crowded
        axes = (axis.grown(int(below), int(above)) for axis, (below, above) in zip(self.grid.axes, more, strict=True))
        return Mass(Grid(tuple(axes)), np.pad(self.masses, more), self.step)

    def failed(self) -> Mass:
        """Masses that are not a number: the driver then ends the run as diverged."""
        return replace(self, masses=np.full(self.grid.shape, math.nan))


def initial_grid(problem: Problem, cells: int | None, box: Box) -> tuple[Grid, np.ndarray]:
    """A grid that covers ρ_0, and the masses of its cells."""
    names = problem.reduced_coordinates
    _check(problem)
    if box is not None:
        require(len(box) == len(names), f"box must have a side for each of {', '.join(names)}", box, "count them")
    count = cells or CELLS[len(names)]
    factors = None if isinstance(problem.initial, Explicit) else initial_factors(problem)
    if factors is None or any(f.columns > 1 for f in factors):
        return _from_points(problem, count, box)
    axes, masses = [], np.ones(())
    for c, factor in enumerate(factors):
        axis = _axis(problem, c, _span(factor), factor, (count, box))
        axes.append(axis)
        masses = masses[..., None] * _masses(axis, factor)
    return Grid(tuple(axes)), masses / masses.sum()


def _check(problem: Problem) -> None:
    """Refuse a problem that no grid can hold: many reduced coordinates, or weights on a sphere."""
    names = problem.reduced_coordinates
    require(len(names) in CELLS, "a grid needs one or two reduced coordinates", f"{len(names)}: {shortened(names)}",
            "use MeanField")  # fmt: skip
    free = problem.neuron.inner == "free"
    require(free, "a grid needs inner weights that move freely", "inner='sphere'", "use MeanField or ParticleFlow")


def _axis(
    problem: Problem, c: int, span: tuple[float, float], factor: Factor | None, asked: tuple[int, Box]
) -> Axis:  # fmt: skip
    """The axis of coordinate c, for a start that spans the given interval and the cells and the box that are asked."""
    columns, (cells, box) = problem.reduced, asked
    name, first, blocks = columns.names[c], columns.first_radius, columns.blocks
    dimension = columns.directions[c - first] if c >= first else None
    block = blocks[min(c, len(blocks) - 1)]
    if factor is not None and factor.atoms is not None and getattr(problem.rates, block) == 0.0:
        size = max(abs(value[0]) for value, _ in factor.atoms)
        if len(factor.atoms) == 2:
            return Axis(name, -2 * size, 2 * size, 2, 0, False)
        return Axis(name, factor.atoms[0][0][0] - 0.5, 1.0, 1, 0, False)
    low, high = box[c] if box is not None else (0.0 if dimension else span[0], span[1])
    require(not dimension or low >= 0, f"the box of the radius {name} must not go below 0", (low, high), "begin at 0")
    return Axis(name, low, (high - low) / cells, cells, dimension, box is None)


def _span(factor: Factor) -> tuple[float, float]:
    """Where a factor has its mass, with a margin."""
    if factor.curve is not None:
        low, high = factor.curve(np.array([[-SCORE], [SCORE]]))[:, 0]
    else:
        values = [value[0] for value, _ in factor.atoms or ()]
        reach = max(1.0, *(abs(v) for v in values))
        low, high = min(values) - reach, max(values) + reach
    return _widened(low, high)


def _widened(low: float, high: float) -> tuple[float, float]:
    margin = 0.05 * (high - low) or max(abs(low), 1.0)
    return float(low - margin), float(high + margin)


def _masses(axis: Axis, factor: Factor) -> np.ndarray:
    """The masses of one factor in the cells of its axis."""
    if factor.curve is None:
        rows = np.array([value for value, _ in factor.atoms or ()])
        return _shared((axis,), rows, np.array([p for _, p in factor.atoms or ()]))
    scores = _scores(factor, axis.edges)
    _require_inside(float(ndtr(scores[0]) + ndtr(-scores[-1])), (axis,))
    return normal_masses(scores)


def _scores(factor: Factor, values: np.ndarray) -> np.ndarray:
    """The normal score of every value, by bisection of the quantile function."""
    assert factor.curve is not None
    low, high = np.full(values.shape, -SCORES), np.full(values.shape, SCORES)
    for _ in range(60):
        middle = (low + high) / 2
        below = factor.curve(middle[:, None])[:, 0] < values
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _from_points(problem: Problem, cells: int, box: Box) -> tuple[Grid, np.ndarray]:
    """The grid and the masses of a start whose coordinates are not independent, from points that carry it."""
    theta, weights = (np.asarray(x) for x in initial_points(problem, POINTS, "quantile"))
    spans = [_widened(column.min(), column.max()) for column in theta.T]
    axes = tuple(_axis(problem, c, span, None, (cells, box)) for c, span in enumerate(spans))
    low, high = np.array([axis.edges[[0, -1]] for axis in axes]).T
    _require_inside(float(weights[((theta < low) | (theta > high)).any(axis=1)].sum()), axes)
    return Grid(axes), _shared(axes, theta, weights)


def _shared(axes: tuple[Axis, ...], theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Points shared between the nearest centres of every axis, in proportion; their mean stays."""
    masses = np.zeros([axis.cells for axis in axes])
    corners: list[tuple[tuple[np.ndarray, ...], np.ndarray]] = [((), weights)]
    for axis, column in zip(axes, theta.T, strict=True):
        place = np.clip((column - axis.low) / axis.width - 0.5, 0, axis.cells - 1)
        first = np.minimum(place.astype(int), max(axis.cells - 2, 0))
        second = np.minimum(first + 1, axis.cells - 1)
        share = place - first
        corners = [
            ((*index, cell), mass * part)
            for index, mass in corners
            for cell, part in ((first, 1 - share), (second, share))
        ]
    for index, mass in corners:
        np.add.at(masses, index, mass)
    return masses


def _require_inside(outside: float, axes: tuple[Axis, ...]) -> None:
    if outside > OUTSIDE:
        where = ", ".join(f"{a.name} in [{a.edges[0]:g}, {a.edges[-1]:g}]" for a in axes)
        raise InputError(
            f"the box must cover the start, got {where} with {outside:.2g} of the mass outside: widen it, or leave "
            "box out."
        )
