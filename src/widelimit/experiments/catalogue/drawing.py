"""The figure of an entry as data: panels of lines, so that it can be drawn from its record alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Values = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class DrawnLine:
    """A curve, a row of symbols, a histogram or an arrow.

    kind     "theory" (a line: what is predicted), "measured" (symbols, with error bars where there are any),
             "published" (grey: what the paper says), "bars" (a histogram, x its edges), or "arrow" (from the first
             point to the second)
    colour   place in the palette: what belongs together has one colour
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Literal["theory", "measured", "published", "bars", "arrow"]
    colour: int = 0
    error: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """Axes with their lines.

    log   axes that are logarithmic: "", "x", "y" or "xy"
    """

    title: str
    xlabel: str
    ylabel: str
    lines: tuple[DrawnLine, ...]
    log: Literal["", "x", "y", "xy"] = ""


def theory(label: str, x: Values, y: Values, colour: int = 0) -> DrawnLine:
    """What is predicted.

    >>> theory("1/N", [1, 2], [1.0, 0.5]).y
    (1.0, 0.5)
    """
    return DrawnLine(label, _plain(x), _plain(y), "theory", colour)


def measured(label: str, x: Values, y: Values, colour: int = 0, error: Values = ()) -> DrawnLine:
    """What was measured.

    >>> measured("SGD", [1], [0.9], error=[0.1]).error
    (0.1,)
    """
    return DrawnLine(label, _plain(x), _plain(y), "measured", colour, _plain(error))


def published(label: str, x: Values, y: Values) -> DrawnLine:
    """What the paper says.

    >>> published("threshold", [0.47, 0.47], [0, 1]).kind
    'published'
    """
    return DrawnLine(label, _plain(x), _plain(y), "published")


def bars(label: str, edges: Values, heights: Values, colour: int = 0) -> DrawnLine:
    """A histogram of what was measured.

    >>> bars("SGD", [0, 1, 2], [0.25, 0.75]).x
    (0.0, 1.0, 2.0)
    """
    return DrawnLine(label, _plain(edges), _plain(heights), "bars", colour)


def arrows(label: str, start: np.ndarray, step: np.ndarray, colour: int = 0) -> list[DrawnLine]:
    """From every row of start (n, 2) along its step (n, 2); the label belongs to all of them.

    >>> arrows("force", np.zeros((1, 2)), np.ones((1, 2)))[0].y
    (0.0, 1.0)
    """
    rows = zip(np.asarray(start), np.asarray(step), strict=True)
    return [
        DrawnLine(label * (i == 0), (float(a[0]), float(a[0] + s[0])), (float(a[1]), float(a[1] + s[1])), "arrow",
                  colour)
        for i, (a, s) in enumerate(rows)
    ]  # fmt: skip


def _plain(values: Values) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
