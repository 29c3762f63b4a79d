"""Piecewise linear activations.

σ(x) = c + l x + Σ_j δ_j (x − t_j)_+

t_j   knots       increasing            δ_j   jumps   of the slope
c     intercept                         l     slope   left of all knots
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import is_finite, require
from widelimit.frozen import as_number
from widelimit.problem.activations.activation import Activation, as_floats, as_points

Point = tuple[float, float]


class Hinges(Activation):
    """σ(x) = intercept + slope·x + Σ_j jumps_j (x − knots_j)_+, to the last digit.

    knots      where the slope jumps, increasing
    jumps      by how much
    intercept  value at 0 of the line left of all knots
    slope      of that line

    >>> float(hinges([0.0, 1.0], [1.0, -1.0])(3.0))
    1.0
    """

    word: ClassVar[str] = "hinges"

    knots: Sequence[float]
    jumps: Sequence[float]
    intercept: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        wanted = "hinges need lists of numbers, knots and jumps"
        knots, jumps = as_floats(self.knots, wanted), as_floats(self.jumps, wanted)
        good = len(knots) == len(jumps) and all(s < t for s, t in pairwise(knots))
        require(good, "hinges need increasing knots and as many jumps", (list(knots), list(jumps)), "sort the knots")
        for value in (*knots, *jumps, self.intercept, self.slope):
            require(is_finite(value), "hinges need finite numbers", value, "change it")
        self.settle(knots=knots, jumps=jumps, intercept=as_number(self.intercept), slope=as_number(self.slope))

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        hinges = (jnp.where(x > t, delta * (x - t), 0) for t, delta in zip(self.knots, self.jumps, strict=True))
        return sum(hinges, self.intercept + self.slope * x)

    @property
    def parity(self) -> int:
        """Seen at 0, at the knots, at their mirror images, and beyond."""
        t = np.array([0.0, *self.knots, 1 + max(map(abs, self.knots), default=0.0)])
        right, left = (
            self.intercept + self.slope * x + np.maximum(np.subtract.outer(x, self.knots), 0) @ np.array(self.jumps)
            for x in (t, -t)
        )
        return 1 if np.array_equal(right, left) else -1 if np.array_equal(right, -left) else 0


class PiecewiseLinear(Activation):
    """The function through the points (t_j, σ(t_j)), linear between them, with the given slopes outside.

    knots        the points, abscissae increasing
    left_slope   slope left of the first point
    right_slope  slope right of the last one

    >>> piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)]).form.jumps
    (-3.0, 14.5, -11.5)
    """

    word: ClassVar[str] = "piecewise_linear"

    knots: Sequence[Point]
    left_slope: float = 0.0
    right_slope: float = 0.0

    def __post_init__(self) -> None:
        wanted = "a piecewise linear activation needs a list of points (t, σ(t))"
        points = as_points(self.knots, wanted, "give all of them in one list, such as [(0.5, -2.5), (1.5, 7.5)]")
        require(
            len(points) >= 1
            and all(s < t for (s, _), (t, _) in pairwise(points))
            and all(is_finite(x) for point in points for x in point),
            "the knots of a piecewise linear activation must be one or more finite points with increasing abscissae",
            list(self.knots),
            "sort them and drop repeated ones",
        )
        for slope in (self.left_slope, self.right_slope):
            require(is_finite(slope), "the outer slopes must be finite numbers", slope, "try 0.0")
        self.settle(knots=points, left_slope=as_number(self.left_slope), right_slope=as_number(self.right_slope))

    @property
    def form(self) -> Hinges:
        """The jumps of the slope."""
        inner = [(w - v) / (t - s) for (s, v), (t, w) in pairwise(self.knots)]
        slopes = [self.left_slope, *inner, self.right_slope]
        first, value = self.knots[0]
        return Hinges.trusted(
            knots=tuple(t for t, _ in self.knots), jumps=tuple(after - before for before, after in pairwise(slopes)),
            intercept=value - self.left_slope * first, slope=self.left_slope,
        )  # fmt: skip

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return self.form(x)


class Ramp(Activation):
    """Constant, then linear from the point ``start`` to the point ``end``, then constant (default: that of [mmn18]).

    start  (t, σ(t)) where it begins to rise
    end    (t, σ(t)) where it ends

    >>> float(ramp((0.0, 0.0), (2.0, 1.0))(1.0))
    0.5
    """

    word: ClassVar[str] = "ramp"

    start: Point = (0.5, -2.5)
    end: Point = (1.5, 7.5)

    def __post_init__(self) -> None:
        start, end = as_points(
            (self.start, self.end), "a ramp needs two points (t, σ(t))", "try ramp((0.5, -2.5), (1.5, 7.5))"
        )
        line = PiecewiseLinear((start, end))
        self.settle(start=line.knots[0], end=line.knots[1])

    @property
    def form(self) -> Hinges:
        """Two hinges."""
        return PiecewiseLinear.trusted(knots=(self.start, self.end), left_slope=0.0, right_slope=0.0).form

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return self.form(x)


hinges, piecewise_linear, ramp = Hinges, PiecewiseLinear, Ramp
