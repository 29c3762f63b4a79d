"""Sampling and evolving commute as N → ∞.

    sample then evolve   N neurons drawn from ρ_0, then their own flow          ParticleFlow
    evolve then sample   ρ_0 moved to ρ_t, then N neurons drawn from it         NonlinearFlow: its tracers are just that

For the risk and any ∫χ dρ: mean over replicas and N·Var, each with a standard error, at every save time. The means
differ by O(1/N); N·Var tends to the variance of a central limit theorem, not the same one for both routes, because
interacting neurons share their fluctuations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

import xarray as xr

from widelimit.arguments import functions_of, instance_of, require_replicas, require_seed
from widelimit.dynamics.methods import NonlinearFlow, ParticleFlow
from widelimit.dynamics.solve import Observer, solve
from widelimit.errors import require_keywords
from widelimit.observables.fluctuations import fluctuations
from widelimit.problem.problem import Problem

ROUTES = {"sample then evolve": ParticleFlow, "evolve then sample": NonlinearFlow}


class CommuteOptions(TypedDict, total=False):
    """What may be asked of `commute` by keyword."""

    seed: int
    replicas: int
    save: int
    coordinates: str


def commute(
    problem: Problem, n: int, t_end: float, *, statistics: Mapping[str, Observer] | None = None,
    progress: bool | None = None, **options: Unpack[CommuteOptions],
) -> xr.Dataset:  # fmt: skip
    """Both routes to N neurons at time t: mean, n_var and their errors over (route, statistic, time).

    statistics   observers Cloud → number under their names

    and by keyword

    seed         of every random stream (0); the routes use independent draws, so that the difference of two means has
                 the error √(σ_1² + σ_2²)
    replicas     networks of each route (64)
    save         how many times to save at (5)
    coordinates  "reduced" or "full"

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> both = wl.commute(problem, n=4, t_end=0.01, replicas=3, save=2)  # doctest: +SKIP
    >>> dict(both.sizes)  # doctest: +SKIP
    {'route': 2, 'statistic': 1, 'time': 2}
    """
    instance_of(Problem, problem, "commute", "build one first")
    require_keywords(options, CommuteOptions.__annotations__)
    chosen = functions_of("statistics", statistics)
    asked: CommuteOptions = {"seed": 0, "replicas": 64, "save": 5, "coordinates": "reduced", **options}
    require_seed(asked["seed"])
    require_replicas(asked["replicas"], 3)
    parts = []
    for i, (route, kind) in enumerate(ROUTES.items()):
        solution = solve(
            problem, kind(n, asked["coordinates"]), t_end, seed=asked["seed"] + i, replicas=asked["replicas"],
            save=asked["save"], progress=progress,
        )  # fmt: skip
        parts.append(fluctuations(solution, chosen).assign_coords(route=route))
    return xr.concat(parts, "route")
