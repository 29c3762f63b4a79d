"""`solve`: from a method to its dynamics, by an explicit table, and through the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from widelimit.dynamics import gd, mean_field, nonlinear_flow, particle_flow, sgd
from widelimit.dynamics.finite_volume import finite_volume
from widelimit.dynamics.jko import jko
from widelimit.dynamics.methods import GD, JKO, SGD, FiniteVolume, MeanField, Method, NonlinearFlow, ParticleFlow
from widelimit.errors import require
from widelimit.problem.problem import Problem
from widelimit.solving.driver import Ready, Request, checked_observers, drive
from widelimit.solving.recorder import Observer
from widelimit.solving.settings import SolveOptions, settings_of
from widelimit.solving.solution import Solution

DYNAMICS: dict[type, Ready] = {
    SGD: sgd.ready,
    GD: gd.ready,
    ParticleFlow: particle_flow.ready,
    NonlinearFlow: nonlinear_flow.ready,
    MeanField: mean_field.ready,
    FiniteVolume: finite_volume.ready,
    JKO: jko.ready,
}


def solve(
    problem: Problem,
    method: Method,
    t_end: float,
    *,
    observers: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
    throw: bool = True,
    **options: Unpack[SolveOptions],
) -> Solution:
    """Run a dynamics from t = 0 to t_end.

    problem    what is learned
    method     `SGD`, `GD`, `ParticleFlow`, `NonlinearFlow`, `MeanField`, `FiniteVolume` or `JKO`
    observers  functions of ρ (a Cloud in the coordinates of ``keep``, or a Density) recorded under their names
    progress   a bar on stderr; by default if it is a terminal
    throw      raise `Diverged` on divergence, with the solution so far in it; otherwise return that

    and by keyword

    seed       of every random stream (0)
    replicas   R independent runs in one go, stacked on the dimension "replica"; the first is the run without replicas
    save       how many equally spaced times to save at (41), or the times themselves (t_end is always saved)
    keep       neurons saved over time in "reduced" or "full" coordinates (the last ones are always kept in full)

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.1, save=3).times
    array([0.  , 0.05, 0.1 ])
    """
    require(isinstance(problem, Problem), "problem must be a wl.Problem", type(problem).__name__, "build one first")
    known = isinstance(method, Method)
    require(known, f"method must be one of wl.{', '.join(kind.__name__ for kind in DYNAMICS)}", method, "choose one")
    settings, ready = settings_of(t_end, options), DYNAMICS[type(method)]
    return drive(Request(problem, method, settings, ready, checked_observers(observers), progress, throw))
