"""The limit: distributional dynamics without noise.

    ∂_t ρ = 2 ξ(t) ∇·(ρ M ∇Ψ(θ; ρ))

in reduced coordinates. ρ_t = Σ_j p_j δ(θ_j(t)), where the points start on ρ_0 and move with the flow:
dθ_j/dt = −2 ξ M ∇Ψ(θ_j; ρ_t). Besides that of the ODE solver, the only error is how well the points integrate ρ_0: how
far the risk is from that of half as many points.

Scheme: placement of the points in widelimit.solving.placement, adaptive steps in widelimit.solving.adaptive.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.particle_flow import Interacting, smooth_run
from widelimit.dynamics.rules import rules_of
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import Solver
from widelimit.solving.placement import initial_points, random_coordinates
from widelimit.solving.protocol import Run, require_no_noise, require_single

TIMES = 1.5  # of order 1 at worst: the distance is then the error itself
TIMES_SCATTERED = 3.0  # Sobol points: the distance of two independent sets


def ready(method: MeanField, problem: Problem, seed: int, replicas: int | None) -> Run:
    """Points placed on ρ_0, in their own field."""
    require_no_noise(problem, method)
    require_single(replicas, "MeanField")
    land, rules = landscape(problem, reduced=True), rules_of(problem, reduced=True)
    solver = Solver(method.rtol, method.atol, method.stiff)

    def from_points(theta: Array, weights: Array) -> Run:
        return smooth_run(Interacting(land, rules, weights), problem, solver, theta, None)

    theta, weights = initial_points(problem, method.points, method.placement)
    few, masses = initial_points(problem, max(1, method.points // 2), method.placement)
    run, missing = from_points(theta, weights), len(theta) - len(few)
    if not method.check or missing <= 0:  # no fewer points can carry ρ_0: it is carried exactly
        return run
    passive = few[jnp.arange(missing) % len(few)]  # without mass, so that one compiled function serves both
    twin = from_points(jnp.concatenate([few, passive]), jnp.concatenate([masses, jnp.zeros(missing)]))
    return replace(run, twin=twin, times=TIMES if random_coordinates(problem) == 1 else TIMES_SCATTERED)
