"""Figures of solutions.

left    risk over time: the limit as a line, finite networks as symbols
right   density of a radius at several times: the limit as a line, the first finite network as bars, others outlined

Replicas are shown as a mean with a bar of one standard deviation, and pooled in the density.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.dynamics.solution import Solution
from widelimit.errors import require, require_known
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.measures import Cloud, Measure
from widelimit.observables.density import binned_density, smooth_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "ParticleFlow": "particle flow",
    "NonlinearFlow": "nonlinear flow",
    "MeanField": "mean-field limit (PDE)",
}


def solution_figure(*solutions: Solution, coordinate: str | None = None, times: int = 4) -> Figure:
    """Risk over time and the density of one coordinate at several times, see `figure`."""
    from matplotlib.figure import Figure

    require(
        bool(solutions) and all(isinstance(s, Solution) and len(s.times) for s in solutions),
        "figure needs one or more solutions with something saved",
        [type(s).__name__ for s in solutions],
        "pass what wl.solve returned",
    )
    chosen = coordinate or _shared_coordinate(solutions)
    for s in solutions:
        require_known("coordinate", chosen, (str(c) for c in s.dataset["coordinate"].values))
    canvas = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = canvas.subplots(1, 2)
    _draw_risk(left, solutions)
    _draw_density(right, solutions, chosen, times)
    return canvas


def _is_limit(solution: Solution) -> bool:
    return solution.method == "MeanField"


def _label(solution: Solution) -> str:
    name = NAMES.get(solution.method, solution.method)
    if _is_limit(solution):
        return name
    many = f", {solution.replicas} runs" if solution.replicas else ""
    return f"{name}, N = {solution.dataset.sizes['neuron']}{many}"


def _draw_risk(axes: Axes, solutions: tuple[Solution, ...]) -> None:
    for i, s in enumerate(sorted(solutions, key=lambda s: not _is_limit(s))):
        if _is_limit(s):
            axes.plot(s.times, s.risk, color="black", lw=1.6, label=_label(s), zorder=2)
        else:
            risk = s.risk if s.replicas is None else s.risk.mean(axis=0)
            axes.plot(s.times, risk, SYMBOLS[i % 6], color=COLOURS[i % 6], mfc="none", mew=1.4, ms=6,
                      label=_label(s), zorder=3)  # fmt: skip
            if s.replicas is not None:
                axes.errorbar(s.times, risk, s.risk.std(axis=0), fmt="none", ecolor=COLOURS[i % 6])
    values = np.concatenate([s.risk.ravel() for s in solutions])
    if values.min() > 0 and values.max() > 20 * values.min():
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.05 * values.max())
    axes.set(xlabel=r"time $t = k\varepsilon$", ylabel=r"population risk $R(\rho_t)$", title="Risk")
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)


def _shared_coordinate(solutions: tuple[Solution, ...]) -> str:
    names = [str(c) for c in solutions[0].dataset["coordinate"].values]
    shared = [c for c in names if all(c in s.dataset["coordinate"].values for s in solutions)]
    require(bool(shared), "the solutions must share a coordinate", names, "solve them with the same keep")
    return shared[-1]


def _draw_density(axes: Axes, solutions: tuple[Solution, ...], coordinate: str, count: int) -> None:
    from matplotlib import colormaps

    wished = np.linspace(0, min(s.times[-1] for s in solutions), count)
    columns = [s.dataset["theta"].sel(coordinate=coordinate).values for s in solutions]
    low, high = min(c.min() for c in columns), max(c.max() for c in columns)
    margin = 0.03 * (high - low) + 1e-6
    span = (max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    fine, peak, filled = np.linspace(*span, 241), 0.0, next((s for s in solutions if not _is_limit(s)), None)
    for t, shade in zip(wished, np.linspace(0.05, 0.85, count), strict=True):
        colour = colormaps["viridis"](shade)
        for s in solutions:
            edges = fine if _is_curve(s) else np.linspace(*span, _bins(s))
            peak = max(peak, _draw_at(axes, s, coordinate, float(t), colour, edges, s is filled))
    alone = not any(str(c).startswith("u") for s in solutions for c in s.dataset["coordinate"].values)
    symbol = "r = |w|" if coordinate == "r" and alone else coordinate
    shown = {NAMES.get(s.method, s.method).split(" (")[0]: _style(s, s is filled) for s in solutions}
    title = f"Density of {coordinate}: " + ", ".join(f"{how} = {name}" for name, how in shown.items())
    axes.set(xlabel=f"${symbol}$", ylabel=rf"density of ${coordinate}$", title=title, xlim=span)
    axes.set_ylim(1e-2, 2 * max(peak, 1e-1))
    axes.set_yscale("log")
    axes.legend(frameon=False, title="time")
    axes.grid(alpha=0.25)


def _bins(s: Solution) -> int:
    """Edges of bins that hold about ten neurons each, within reason."""
    return int(np.clip(s.dataset.sizes["neuron"] * (s.replicas or 1) / 10, 12, 60)) + 1


def _is_curve(s: Solution) -> bool:
    """Whether the points follow a smooth law one after the other: those of the limit in one dimension."""
    return _is_limit(s) and s.dataset.sizes["neuron"] >= 10 and s.dataset.sizes["coordinate"] == 1


def _style(s: Solution, filled: bool) -> str:
    return "line" if _is_limit(s) else "filled" if filled else "outline"


def _cloud(s: Solution, t: float) -> Measure:
    """The measure nearest to t, that of all replicas together if there are any."""
    if s.replicas is None:
        return s.at(t)
    clouds = [s.replica(r).at(t) for r in range(s.replicas)]
    weights = np.concatenate([c.weights for c in clouds]) / len(clouds)
    return Cloud(np.concatenate([c.theta for c in clouds]), weights, clouds[0].coordinates)


def _draw_at(axes: Axes, s: Solution, coordinate: str, t: float, colour: Any, edges: np.ndarray, filled: bool) -> float:
    """One density; returns its peak."""
    cloud = _cloud(s, t)
    label = f"$t$ = {t:.3g}"
    known = label in axes.get_legend_handles_labels()[1]
    if _is_curve(s):
        values = smooth_density(cloud, coordinate, edges)
        axes.plot((edges[1:] + edges[:-1]) / 2, np.maximum(values, 1e-9), color=colour, lw=1.5,
                  label=None if known else label, zorder=3)  # fmt: skip
    else:
        values = binned_density(cloud, coordinate, edges)
        axes.stairs(values, edges, color=colour, fill=filled, alpha=0.3 if filled else 1.0, baseline=1e-9,
                    label=None if known else label, zorder=2)  # fmt: skip
    return float(values.max())
