"""Sweeps: one problem over a grid of its numbers, as one dataset.

    risk, risk_error   (axis, …, time)    R(ρ_t), and how far it may be off; NaN where a point did not get there
    observers          (axis, …, time)    what was asked for
    outcome, reason    (axis, …)          "done", "diverged", "stopped" or "failed", and why
    wall_time          (axis, …)          seconds, the share of a point in what was run together

Points of one shape run in one compiled call, mapped over their numbers (widelimit.solving.together), the others one
after the other. With a store every point is a record: what is in it is read, and only what is missing is run.
Where the points save at times of their own, the last dimension is "save" and ``t`` holds the times.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from widelimit.arguments import path_of, require_flag
from widelimit.dynamics.memory import available, need, require_room
from widelimit.dynamics.solve import DYNAMICS, at_width_of
from widelimit.errors import InputError, Interrupted, require, require_count
from widelimit.experiments.spec import Spec, read_document, spec_in
from widelimit.experiments.store import Store
from widelimit.experiments.sweep_axes import SweepAxis, axes_of, changed, count_of
from widelimit.solving.driver import Request, checked_observers
from widelimit.solving.keeping import kept, observing
from widelimit.solving.progress import POINTS, progress_bar
from widelimit.solving.recorder import Observer
from widelimit.solving.solution import Solution
from widelimit.solving.together import drive_together, ready, shape_of
from widelimit.solving.whole_files import write_record

MOST = 10_000  # points that run unasked
BLOCK = 512  # points in hand at one time
SHARE = 0.25  # of the free memory that points run together may take
Axes = Mapping[str, Any]
Place = tuple[int, ...]


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


@dataclass(frozen=True)
class _Point:
    """What is kept of a run: its numbers over time, or why there are none."""

    outcome: str
    reason: str
    spent: float = 0.0
    times: np.ndarray | None = None
    values: Mapping[str, np.ndarray] | None = None

    @classmethod
    def of(cls, solution: Solution, names: Sequence[str]) -> _Point:
        values = {name: np.asarray(solution.dataset[name].values, float) for name in names}
        spent = float(solution.dataset.attrs["wall_time"])
        return cls(solution.outcome, solution.advice, spent, solution.times, values)


def sweep(
    spec: Spec | str | os.PathLike,
    axes: Axes | None = None,
    *,
    observers: Mapping[str, Observer] | None = None,
    store: Store | None = None,
    together: int = 256,
    yes: bool = False,
) -> Sweep:
    """Run a spec at every point of a grid.

    spec       a `Spec` with one method, or the path or text of a file with a table [sweep]
    axes       names of keys and their values, if they are not in the file; see docs/sweeps.md
    observers  functions of ρ recorded under their names
    store      a `Store` in which every point is kept: only what is not in it is run
    together   how many points may run in one compiled call. They end together and are kept then; with 1 every point
               runs by itself, and with a store leaves checkpoints if it takes long
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
    require_flag("yes", yes)
    require_count("together", together, "256")
    chosen, wanted = axes_of(start, given if axes is None else axes), checked_observers(observers)
    count = count_of(chosen)
    require(yes or count <= MOST, f"a sweep has at most {MOST:,} points", count, "say yes=True (--yes) to run it")
    names, points = ["risk", "risk_error", *wanted], dict[Place, _Point]()
    try:
        with progress_bar(None, "sweep", count, POINTS) as tick:
            for block in _blocks(_places(chosen)):
                for place, point in _run_block(start, chosen, block, _Way(wanted, store, together)):
                    points[place] = point if isinstance(point, _Point) else _Point.of(point, names)
                    tick(len(points))
    except KeyboardInterrupt:
        left = f"{len(points)} of {count} points are in .solution" + ("" if store is None else ", and in the store")
        raise Interrupted(Sweep(_dataset(start, chosen, points, names)), left) from None
    return Sweep(_dataset(start, chosen, points, names))


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read_sweep(source: str | os.PathLike) -> tuple[Spec, Axes | None]:
    """The spec in a file and its table [sweep]; None if it has none."""
    document, folder = read_document(source)
    axes = document.pop("sweep", None)
    require(isinstance(axes, dict | None), "sweep must be a table", axes, "write [sweep] above its axes")
    return spec_in(document, folder), axes


def _places(axes: Sequence[SweepAxis]) -> Iterator[Place]:
    return itertools.product(*(range(len(axis)) for axis in axes))


def _blocks(places: Iterator[Place]) -> Iterator[list[Place]]:
    while block := list(itertools.islice(places, BLOCK)):
        yield block


@dataclass(frozen=True)
class _Way:
    """How points are run: what is looked at, where they are kept, and how many go together."""

    observers: Mapping[str, Observer]
    store: Store | None
    together: int


def _run_block(
    spec: Spec, axes: Sequence[SweepAxis], block: Sequence[Place], way: _Way
) -> Iterator[tuple[Place, _Point | Solution]]:
    """The points of a block: those in the store, those that fail, those that go together, the others."""
    shapes: dict[Any, list[tuple[Place, Request, Any]]] = {}
    for place in block:
        try:
            request = _request(changed(spec, _changes(axes, place)), way)
            found = None if way.store is None else way.store.find(request)
            if found is not None and found.outcome != "interrupted":
                yield place, observing(found, way.observers)
                continue
            run = ready(request)
            shape = shape_of(request, run) if found is None else None
        except InputError as error:
            yield place, _Point("failed", str(error))
            continue
        shapes.setdefault(place if shape is None else shape, []).append((place, request, run))
    for members in shapes.values():
        for part in _fitting(members, way.together):
            places, requests, runs = zip(*part, strict=True)
            yield from zip(places, _run(requests, runs, way), strict=True)


def _run(requests: Sequence[Request], runs: Sequence[Any], way: _Way) -> Iterator[Solution | _Point]:
    """Runs of one shape together, one of its own shape alone; kept if there is a store."""
    if len(requests) > 1:
        for solution in drive_together(requests, runs):
            if way.store is not None:
                way.store.keep(replace(solution, dataset=solution.dataset.drop_vars(list(way.observers))))
            yield solution
        return
    try:
        yield requests[0].run() if way.store is None else kept(requests[0], way.store)
    except InputError as error:
        yield _Point("failed", str(error))


def _fitting(members: list[tuple[Place, Request, Any]], together: int) -> Iterator[list[tuple[Place, Request, Any]]]:
    """Parts of equal size that fit in the memory."""
    request = members[0][1]
    each = need(request.problem, request.method, request.settings).total  # type: ignore[arg-type]
    most = min(together, max(1, int(SHARE * available() / each)))
    count = -(-len(members) // most)
    size = -(-len(members) // count)
    for k in range(0, len(members), size):
        yield members[k : k + size]


def _request(spec: Spec, way: _Way) -> Request:
    (method,) = spec.methods
    problem, settings = at_width_of(method, spec.problem), spec.plain()
    require_room(problem, method, settings)
    return Request(problem, method, settings, DYNAMICS[type(method)], way.observers, False, False)


def _changes(axes: Sequence[SweepAxis], place: Place) -> dict[str, Any]:
    return {name: value for axis, i in zip(axes, place, strict=True) for name, value in axis.changes(i).items()}


def _dataset(spec: Spec, axes: Sequence[SweepAxis], points: Mapping[Place, _Point], names: Sequence[str]) -> xr.Dataset:
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
    missing = _Point("missing", "it was not run")
    for name, kind in (("outcome", str), ("reason", str), ("spent", float)):
        flat = [getattr(points.get(place, missing), name) for place in _places(axes)]
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
