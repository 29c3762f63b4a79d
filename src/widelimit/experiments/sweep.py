"""Sweeps: one problem over a grid of its numbers, as one dataset.

    risk, risk_error   (axis, …, time)    R(ρ_t), and how far it may be off; NaN where a point did not get there
    observers          (axis, …, time)    what was asked for
    outcome, reason    (axis, …)          "done", "diverged", "stopped" or "failed", and why
    wall_time          (axis, …)          seconds, the share of a point in what was run together

How a point is run is in widelimit.experiments.sweep_points, by whom in widelimit.experiments.engine. With a store every
point is a record: what is in it is read, and only what is missing is run.
Where the points save at times of their own, the last dimension is "save" and ``t`` holds the times.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from widelimit.arguments import path_of, require_flag
from widelimit.errors import InputError, Interrupted, require
from widelimit.experiments.engine import Engine
from widelimit.experiments.spec import Spec, read_document, spec_in
from widelimit.experiments.store import Store
from widelimit.experiments.sweep_axes import SweepAxis, axes_of, count_of
from widelimit.experiments.sweep_points import Place, Point, Way, places_of
from widelimit.solving.driver import checked_observers
from widelimit.solving.progress import POINTS, progress_bar
from widelimit.solving.recorder import Observer
from widelimit.solving.whole_files import write_record

MOST = 10_000  # points that run unasked
Axes = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Sweep:
    """What `sweep` returns: one dataset whose dimensions are the axes.

    >>> Sweep(xr.Dataset({"outcome": (("delta",), ["done", "diverged"])}, attrs={"axes": '["delta"]'})).counts
    {'done': 1, 'diverged': 1}
    """

    dataset: xr.Dataset

    def __post_init__(self) -> None:
        good = isinstance(self.dataset, xr.Dataset) and "outcome" in self.dataset
        require(good, "a Sweep needs the dataset of one", type(self.dataset).__name__, "use wl.sweep")

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes that are left."""
        return tuple(name for name in json.loads(self.dataset.attrs["axes"]) if name in self.dataset.dims)

    @property
    def counts(self) -> dict[str, int]:
        """How many points had each outcome."""
        words, counts = np.unique(np.asarray(self.dataset["outcome"].values, str), return_counts=True)
        order = sorted(zip(words, counts, strict=True), key=lambda one: (one[0] != "done", one[0]))
        return {str(word): int(count) for word, count in order}

    def failures(self, most: int = 10) -> list[str]:
        """A sentence for each point that did not end well, the first ``most`` of them."""
        flat = self.dataset[["outcome", "reason"]].stack(point=self.axes)
        bad = flat.isel(point=np.flatnonzero(flat["outcome"].values != "done")[:most])
        count = bad.sizes["point"]
        places = [", ".join(f"{name} = {_short(bad[name].values[i])}" for name in self.axes) for i in range(count)]
        told = zip(places, bad["outcome"].values, bad["reason"].values, strict=True)
        return [
            f"{place}: {outcome}, {str(reason).splitlines()[0] if reason else ''}" for place, outcome, reason in told
        ]

    def save(self, path: str | os.PathLike) -> Path:
        """Write a NetCDF file, whole or not at all."""
        return write_record(path_of("save", path), {"/": self.dataset})

    def __repr__(self) -> str:
        sizes = " × ".join(f"{name} {self.dataset.sizes[name]}" for name in self.axes)
        ended = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        return f"<Sweep over {sizes}: {ended}>"


