"""The limit: distributional dynamics, carried by points.

    ∂_t ρ = 2 ξ(t) ∇·(ρ M ∇Ψ(θ; ρ)) + 2 ξ(t) β^{-1} ∇·(M ∇ρ)

in reduced coordinates. ρ_t = Σ_j p_j δ(θ_j(t)), where the points start on ρ_0 and move with the flow:

    dθ_j = −2 ξ M ∇Ψ(θ_j; ρ_t) dt + √(4 ξ M/β) dB_j

Besides that of the solver, the only error is how well the points integrate ρ_t: how far the risk is from that of half
as many points. Without noise it is that of ρ_0, which they integrate by their places; with noise they scatter, each on
its own path, and the error is of order m^(−1/2). The points are those of the nonlinear flow with the same seed.

Scheme: placement of the points in widelimit.solving.placement, adaptive steps in widelimit.solving.adaptive, splitting
with noise in widelimit.solving.flows.
"""

from __future__ import annotations

import math
from dataclasses import replace

from jax import Array

from widelimit.dynamics.apex import apex_of
from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.particle_flow import Interacting, noisy_run, require_explicit, smooth_run
from widelimit.dynamics.rules import rules_of
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import Solver
from widelimit.solving.flows import NoiseGrid
from widelimit.solving.placement import halved_points, initial_points, random_coordinates
from widelimit.solving.protocol import Run, require_single
from widelimit.solving.streams import stream

TIMES = 1.5  # of order 1 at worst: the distance is then the error itself
TIMES_SCATTERED = 3.0  # Sobol points: the distance of two independent sets
TIMES_NOISY = 4.0  # half the points meet the noise of the first half: (A − B)/2 beside (A + B)/2, 84 % covered

ON_A_GRID = "with noise the points scatter: FiniteVolume knows the limit in one or two coordinates much better"


def ready(method: MeanField, problem: Problem, seed: int, replicas: int | None) -> Run:
    """Points placed on ρ_0, in their own field."""
    require_single(replicas, "MeanField")
    land, rules = landscape(problem, reduced=True), rules_of(problem, reduced=True)
    solver, apex = Solver(method.rtol, method.atol, method.stiff), apex_of(problem, rules.columns)

    def from_points(theta: Array, weights: Array) -> Run:
        flow = Interacting(land, rules, weights, apex)
        if not problem.is_noisy:
            return smooth_run(flow, problem, solver, theta, None)
        require_explicit(method)
        grid = NoiseGrid(method.noise_step, method.substeps)
        noisy = noisy_run(flow, problem, grid, theta, stream(seed, "field"))
        return noisy if len(problem.reduced_coordinates) > 2 else replace(noisy, notes=[ON_A_GRID])

    run = from_points(*initial_points(problem, method.points, method.placement))
    if not method.check:
        exact = random_coordinates(problem) == 0 and not problem.is_noisy
        return run if exact else replace(run, unknown=math.nan)
    fewer = halved_points(problem, method.points, method.placement)
    if fewer is None:  # no fewer points can carry ρ_0: it is carried exactly
        return run
    scattered = random_coordinates(problem) != 1
    times = TIMES_NOISY if problem.is_noisy else TIMES_SCATTERED if scattered else TIMES
    return replace(run, twin=from_points(*fewer), times=times)
