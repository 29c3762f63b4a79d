"""One driver for every dynamics: time, saving, observing, progress, outcome."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from widelimit.dynamics import finite_volume, flow, gd, jko, mean_field, sgd, tracers
from widelimit.dynamics.methods import Method
from widelimit.dynamics.record import Observer, Record, recorder
from widelimit.dynamics.requests import check_seed, save_times
from widelimit.dynamics.run import DensityRun, Run, Tick, prepare
from widelimit.dynamics.solution import Solution
from widelimit.errors import (
    Diverged,
    Interrupted,
    require,
    require_count,
    require_known,
    require_positive,
)
from widelimit.problem.schedules import check_schedule
from widelimit.problem.statement import Problem

EQUATIONS = (finite_volume, flow, gd, jko, mean_field, sgd, tracers)  # importing them registers their `prepare`
BLOWN_UP = 1e6  # a risk this many times the initial one is a divergence, finite or not
RESERVED = {"risk", "theta", "weights", "final", "time", "neuron", "coordinate", "final_coordinate", "replica"}
RESERVED |= {"masses", "free_energy", "dimension"}


def solve(
    problem: Problem,
    method: Method,
    t_end: float,
    *,
    seed: int = 0,
    replicas: int | None = None,
    save: int | Sequence[float] = 41,
    keep: str = "reduced",
    observers: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
    throw: bool = True,
) -> Solution:
    """Run a dynamics from t = 0 to t_end.

    problem    what is learned
    method     `SGD`, `GD`, `ParticleFlow`, `NonlinearFlow`, `MeanField`, `FiniteVolume` or `JKO`
    seed       of every random stream
    replicas   R independent runs in one go, stacked on the dimension "replica"; the first is the run without replicas
    save       how many equally spaced times to save at, or the times themselves (t_end is always saved)
    keep       neurons saved over time in "reduced" or "full" coordinates (the last ones are always kept in full)
    observers  functions of ρ (a Cloud in the coordinates of ``keep``, or a Density) recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      raise `Diverged` on divergence, with the solution so far in it; otherwise return that

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3).times
    array([0.  , 0.05, 0.1 ])
    """
    import xarray as xr

    require(isinstance(problem, Problem), "problem must be a wl.Problem", type(problem).__name__, "build one first")
    require(
        isinstance(method, Method),
        "method must be one of wl.SGD, GD, ParticleFlow, NonlinearFlow, MeanField, FiniteVolume, JKO",
        method,
        "choose one",
    )
    require_positive("t_end", t_end, "10.0")
    require_known("way to keep neurons", keep, ("full", "reduced"))
    wished = save_times(save, t_end)
    seed, observers = check_seed(seed), _checked_observers(observers)
    check_schedule(problem.schedule, t_end)
    began = time.perf_counter()
    if replicas is not None:
        require_count("replicas", replicas, "16")
    run = prepare(method, problem, seed, replicas)
    require(run.round_time(t_end) > 0, f"t_end must be at least one step of {method}", t_end, "lower the step")
    is_full = run.landscape.coordinates != problem.reduced_coordinates or not problem.groups
    require(is_full or keep == "reduced", "keep must be 'reduced' for a run in reduced coordinates", keep, "drop it")
    saves, outcome, state = Record(problem, keep, observers), "done", run.state
    book = recorder(run, saves)
    with _progress(progress, type(method).__name__, t_end) as tick:
        try:
            now = 0.0
            for t in dict.fromkeys(run.round_time(t) for t in wished):
                moved = run.advance(state, now, t, tick) if t > now else state
                risk = book.risk(moved)
                if not np.all(risk < (BLOWN_UP * (1 + np.max(saves.risk[0])) if saves.risk else math.inf)):
                    outcome = "diverged"
                    break
                state, now = moved, t
                book.save(t, state, risk)
        except KeyboardInterrupt:
            outcome = "interrupted"
    variables, coordinates = book.contents(state)
    time_axis = ("time", np.array(saves.times), {"long_name": "time kε", "symbol": "t", "units": "1"})
    about = _attributes(problem, method, run, seed, t_end, outcome, began)
    solution = Solution(xr.Dataset(variables, {"time": time_axis, **coordinates}, about))
    if outcome == "interrupted":
        raise Interrupted(solution)
    if outcome == "diverged" and throw:
        reached = f"last good time t = {solution.times[-1]:g}" if len(solution.times) else "nothing was saved"
        raise Diverged(f"{type(method).__name__} diverged ({reached}): {run.advice}.", solution)
    return solution


def _checked_observers(observers: Mapping[str, Observer] | None) -> dict[str, Observer]:
    chosen = dict(observers) if isinstance(observers, Mapping) else {}
    good = observers is None or (isinstance(observers, Mapping) and all(map(callable, chosen.values())))
    require(good, "observers must be a dictionary of functions of a Cloud", observers, "try {'m': moment('r')}")
    taken = {name for name in chosen if name in RESERVED or name.startswith(("edges_", "cell_", "edge_"))}
    require(not taken, "observers must not take the names of the record", sorted(taken), "rename them")
    return chosen


def _attributes(
    problem: Problem, method: Method, run: Run | DensityRun, seed: int, t_end: float, outcome: str, began: float
) -> dict[str, Any]:
    import jax

    from widelimit import __version__

    spec = {"problem": repr(problem), "method": repr(method), "t_end": t_end, "seed": seed}
    return {
        "method": type(method).__name__,
        "spec": json.dumps(spec),
        "outcome": outcome,
        "advice": run.advice if outcome == "diverged" else "",
        "seed": seed,
        "wall_time": time.perf_counter() - began,
        "device": jax.devices()[0].device_kind,
        "versions": json.dumps({"widelimit": __version__, "jax": jax.__version__, "numpy": np.__version__}),
    }


def _progress(wanted: bool | None, name: str, t_end: float) -> AbstractContextManager[Tick]:
    """A bar on stderr, or nothing."""
    import sys

    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return nullcontext(lambda t: None)
    return _Bar(name, t_end)


class _Bar(AbstractContextManager):
    """A rich progress bar over the time of the dynamics."""

    def __init__(self, name: str, t_end: float):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("t = {task.completed:.3g}"))
        self.bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(name, total=t_end)

    def __enter__(self) -> Tick:
        self.bar.start()
        return lambda t: self.bar.update(self.task, completed=t)

    def __exit__(self, *exception: Any) -> None:
        self.bar.stop()
