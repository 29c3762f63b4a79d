"""How long a run will take, from a short pilot.

    seconds = compiling + Σ pilot + rate (t_end − T) + saves × a look

    T       where the pilot stops: after a first stretch that compiles, stretches twice as long each, up to the distance
            of two saves, until they took a second together or t_end is reached
    rate    seconds per unit of time, the median of its last three stretches; one that compiles again does not count
    look    seconds that a save takes

Steps of a fixed length are counted; those that adapt are counted in the pilot and scaled like the seconds.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Unpack

import jax

from widelimit.dynamics.block_layout import layout_for
from widelimit.dynamics.memory import GIB, need, require_room
from widelimit.dynamics.methods import (
    GD,
    JKO,
    SGD,
    FiniteVolume,
    MeanField,
    Method,
    NonlinearFlow,
    ParticleFlow,
    TangentSGD,
)
from widelimit.dynamics.solve import DYNAMICS, at_width_of, checked
from widelimit.errors import GaveUp, Stopped
from widelimit.potentials.chunks import all_finite
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import size_of
from widelimit.solving.clock import steps_until
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import OfNeurons, Recorder, Saves, recorder
from widelimit.solving.settings import Settings, SolveOptions

ENOUGH = 1.0  # seconds of a pilot
MOST = 10.0  # seconds lost to compiling again, after which a pilot stops
STALL = 0.5  # seconds below which nothing is compiled
SHARE = 1 / 512  # of the horizon, the first stretch of a pilot
FEWEST = 64  # steps of the first stretch
LARGE = 2**20  # numbers in a state, beyond which only the first and the last are kept


@dataclass(frozen=True)
class Forecast:
    """What a run will take.

    steps      of the dynamics, of each replica; None where they adapt and nobody counts them
    seconds    with compiling, of which
    compiling  are spent once for all runs of these shapes
    gib        of memory, on top of the libraries
    exact      whether the number of steps is known, not scaled from a pilot
    advice     a sentence if SGD's step is stable but large for d, as `Solution.advice` will have it; else empty

    >>> Forecast(steps=100, seconds=2.0, compiling=1.5, gib=0.1, exact=True).steps
    100
    """

    steps: int | None
    seconds: float
    compiling: float
    gib: float
    exact: bool
    advice: str = ""

    def document(self) -> dict[str, float | int | bool | str | None]:
        """The numbers by name."""
        return asdict(self)

    def __repr__(self) -> str:
        about = "" if self.exact else "about "
        steps = "steps that adapt" if self.steps is None else f"{about}{self.steps:,} steps"
        return f"<Forecast: {steps}, {self.seconds:.2g} s ({self.compiling:.2g} s to compile), {self.gib:.2g} GiB>"


def estimate(problem: Problem, method: Method, t_end: float, **options: Unpack[SolveOptions]) -> Forecast:
    """Steps, seconds and memory of `solve` with the same arguments, from a pilot of a second or two: an estimate.

    Seconds are right within a factor of two for SGD, GD and the flows of particles. FiniteVolume and JKO spend theirs
    unevenly, mostly at the beginning: there they are rough. A solver that gives up in the pilot raises `Stopped`, whose
    solution is None. What is said of SGD's step takes the neurons where the pilot stops for those of the time to come.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.estimate(problem, wl.SGD(n=10, step=0.01), t_end=1.0).steps
    100
    """
    settings = checked(problem, method, t_end, options)
    problem = at_width_of(method, problem)
    require_room(problem, method, settings)
    began = time.perf_counter()
    run = DYNAMICS[type(method)](method, problem, settings.seed, settings.replicas)
    made, step, looks = time.perf_counter() - began, fixed_step(problem, method), len(settings.times)
    trial = Trial(problem, settings, _first(method, step, t_end))
    try:
        pilots = [pilot(one, trial) for one in (run, run.twin) if one is not None]
    except GaveUp as reason:
        raise Stopped(f"{type(method).__name__} stopped in the pilot of an estimate: {reason}.", None) from None
    compiling, spent = made + sum(p.compiling for p in pilots), [p.moving + looks * p.look for p in pilots]
    seconds = (max(spent) + sum(spent)) / 2 if run.plan is not None else sum(spent)  # beside each other, not wholly
    steps = math.ceil(steps_until(t_end, step)) if step is not None else None
    return Forecast(
        steps if step is not None else pilots[0].steps, compiling + seconds, compiling,
        need(problem, method, settings).total / GIB, step is not None, pilots[0].remark,
    )  # fmt: skip


def fixed_step(problem: Problem, method: Method) -> float | None:
    """The step of a method, None where it adapts."""
    if isinstance(method, SGD | GD | JKO | FiniteVolume | TangentSGD):
        return method.step
    is_noisy = isinstance(method, ParticleFlow | NonlinearFlow | MeanField) and problem.is_noisy
    return method.noise_step if is_noisy else None  # type: ignore[union-attr]


def _first(method: Method, step: float | None, t_end: float) -> float:
    """The length of the first stretch of a pilot."""
    if step is None or isinstance(method, FiniteVolume):
        return t_end * SHARE
    steps = (
        4 * layout_for(method.batch).steps
        if isinstance(method, SGD | TangentSGD)
        else 2
        if isinstance(method, JKO)
        else FEWEST
    )
    return min(t_end / 2, steps * step)


class Pilot(NamedTuple):
    """What a pilot found: seconds to compile, to move from 0 to t_end, and to look at one save; adaptive steps;
    what is said of the run if its neurons stay as they are where it stops."""

    compiling: float
    moving: float
    look: float
    steps: int | None
    remark: str


class Pace(NamedTuple):
    """Seconds of a stretch, and per unit of time."""

    seconds: float
    rate: float


class Trial(NamedTuple):
    """How pilots go: the run they stand for, and the length of their first stretch."""

    problem: Problem
    settings: Settings
    first: float


def pilot(run: Run, trial: Trial) -> Pilot:
    """Run a dynamics for a second or so."""
    cold, state = _moved(run, run.state, 0.0, trial.first)
    book = recorder(run.view, Saves(trial.problem, trial.settings.keep, {}))
    cold_look, look = _look(book, state), _look(book, state)
    t_end, gap, counted = (
        trial.settings.t_end,
        trial.settings.t_end / (max(1, len(trial.settings.times) - 1)),
        _steps(run),
    )
    paces: list[Pace] = []
    path = [(0.0, run.state), (trial.first, state)]
    now, length, lost = trial.first, trial.first, 0.0
    while now < t_end and sum(p.seconds for p in paces) < ENOUGH and lost < MOST:
        stop = min(t_end, now + length)
        stop = stop if stop == t_end else max(run.round_time(stop), min(t_end, now + trial.first))
        seconds, state = _moved(run, state, now, stop)
        path = [*(path[:1] if size_of(state) > LARGE else path), (stop, state)]
        usual = statistics.median([p.rate for p in paces[-3:]] or [math.inf])
        if seconds > STALL and seconds / (stop - now) > 4 * usual:  # something was compiled again
            lost += seconds
        else:
            paces.append(Pace(seconds, seconds / (stop - now)))
        now, length = stop, min(2 * length, max(gap, length))
    spent, rate = sum(p.seconds for p in paces), statistics.median([p.rate for p in paces[-3:]] or [0.0])
    moving = spent + rate * (t_end - now)
    steps = None if counted is None else round((_steps(run) - counted) * moving / spent)  # type: ignore[operator]
    return Pilot(cold + cold_look + lost, moving, look, steps, _remark(run, trial, path))


def _remark(run: Run, trial: Trial, path: Sequence[tuple[float, State]]) -> str:
    book = recorder(run.view, Saves(trial.problem, trial.settings.keep, {}))
    if run.remark is None or not isinstance(book, OfNeurons) or not all_finite(book.view.theta(path[-1][1])):
        return ""
    for t, state in (*path, (trial.settings.t_end, path[-1][1])):
        book.save(t, state, book.risk(state), 0.0)
    return run.remark(book)


def _moved(run: Run, state: State, start: float, stop: float) -> tuple[float, State]:
    began = time.perf_counter()
    moved = jax.block_until_ready(run.advance(state, start, stop, lambda t, state=None: None))
    return time.perf_counter() - began, moved


def _look(book: Recorder, state: State) -> float:
    """Seconds for a save."""
    began = time.perf_counter()
    book.save(0.0, state, book.risk(state), 0.0)
    return time.perf_counter() - began


def _steps(run: Run) -> int | None:
    """Adaptive steps taken so far."""
    return None if run.memory is None else run.memory.steps
