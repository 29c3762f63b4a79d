"""`solve`: from a method to its dynamics, by an explicit table, and through the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack, cast

from widelimit.arguments import instance_of, require_flag
from widelimit.dynamics import gd, mean_field, nonlinear_flow, particle_flow, sgd, tangent_flow, tangent_sgd
from widelimit.dynamics.fewer_samples import beside_fewer_samples
from widelimit.dynamics.finite_volume import finite_volume
from widelimit.dynamics.jko import jko
from widelimit.dynamics.memory import require_room
from widelimit.dynamics.methods import (
    GD,
    JKO,
    SGD,
    FiniteVolume,
    Limit,
    MeanField,
    Method,
    NonlinearFlow,
    ParticleFlow,
    TangentFlow,
    TangentSGD,
)
from widelimit.errors import require
from widelimit.problem.problem import Problem
from widelimit.solving.devices import Devices, mesh_of
from widelimit.solving.driver import Ready, Request, checked_observers, drive, is_reserved
from widelimit.solving.keeping import Keeper, kept
from widelimit.solving.recorder import Observer
from widelimit.solving.settings import Settings, SolveOptions, settings_of
from widelimit.solving.solution import Solution

DYNAMICS: dict[type, Ready] = {
    SGD: sgd.ready,
    GD: beside_fewer_samples(gd.ready),
    ParticleFlow: beside_fewer_samples(particle_flow.ready),
    NonlinearFlow: beside_fewer_samples(nonlinear_flow.ready),
    MeanField: beside_fewer_samples(mean_field.ready),
    FiniteVolume: beside_fewer_samples(finite_volume.ready),
    JKO: beside_fewer_samples(jko.ready),
    TangentFlow: beside_fewer_samples(tangent_flow.ready),
    TangentSGD: tangent_sgd.ready,
}


class KeptOptions(SolveOptions, total=False):
    """The keywords of `solve`."""

    store: Keeper | None
    devices: Devices


def solve(
    problem: Problem,
    method: Method,
    t_end: float,
    *,
    observers: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
    throw: bool = True,
    **options: Unpack[KeptOptions],
) -> Solution:
    """Run a dynamics from t = 0 to t_end.

    problem    what is learned
    method     `SGD`, `GD`, `ParticleFlow`, `NonlinearFlow`, `MeanField`, `FiniteVolume`, `JKO`, `TangentFlow` or
               `TangentSGD`
    observers  functions of ρ (a Cloud in the coordinates of ``keep``, or a Density) recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      raise `Diverged`, or `Stopped` where the solver gave up, with the solution so far in it; else return that

    and by keyword

    seed       of every random stream (0)
    replicas   R independent runs in one go, stacked on the dimension "replica"; the first is the run without replicas
    save       how many equally spaced times to save at (41), or the times themselves (t_end is always saved)
    keep       neurons saved over time in "reduced" or "full" coordinates (the last ones in those the run moved them in)
    store      a `Store`: a run that is in it is read, any other is run and kept; one of more than a minute leaves
               checkpoints on its way, from which it goes on when it is asked for again
    devices    how many devices of JAX the neurons are spread over, or a list of them (docs/devices.md); with replicas,
               the replicas are

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3).times
    array([0.  , 0.05, 0.1 ])
    """
    store, mesh = options.pop("store", None), mesh_of(options.pop("devices", None))
    settings = checked(problem, method, t_end, cast("SolveOptions", options))
    problem = at_width_of(method, problem)
    require_flag("progress", progress, None)
    require_flag("throw", throw)
    good = store is None or (callable(getattr(store, "find", None)) and callable(getattr(store, "keep", None)))
    require(good, "store must be a wl.Store", store, 'try store=wl.Store("runs")')
    require_room(problem, method, settings)
    seen = checked_observers(observers)
    request = Request(problem, method, settings, DYNAMICS[type(method)], seen, progress, throw, mesh=mesh)
    return drive(request) if store is None else kept(request, store)


def checked(problem: Problem, method: Method, t_end: float, options: SolveOptions) -> Settings:
    """The settings of a run, if its arguments are what they must be."""
    instance_of(Problem, problem, "solve", "build one first")
    known = isinstance(method, Method)
    require(known, f"method must be one of wl.{', '.join(kind.__name__ for kind in DYNAMICS)}", method, "choose one")
    return settings_of(t_end, options)


def at_width_of(method: Method, problem: Problem) -> Problem:
    """The problem of networks as wide as those of the method, if it has any."""
    return problem if isinstance(method, Limit) else problem.at_width(method.n)


def resume(
    solution: Solution,
    *,
    observers: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
    throw: bool = True,
) -> Solution:
    """Go on with an interrupted run to its t_end, to the same bits as if it had never been stopped.

    solution   of an interrupted run, in memory or loaded from a record; one that is done is returned as it is
    observers  the functions it recorded, which no file holds; those of a run in memory are known

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> try:
    ...     solution = wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3)
    ... except wl.Interrupted as stop:
    ...     solution = stop.solution
    >>> wl.resume(solution).times
    array([0.  , 0.05, 0.1 ])
    """
    require(isinstance(solution, Solution), "resume needs a wl.Solution", type(solution).__name__, "load a record")
    if solution.outcome == "done":
        return solution
    require(solution.outcome == "interrupted", "resume needs an interrupted run", solution, "solve it again")
    asked = solution.request
    if not isinstance(asked, Request):
        return solution.rerun()  # which says why it cannot be
    same = solution.replicas == asked.settings.replicas
    require(same, "resume needs all replicas of a run", solution, "resume first, then choose one")
    chosen = asked.observers if observers is None else checked_observers(observers)
    seen = sorted(str(name) for name in solution.dataset.data_vars if not is_reserved(str(name)))
    require(seen == sorted(chosen), f"resume needs the observers of the run, {seen}", sorted(chosen), "give those")
    return replace(asked, observers=chosen, progress=progress, throw=throw).run(solution)
