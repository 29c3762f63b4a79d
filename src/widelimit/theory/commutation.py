"""Sampling and evolving commute as N → ∞.

    sample then evolve   N neurons drawn from ρ_0, then their own flow          ParticleFlow
    evolve then sample   ρ_0 moved to ρ_t, then N neurons drawn from it         NonlinearFlow: its tracers are just that

For the risk and any ∫χ dρ: mean over replicas and N·Var, each with a standard error, at every save time. The means
differ by O(1/N); N·Var tends to the variance of a central limit theorem, not the same one for both routes, because
interacting neurons share their fluctuations.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from widelimit.dynamics.methods import NonlinearFlow, ParticleFlow
from widelimit.dynamics.solve import Observer, solve
from widelimit.observables.fluctuations import fluctuations
from widelimit.problem.problem import Problem

ROUTES = {"sample then evolve": ParticleFlow, "evolve then sample": NonlinearFlow}


def commute(
    problem: Problem,
    n: int,
    t_end: float,
    *,
    seed: int = 0,
    replicas: int = 64,
    save: int = 5,
    coordinates: str = "reduced",
    statistics: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Both routes to N neurons at time t: mean, n_var and their errors over (route, statistic, time).

    The routes use independent draws, so that the difference of two means has the error √(σ_1² + σ_2²).
    """
    parts = []
    for i, (route, kind) in enumerate(ROUTES.items()):
        solution = solve(
            problem, kind(n, coordinates), t_end, seed=seed + i, replicas=replicas, save=save, progress=progress
        )
        parts.append(fluctuations(solution, statistics).assign_coords(route=route))
    return xr.concat(parts, "route")
