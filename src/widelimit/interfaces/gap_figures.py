"""Figures of the gap between SGD and the PDE, drawn from comparisons and rates only.

comparison   risks; the parts of the gap stacked, with the total; distances of the neurons
rates        gap against N, ε or d, with the fitted slope and the slope of theory
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS, SYMBOLS
from widelimit.interfaces.series import risk_name, series
from widelimit.theory.gap.coupling import Comparison
from widelimit.theory.gap.rates import Rates

TIME = r"time $t = k\varepsilon$"
VARIABLES = {"n": r"width $N$", "step": r"step $\varepsilon$", "d": r"dimension $d$"}
LABELS = {
    "distance": r"mean$_i\,|\theta_i-\theta'_i|$",
    "max distance": r"max$_i\,|\theta_i-\theta'_i|$",
    "W2": r"$W_2$ to the limit",
    "risk spread": r"std of $R-R'$",
    "risk bias": r"|mean of $R-R'$|",
}


def comparison_figure(result: Comparison, page: Page) -> Figure:
    """Three panels: risks, stacked parts of the risk gap, distances of coupled neurons."""
    require(len(result.times) >= 2 and len(result.parts) > 0, "a figure needs a comparison with something saved",
            result, "lower the step")  # fmt: skip
    panels = page.panels(("risk", "parts", "distances"), 0.87)
    _draw_risks(panels[0], result)
    _draw_parts(panels[1], result)
    _draw_distances(panels[2], result)
    if page.look.title is None and page.given is None:
        n, step = result.dataset.attrs["n"], result.dataset.attrs["step"]
        panels[0].figure.suptitle(rf"From SGD to the PDE: $N$ = {n}, $\varepsilon$ = {step:g}")
    return page.finished(panels)


def _mean(values: xr.DataArray) -> np.ndarray:
    return values.mean("replica").values if "replica" in values.dims else values.values


def _draw_risks(axes: Axes, result: Comparison) -> None:
    """The risks, each with a band: how far it may be off, or the middle 95 % of the replicas."""
    for i, name in enumerate(str(d) for d in result.dataset["dynamics"].values):
        found = series(result.solutions[name], "risk")
        colour = "black" if name == "PDE" else COLOURS[i % 6]
        look: dict[str, Any] = (
            {}
            if name == "PDE"
            else {"marker": SYMBOLS[i % 6], "mfc": "none", "lw": 1.0, "ms": 0.7 * rcParams["lines.markersize"]}
        )
        axes.plot(found.times, found.value, color=colour, label=name, zorder=2 if name == "PDE" else 3, **look)
        axes.fill_between(found.times, found.low, found.high, color=colour, alpha=0.1, lw=0)
    word = risk_name(next(iter(result.solutions.values())))
    axes.set(xlabel=TIME, ylabel=f"{word} $R$", title="Risk of each dynamics")
    finish(axes)


def _draw_parts(axes: Axes, result: Comparison) -> None:
    names = result.parts[:-1]
    sizes = [_mean(abs(result.dataset["risk_gap"].sel(part=p))) for p in names]
    axes.stackplot(result.times, sizes, labels=names, colors=COLOURS[: len(names)], alpha=0.75)
    total = _mean(abs(result.dataset["risk_gap"].sel(part="total")))
    axes.plot(result.times, total, color="black", label="|total|")
    error = np.nan_to_num(_mean(result.dataset["risk_gap_error"].sel(part="total")))
    if error.max() > 0:
        axes.fill_between(result.times, np.maximum(total - error, 0), total + error, color="black", alpha=0.2, lw=0)
    room = 1.05 * max(np.sum(sizes, axis=0).max(), total.max())
    axes.set(xlabel=TIME, ylabel=r"$|R - R'|$, stacked", title="Parts of the risk gap", ylim=(0, room))
    axes.margins(x=0)
    finish(axes)


def _draw_distances(axes: Axes, result: Comparison) -> None:
    for i, name in enumerate(result.parts):
        colour, width = ("0.7", 5.0) if name == "total" else (COLOURS[i % 6], 1.5)
        for quantity, style in (("distance", "-"), ("max_distance", ":")):
            values = _mean(result.dataset[quantity].sel(part=name))
            if np.any(values > 0):
                label = name if quantity == "distance" else None
                order = 1 if name == "total" else 2
                axes.plot(result.times[1:], values[1:], style, color=colour, lw=width, label=label, zorder=order)
    axes.set(xlabel=TIME, ylabel=r"$|\theta_i-\theta'_i|$", title="Distance of coupled neurons")
    axes.plot([], [], ":", color="0.35", label="largest (line: mean)")
    axes.set_yscale("log")
    finish(axes)


def rates_figure(result: Rates, page: Page) -> Figure:
    """One panel per part, gap against the variable on logarithmic axes."""
    parts = [str(p) for p in result.dataset["part"].values]
    panels = page.panels(parts, 0.92)
    rows = result.table()
    for axes, part in zip(panels, parts, strict=True):
        _draw_slopes(axes, result, [row for row in rows if row["part"] == part])
        axes.set(xlabel=VARIABLES[result.dataset.attrs["over"]], title=part)
    panels[0].set_ylabel("gap")
    return page.finished(panels)


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
    finish(axes)
