"""Figures of solutions: quantities over time, and the density of one coordinate.

Limits are lines, finite networks are symbols. A band shows how far a risk may be off, the spread of a coordinate, or
the middle 95 % of replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.arguments import words_of
from widelimit.errors import require, require_count
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.curves import Curve
from widelimit.interfaces.densities import draw_densities, line_of, shared_coordinate, shared_coordinates
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.series import Series, require_quantity, series, titles_of
from widelimit.solving.solution import Solution

PANELS = ("risk", "density")
TIME = r"time $t = k\varepsilon$"
MOST_SYMBOLS = 25  # on a curve
STEEP = 20.0  # ratio of risks from which they are shown on a logarithmic axis


@dataclass(frozen=True)
class Content:
    """What a figure of solutions shows.

    show        quantities over time, and "density"; None for the risk, and the density of a coordinate that all share
    coordinate  whose density
    times       how many times the density is shown at
    """

    show: str | Sequence[str] | None = None
    coordinate: str | None = None
    times: int | None = None

    def panels(self, page: Page, solutions: Sequence[Solution]) -> tuple[str, ...]:
        """Names of the panels; of the usual ones as many as there are axes."""
        if self.show is None:
            usual = PANELS if self.coordinate is not None or shared_coordinates(solutions) else PANELS[:1]
            return usual if page.given is None else usual[: max(1, len(page.given))]
        names = words_of("show", self.show, 'show=("risk", "r")')
        require(bool(names), "show must name one or more quantities", self.show, 'try show=("risk", "r")')
        return names


def solution_figure(curves: Sequence[Curve], content: Content, page: Page) -> Figure:
    """A panel for each quantity, see `figure`."""
    if content.times is not None:
        require_count("times", content.times, "4")
    solutions = [c.solution for c in curves]
    names = content.panels(page, solutions)
    for name in names:
        require_quantity(name, solutions)
    chosen = shared_coordinate(solutions, content.coordinate) if "density" in names else ""
    log = page.look.log
    panels = page.panels(names)
    for axes, name in zip(panels, names, strict=True):
        if name == "density":
            draw_densities(axes, curves, chosen, content.times, log is None or "y" in log)
        else:
            draw_quantity(axes, [c for c in curves if _has(c, name)], name, log)
    return page.finished(panels)


def _has(curve: Curve, name: str) -> bool:
    return name in curve.solution.dataset.data_vars or name in curve.solution.dataset["coordinate"].values


def draw_quantity(axes: Axes, curves: Sequence[Curve], name: str, log: str | None) -> None:
    """One quantity of every run over time."""
    found = [(c, series(c.solution, name)) for c in curves]
    for curve, values in found:
        draw_series(axes, curve, values, 0.2 if len(found) < 3 else 0.12)
    _set_scales(axes, [values for _, values in found], name, log)
    title, label = titles_of(name, curves[0].solution)
    axes.set(xlabel=TIME, ylabel=label, title=title)
    finish(axes, legend=len(curves) > 1 or name == "risk")


def draw_series(axes: Axes, curve: Curve, values: Series, pale: float = 0.2) -> None:
    """A limit as a line, a finite network as symbols, joined where there is no limit beside them; and the band."""
    if curve.is_limit:
        axes.plot(values.times, values.value, color=curve.colour, label=curve.label, **line_of(curve))
    else:
        every = -(-len(values.times) // MOST_SYMBOLS)
        axes.plot(values.times, values.value, color=curve.colour, marker=curve.symbol, mfc="none", markevery=every,
                  ls="none" if curve.beside else "-", lw=0.7, label=curve.label, zorder=5)  # fmt: skip
    axes.fill_between(values.times, values.low, values.high, color=curve.colour, alpha=pale, lw=0)


def _set_scales(axes: Axes, found: Sequence[Series], name: str, log: str | None) -> None:
    """Logarithmic axes where they are asked for, or where a risk falls far; a risk on a linear axis begins at 0."""
    values = np.concatenate([one.value[one.times > 0] if log and "x" in log else one.value for one in found])
    require(len(values) > 0, "a logarithmic time needs saves after t = 0", [0.0], 'drop log="x"')
    steep = name == "risk" and values.min() > 0 and values.max() > STEEP * values.min()
    if "y" in log if log is not None else steep:
        above = values[values > 0]
        require(
            len(above) > 0, f"a logarithmic axis needs values above 0 of {name}", float(values.max()), 'drop log="y"'
        )
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylim(above.min() / 1.3, above.max() * 1.3)
    elif name == "risk":
        axes.set_ylim(0, 1.05 * max(float(values.max()), max(float(one.high.max()) for one in found)))
    if log is not None and "x" in log:
        times = np.concatenate([one.times[one.times > 0] for one in found])
        axes.set_xscale("log", nonpositive="mask")
        axes.set_xlim(times.min() / 1.1, times.max() * 1.1)
