"""Draws from the Gibbs law by long noisy runs, where no grid reaches.

    dθ_i = −2 M ∇Ψ_λ(θ_i; ρ^N) dt + √(4M/β) dB_i          comes to rest at ρ_* up to a bias of order 1/N

Scheme: independent runs of N neurons (ParticleFlow, reduced coordinates where the data allow it) for five times 1/λ, of
which the last half is kept at times 1/(2λ) apart. The risk is that of all neurons kept together. Its error bar is the
sum of four parts, each of which can dominate:

    spread   standard error over the runs (jackknife)
    drift    first half of what is kept against the second
    bias     N neurons against N/2
    draw     standard error of the risk where it is estimated from draws of the data law, else 0
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.errors import require, require_count
from widelimit.measures import Cloud, uniform_cloud
from widelimit.observables.free_energy import free_energy
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Constant

RUNS = 8
KEPT = 6  # times
MOST_COORDINATES = 6  # of an estimated entropy
STEP = 0.01  # of the splitting scheme, in units of 1/(1 + λ)


class Sampled(NamedTuple):
    """ρ_* as equal neurons, its risk, its free energy (NaN in many coordinates), and the error of the risk."""

    rho: Cloud
    risk: float
    free_energy: float
    error: float


def sampled(problem: Problem, n: int, seed: int) -> Sampled:
    """rho, risk, its error and the free energy of ρ_*, from runs of n neurons."""
    require_count("n", n, "1000")
    require(n >= 2, "simulating the Gibbs law needs at least 2 neurons", n, "try n=1000")
    problem = replace(problem, schedule=Constant())
    wide, narrow = (_draws(problem, count, seed) for count in (n, n // 2))
    risk = _risk(problem, wide)
    left_out = np.array([_risk(problem, np.delete(wide, r, axis=0)) for r in range(RUNS)])
    spread = math.sqrt((RUNS - 1) / RUNS * np.sum((left_out - left_out.mean()) ** 2))
    drift = abs(_risk(problem, wide[:, : KEPT // 2]) - _risk(problem, wide[:, KEPT // 2 :]))
    bias = abs(risk - _risk(problem, narrow))
    rho = _pooled(problem, wide)
    few = len(problem.reduced_coordinates) <= MOST_COORDINATES
    energy = free_energy(problem)(rho) if few else math.nan
    draw = landscape(problem, reduced=_is_reduced(problem)).risk_error(rho)
    return Sampled(rho, risk, energy, spread + drift + bias + draw)


def _draws(problem: Problem, n: int, seed: int) -> np.ndarray:
    """Neurons at the times kept, (runs, times, n, D)."""
    rest = 1 / problem.ridge
    coordinates = "reduced" if _is_reduced(problem) else "full"
    step = STEP / (1 + problem.ridge)
    method = ParticleFlow(n, coordinates, noise_step=step)
    times = [float(t) for t in np.linspace(2.5, 5.0, KEPT) * rest]
    run = solve(problem, method, times[-1], seed=seed, replicas=RUNS, save=times, keep=coordinates)
    return run.dataset["theta"].values[:, -KEPT:]


def _is_reduced(problem: Problem) -> bool:
    """Whether the data allow reduced coordinates."""
    return problem.reduced.is_reduced and not problem.no_reduction


def _pooled(problem: Problem, draws: np.ndarray) -> Cloud:
    names = problem.reduced_coordinates if _is_reduced(problem) else problem.coordinates
    return uniform_cloud(draws.reshape(-1, draws.shape[-1]), names)


def _risk(problem: Problem, draws: np.ndarray) -> float:
    """R of all draws together."""
    return landscape(problem, reduced=_is_reduced(problem)).risk(_pooled(problem, draws))
