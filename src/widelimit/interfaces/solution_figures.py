"""Figures of solutions.

left    risk over time: limits as lines, finite networks as symbols
right   density of a radius at several times: limits as lines, the first finite network as bars, others outlined

A limit is known by its line (drawn, dashed, dotted), the time by its colour. A band shows how far a risk may be off.
Replicas are shown as a mean with a bar of one standard deviation, and pooled in the density.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.errors import require, require_known
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.measures import Cloud, Density, Measure
from widelimit.observables.density import binned_density, smooth_density
from widelimit.solving.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "ParticleFlow": "particle flow",
    "NonlinearFlow": "nonlinear flow",
    "MeanField": "mean-field limit (PDE)",
    "FiniteVolume": "PDE on a grid",
    "JKO": "JKO scheme",
}
LINES = {  # see `line_of`
    "MeanField": ("black", "-", "line"),
    "FiniteVolume": (COLOURS[0], "--", "dashed"),
    "JKO": (COLOURS[3], ":", "dotted"),
}
FINITE = (*COLOURS[1:3], *COLOURS[4:])  # colours of finite networks
LOWEST = 1e-2  # density worth a place in the picture
SMOOTH = 10  # points or cells that make a line
WIDE_TITLE, LONG_TITLE = 56, 66  # characters in a line, of one line and of several in a smaller type


def solution_figure(*solutions: Solution, coordinate: str | None = None, times: int = 4) -> Figure:
    """Risk over time and the density of one coordinate at several times, see `figure`."""
    from matplotlib.figure import Figure

    require_solutions(solutions)
    chosen = shared_coordinate(solutions, coordinate)
    canvas = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = canvas.subplots(1, 2)
    _draw_risk(left, solutions)
    _draw_density(right, solutions, chosen, times)
    return canvas


def require_solutions(solutions: Sequence[Any]) -> None:
    """Refuse what cannot be drawn."""
    require(
        bool(solutions) and all(isinstance(s, Solution) and len(s.times) for s in solutions),
        "figure needs one or more solutions with something saved",
        [type(s).__name__ for s in solutions],
        "pass what wl.solve returned",
    )


def shared_coordinate(solutions: Sequence[Solution], wished: str | None = None) -> str:
    """The coordinate that was asked for, or the last one that all solutions have."""
    names = [coordinates_of(s) for s in solutions]
    if wished is not None:
        for known in names:
            require_known("coordinate", wished, known)
        return wished
    shared = [c for c in names[0] if all(c in others for others in names)]
    require(bool(shared), "the solutions must share a coordinate", names[0], "solve them with the same keep")
    return shared[-1]


def coordinates_of(solution: Solution) -> list[str]:
    """Names of the coordinates a solution was kept in."""
    return [str(c) for c in solution.dataset["coordinate"].values]


def symbol_of(coordinate: str, names: Sequence[str]) -> str:
    """A coordinate as an axis is labelled; r is |w| if nothing of w is kept beside it.

    >>> symbol_of("r", ["a", "r"]), symbol_of("r", ["u", "r"])
    ('r = |w|', 'r')
    """
    return "r = |w|" if coordinate == "r" and not any(name.startswith("u") for name in names) else coordinate


def is_limit(solution: Solution) -> bool:
    """Whether a solution is the limit of infinitely many neurons, drawn as a line."""
    return solution.name in LINES or solution.is_density


def line_of(solution: Solution) -> tuple[str, str, str]:
    """Colour, line style and its word, of a limit."""
    return LINES.get(solution.name, ("black", "-.", "dash-dotted"))


def label_of(solution: Solution) -> str:
    """How a legend names a solution."""
    name = NAMES.get(solution.name, solution.name)
    if is_limit(solution):
        return name
    many = f", {solution.replicas} runs" if solution.replicas else ""
    return f"{name}, N = {solution.dataset.sizes['neuron']}{many}"


def measure_at(solution: Solution, t: float) -> Measure:
    """The measure at the save nearest to t; replicas are pooled into one cloud."""
    if solution.replicas is None:
        return solution.at(t)
    clouds = [solution.replica(r).at(t) for r in range(solution.replicas)]
    weights = np.concatenate([c.weights for c in clouds]) / len(clouds)
    return Cloud(np.concatenate([c.theta for c in clouds]), weights, clouds[0].coordinates)


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


def density_at(
    solution: Solution, rho: Measure, coordinate: str, span: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Edges, the density between them, and whether that is a smooth line; ``rho`` is a measure of the solution."""
    if isinstance(rho, Density):
        edges, values = rho.marginal(coordinate)
        return edges, values, len(values) >= SMOOTH
    if is_limit(solution) and rho.n >= SMOOTH and len(rho.coordinates) == 1:  # points that follow a smooth law
        edges = np.linspace(*span, 241)
        return edges, smooth_density(rho, coordinate, edges), True
    bins = int(np.clip(rho.n / 10, 12, 60))  # about ten neurons in each, within reason
    edges = np.linspace(*span, bins + 1)
    return edges, binned_density(rho, coordinate, edges), False