def sweep(
    spec: Spec | str | os.PathLike,
    axes: Axes | None = None,
    *,
    observers: Mapping[str, Observer] | None = None,
    store: Store | None = None,
    engine: Engine | None = None,
    yes: bool = False,
) -> Sweep:
    """Run a spec at every point of a grid.

    spec       a `Spec` with one method, or the path or text of a file with a table [sweep]
    axes       names of keys and their values, if they are not in the file; see docs/sweeps.md
    observers  functions of ρ recorded under their names
    store      a `Store` in which every point is kept: only what is not in it is run
    engine     an `Engine`: who runs the points, by default this process, and how many of them go together
    yes        run a sweep of more than ten thousand points

    A point that diverges or cannot be run is NaN, with its reason in ``dataset.reason``.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> found = wl.sweep(wl.Spec(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3), {"seed": [0, 1]})
    >>> found
    <Sweep over seed 2: 2 done>
    >>> found.dataset["risk"].dims
    ('seed', 'time')
    """
    start, given = read_sweep(spec) if not isinstance(spec, Spec) else (spec, None)
    require(axes is None or given is None, "the axes must be in the file or beside it", "both", "drop one of them")
    require(len(start.methods) == 1, "a sweep needs a spec with one method", len(start.methods), "sweep each by itself")
    require(start.replicas is None, "a sweep needs a spec without replicas", start.replicas, "add an axis of seeds")
    good = store is None or isinstance(store, Store)
    require(good, "store must be a wl.Store", store, 'try store=wl.Store("runs")')
    good = engine is None or isinstance(engine, Engine)
    require(good, "engine must be a wl.Engine", engine, "try engine=wl.Engine(workers=2)")
    require_flag("yes", yes)
    chosen, wanted = axes_of(start, given if axes is None else axes), checked_observers(observers)
    count, engine = count_of(chosen), engine or Engine()
    require(yes or count <= MOST, f"a sweep has at most {MOST:,} points", count, "say yes=True (--yes) to run it")
    way, points = Way(wanted, store, engine.together), dict[Place, Point]()
    try:
        with progress_bar(None, "sweep", count, POINTS) as tick, closing(engine.run(start, chosen, way)) as run:
            for place, point in run:
                points[place] = point
                tick(len(points))
    except KeyboardInterrupt:
        left = f"{len(points)} of {count} points are in .solution" + ("" if store is None else ", and in the store")
        raise Interrupted(Sweep(_dataset(start, chosen, points, way.names)), left) from None
    return Sweep(_dataset(start, chosen, points, way.names))


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read_sweep(source: str | os.PathLike) -> tuple[Spec, Axes | None]:
    """The spec in a file and its table [sweep]; None if it has none."""
    document, folder = read_document(source)
    axes = document.pop("sweep", None)
    require(isinstance(axes, dict | None), "sweep must be a table", axes, "write [sweep] above its axes")
    return spec_in(document, folder), axes


def _dataset(spec: Spec, axes: Sequence[SweepAxis], points: Mapping[Place, Point], names: Sequence[str]) -> xr.Dataset:
    """All points in one dataset; those that were not run are "missing"."""
    dims, shape = tuple(axis.dimension for axis in axes), tuple(len(axis) for axis in axes)
    saved = {place: point.times for place, point in points.items() if point.times is not None}
    longest = max(saved.values(), key=len, default=np.array(spec.times))
    shared = all(np.allclose(times, longest[: len(times)], rtol=1e-9, atol=0) for times in saved.values())
    last = "time" if shared else "save"
    columns: dict[str, np.ndarray] = {}
    for place, point in points.items():
        for name, values in {**(point.values or {}), **({} if shared else {"t": point.times})}.items():
            if values is not None and len(values):
                rest = (len(longest), *values.shape[1:])
                whole = columns.setdefault(name, np.full((*shape, *rest), np.nan))
                whole[place][: len(values)] = values
    variables: dict[str, Any] = {}
    for name in [*names, *(() if shared else ("t",))]:
        whole = columns.get(name, np.full((*shape, len(longest)), np.nan))
        extra = tuple(f"{name}_{k}" for k in range(1, whole.ndim - len(shape)))
        variables[name] = ((*dims, last, *extra), whole)
    missing = Point("missing", "it was not run")
    for name, kind in (("outcome", str), ("reason", str), ("spent", float)):
        flat = [getattr(points.get(place, missing), name) for place in places_of(axes)]
        variables["wall_time" if name == "spent" else name] = (dims, np.array(flat, kind).reshape(shape))
    about = {"axes": json.dumps(list(dims)), "spec": _text(spec), "method": type(spec.methods[0]).__name__}
    return xr.Dataset(variables, _coordinates(axes) | ({"time": longest} if shared else {}), about)


def _coordinates(axes: Sequence[SweepAxis]) -> dict[str, Any]:
    """The values of the keys along their axes; zipped ones have no values of their own."""
    found: dict[str, Any] = {}
    for axis in axes:
        for word, values in zip(axis.words, axis.values, strict=True):
            plain = all(isinstance(value, int | float | str) for value in values)
            found[word] = (axis.dimension, list(values) if plain else [repr(value) for value in values])
    return found


def _text(spec: Spec) -> str:
    try:
        return spec.to_toml()
    except InputError:
        return ""
