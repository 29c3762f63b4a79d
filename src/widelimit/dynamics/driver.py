"""One driver for every dynamics: time, saving, observing, progress, outcome."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from widelimit.dynamics import flow, gd, mean_field, sgd, tracers
from widelimit.dynamics.methods import Method
from widelimit.dynamics.requests import check_seed, save_times
from widelimit.dynamics.run import Run, Tick, prepare
from widelimit.dynamics.solution import Solution
from widelimit.errors import (
    Diverged,
    Interrupted,
    require,
    require_count,
    require_known,
    require_positive,
)
from widelimit.measures import Cloud
from widelimit.potentials.landscapes import reduce
from widelimit.problem.schedules import check_schedule
from widelimit.problem.statement import Problem

if TYPE_CHECKING:
    import xarray as xr

EQUATIONS = (flow, gd, mean_field, sgd, tracers)  # importing them registers their `prepare`
BLOWN_UP = 1e6  # a risk this many times the initial one is a divergence, finite or not
Observer = Callable[[Cloud], Any]


@dataclass
class Record:
    """What has been saved so far."""

    times: list[float] = field(default_factory=list)
    risk: list[np.ndarray] = field(default_factory=list)
    theta: list[np.ndarray] = field(default_factory=list)
    observed: dict[str, list[np.ndarray]] = field(default_factory=dict)


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
    method     `SGD`, `GD`, `ParticleFlow`, `NonlinearFlow` or `MeanField`
    seed       of every random stream
    replicas   R independent runs in one go, stacked on the dimension "replica"; the first is the run without replicas
    save       how many equally spaced times to save at, or the times themselves (t_end is always saved)
    keep       neurons saved over time in "reduced" or "full" coordinates (the last ones are always kept in full)
    observers  functions of ρ (a Cloud in the coordinates of ``keep``) recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      raise `Diverged` on divergence, with the solution so far in it; otherwise return that

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3).times
    array([0.  , 0.05, 0.1 ])
    """
    require(isinstance(problem, Problem), "problem must be a wl.Problem", type(problem).__name__, "build one first")
    require(
        isinstance(method, Method),
        "method must be one of wl.SGD, GD, ParticleFlow, NonlinearFlow, MeanField",
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
    record, outcome = Record(observed={name: [] for name in observers}), "done"
    state = run.state
    with _progress(progress, type(method).__name__, t_end) as tick:
        try:
            now = 0.0
            for t in dict.fromkeys(run.round_time(t) for t in wished):
                moved = run.advance(state, now, t, tick) if t > now else state
                risk = _risk(run, run.theta(moved))
                if not np.all(risk < (BLOWN_UP * (1 + np.max(record.risk[0])) if record.risk else math.inf)):
                    outcome = "diverged"
                    break
                state, now = moved, t
                _save(record, problem, run, keep, t, run.theta(state), risk, observers)
        except KeyboardInterrupt:
            outcome = "interrupted"
    solution = Solution(_dataset(problem, method, run, record, keep, run.theta(state), seed, t_end, outcome, began))
    if outcome == "interrupted":
        raise Interrupted(solution)
    if outcome == "diverged" and throw:
        reached = f"last good time t = {solution.times[-1]:g}" if len(solution.times) else "nothing was saved"
        raise Diverged(f"{type(method).__name__} diverged ({reached}): {run.advice}.", solution)
    return solution


def _risk(run: Run, theta: Any) -> np.ndarray:
    """R(ρ) of a cloud (n, D), or of every replica (R, n, D); not a number where θ is none."""
    good = np.isfinite(theta).all(axis=(-2, -1))
    if good.all():
        return np.asarray(run.landscape.risk_of(theta, run.weights), float)
    risk = np.full(good.shape, math.nan)
    if good.any():
        risk[good] = run.landscape.risk_of(theta[good], run.weights)
    return risk


def _checked_observers(observers: Mapping[str, Observer] | None) -> dict[str, Observer]:
    chosen = dict(observers) if isinstance(observers, Mapping) else {}
    good = observers is None or (isinstance(observers, Mapping) and all(map(callable, chosen.values())))
    require(good, "observers must be a dictionary of functions of a Cloud", observers, "try {'m': moment('r')}")
    taken = {"risk", "theta", "weights", "final", "time", "neuron", "coordinate", "final_coordinate", "replica"} & set(
        chosen
    )
    require(not taken, "observers must not take the names of the record", sorted(taken), "rename them")
    return chosen


def _save(
    record: Record, problem: Problem, run: Run, keep: str, t: float, theta: Any, risk: np.ndarray,
    observers: Mapping[str, Observer],
) -> None:  # fmt: skip
    kept = np.asarray(_kept(problem, run, keep, theta), float)
    for name, observer in observers.items():
        record.observed[name].append(_observed(name, observer, kept, run, _names(problem, run, keep)))
    record.times.append(t)
    record.risk.append(risk)
    record.theta.append(kept)


def _observed(name: str, observer: Observer, kept: np.ndarray, run: Run, names: tuple[str, ...]) -> np.ndarray:
    """What an observer says of a cloud, or of every replica."""
    if kept.ndim == 3:
        return np.stack([_observed(name, observer, replica, run, names) for replica in kept])
    value = np.asarray(observer(Cloud(kept, np.asarray(run.weights), names)))
    odd = value.dtype.kind not in "biuf"
    require(not odd, "observers must return numbers or arrays of numbers", [name], "return one array each")
    return value


def _kept(problem: Problem, run: Run, keep: str, theta: Any) -> Any:
    """θ as it is saved: reduced unless asked otherwise, and no radius below 0."""
    if keep == "full":
        return theta
    is_full = run.landscape.coordinates != problem.reduced_coordinates
    rows = theta.reshape(-1, theta.shape[-1])
    reduced = np.array(reduce(problem, rows) if is_full else rows)
    radii = reduced.shape[1] - len(problem.groups)
    reduced[:, radii:] = np.maximum(reduced[:, radii:], 0.0)
    return reduced.reshape(*theta.shape[:-1], -1)


def _names(problem: Problem, run: Run, keep: str) -> tuple[str, ...]:
    return run.landscape.coordinates if keep == "full" else problem.reduced_coordinates


def _dataset(
    problem: Problem, method: Method, run: Run, record: Record, keep: str, theta: Any, seed: int, t_end: float,
    outcome: str, began: float,
) -> xr.Dataset:  # fmt: skip
    import xarray as xr

    names, front = _names(problem, run, keep), ("replica",) * (theta.ndim - 2)
    shape = (0, *theta.shape[:-1], len(names))
    lead = len(front)
    about = {"long_name": "population risk", "symbol": "R", **_estimated(run, theta)}
    variables: dict[str, Any] = {
        "risk": _over_time(record.risk, lead, ("time",), about, shape[:-2]),
        "theta": _over_time(record.theta, lead, ("time", "neuron", "coordinate"),
                            {"long_name": "neurons", "symbol": "θ"}, shape),
        "weights": ("neuron", np.asarray(run.weights), {"long_name": "mass of each neuron", "symbol": "p"}),
        "final": ((*front, "neuron", "final_coordinate"), np.asarray(theta),
                  {"long_name": "last neurons", "symbol": "θ"}),
    }  # fmt: skip
    for name, values in record.observed.items():
        extra = tuple(f"{name}_{i}" for i in range(1, np.ndim(values[0]) - lead + 1)) if values else ()
        variables[name] = _over_time(values, lead, ("time", *extra), {}, shape[: 1 + lead])
    coordinates = {
        "time": ("time", np.array(record.times), {"long_name": "time kε", "symbol": "t", "units": "1"}),
        "coordinate": list(names),
        "final_coordinate": list(run.landscape.coordinates),
    }
    return xr.Dataset(variables, coordinates, _attributes(problem, method, run, seed, t_end, outcome, began))


def _estimated(run: Run, theta: Any) -> dict[str, float]:
    """Standard error of the last risk, where it is estimated from a draw of the data law."""
    last = np.asarray(theta).reshape(-1, *theta.shape[-2:])[0]
    finite = bool(np.isfinite(last).all())
    error = run.landscape.risk_error(Cloud(last, np.asarray(run.weights), run.landscape.coordinates)) if finite else 0.0
    return {"standard_error": error} if error else {}


def _over_time(
    values: list[np.ndarray], lead: int, dims: tuple[str, ...], attributes: dict[str, Any], empty: tuple[int, ...]
) -> tuple[tuple[str, ...], np.ndarray, dict[str, Any]]:
    """A variable from its values at the save times: the replicas first, if there are any, then time."""
    stacked = np.stack(values) if values else np.empty(empty)
    return ("replica",) * lead + dims, np.moveaxis(stacked, 0, lead), attributes


def _attributes(
    problem: Problem, method: Method, run: Run, seed: int, t_end: float, outcome: str, began: float
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
