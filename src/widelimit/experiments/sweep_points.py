"""The points of a sweep: found in the store, or run, those of one shape in one compiled call.

    axes ──→ bunches     points that differ in traced numbers and seeds only, at most so many
    bunch ──→ parts     those of one shape (widelimit.solving.together) that fit in the memory
    part ──→ points     one compiled call, mapped over the numbers in which they differ

A bunch of one point runs by itself, and with a store leaves checkpoints. One of a larger bunch always goes through the
mapped call, though the others may be in the store already: a point has the same bits in any company.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widelimit.dynamics.memory import available, need, require_room
from widelimit.dynamics.solve import DYNAMICS, at_width_of
from widelimit.errors import InputError
from widelimit.experiments.spec import Spec
from widelimit.experiments.store import Store, Unwritable
from widelimit.experiments.sweep_axes import SweepAxis, changed, numbers_in
from widelimit.solving.driver import Request
from widelimit.solving.keeping import kept, observing
from widelimit.solving.protocol import Run
from widelimit.solving.recorder import Observer
from widelimit.solving.solution import Solution
from widelimit.solving.together import STEPS, drive_together, ready, shape_of

SHARE = 0.25  # of the free memory that points run together may take
Place = tuple[int, ...]


@dataclass(frozen=True)
class Point:
    """What is kept of a run: its numbers over time, or why there are none."""

    outcome: str
    reason: str
    spent: float = 0.0
    times: np.ndarray | None = None
    values: Mapping[str, np.ndarray] | None = None

    @classmethod
    def of(cls, solution: Solution, names: Sequence[str]) -> Point:
        """Of a run, the variables of these names."""
        values = {name: np.asarray(solution.dataset[name].values, float) for name in names}
        spent = float(solution.dataset.attrs["wall_time"])
        return cls(solution.outcome, solution.advice, spent, solution.times, values)


@dataclass(frozen=True)
class Way:
    """How points are run: what is looked at, where they are kept, how many go together, in how much of the memory."""

    observers: Mapping[str, Observer]
    store: Store | None
    together: int
    share: float = SHARE

    @property
    def names(self) -> list[str]:
        """What is kept of a point over time."""
        return ["risk", "risk_error", *self.observers]


@dataclass(frozen=True)
class Bunch:
    """Points that may go together: what changes at each place, and whether they go through a call of their own."""

    changes: Mapping[Place, Mapping[str, Any]]
    alone: bool

    def only(self, places: Sequence[Place]) -> Bunch:
        """Some points of it."""
        return Bunch({place: self.changes[place] for place in places}, self.alone)


@dataclass(frozen=True)
class _Missing:
    """A point that is to be run, from its last checkpoint if it was begun."""

    request: Request
    begun: bool


@dataclass(frozen=True)
class _Member:
    """A point that goes together with others."""

    place: Place
    request: Request
    run: Run


def places_of(axes: Sequence[SweepAxis]) -> Iterator[Place]:
    """All points, the last axis fastest."""
    return itertools.product(*(range(len(axis)) for axis in axes))


def bunches_of(spec: Spec, axes: Sequence[SweepAxis], most: int) -> Iterator[Bunch]:
    """The points in bunches of at most so many; an axis that decides a shape does not vary within a bunch."""
    now = dict(numbers_in(spec))
    alike = [all(_is_traced(name, now[name]) for name in axis.names) for axis in axes]
    for outer in itertools.product(*(range(1 if same else len(axis)) for same, axis in zip(alike, axes, strict=True))):
        inner = [range(len(axis)) if same else [i] for same, axis, i in zip(alike, axes, outer, strict=True)]
        places = itertools.product(*inner)
        while bunch := list(itertools.islice(places, most)):
            yield Bunch({place: _changes(axes, place) for place in bunch}, len(bunch) == 1)


def _is_traced(name: str, now: object) -> bool:
    home, word = name.split(".")[0], name.split(".")[-1]
    return name == "run.seed" or (home != "run" and isinstance(now, float) and word not in STEPS)


def _changes(axes: Sequence[SweepAxis], place: Place) -> dict[str, Any]:
    return {name: value for axis, i in zip(axes, place, strict=True) for name, value in axis.changes(i).items()}


def looked_up(spec: Spec, bunch: Bunch, way: Way) -> Iterator[tuple[Place, Point | _Missing]]:
    """Every point of a bunch: from the store, or why it cannot be asked for, or that it is missing."""
    for place, changes in bunch.changes.items():
        try:
            request = _request(changed(spec, changes), way)
            found = None if way.store is None else way.store.find(request)
        except InputError as error:
            yield place, _failed(error)
            continue
        if found is None or found.outcome == "interrupted":
            yield place, _Missing(request, found is not None)
        else:
            yield place, Point.of(observing(found, way.observers), way.names)


def run_bunch(spec: Spec, bunch: Bunch, way: Way) -> Iterator[tuple[Place, Point]]:
    """The points of a bunch: those in the store, those that fail, those that go alone, those that go together."""
    shapes: dict[Any, list[_Member]] = {}
    for place, found in looked_up(spec, bunch, way):
        if isinstance(found, Point):
            yield place, found
            continue
        request = found.request
        try:
            require_room(request.problem, request.method, request.settings)  # type: ignore[arg-type]
            run = None if bunch.alone or found.begun or way.together == 1 else ready(request)
            shape = None if run is None else shape_of(request, run)
        except InputError as error:
            yield place, _failed(error)
            continue
        if run is None or shape is None:
            yield place, _alone(request, way)
        else:
            shapes.setdefault(shape, []).append(_Member(place, request, run))
    for members in shapes.values():
        for part in _fitting(members, way):
            yield from _together(part, way)


def _failed(error: InputError) -> Point:
    """A point that cannot be run; a store that cannot be written to is no matter of a point."""
    if isinstance(error, Unwritable):
        raise error
    return Point("failed", str(error))


def _alone(request: Request, way: Way) -> Point:
    try:
        solution = request.run() if way.store is None else kept(request, way.store)
    except InputError as error:
        return _failed(error)
    return Point.of(solution, way.names)


def _together(members: Sequence[_Member], way: Way) -> Iterator[tuple[Place, Point]]:
    ended = drive_together([member.request for member in members], [member.run for member in members])
    for member, one in zip(members, ended, strict=True):
        if way.store is not None:
            solution = one.solution()
            way.store.keep(replace(solution, dataset=solution.dataset.drop_vars(list(way.observers))))
        yield member.place, Point(one.outcome, one.advice, one.spent, one.times, one.values)


def _fitting(members: list[_Member], way: Way) -> Iterator[list[_Member]]:
    """Parts of equal size that fit in the memory."""
    request = members[0].request
    each = need(request.problem, request.method, request.settings).total  # type: ignore[arg-type]
    most = min(way.together, max(1, int(way.share * available() / each)))
    count = -(-len(members) // most)
    size = -(-len(members) // count)
    for k in range(0, len(members), size):
        yield members[k : k + size]


def _request(spec: Spec, way: Way) -> Request:
    (method,) = spec.methods
    problem, settings = at_width_of(method, spec.problem), spec.plain()
    return Request(problem, method, settings, DYNAMICS[type(method)], way.observers, False, False)
