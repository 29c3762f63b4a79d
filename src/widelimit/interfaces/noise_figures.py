"""Figures of noisy dynamics beside the Gibbs law it settles in.

left    density of one coordinate over time, of the first solution on a grid
middle  F(ρ_t) − F(ρ_*) of every solution on a grid
right   the last density of each solution on top of ρ_*: limits as lines, finite networks as bars
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from widelimit.errors import require, require_known
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.curves import Curve
from widelimit.interfaces.densities import extent_of, line_of, profile, shared_coordinate
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.run_labels import symbol_of
from widelimit.interfaces.series import measure_at
from widelimit.measures import Density, Measure
from widelimit.solving.solution import Solution
from widelimit.theory.noise.gibbs import Gibbs

SMALLEST = 1e-15  # difference of free energies that is more than rounding
ROWS = 300  # of the heat map
BRIGHT = 1.3  # where its colours end, relative to the last density: an early peak would darken all others


def noise_figure(law: Gibbs, curves: Sequence[Curve], coordinate: str | None, page: Page) -> Figure:
    """Three panels from one Gibbs law and the solutions that approach it, see `figure`."""
    solutions = [c.solution for c in curves]
    chosen = shared_coordinate(solutions, coordinate)
    require_known("coordinate of the Gibbs law", chosen, law.rho.coordinates)
    grids = [c for c in curves if is_on_a_grid(c.solution)]
    panels = page.panels(("density over time", "free energy", "last density"), 0.93)
    _draw_heat(panels[0], law, grids[0], chosen)
    _draw_decay(panels[1], law, grids)
    _draw_last(panels[2], law, curves, chosen)
    return page.finished(panels)


def require_grid(records: Sequence[Any]) -> None:
    """Refuse a Gibbs law without a history beside it."""
    require(
        any(map(is_on_a_grid, records)),
        "a figure with a Gibbs law needs a solution on a grid with two or more saves",
        [getattr(r, "name", type(r).__name__) for r in records],
        "add wl.solve(problem, wl.FiniteVolume(), t_end)",
    )


def is_on_a_grid(record: object) -> bool:
    """Whether something is a density with a history to show."""
    return isinstance(record, Solution) and record.is_density and len(record.times) >= 2


def _settled(law: Gibbs, coordinate: str) -> Density:
    edges, values = law.density(coordinate)
    return Density((edges,), values * np.diff(edges), (coordinate,), (None,))


def _draw_heat(axes: Axes, law: Gibbs, curve: Curve, coordinate: str) -> None:
    solution = curve.solution
    t, measures = solution.times, [solution.at(t) for t in solution.times]
    edges = np.linspace(*extent_of([*measures, _settled(law, coordinate)], coordinate), ROWS + 1)
    values = np.stack([_on(rho, coordinate, _middle(edges)) for rho in measures], axis=1)
    between = np.concatenate([t[:1], _middle(t), t[-1:]])
    top = min(values.max(), BRIGHT * values[:, -1].max())
    image = axes.pcolormesh(between, edges, values, cmap="viridis", vmin=0, vmax=top, rasterized=True)
    extend = "max" if values.max() > top else "neither"
    axes.figure.colorbar(image, ax=axes, label=rf"density $\rho_t({symbol_of(coordinate)})$", extend=extend)
    mean = float(law.rho.mean(law.rho.column(coordinate)))
    axes.axhline(mean, color="white", ls="--", lw=1.2, label=r"mean of $\rho_*$")
    axes.set(xlabel="time $t$", ylabel=f"${symbol_of(coordinate, law.rho.coordinates)}$")
    axes.set_title(f"Density of ${symbol_of(coordinate)}$: {curve.label}")
    axes.legend(frameon=False, labelcolor="white", loc="upper right")


def _on(rho: Measure, coordinate: str, points: np.ndarray) -> np.ndarray:
    """The density at given points, whatever the cells."""
    assert isinstance(rho, Density)
    edges, values = rho.marginal(coordinate)
    return np.interp(points, _middle(edges), values, left=0.0, right=0.0)


def _draw_decay(axes: Axes, law: Gibbs, curves: Sequence[Curve]) -> None:
    """The excess as a line; where a grid puts it below 0, how far, in dots; the gap of the law as a band above 0."""
    lowest = 0.0
    for c in curves:
        times, excess = c.solution.times, c.solution.dataset["free_energy"].values - law.free_energy
        axes.plot(times, np.where(excess < SMALLEST, np.nan, excess), color=c.colour, ls=c.line, label=c.label)
        axes.plot(times, np.where(-excess < SMALLEST, np.nan, -excess), ".", color=c.colour, ms=3)
        lowest = min(lowest, float(excess.min()))
    if lowest <= -SMALLEST:
        axes.plot([], [], ".", color="grey", ms=3, label="below 0 by the error of the grid")
    axes.set(xlabel="time $t$", ylabel=r"$F(\rho_t) - F(\rho_*)$", title="Free energy above its minimum", yscale="log")
    bottom, _ = axes.get_ylim()
    if bottom < law.gap:
        axes.axhspan(bottom, law.gap, color="0.5", alpha=0.2, lw=0, label=r"error of $F(\rho_*)$")
        axes.set_ylim(bottom=bottom)
    finish(axes)


def _draw_last(axes: Axes, law: Gibbs, curves: Sequence[Curve], coordinate: str) -> None:
    measures = [measure_at(c.solution, c.solution.times[-1]) for c in curves]
    span = extent_of([*measures, _settled(law, coordinate)], coordinate)
    finite = [c for c in curves if not c.is_limit]
    wide = 2.5 * Line2D([], []).get_linewidth()
    broad: dict[str, Any] = {"color": "black", "lw": wide, "alpha": 0.35, "label": r"Gibbs law $\rho_*$", "zorder": 3}
    edges, values = law.density(coordinate)
    if law.log_density is None:
        axes.stairs(values, edges, **broad)
    else:
        axes.plot(_middle(edges), values, **broad)
    for c, rho in zip(curves, measures, strict=True):
        shape = profile(c.solution, rho, coordinate, span)
        label = f"{c.label}, $t$ = {c.solution.times[-1]:.3g}"
        if shape.smooth:
            axes.plot(shape.middle, shape.values, color=c.colour, label=label, **line_of(c))
        else:
            bars = c in finite[:1]
            axes.stairs(shape.values, shape.edges, color=c.colour, ls=c.line if c.is_limit else "-", fill=bars,
                        alpha=0.4 if bars else 1.0, label=label, zorder=2)  # fmt: skip
    symbol = symbol_of(coordinate)
    axes.set(xlabel=f"${symbol_of(coordinate, law.rho.coordinates)}$", ylabel=f"density of ${symbol}$", xlim=span)
    axes.set_title("Last density and the Gibbs law")
    axes.set_ylim(0, (1.15 + 0.09 * len(curves)) * axes.get_ylim()[1])  # room for the legend
    finish(axes)


def _middle(edges: np.ndarray) -> np.ndarray:
    return (edges[1:] + edges[:-1]) / 2
