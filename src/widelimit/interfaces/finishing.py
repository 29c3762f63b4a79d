"""The last touches of a panel: ticks that do not collide, and a legend that is not on a curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox, ScaledTranslation

Kind = tuple[tuple[str, ...], tuple[str, ...]]  # the texts of a legend, and what stands beside them
TICKS = 6  # on an axis, at most
SHORT, LONG = 0.5, 2.0  # decades: below, ticks are placed as on a linear axis; above, at powers of ten
GAP = 0.06  # inches between a legend and what is above it
SLACK = 1.2  # widths of a panel that a legend below it may take


def finish(axes: Axes, legend: bool = True) -> None:
    """Ticks, grid and legend of a panel."""
    for axis in (axes.xaxis, axes.yaxis):
        _set_ticks(axis)
    axes.grid(alpha=0.25)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)


def _set_ticks(axis: Axis) -> None:
    """A few ticks; on a logarithmic axis of less than two decades 1, 2, 5, written as plain numbers."""
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(TICKS, steps=[1, 2, 2.5, 5, 10]))
        return
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades >= LONG:
        axis.set_minor_formatter(NullFormatter())
        return
    few = MaxNLocator(TICKS - 1, steps=[1, 2, 5, 10]) if decades < SHORT else LogLocator(subs=(1.0, 2.0, 5.0))
    axis.set_major_locator(few)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def place_legends(panels: Sequence[Axes]) -> float:
    """Show every legend once, on no curve: inside a panel if one has room, else below; returns how tall those are."""
    groups: dict[Kind, list[Axes]] = {}
    for axes in panels:
        if (legend := axes.get_legend()) is not None:
            kinds = tuple(type(handle).__name__ for handle in legend.legend_handles)
            groups.setdefault((tuple(text.get_text() for text in legend.get_texts()), kinds), []).append(axes)
    if groups:
        panels[0].figure.figure.draw_without_rendering()  # the whole figure, also of axes in a part of it
    explained: set[tuple[str, ...]] = set()
    tall = 0.0
    for (texts, _), group in groups.items():
        tall = max(tall, _place(group, texts in explained))
        explained.add(texts)
    return tall


def _place(group: Sequence[Axes], explained: bool) -> float:
    """Keep one of several equal legends; returns its height in inches if it is below its panel."""
    chosen = next((axes for axes in group if not _hides(axes)), None)
    kept = None if chosen is None and explained else chosen or group[0]
    for axes in group:
        if axes is not kept:
            axes.get_legend().remove()  # type: ignore[union-attr]
    return 0.0 if chosen or kept is None else _put_below(kept)


def hold_legend(axes: Axes) -> None:
    """Let a legend stay where it is, whatever moves behind it."""
    legend = axes.get_legend()
    if legend is not None:
        axes.figure.figure.draw_without_rendering()
        x, y = axes.transAxes.inverted().transform(legend.get_window_extent().p0)
        legend.set_loc((x, y))


def _hides(axes: Axes) -> bool:
    """Whether the legend of a panel lies on a curve."""
    box = axes.get_legend().get_window_extent()  # type: ignore[union-attr]
    return any(_meets(path, filled, box) for path, filled in _drawn(axes))


def _drawn(axes: Axes) -> Iterator[tuple[Path, bool]]:
    """Everything in a panel in the units of the screen, and whether it is an area; an image may lie under a legend."""
    for line in axes.get_lines():
        yield line.get_transform().transform_path(line.get_path()), False
    for patch in axes.patches:
        yield patch.get_transform().transform_path(patch.get_path()), patch.get_fill()
    for collection in axes.collections:
        if not isinstance(collection, QuadMesh):
            for path in collection.get_paths():
                yield collection.get_transform().transform_path(path), True


def _meets(path: Path, filled: bool, box: Bbox) -> bool:
    vertices = np.asarray(path.vertices)
    points = vertices[np.isfinite(vertices).all(axis=1)]
    if not len(points):
        return False
    return bool(box.count_contains(points)) or path.cleaned(remove_nans=True).intersects_bbox(box, filled)


def _put_below(axes: Axes) -> float:
    """The same legend under the label of the x axis, in as many columns as fit; returns its height in inches."""
    canvas, legend = axes.figure, axes.get_legend()
    assert legend is not None
    own, under, box = axes.get_window_extent(), axes.xaxis.get_tightbbox(), legend.get_window_extent()
    drop = (own.y0 - (under.y0 if under else own.y0)) / canvas.dpi + GAP
    below = axes.transAxes + ScaledTranslation(0, -drop, canvas.dpi_scale_trans)
    texts = [text.get_text() for text in legend.get_texts()]
    fitting = int(max(1, min(len(texts), SLACK * own.width // box.width)))
    rows = math.ceil(len(texts) / fitting)
    handles = [handle for handle in legend.legend_handles if handle is not None]
    axes.legend(handles, texts, frameon=False, ncols=math.ceil(len(texts) / rows), loc="upper center",
                bbox_to_anchor=(0.5, 0.0), bbox_transform=below, borderaxespad=0.0)  # fmt: skip
    return box.height / canvas.dpi * rows / len(texts) + GAP
