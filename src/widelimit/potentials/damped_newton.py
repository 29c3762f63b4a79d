"""Newton's method with a line search, for minimisations whose direction the problem itself knows how to find.

    x ← x + s δ,     s = 1, ½, ¼, … until  f(x + s δ) ≤ f(x) + 10⁻⁴ s ⟨∇f, δ⟩ + rounding |f(x)|

    δ   direction   of descent, from a Hessian that was made positive
    ⟨∇f, δ⟩         slope along it, negative

The value falls in every step, up to its rounding, so that the method cannot be trapped where f is convex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Point = TypeVar("Point")


class Direction(NamedTuple, Generic[Point]):
    """A direction, the slope along it, and whether the point it starts from is good enough."""

    direction: Point
    slope: float
    enough: bool


class Budget(NamedTuple):
    """Steps of Newton's method, the shortest step of the line search, and the rounding of f relative to its size."""

    steps: int
    shortest: float
    rounding: float


class Lowest(NamedTuple, Generic[Point]):
    """A point, and whether it is a minimum: good enough, or one from which no direction leads down."""

    point: Point
    found: bool


def minimise(
    start: Point, value: Callable[[Point], float], descent: Callable[[Point], Direction], shifted: Callable[..., Point],
    budget: Budget,
) -> Lowest[Point]:  # fmt: skip
    """The minimum found from a start, or where the budget was spent.

    value    f; infinite or not a number where a point is not allowed
    descent  the direction from a point
    shifted  (x, s, δ) ↦ x + s δ, or the allowed point nearest to it
    """
    x, now = start, value(start)
    for _ in range(budget.steps):
        step = descent(x)
        if step.enough or not step.slope < 0:
            return Lowest(x, True)
        size, tried = 1.0, shifted(x, 1.0, step.direction)
        lower = value(tried)
        while not lower <= now + 1e-4 * size * step.slope + budget.rounding * abs(now):
            size /= 2
            if size < budget.shortest:
                return Lowest(x, False)
            tried = shifted(x, size, step.direction)
            lower = value(tried)
        x, now = tried, lower
    return Lowest(x, False)
