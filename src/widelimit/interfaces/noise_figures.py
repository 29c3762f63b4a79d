"""Figures of noisy dynamics beside the Gibbs law it settles in.

left    density of one coordinate over time, of the first solution on a grid
middle  F(ρ_t) − F(ρ_*) of every solution on a grid
right   the last density of each solution on top of ρ_*: limits as lines, finite networks as bars
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.errors import require, require_known
from widelimit.interfaces.solution_figures import (
    FINITE,
    density_at,
    extent_of,
    is_limit,
    label_of,
    line_of,
    measure_at,
    require_solutions,
    shared_coordinate,
    symbol_of,
)
from widelimit.measures import Density, Measure
from widelimit.solving.solution import Solution
from widelimit.theory.gibbs import Gibbs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 1e-15  # difference of free energies that is more than rounding
ROWS = 300  # of the heat map
BRIGHT = 1.3  # where its colours end, relative to the last density: an early peak would darken all others


def noise_figure(*records: Any, coordinate: str | None = None) -> Figure:
    """Three panels from one Gibbs law and the solutions that approach it, see `figure`."""
    from matplotlib.figure import Figure

    laws = [r for r in records if isinstance(r, Gibbs)]
    require(len(laws) == 1, "a figure shows one Gibbs law", len(laws), "draw one figure for each")
    solutions = [r for r in records if not isinstance(r, Gibbs)]
    grids = [s for s in solutions if is_on_a_grid(s)]
    require(
        bool(grids),
        "a figure with a Gibbs law needs a solution on a grid with two or more saves",
        [getattr(r, "name", type(r).__name__) for r in solutions],
        "add wl.solve(problem, wl.FiniteVolume(), t_end)",
    )
    require_solutions(solutions)
    chosen = _coordinate(laws[0], solutions, coordinate)
    canvas = Figure(figsize=(14.0, 4.2), layout="constrained")
    over_time, decay, last = canvas.subplots(1, 3)
    _draw_heat(over_time, laws[0], grids[0], chosen)
    _draw_decay(decay, laws[0], grids)
    _draw_last(last, laws[0], solutions, chosen)
    return canvas


def is_on_a_grid(record: Any) -> bool:
    """Whether something is a density with a history to show."""
    return isinstance(record, Solution) and record.is_density and len(record.times) >= 2


def _coordinate(law: Gibbs, solutions: Sequence[Solution], wished: str | None) -> str:
    chosen = shared_coordinate(solutions, wished)
    require_known("coordinate of the Gibbs law", chosen, law.rho.coordinates)
    return chosen


def _settled(law: Gibbs, coordinate: str) -> Density:
    edges, values = law.density(coordinate)
    return Density((edges,), values * np.diff(edges), (coordinate,), (None,))


def _draw_heat(axes: Axes, law: Gibbs, solution: Solution, coordinate: str) -> None:
    t, measures = solution.times, [solution.at(t) for t in solution.times]
    edges = np.linspace(*extent_of([*measures, _settled(law, coordinate)], coordinate), ROWS + 1)
    values = np.stack([_on(rho, coordinate, _middle(edges)) for rho in measures], axis=1)
    between = np.concatenate([t[:1], _middle(t), t[-1:]])
    top = min(values.max(), BRIGHT * values[:, -1].max())
    image = axes.pcolormesh(between, edges, values, cmap="viridis", vmin=0, vmax=top, rasterized=True)
    extend = "max" if values.max() > top else "neither"
    axes.figure.colorbar(image, ax=axes, label=rf"density $\rho_t({coordinate})$", extend=extend)
    mean = float(law.rho.mean(law.rho.column(coordinate)))
    axes.axhline(mean, color="white", ls="--", lw=1.2, label=r"mean of $\rho_*$")
    axes.set(xlabel="time $t$", ylabel=f"${symbol_of(coordinate, law.rho.coordinates)}$")
    axes.set_title(f"Density of {coordinate}: {label_of(solution)}")
    axes.legend(frameon=False, labelcolor="white")


def _on(rho: Measure, coordinate: str, points: np.ndarray) -> np.ndarray:
    """The density at given points, whatever the cells."""
    assert isinstance(rho, Density)
    edges, values = rho.marginal(coordinate)
    return np.interp(points, _middle(edges), values, left=0.0, right=0.0)


def _draw_decay(axes: Axes, law: Gibbs, solutions: Sequence[Solution]) -> None:
    """The excess as a line; where a grid puts it below 0, how far, in dots."""
    lowest = 0.0
    for s in solutions:
        colour, style, _ = line_of(s)
        excess = s.dataset["free_energy"].values - law.free_energy
        axes.plot(s.times, np.where(excess < SMALLEST, np.nan, excess), color=colour, ls=style, label=label_of(s))
        axes.plot(s.times, np.where(-excess < SMALLEST, np.nan, -excess), ".", color=colour, ms=3)
        lowest = min(lowest, float(excess.min()))
    if lowest <= -SMALLEST:
        axes.plot([], [], ".", color="grey", ms=3, label="below 0 by the error of the grid")
    axes.set(xlabel="time $t$", ylabel=r"$F(\rho_t) - F(\rho_*)$", title="Free energy above its minimum", yscale="log")
    _finish(axes)


def _draw_last(axes: Axes, law: Gibbs, solutions: Sequence[Solution], coordinate: str) -> None:
    measures = [measure_at(s, s.times[-1]) for s in solutions]
    span = extent_of([*measures, _settled(law, coordinate)], coordinate)
    finite = [s for s in solutions if not is_limit(s)]
    broad: dict[str, Any] = {"color": "black", "lw": 4.0, "alpha": 0.35, "label": r"Gibbs law $\rho_*$", "zorder": 3}
    edges, values = law.density(coordinate)
    if law.log_density is None:
        axes.stairs(values, edges, **broad)
    else:
        axes.plot(_middle(edges), values, **broad)
    for s, rho in zip(solutions, measures, strict=True):
        edges, values, smooth = density_at(s, rho, coordinate, span)
        colour, style, _ = line_of(s) if is_limit(s) else (FINITE[finite.index(s) % len(FINITE)], "-", "")
        label = f"{label_of(s)}, $t$ = {s.times[-1]:.3g}"
        if smooth:
            axes.plot(_middle(edges), values, color=colour, ls=style, lw=1.6, label=label, zorder=4)
        else:
            bars = s in finite[:1]
            axes.stairs(values, edges, color=colour, ls=style, fill=bars, alpha=0.4 if bars else 1.0, label=label,
                        zorder=2)  # fmt: skip
    axes.set(xlabel=f"${symbol_of(coordinate, law.rho.coordinates)}$", ylabel=f"density of ${coordinate}$", xlim=span)
    axes.set_title("Last density and the Gibbs law")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
    _finish(axes)


def _middle(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2


def _finish(axes: Axes) -> None:
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
