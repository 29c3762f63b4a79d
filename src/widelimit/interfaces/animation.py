"""Runs that move: the density of one coordinate with the risk beside it, or the neurons in the plane of two.

One frame for each save. Drawn from records only, as every figure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

from widelimit.arguments import path_of, require_flag, words_of
from widelimit.errors import require, require_known, require_positive
from widelimit.interfaces.canvas import Look, LookOptions, Page
from widelimit.interfaces.curves import Curve, curves_of, entries_of
from widelimit.interfaces.densities import (
    FLOOR,
    LOWEST,
    Profile,
    draw_profile,
    extent_of,
    label_axes,
    profile,
    shared_times,
    usual_coordinate,
)
from widelimit.interfaces.finishing import finish, hold_legend
from widelimit.interfaces.run_labels import symbol_of
from widelimit.interfaces.series import coordinates_of, measure_at, series
from widelimit.interfaces.solution_figures import draw_quantity
from widelimit.measures import Density, Measure
from widelimit.solving.solution import Solution
from widelimit.solving.whole_files import write_whole

WRITERS: dict[str, Callable[[float], AbstractMovieWriter]] = {
    ".gif": lambda fps: PillowWriter(fps=fps),  # type: ignore[arg-type]
    ".mp4": lambda fps: FFMpegWriter(fps=fps, codec="h264", extra_args=["-pix_fmt", "yuv420p"]),  # type: ignore[arg-type]
}
DPI = 100
Frame = Callable[[int], None]


def animate(
    solution: Solution | Sequence[Solution] | Mapping[str, Solution],
    path: str | os.PathLike,
    coordinate: str | Sequence[str] | None = None,
    *,
    fps: float = 10.0,
    progress: bool | None = None,
    **look: Unpack[LookOptions],
) -> Path:
    """Write a film of a run, or of several in one picture, a frame for each save of the first; returns its path.

    The film ends where the shortest run does.

    path        a .gif, or an .mp4 if ffmpeg is installed
    coordinate  one: its density, with the risk beside it; two: neurons, or the density, in their plane. By default both
                of a run that has two, else the first that is kept, u, or the last one, a radius
    fps         frames per second
    progress    a bar on stderr; by default if it is a terminal

    and by keyword labels, title, log and style as in `figure`.

    >>> import tempfile, widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> run = wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.02, save=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wl.animate(run, f"{folder}/run.gif", style="paper").name
    'run.gif'
    """
    target, chosen = path_of("animate", path), Look.of(look)
    require_flag("progress", progress, None)
    require_positive("fps", fps, "10")
    writer = writer_of(target, fps)
    curves = curves_of(entries_of([solution]), chosen.labels)
    names = _coordinates(curves, coordinate)
    with chosen.context():
        canvas, draw = _film(curves, names, Page(chosen))
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_film(target, writer, canvas, draw, _counted(len(shared_times(curves)), target.name, progress))


def write_film(target: Path, writer: AbstractMovieWriter, canvas: Figure, draw: Frame, frames: Iterable[int]) -> Path:
    """Draw and write frame by frame; the file is whole or not there."""

    def write(partial: Path) -> None:
        with writer.saving(canvas, str(partial), DPI):
            for k in frames:
                draw(k)
                writer.grab_frame()

    return write_whole(target, write, target.suffix)


def writer_of(target: Path, fps: float) -> AbstractMovieWriter:
    """What writes a file of this ending."""
    require_known("ending of a film", target.suffix, WRITERS)
    if target.suffix == ".mp4":
        require(FFMpegWriter.isAvailable(), "an .mp4 needs the program ffmpeg", "none", "install it or write a .gif")
    return WRITERS[target.suffix](fps)


def _counted(count: int, name: str, progress: bool | None) -> Any:
    """The numbers of the frames, with a bar if it is wanted."""
    console = Console(stderr=True)
    shown = console.is_terminal if progress is None else progress
    return track(range(count), name, console=console, transient=True, disable=not shown)


def _coordinates(curves: Sequence[Curve], wished: str | Sequence[str] | None) -> tuple[str, ...]:
    """One or two coordinates that all runs have."""
    shared = [c for c in coordinates_of(curves[0].solution) if all(c in coordinates_of(o.solution) for o in curves)]
    require(bool(shared), "the solutions must share a coordinate", shared, "solve them with the same keep")
    if wished is None:
        return tuple(shared) if len(shared) == 2 and len(curves) == 1 else (usual_coordinate(shared),)
    names = words_of("coordinate", wished, "coordinate='r'")
    require(len(names) in (1, 2), "a film shows one or two coordinates", wished, "name one or two")
    for name in names:
        require_known("coordinate", name, shared)
    require(len(names) == 1 or len(curves) == 1, "a film in a plane shows one run", len(curves), "name one coordinate")
    return names


def _film(curves: Sequence[Curve], names: tuple[str, ...], page: Page) -> tuple[Any, Frame]:
    """The picture, and the function that draws its k-th frame."""
    times = shared_times(curves)
    panels = page.panels(("film", "risk"))
    main, beside = panels
    draw_quantity(beside, curves, "risk", page.look.log)
    risk = series(curves[0].solution, "risk")
    measures = {c: [measure_at(c.solution, t) for t in times] for c in curves}
    scene = _plane(main, curves[0], measures[curves[0]], names) if len(names) == 2 else None
    scene = scene or _line(main, measures, names[0], page.look.log)
    canvas = page.finished(panels)
    hold_legend(beside)
    hand = beside.axvline(times[0], color="0.5", lw=1.0, zorder=1)
    (dot,) = beside.plot([times[0]], [risk.value[0]], "o", color=curves[0].colour, zorder=6)
    moment, title = _digits(times), main.get_title()
    scene(0)
    canvas.draw_without_rendering()
    canvas.set_layout_engine("none")  # panels that stay where they are

    def draw(k: int) -> None:
        scene(k)
        main.set_title(f"{title}, t = {times[k]:{moment}}")
        hand.set_xdata([times[k], times[k]])
        dot.set_data([times[k]], [risk.value[k]])

    return canvas, draw


def _digits(times: np.ndarray) -> str:
    """As many decimals as it takes to tell the times apart."""
    step = float(np.min(np.diff(times))) if len(times) > 1 else 1.0
    return f".{max(0, int(np.ceil(-np.log10(step) + 0.5)))}f"


def _line(main: Axes, measures: Mapping[Curve, Sequence[Measure]], coordinate: str, log: str | None) -> Frame:
    """The density of one coordinate: every frame draws it anew between axes that stay."""
    curves = list(measures)
    span = extent_of([rho for found in measures.values() for rho in found], coordinate)
    shapes = {c: [profile(c.solution, rho, coordinate, span) for rho in found] for c, found in measures.items()}
    filled = next((c for c in curves if not c.is_limit), None)
    label_axes(main, curves, coordinate, span)
    _set_height(main, [shape for found in shapes.values() for shape in found], log)
    finish(main, legend=False)

    def scene(k: int) -> None:
        for artist in (*main.get_lines(), *main.patches):
            artist.remove()
        for c in curves:
            draw_profile(main, c, shapes[c][k], c.colour, c is filled)

    return scene


def _set_height(main: Axes, shapes: Sequence[Profile], log: str | None) -> None:
    """Room for every frame; a logarithmic axis as in a figure."""
    peak = max(float(shape.values.max()) for shape in shapes)
    if log is None or "y" in log:
        main.set_yscale("log")
        main.set_ylim(LOWEST, 2 * max(peak, 10 * LOWEST))
    else:
        main.set_ylim(FLOOR, 1.05 * peak)


def _plane(main: Axes, curve: Curve, measures: Sequence[Measure], names: tuple[str, ...]) -> Frame:
    """Neurons as points in the plane of two coordinates, a density as a map."""
    x, y = names
    spans = [extent_of(measures, name) for name in names]
    main.set(xlabel=f"${symbol_of(x)}$", ylabel=f"${symbol_of(y)}$", xlim=spans[0], ylim=spans[1])
    main.set_title(curve.label)
    finish(main, legend=False)
    first = measures[0]
    if not isinstance(first, Density):
        area = np.clip(20.0 * first.n * first.weights, 2.0, 80.0)
        points = main.scatter(first.column(x), first.column(y), s=area, color=curve.colour, alpha=0.5, lw=0)
        return lambda k: points.set_offsets(np.stack([measures[k].column(x), measures[k].column(y)], axis=1))
    top = max(float(_map(rho, names)[2].max()) for rho in measures[len(measures) // 2 :])

    def scene(k: int) -> None:
        for artist in list(main.collections):
            artist.remove()
        main.pcolormesh(*_map(measures[k], names), cmap="viridis", vmin=0, vmax=top, rasterized=True)

    return scene


def _map(rho: Measure, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of two coordinates and the density between them, the first one along the rows of a picture."""
    assert isinstance(rho, Density)
    x, y = (rho.coordinates.index(name) for name in names)
    others = tuple(c for c in range(len(rho.coordinates)) if c not in (x, y))
    mass = rho.masses.sum(axis=others)
    density = (mass.T if x < y else mass) / np.outer(np.diff(rho.edges[y]), np.diff(rho.edges[x]))
    return rho.edges[x], rho.edges[y], density
