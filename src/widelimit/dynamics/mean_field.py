"""The limit: distributional dynamics without noise.

    ∂_t ρ = 2 ξ(t) ∇·(ρ M ∇Ψ(θ; ρ))

in reduced coordinates. ρ_t = Σ_j p_j δ(θ_j(t)), where the points start on ρ_0 and move with the flow:
dθ_j/dt = −2 ξ M ∇Ψ(θ_j; ρ_t). Besides that of the ODE solver, the only error is how well the points integrate ρ_0.

Scheme: placement of the points in widelimit.solving.placement, adaptive Tsit5 in widelimit.solving.flows.
"""

from __future__ import annotations

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.particle_flow import Interacting, smooth_run
from widelimit.dynamics.rules import rules_of
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.solving.flows import Solver
from widelimit.solving.placement import initial_points
from widelimit.solving.protocol import Run, require_no_noise, require_single


def ready(method: MeanField, problem: Problem, seed: int, replicas: int | None) -> Run:
    """Points placed on ρ_0, in their own field."""
    require_no_noise(problem, method)
    require_single(replicas, "MeanField")
    theta, weights = initial_points(problem, method.points, method.placement)
    flow = Interacting(landscape(problem, reduced=True), rules_of(problem, reduced=True), weights)
    return smooth_run(flow, problem, Solver(method.rtol, method.atol, method.stiff), theta, None)
