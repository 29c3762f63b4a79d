"""Figures of the gap between SGD and the PDE, drawn from comparisons and rates only.

comparison   risks; the parts of the gap stacked, with the total; distances of the neurons
rates        gap against N, ε or d, with the fitted slope and the slope of theory
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.errors import require
from widelimit.interfaces.palette import COLOURS, SYMBOLS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from widelimit.theory.coupling import Comparison
    from widelimit.theory.rates import Rates

TIME = r"time $t = k\varepsilon$"
VARIABLES = {"n": r"width $N$", "step": r"step $\varepsilon$", "d": r"dimension $d$"}
LABELS = {
    "distance": r"mean$_i\,|\theta_i-\theta'_i|$",
    "max distance": r"max$_i\,|\theta_i-\theta'_i|$",
    "W2": r"$W_2$ to the limit",
    "risk spread": r"std of $R-R'$",
    "risk bias": r"|mean of $R-R'$|",
}


def comparison_figure(result: Comparison) -> Figure:
    """Three panels: risks, stacked parts of the risk gap, distances of coupled neurons."""
    from matplotlib.figure import Figure

    require(len(result.times) >= 2 and len(result.parts) > 0, "a figure needs a comparison with something saved",
            result, "lower the step")  # fmt: skip
    canvas = Figure(figsize=(13.0, 4.2), layout="constrained")
    risks, parts, distances = canvas.subplots(1, 3)
    _draw_risks(risks, result)
    _draw_parts(parts, result)
    _draw_distances(distances, result)
    n, step = result.dataset.attrs["n"], result.dataset.attrs["step"]
    canvas.suptitle(rf"From SGD to the PDE: $N$ = {n}, $\varepsilon$ = {step:g}")
    return canvas


def _mean(values: xr.DataArray) -> np.ndarray:
    return values.mean("replica").values if "replica" in values.dims else values.values


def _draw_risks(axes: Axes, result: Comparison) -> None:
    for i, name in enumerate(str(d) for d in result.dataset["dynamics"].values):
        risk = _mean(result.dataset["risk"].sel(dynamics=name))
        if name == "PDE":
            axes.plot(result.times, risk, color="black", lw=1.8, label=name, zorder=2)
        else:
            axes.plot(result.times, risk, color=COLOURS[i % 6], marker=SYMBOLS[i % 6], ms=4, lw=1.0, mfc="none",
                      label=name, zorder=3)  # fmt: skip
    axes.set(xlabel=TIME, ylabel=r"population risk $R$", title="Risk of each dynamics")
    _finish(axes)


def _draw_parts(axes: Axes, result: Comparison) -> None:
    names = result.parts[:-1]
    sizes = [_mean(abs(result.dataset["risk_gap"].sel(part=p))) for p in names]
    axes.stackplot(result.times, sizes, labels=names, colors=COLOURS[: len(names)], alpha=0.75)
    total = _mean(abs(result.dataset["risk_gap"].sel(part="total")))
    axes.plot(result.times, total, color="black", lw=2, label="|total|")
    room = 1.35 * max(np.sum(sizes, axis=0).max(), total.max())
    axes.set(xlabel=TIME, ylabel=r"$|R - R'|$, stacked", title="Parts of the risk gap", ylim=(0, room))
    _finish(axes, columns=3)


def _draw_distances(axes: Axes, result: Comparison) -> None:
    for i, name in enumerate(result.parts):
        colour, width = ("0.7", 5.0) if name == "total" else (COLOURS[i % 6], 1.5)
        for quantity, style in (("distance", "-"), ("max_distance", ":")):
            values = _mean(result.dataset[quantity].sel(part=name))
            if np.any(values > 0):
                label = name if quantity == "distance" else None
                order = 1 if name == "total" else 2
                axes.plot(result.times[1:], values[1:], style, color=colour, lw=width, label=label, zorder=order)
    axes.set(xlabel=TIME, ylabel=r"$|\theta_i-\theta'_i|$", title="Coupled neurons: mean (line), max (dots)")
    axes.set_yscale("log")
    _finish(axes)


def rates_figure(result: Rates) -> Figure:
    """One panel per part, gap against the variable on logarithmic axes."""
    from matplotlib.figure import Figure

    parts = [str(p) for p in result.dataset["part"].values]
    canvas = Figure(figsize=(4.6 * len(parts), 4.2), layout="constrained")
    panels = np.atleast_1d(canvas.subplots(1, len(parts)))
    rows = result.table()
    for axes, part in zip(panels, parts, strict=True):
        _draw_slopes(axes, result, [row for row in rows if row["part"] == part])
        axes.set(xlabel=VARIABLES[result.dataset.attrs["over"]], title=part)
    panels[0].set_ylabel("gap")
    return canvas


def _draw_slopes(axes: Axes, result: Rates, rows: list[dict[str, Any]]) -> None:
    x = result.dataset["x"].values
    centre = np.exp(np.mean(np.log(x)))
    for i, row in enumerate(rows):
        gap = result.dataset["gap"].sel(part=row["part"], quantity=row["quantity"]).values
        level = np.exp(np.mean(np.log(gap)))
        error = (row["high"] - row["low"]) / 2
        label = f"{LABELS[row['quantity']]}: {row['exponent']:+.2f} ± {error:.2f}"
        axes.plot(x, gap, SYMBOLS[i % 6], color=COLOURS[i % 6], mfc="none", mew=1.4, label=label)
        axes.plot(x, level * (x / centre) ** row["exponent"], color=COLOURS[i % 6], lw=1.0)
        if np.isfinite(row["theory"]):
            axes.plot(x, level * (x / centre) ** row["theory"], color=COLOURS[i % 6], lw=1.0, ls="--")
    axes.set(xscale="log", yscale="log")
    axes.plot([], [], color="grey", ls="--", label="theory")
    _finish(axes)


def _finish(axes: Axes, columns: int = 1) -> None:
    axes.legend(frameon=False, fontsize=8, ncols=columns)
    axes.grid(alpha=0.25)
