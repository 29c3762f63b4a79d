"""The density of one coordinate: limits as lines, the first finite network as bars, others outlined.

At several times the colour is the time, and a run is known by its line; at one time the colour is the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from widelimit.errors import require, require_known
from widelimit.interfaces.curves import Curve
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.run_labels import is_limit, symbol_of
from widelimit.interfaces.series import coordinates_of, measure_at
from widelimit.measures import Density, Measure
from widelimit.observables.density import binned_density, smooth_density
from widelimit.solving.solution import Solution

LOWEST = 1e-2  # density worth a place in the picture
FLOOR = 1e-9  # where lines and bars end, far below it
SMOOTH = 10  # points or cells that make a line
FINEST = 240  # pieces of a line, at most
TIMES = 4  # at which a density is shown


@dataclass(frozen=True, eq=False)
class Profile:
    """A density between edges, and whether it is a smooth line."""

    edges: np.ndarray
    values: np.ndarray
    smooth: bool

    @property
    def middle(self) -> np.ndarray:
        """Where the values of a line stand."""
        return (self.edges[1:] + self.edges[:-1]) / 2


def shared_coordinates(solutions: Sequence[Solution]) -> list[str]:
    """The coordinates that all solutions have."""
    first, *others = [coordinates_of(s) for s in solutions]
    return [c for c in first if all(c in names for names in others)]


def shared_coordinate(solutions: Sequence[Solution], wished: str | None = None) -> str:
    """The coordinate that was asked for, or the usual one of those that all solutions have."""
    if wished is not None:
        for solution in solutions:
            require_known("coordinate", wished, coordinates_of(solution))
        return wished
    shared, first = shared_coordinates(solutions), coordinates_of(solutions[0])
    require(bool(shared), "the solutions must share a coordinate", first, "solve them with the same keep")
    return usual_coordinate(shared)


def usual_coordinate(names: Sequence[str]) -> str:
    """The one that shows what is learned: the first that is kept, u, or else the last one, a radius.

    >>> usual_coordinate(["a", "u_1", "u_2", "r"]), usual_coordinate(["a", "b", "r"])
    ('u_1', 'r')
    """
    return next((name for name in names if name.partition("_")[0] == "u"), names[-1])


def extent_of(measures: Sequence[Measure], coordinate: str) -> tuple[float, float]:
    """Where measures have something to show, with a margin; a radius begins at 0."""
    ends = np.array([_ends(rho, coordinate) for rho in measures])
    low, high = float(ends.min()), float(ends.max())
    margin = 0.03 * (high - low) + 1e-6
    return (max(0.0, low - margin) if low >= 0 else low - margin), high + margin


def _ends(rho: Measure, coordinate: str) -> tuple[float, float]:
    if not isinstance(rho, Density):
        column = rho.column(coordinate)
        return float(column.min()), float(column.max())
    edges, values = rho.marginal(coordinate)
    full = np.flatnonzero(values >= LOWEST * min(1.0, values.max()))
    return float(edges[full[0]]), float(edges[full[-1] + 1])


def profile(solution: Solution, rho: Measure, coordinate: str, span: tuple[float, float]) -> Profile:
    """The density of one coordinate of a measure of a solution."""
    if isinstance(rho, Density):
        edges, values = rho.marginal(coordinate)
        return Profile(edges, values, len(values) >= SMOOTH)
    if is_limit(solution) and rho.n >= SMOOTH and len(rho.coordinates) == 1:  # points that follow a smooth law
        width = (span[1] - span[0]) / FINEST
        edges = _apart(np.sort(rho.column(coordinate)), width)
        if len(edges) > 2:
            edges = np.array([edges[0] - width / 2, *edges, edges[-1] + width / 2])  # where the line ends
            return Profile(edges, smooth_density(rho, coordinate, edges), True)
    bins = int(np.clip(rho.n / 10, 12, 60))  # about ten neurons in each, within reason
    edges = np.linspace(*span, bins + 1)
    return Profile(edges, binned_density(rho, coordinate, edges), False)


def _apart(points: np.ndarray, width: float) -> np.ndarray:
    """Points that are at least a width apart, the outermost included: a line drawn between them shows no steps."""
    kept = [points[0]]
    for x in points[1:]:
        if x - kept[-1] >= width:
            kept.append(x)
    return np.array(kept if kept[-1] == points[-1] or len(kept) < 2 else [*kept[:-1], points[-1]])


def draw_densities(axes: Axes, curves: Sequence[Curve], coordinate: str, count: int | None, log: bool) -> None:
    """The densities of all runs, at ``count`` times; left out: at four if each run has a line of its own, else last."""
    over_time = count > 1 if count is not None else _told_apart(curves)
    wished = moments(curves, (count or TIMES) if over_time else 1)
    shades = [to_hex(colormaps["viridis"](x)) for x in np.linspace(0.05, 0.85, len(wished))]
    measures = {(c, t): measure_at(c.solution, t) for c in curves for t in wished}
    span, peak = extent_of(list(measures.values()), coordinate), 0.0
    filled = next((c for c in curves if not c.is_limit), None)
    for t, shade in zip(wished, shades, strict=True):
        for c in curves:
            shape = profile(c.solution, measures[c, t], coordinate, span)
            draw_profile(axes, c, shape, shade if over_time else c.colour, c is filled)
            peak = max(peak, float(shape.values.max()))
    label_axes(axes, curves, coordinate, span)
    if log:
        axes.set_yscale("log")
    axes.set_ylim(LOWEST if log else 0, 2 * max(peak, 10 * LOWEST) if log else 1.05 * peak)
    finish(axes, legend=False)
    _name_runs(axes, curves, over_time)
    if over_time:
        _draw_times(axes, wished, shades)
    else:
        axes.set_title(rf"{axes.get_title()} at $t$ = {wished[0]:.3g}")


def label_axes(axes: Axes, curves: Sequence[Curve], coordinate: str, span: tuple[float, float]) -> None:
    """Names of the axes of a density."""
    names, symbol = [name for c in curves for name in coordinates_of(c.solution)], symbol_of(coordinate)
    axes.set(xlabel=f"${symbol_of(coordinate, names)}$", ylabel=f"density of ${symbol}$", xlim=span)
    axes.set_title(f"Density of ${symbol}$")


def _told_apart(curves: Sequence[Curve]) -> bool:
    """Whether the line alone says which run it is: one problem, at most one finite network, a line for each limit."""
    lines = [c.line for c in curves if c.is_limit]
    alone = len({c.owner for c in curves}) == 1 and len(curves) - len(lines) <= 1
    return alone and len(set(lines)) == len(lines) <= 3


def shared_times(curves: Sequence[Curve]) -> np.ndarray:
    """Save times of the first run that all runs have reached."""
    times, last = curves[0].solution.times, min(c.solution.times[-1] for c in curves)
    reached = times[times <= last * (1 + 1e-9)]
    wanted = f"the first run must have a save before t = {last:g}, where another one ends"
    require(len(reached) > 0, wanted, float(times[0]), "solve it with more saves, or put it last")
    return reached


def moments(curves: Sequence[Curve], count: int) -> np.ndarray:
    """At most ``count`` of the shared times, as evenly spaced as the saves allow; one is the last."""
    times = shared_times(curves)
    wished = np.linspace(0, times[-1], count) if count > 1 else times[-1:]
    return np.unique([times[np.argmin(np.abs(times - t))] for t in wished])


def draw_profile(axes: Axes, curve: Curve, shape: Profile, colour: object, filled: bool) -> None:
    """One density at one time."""
    if shape.smooth:
        axes.plot(shape.middle, np.maximum(shape.values, FLOOR), color=colour, **line_of(curve))
    else:
        style = curve.line if curve.is_limit else "-"
        axes.stairs(shape.values, shape.edges, color=colour, ls=style, fill=filled, alpha=0.3 if filled else 1.0,
                    baseline=FLOOR, zorder=2)  # fmt: skip


def line_of(curve: Curve) -> dict[str, Any]:
    """How the line of a limit is drawn: a solid one is broad and pale beside others, so that they show on top of it."""
    broad = curve.beside and curve.line == "-"
    look: dict[str, Any] = {"ls": curve.line, "alpha": 0.4 if broad else 1.0, "zorder": 3 if broad else 4}
    return look | ({"lw": 2.5 * Line2D([], []).get_linewidth()} if broad else {})


def _name_runs(axes: Axes, curves: Sequence[Curve], grey: bool) -> None:
    """The legend of several runs: by their line or their bars."""
    finite = [c for c in curves if not c.is_limit]
    handles: list[Any] = []
    for c in curves if len(curves) > 1 else ():
        colour = "0.35" if grey else c.colour
        if c.is_limit:
            handles.append(Line2D([], [], color=colour, label=c.label, **line_of(c)))
        else:
            bars = c is finite[0]
            handles.append(Patch(color=colour, fill=bars, alpha=0.3 if bars else 1.0, label=c.label))
    if handles:
        axes.legend(handles=handles, frameon=False)


def _draw_times(axes: Axes, times: np.ndarray, shades: Sequence[str]) -> None:
    """A strip beside the panel that says which colour is which time."""
    strip = axes.inset_axes((1.03, 0.0, 0.04, 1.0))
    for place, shade in enumerate(shades):
        strip.axhspan(place, place + 1, color=shade, lw=0)
    strip.set(xlim=(0, 1), ylim=(0, len(times)), xticks=[], ylabel="time $t$")
    strip.set_yticks(np.arange(len(times)) + 0.5, labels=[f"{t:.3g}" for t in times])
    strip.yaxis.set_label_position("right")
    strip.tick_params(left=False, labelleft=False, labelright=True, length=0)
