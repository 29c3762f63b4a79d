"""One driver for every dynamics: time, saving, observing, progress, outcome."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import TracebackType

import jax
import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from widelimit import __version__
from widelimit.errors import Diverged, InputError, Interrupted, require
from widelimit.frozen import Value
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import check_schedule
from widelimit.solving.protocol import Run, State, Tick
from widelimit.solving.recorder import Attributes, Observer, Recorder, Saves, recorder
from widelimit.solving.settings import Settings
from widelimit.solving.solution import Solution
from widelimit.solving.streams import stream
from widelimit.solving.written import toml_of

Ready = Callable[..., Run]
BLOWN_UP = 1e6  # a risk this many times the initial one is a divergence, finite or not
RESERVED = {
    "risk",
    "risk_error",
    "theta",
    "weights",
    "final",
    "time",
    "neuron",
    "coordinate",
    "final_coordinate",
    "replica",
}
RESERVED |= {"masses", "free_energy", "dimension"}


@dataclass(frozen=True)
class Request:
    """All that a run is asked for.

    ready      (method, problem, seed, replicas) ↦ the dynamics with its start
    observers  functions of ρ recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      whether to raise `Diverged`
    """

    problem: Problem
    method: Value
    settings: Settings
    ready: Ready
    observers: Mapping[str, Observer] = field(default_factory=dict)
    progress: bool | None = None
    throw: bool = True

    @property
    def name(self) -> str:
        """Name of the method."""
        return type(self.method).__name__

    def run(self) -> Solution:
        """Run the dynamics and return its solution."""
        return drive(self)


def drive(request: Request) -> Solution:
    """Run a dynamics from t = 0 to t_end, and keep what is asked for."""
    began, settings = time.perf_counter(), request.settings
    run = request.ready(request.method, request.problem, settings.seed, settings.replicas)
    _check(request, run)
    view = replace(run.view, land=run.view.land.reporting(stream(settings.seed, "report")))
    book = recorder(view, Saves(request.problem, settings.keep, request.observers))
    state, now, outcome, twin = run.state, 0.0, "done", _Twin.of(run, book)
    with _progress(request.progress, request.name, settings.t_end) as tick:
        try:
            for t in _times(settings, run):
                moved = run.advance(state, now, t, tick) if t > now else state
                risk = book.risk(moved)
                if not np.all(risk < book.saves.most * BLOWN_UP):
                    outcome = "diverged"
                    break
                away = 0.0 if twin is None else twin.distance(now, t, risk)
                state, now = moved, t
                book.save(t, state, risk, away)
        except KeyboardInterrupt:
            outcome = "interrupted"
    about = _attributes(request, outcome, run.advice) | {"wall_time": time.perf_counter() - began}
    return _told(Solution(_dataset(book, state, about), request), request)


@dataclass
class _Twin:
    """A coarser or finer run that goes along with another."""

    run: Run
    times: float
    book: Recorder
    state: State
    before: np.ndarray | float = 0.0

    @classmethod
    def of(cls, run: Run, book: Recorder) -> _Twin | None:
        """The twin of a run, if it has one."""
        if run.twin is None:
            return None
        return cls(run.twin, run.times, recorder(run.twin.view, book.saves), run.twin.state)

    def distance(self, now: float, t: float, risk: np.ndarray) -> np.ndarray:
        """The error of a risk at t: the larger distance of this save and the last, since two risks may cross."""
        self.state = self.run.advance(self.state, now, t, lambda t: None) if t > now else self.state
        here = self.times * np.abs(self.book.risk(self.state) - risk)
        before, self.before = self.before, here
        return np.maximum(here, before)


def _check(request: Request, run: Run) -> None:
    """Refuse a schedule or a way to keep neurons that the run cannot have."""
    settings = request.settings
    check_schedule(request.problem.schedule, settings.t_end)
    good = settings.keep == "reduced" or not run.view.columns.is_reduced
    require(good, "keep must be 'reduced' for a run in reduced coordinates", settings.keep, "drop it")


def _times(settings: Settings, run: Run) -> list[float]:
    """The times to save at: those asked for, as the dynamics can stop for them, and t_end itself."""
    inside = (run.round_time(t) for t in settings.times[:-1])
    return [*dict.fromkeys(t for t in inside if t < settings.t_end * (1 - 1e-12)), settings.t_end]


def _dataset(book: Recorder, state: State, about: Attributes) -> xr.Dataset:
    """What was saved, with the last good state."""
    variables, coordinates = book.contents(state)
    time_axis = ("time", np.array(book.saves.times), {"long_name": "time kε", "symbol": "t", "units": "1"})
    return xr.Dataset(variables, {"time": time_axis, **coordinates}, about)


def _told(solution: Solution, request: Request) -> Solution:
    """The solution, or the exception that carries it."""
    if solution.outcome == "interrupted":
        raise Interrupted(solution)
    if solution.outcome == "diverged" and request.throw:
        reached = f"last good time t = {solution.times[-1]:g}" if len(solution.times) else "nothing was saved"
        raise Diverged(f"{request.name} diverged ({reached}): {solution.advice}.", solution)
    return solution


def checked_observers(observers: Mapping[str, Observer] | None) -> dict[str, Observer]:
    """Observers by name, none of which takes a name of the record."""
    chosen = dict(observers) if isinstance(observers, Mapping) else {}
    good = observers is None or (isinstance(observers, Mapping) and all(map(callable, chosen.values())))
    require(good, "observers must be a dictionary of functions of a Cloud", observers, "try {'m': moment('r')}")
    taken = {name for name in chosen if name in RESERVED or name.startswith(("edges_", "cell_", "edge_"))}
    require(not taken, "observers must not take the names of the record", sorted(taken), "rename them")
    return chosen


def _attributes(request: Request, outcome: str, advice: str) -> dict[str, str | int]:
    """What a record says of itself; its spec, or why it has none."""
    try:
        spec, error = toml_of(request.problem, request.settings, [request.method]), ""
    except InputError as reason:
        spec, error = "", str(reason)
    return {
        "method": request.name,
        "spec": spec,
        "spec_error": error,
        "outcome": outcome,
        "advice": advice if outcome == "diverged" else "",
        "seed": request.settings.seed,
        "device": jax.devices()[0].device_kind,
        "versions": json.dumps({"widelimit": __version__, "jax": jax.__version__, "numpy": np.__version__}),
    }


def _progress(wanted: bool | None, name: str, t_end: float) -> AbstractContextManager[Tick]:
    """A bar on stderr, or nothing."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return nullcontext(lambda t: None)
    return _Bar(name, t_end)


class _Bar(AbstractContextManager):
    """A rich progress bar over the time of the dynamics."""

    def __init__(self, name: str, t_end: float):
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("t = {task.completed:.3g}"))
        self.bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(name, total=t_end)

    def __enter__(self) -> Tick:
        self.bar.start()
        return lambda t: self.bar.update(self.task, completed=t)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
