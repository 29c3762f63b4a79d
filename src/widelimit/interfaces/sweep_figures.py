"""Figures of sweeps, drawn from their datasets only.

one axis     the risk over time, a curve for each value, and the last risk over the axis
two axes     a heat map of the last risk; points that did not reach the end are crossed

Seeds are no axis of a figure: it shows the mean over them, and in curves the middle 95 %.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.errors import require
from widelimit.experiments.sweep import Sweep
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish

SEED = ("seed", "run.seed")
MAP = "viridis"
MOST_LABELS = 8  # curves that a legend can name
SYMBOLS = {
    "delta": r"$\Delta$", "scale": r"$\kappa$", "n": "$N$", "step": r"$\varepsilon$", "d": "$d$", "ridge": r"$\lambda$",
    "beta": r"$\beta$", "alpha": r"$\alpha$", "t_end": "$T$",
}  # fmt: skip


def sweep_figure(found: Sweep, page: Page) -> Figure:
    """The figure of a sweep over one or two axes besides seeds."""
    seeds = [name for name in found.axes if name in SEED]
    axes = [name for name in found.axes if name not in seeds]
    count = len(axes)
    do = "choose with wl.Sweep(sweep.dataset.isel(...))" if count > 2 else "add an axis"
    require(count in (1, 2), "a figure of a sweep shows one or two axes besides seeds", count, do)
    over = "time" if "time" in found.dataset.dims else "save"
    if count == 2:
        return _heat_map(found.dataset, axes, seeds, page)
    panels = page.panels(("risk", "last risk"), 0.92)
    _curves(panels[0], found.dataset, axes[0], seeds, over)
    _last(panels[1], found.dataset, axes[0], seeds)
    for one in panels:
        finish(one)
    return page.finished(panels)


def last_risk(data: xr.Dataset) -> xr.DataArray:
    """The risk of every point at its end; NaN where it did not reach it."""
    over = "time" if "time" in data.dims else "save"
    saved = data["risk"].notnull().sum(over)  # points may have fewer saves than others
    return data["risk"].isel({over: np.maximum(saved - 1, 0)}).where(data["outcome"] == "done")


def symbol(name: str) -> str:
    """An axis as it is written in a figure."""
    return ", ".join(SYMBOLS.get(part.rpartition(".")[2], part) for part in name.split("+"))


def _ticks(data: xr.Dataset, name: str) -> tuple[np.ndarray, bool]:
    """The places of an axis, and whether they are its values."""
    values = data[name].values if name in data.coords else np.arange(data.sizes[name])
    numeric = values.dtype.kind in "if" and bool(np.isfinite(values).all())
    return (values if numeric else np.arange(data.sizes[name])), numeric


def _is_geometric(values: np.ndarray) -> bool:
    """Whether values are spread over decades rather than over a line."""
    return len(values) > 2 and values.min() > 0 and values.max() / values.min() >= 10


def _curves(axes: Axes, data: xr.Dataset, name: str, seeds: list[str], over: str) -> None:
    risk = data["risk"]
    t = data["time"] if over == "time" else (data["t"].mean(seeds) if seeds else data["t"])
    colours = colormaps[MAP](np.linspace(0.0, 0.9, data.sizes[name]))
    few = data.sizes[name] <= MOST_LABELS
    for i, colour in enumerate(colours):
        one = risk.isel({name: i})
        x = t if over == "time" else t.isel({name: i})
        value = data[name].values[i] if name in data.coords else i
        shown = f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
        axes.plot(
            x, one.mean(seeds) if seeds else one, color=colour, label=f"{symbol(name)} = {shown}" if few else None
        )
        if seeds:
            low, high = (one.quantile(q, seeds) for q in (0.025, 0.975))
            axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    axes.set(xlabel="time $t$", ylabel="risk $R$", title="Risk")


def _last(axes: Axes, data: xr.Dataset, name: str, seeds: list[str]) -> None:
    places, numeric = _ticks(data, name)
    last = last_risk(data)
    axes.plot(places, last.mean(seeds) if seeds else last, color="0.45", lw=1.0)
    for i, colour in enumerate(colormaps[MAP](np.linspace(0.0, 0.9, len(places)))):
        values = np.atleast_1d(last.isel({name: i}).values)
        axes.plot(np.full(values.size, places[i]), values.ravel(), "o", color=colour, ms=4, ls="none")
    axes.set(xlabel=symbol(name), ylabel="risk $R$ at the end", title="At the end")
    _scale(axes, "x", data, name, (places, numeric))


def _scale(axes: Axes, which: str, data: xr.Dataset, name: str, ticks: tuple[np.ndarray, bool]) -> None:
    """A logarithmic axis for decades, and words where the values are no numbers."""
    places, numeric = ticks
    if numeric and _is_geometric(places):
        axes.set(**{f"{which}scale": "log"})
    if not numeric:
        words = data[name].values if name in data.coords else places
        axes.set(**{f"{which}ticks": places, f"{which}ticklabels": [str(word) for word in words]})


def _heat_map(data: xr.Dataset, names: list[str], seeds: list[str], page: Page) -> Figure:
    (panel,) = page.panels(("last risk",), 1.25)
    last = last_risk(data).mean(seeds) if seeds else last_risk(data)
    last = last.transpose(names[1], names[0])
    ticks = [_ticks(data, name) for name in names]
    shade = panel.pcolormesh(ticks[0][0], ticks[1][0], last.values, cmap=MAP, shading="nearest")
    panel.figure.colorbar(shade, ax=panel, label="risk $R$ at the end")
    ended = (data["outcome"] == "done").all(seeds) if seeds else data["outcome"] == "done"
    y, x = np.nonzero(~ended.transpose(names[1], names[0]).values)
    if len(x):
        panel.plot(ticks[0][0][x], ticks[1][0][y], "x", color="#b2182b", ms=6, mew=1.4, ls="none", label="not done")
        panel.legend(loc="upper left", bbox_to_anchor=(0, -0.14), frameon=False)
    for which, name, tick in zip("xy", names, ticks, strict=True):
        _scale(panel, which, data, name, tick)
    panel.set(xlabel=symbol(names[0]), ylabel=symbol(names[1]), title=f"{data.attrs['method']}, risk at the end")
    return page.finished([panel])
