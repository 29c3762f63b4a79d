"""The figure of an entry of the catalogue, from its record: theory as lines, ours as symbols, the paper in grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from widelimit.experiments.catalogue.drawing import DrawnLine, Panel
from widelimit.interfaces.canvas import Page
from widelimit.interfaces.finishing import finish
from widelimit.interfaces.palette import COLOURS, LINES, SYMBOLS

FEW = 40  # symbols on one row
HEADS = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 10}


def entry_figure(panels: tuple[Panel, ...], page: Page) -> Figure:
    """One axes for each panel, side by side."""
    axes = page.panels([panel.title for panel in panels], 1.1)
    for one, panel in zip(axes, panels, strict=True):
        _draw(one, panel)
    return page.finished(axes)


def entry_film(film: Sequence[tuple[Panel, ...]], page: Page) -> tuple[Figure, Callable[[int], None]]:
    """The page of a film, and the function that draws its k-th frame; axes have room for all frames and stay."""
    axes = page.panels([panel.title for panel in film[0]], 1.1)
    for one, panel, *others in zip(axes, *film, strict=True):
        _draw(one, panel)
        for line in (line for other in others for line in other.lines):
            one.update_datalim([point for point in zip(line.x, line.y, strict=False) if np.isfinite(point).all()])
        one.autoscale_view()
    limits = [(one.get_xlim(), one.get_ylim()) for one in axes]

    def draw(k: int) -> None:
        for one, panel, (x, y) in zip(axes, film[k], limits, strict=True):
            one.clear()
            _draw(one, panel)
            one.set(xlim=x, ylim=y)

    draw(len(film) - 1)
    canvas = page.finished(axes)
    canvas.draw_without_rendering()
    canvas.set_layout_engine("none")  # panels that stay where they are
    return canvas, draw


def _draw(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        _draw_line(axes, line)
    axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel, title=panel.title)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")
    finish(axes)


def _draw_line(axes: Axes, line: DrawnLine) -> None:
    colour = COLOURS[line.colour % len(COLOURS)]
    if line.kind == "theory":
        axes.plot(line.x, line.y, color=colour, ls=LINES[line.colour % len(LINES)], label=line.label)
    elif line.kind == "published":
        axes.plot(line.x, line.y, color="0.45", ls=(0, (5, 2, 1, 2)), lw=1.0, label=line.label)
    elif line.kind == "bars":
        axes.stairs(line.y, line.x, color=colour, fill=True, alpha=0.3, label=line.label)
        axes.stairs(line.y, line.x, color=colour, lw=0.8)
    elif line.kind == "arrow":
        (x, to_x), (y, to_y) = line.x, line.y
        axes.plot(line.x, line.y, color=colour, label=line.label)
        axes.annotate("", (to_x, to_y), (x, y), arrowprops={**HEADS, "color": colour})
    else:
        every = slice(None, None, max(1, len(line.x) // FEW))
        symbol = SYMBOLS[line.colour % len(SYMBOLS)]
        axes.plot(line.x[every], line.y[every], color=colour, ls="none", marker=symbol, mfc="none", label=line.label)
        if line.error:
            axes.errorbar(line.x[every], line.y[every], line.error[every], fmt="none", ecolor=colour, capsize=2)
