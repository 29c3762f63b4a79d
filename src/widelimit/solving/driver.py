"""One driver for every dynamics: time, saving, observing, progress, outcome.

Where nothing waits for the risk of a save (fixed steps, one device) it is found on another core while the run goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
import xarray as xr
from jax.sharding import Mesh

from widelimit import __version__
from widelimit.arguments import functions_of
from widelimit.errors import Diverged, GaveUp, InputError, Interrupted, Stopped, require
from widelimit.frozen import Value
from widelimit.potentials.chunks import all_finite
from widelimit.problem.mobility import check_mobility
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import check_schedule
from widelimit.solving.devices import at_work, spread
from widelimit.solving.progress import progress_bar
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Attributes, Observer, Recorder, Saves, recorder
from widelimit.solving.resuming import AT, PREFIX, Stand, midway_of, recalled, remind
from widelimit.solving.settings import Settings
from widelimit.solving.solution import Solution
from widelimit.solving.straying import Passage, Strayed, strayed
from widelimit.solving.streams import stream
from widelimit.solving.threads import threads
from widelimit.solving.twin import Twin, twin_of
from widelimit.solving.written import toml_of

if TYPE_CHECKING:
    from widelimit.solving.keeping import Keeper

Ready = Callable[..., Run]
FAILURES = {"diverged": Diverged, "stopped": Stopped}
NEURONS = {"theta", "weights", "final", "neuron", "coordinate", "final_coordinate"}
RESERVED = {"risk", "risk_error", "time", "replica", "masses", "free_energy", "dimension"} | NEURONS


@dataclass(frozen=True)
class Request:
    """All that a run is asked for.

    ready      (method, problem, seed, replicas) ↦ the dynamics with its start
    observers  functions of ρ recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      whether to raise `Diverged`
    keeper     who keeps what a long run has done so far, if anybody
    mesh       devices over which it is spread, if it is
    """

    problem: Problem
    method: Value
    settings: Settings
    ready: Ready
    observers: Mapping[str, Observer] = field(default_factory=dict)
    progress: bool | None = None
    throw: bool = True
    keeper: Keeper | None = None
    mesh: Mesh | None = None

    @property
    def name(self) -> str:
        """Name of the method."""
        return type(self.method).__name__

    def run(self, before: Solution | None = None) -> Solution:
        """Run the dynamics, or what an interrupted run left of it, and return its solution."""
        return drive(self, None if before is None else before.dataset)


def drive(request: Request, before: xr.Dataset | None = None) -> Solution:
    """Run a dynamics from t = 0, or from where a record of it stopped, to t_end, and keep what is asked for."""
    began, settings = time.perf_counter(), request.settings
    run = request.ready(request.method, request.problem, settings.seed, settings.replicas)
    run = checked_run(request, run)
    run = run if request.mesh is None else spread(run, request.mesh)
    view = replace(run.view, land=run.view.land.reporting(stream(settings.seed, "report")))
    book = recorder(view, Saves(request.problem, settings.keep, request.observers))
    outcome, advice = "done", ""
    told, spent = ("", 0.0) if before is None else (str(before.attrs["notes"]), float(before.attrs["wall_time"]))

    def record(here: Stand, outcome: str, advice: str) -> Solution:
        notes = dict.fromkeys([*filter(None, told.split("; ")), *run.notes])  # a leg that is run again says it again
        about: dict[str, str | float] = {**attributes_of(request, outcome, advice), "notes": "; ".join(notes)}
        about["wall_time"] = time.perf_counter() - began + spent
        return Solution(dataset_of(book, here, about), replace(request, keeper=None))

    keep = _Checkpoints(request.keeper, lambda here: record(here, "interrupted", ""))
    with (
        at_work(request.mesh),
        progress_bar(request.progress, request.name, settings.t_end) as bar,
        twin_of(run, book, request.mesh, keep) as twin,
        threads(1) as aside,
    ):
        here, passed = begun(run, twin, book, before), None
        beside = run.plan is not None and run.memory is None and twin is None and request.mesh is None

        def settle() -> None:
            nonlocal here, passed
            if passed is None:
                return
            (passage, memory, found), passed = passed, None
            t, moved, risk = passage.stop, passage.state, found()
            if not is_possible(book, moved, risk):
                raise BlownUp
            there = here._replace(state=moved, memory=memory, at=t, midway=None)
            held = None if twin is None else twin.met(there, risk)
            off = strayed(request.problem, run, book, here.strayed, passage)
            book.save(t, moved, risk, run.unknown + off.sum + (0.0 if held is None else held.away))
            here = Stand(moved, memory, held, off, here.saves + 1, t)
            if t < settings.t_end:
                keep(here)

        def tick(t: float, state: State | None = None) -> None:
            bar(t)
            if state is not None:
                settle()
                now = here._replace(state=state, memory=recalled(run), at=t, midway=midway_of(run))
                keep(now if twin is None else twin.at(now))

        try:
            now = book.saves.times[-1] if here.saves else 0.0
            for t in times_of(settings, run)[here.saves :]:
                if twin is not None:
                    twin.sets_out(here, now, t)
                at, state = (here.at, here.state) if passed is None else (now, passed.passage.state)
                moved = run.advance(state, at, t, tick) if t > at else state
                settle()
                found = aside.submit(book.risk, moved).result if beside else partial(book.risk, moved)
                passed = Passed(Passage(now, t, moved, settings.t_end), recalled(run), found)
                if not beside or not all_finite(moved):
                    settle()
                now = t
            settle()
            advice = closing_advice(request, run, book)
        except BlownUp:
            outcome, advice = "diverged", run.advice
        except GaveUp as reason:
            outcome, advice = "stopped", str(reason)
        except KeyboardInterrupt:
            outcome = "interrupted"
            with suppress(BlownUp, KeyboardInterrupt):
                settle()  # the save that was passed
            book.cut(here.saves)  # it may have come in the middle of one
    return told_of(record(here, outcome, advice), request)


class Passed(NamedTuple):
    """A save that was passed, whose risk is still to be known.

    passage  from the save before it
    memory   what the run had chosen there
    risk     finds it, or waits for it
    """

    passage: Passage
    memory: State
    risk: Callable[[], np.ndarray]


class BlownUp(Exception):
    """The risk of a save is not that of a run under way."""


class _Checkpoints:
    """Hands over where a run stands, whenever as many seconds have passed as its keeper wants."""

    def __init__(self, keeper: Keeper | None, record: Callable[[Stand], Solution]):
        self.keeper, self.record, self.last = keeper, record, time.monotonic()

    def __call__(self, here: Stand) -> None:
        """Look at the clock."""
        if self.keeper is not None and time.monotonic() - self.last >= self.keeper.every:
            self.keeper.keep(self.record(here))
            self.last = time.monotonic()


def is_possible(book: Recorder, state: State, risk: np.ndarray) -> bool:
    """Whether a risk is that of a run under way; one that is below 0 may be so by as much as it may be off."""
    possible = book.saves.is_possible
    return possible(risk) or (bool(np.isfinite(risk).all()) and possible(risk + book.error(state)))


def begun(run: Run, twin: Twin | None, book: Recorder, before: xr.Dataset | None) -> Stand:
    """Where a run begins, or where a record of it stopped: it, its twin and its book are brought there."""
    here = Stand(run.state, recalled(run), None if twin is None else twin.start, Strayed(), 0, 0.0)
    if before is None or not (before.sizes["time"] or AT in before):
        return here
    here = here.reached(before)
    book.restore(before)
    remind(run, here.memory, here.midway)
    if twin is not None:
        remind(twin.run, here.twin.memory, None if here.behind is None else here.behind.midway)
    return here


def checked_run(request: Request, run: Run) -> Run:
    """The run with advice that fits its horizon; refuse a schedule or a way to keep neurons that it cannot have."""
    settings = request.settings
    check_schedule(request.problem.schedule, settings.t_end)
    check_mobility(request.problem.rates, settings.t_end)
    good = settings.keep == "reduced" or not run.view.columns.is_reduced
    require(good, "keep must be 'reduced' for a run in reduced coordinates", settings.keep, "drop it")
    return replace(run, advice=cut_step(request) or run.advice)


def closing_advice(request: Request, run: Run, book: Recorder) -> str:
    """What to say of a run that is done, if anything."""
    if run.falls and book.saves.ends_above:
        return f"the risk ends above its start, which a small step does not do: {run.advice}"
    said = cut_step(request)
    return run.remark(book) if not said and run.remark is not None else said


def cut_step(request: Request) -> str:
    """What to say of a step that is longer than the run, which takes a part of it; nothing of any other."""
    step, t_end = getattr(request.method, "step", None), request.settings.t_end
    if step is None or step <= t_end * (1 + 1e-9):
        return ""
    return (
        f"the step {step:g} is longer than the run and was cut to t_end = {t_end:g}: try step={t_end / 4:.2g} or less"
    )


def times_of(settings: Settings, run: Run) -> list[float]:
    """The times to save at: those asked for, as the dynamics can stop for them, and t_end itself."""
    inside = (run.round_time(t) for t in settings.times[:-1])
    return [*dict.fromkeys(t for t in inside if t < settings.t_end * (1 - 1e-12)), settings.t_end]


def dataset_of(book: Recorder, here: Stand, about: Attributes) -> xr.Dataset:
    """What was saved, with the last good state; with all that is needed to go on if the run was interrupted."""
    variables, coordinates = book.contents(here.state)
    if about["outcome"] == "interrupted":
        variables |= here.variables()
    time_axis = ("time", np.array(book.saves.times), {"long_name": "time kε", "symbol": "t", "units": "1"})
    return xr.Dataset(variables, {"time": time_axis, **coordinates}, about)


def told_of(solution: Solution, request: Request) -> Solution:
    """The solution, or the exception that carries it."""
    if solution.outcome == "interrupted":
        if not len(solution.times):
            raise Interrupted(solution, "nothing was saved yet; wl.resume of .solution begins anew")
        kept = f"{len(solution.times)} saves, to t = {solution.times[-1]:g} of {solution.settings.t_end:g}"
        raise Interrupted(solution, f"{kept}, is in .solution; wl.resume goes on with it")
    if solution.outcome in FAILURES and request.throw:
        reached = f"last good time t = {solution.times[-1]:g}" if len(solution.times) else "nothing was saved"
        raise FAILURES[solution.outcome](f"{request.name} {solution.outcome} ({reached}): {solution.advice}.", solution)
    return solution


def checked_observers(observers: Mapping[str, Observer] | None) -> dict[str, Observer]:
    """Observers by name, none of which takes a name of the record."""
    chosen = functions_of("observers", observers)
    taken = set(filter(is_reserved, chosen))
    require(not taken, "observers must not take the names of the record", sorted(taken), "rename them")
    return chosen


def is_reserved(name: str) -> bool:
    """Whether a name belongs to the record, so that no observer may take it."""
    return name in RESERVED or name.startswith(("edges_", "cell_", "edge_", PREFIX))


def device_of(request: Request) -> str:
    """The kind of device that a run is on, and how many if it is spread."""
    if request.mesh is None:
        return jax.devices()[0].device_kind
    return f"{request.mesh.size} x {request.mesh.devices.flat[0].device_kind}"


def attributes_of(request: Request, outcome: str, advice: str) -> dict[str, str | float]:
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
        "advice": advice,
        "seed": request.settings.seed,
        "device": device_of(request),
        "versions": json.dumps({"widelimit": __version__, "jax": jax.__version__, "numpy": np.__version__}),
    }