def _draw_risk(axes: Axes, solutions: Sequence[Solution]) -> None:
    limits = [s for s in solutions if is_limit(s)]
    for s in limits:
        axes.plot(s.times, s.risk, color=line_of(s)[0], label=label_of(s), **_line(s, len(limits) > 1))
        _draw_error(axes, s, line_of(s)[0])
    for i, s in enumerate(s for s in solutions if not is_limit(s)):
        risk, colour = s.risk if s.replicas is None else s.risk.mean(axis=0), FINITE[i % len(FINITE)]
        axes.plot(s.times, risk, SYMBOLS[(i + 1) % 6], color=colour, mfc="none", mew=1.4, ms=6, label=label_of(s),
                  zorder=5)  # fmt: skip
        if s.replicas is None:
            _draw_error(axes, s, colour)
        else:
            axes.errorbar(s.times, risk, s.risk.std(axis=0), fmt="none", ecolor=colour)
    values = np.concatenate([s.risk.ravel() for s in solutions])
    if values.min() > 0 and values.max() > 20 * values.min():
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.05 * values.max())
    axes.set(xlabel=r"time $t = k\varepsilon$", ylabel=r"population risk $R(\rho_t)$", title="Risk")
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)


def _draw_error(axes: Axes, solution: Solution, colour: str) -> None:
    """A band as wide as the risk may be off, where that is known."""
    risk, error = solution.risk, np.nan_to_num(solution.error)
    axes.fill_between(solution.times, np.maximum(risk - error, 0.0), risk + error, color=colour, alpha=0.2, lw=0)


def _draw_density(axes: Axes, solutions: Sequence[Solution], coordinate: str, count: int) -> None:
    from matplotlib import colormaps

    wished = np.linspace(0, min(s.times[-1] for s in solutions), count)
    measures = {(i, t): measure_at(s, t) for i, s in enumerate(solutions) for t in wished}
    span, peak = extent_of(list(measures.values()), coordinate), 0.0
    filled = next((s for s in solutions if not is_limit(s)), None)
    several = sum(map(is_limit, solutions)) > 1
    for t, shade in zip(wished, np.linspace(0.05, 0.85, count), strict=True):
        axes.plot([], [], color=colormaps["viridis"](shade), lw=4, label=f"$t$ = {t:.3g}")
        for i, s in enumerate(solutions):
            density = density_at(s, measures[i, t], coordinate, span)
            _draw_one(axes, s, density, colormaps["viridis"](shade), s is filled, several)
            peak = max(peak, float(density[1].max()))
    names = [c for s in solutions for c in coordinates_of(s)]
    axes.set(xlabel=f"${symbol_of(coordinate, names)}$", ylabel=rf"density of ${coordinate}$", xlim=span)
    _set_title(axes, coordinate, {NAMES.get(s.name, s.name).split(" (")[0]: _word(s, s is filled) for s in solutions})
    axes.set_ylim(LOWEST, 2 * max(peak, 10 * LOWEST))
    axes.set_yscale("log")
    axes.legend(frameon=False, title="time")
    axes.grid(alpha=0.25)


def _set_title(axes: Axes, coordinate: str, words: dict[str, str]) -> None:
    parts = [f"{how} = {name}".replace(" ", "\N{NO-BREAK SPACE}") for name, how in words.items()]
    title = f"Density of {coordinate}: {', '.join(parts)}"
    if len(title) <= WIDE_TITLE:
        axes.set_title(title)
    else:
        axes.set_title("\n".join(textwrap.wrap(title, LONG_TITLE)), fontsize=9.5)


def _word(s: Solution, filled: bool) -> str:
    return line_of(s)[2] if is_limit(s) else "filled" if filled else "outline"


def _draw_one(
    axes: Axes, s: Solution, density: tuple[np.ndarray, np.ndarray, bool], colour: Any, filled: bool, several: bool
) -> None:
    """One density at one time."""
    edges, values, smooth = density
    if smooth:
        axes.plot((edges[1:] + edges[:-1]) / 2, np.maximum(values, 1e-9), color=colour, **_line(s, several))
    else:
        style = line_of(s)[1] if is_limit(s) else "-"
        axes.stairs(values, edges, color=colour, ls=style, fill=filled, alpha=0.3 if filled else 1.0, baseline=1e-9,
                    zorder=2)  # fmt: skip


def _line(s: Solution, several: bool) -> dict[str, Any]:
    """How the line of a limit is drawn: a solid one is broad and pale beside others, so that they show on top of it."""
    style = line_of(s)[1]
    broad = several and style == "-"
    return {"ls": style, "lw": 4.0 if broad else 1.6, "alpha": 0.4 if broad else 1.0, "zorder": 3 if broad else 4}
