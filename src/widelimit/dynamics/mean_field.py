"""The limit: distributional dynamics without noise.

    ∂_t ρ = 2 ξ(t) ∇·(ρ ∇Ψ(θ; ρ))

in reduced coordinates. ρ_t = Σ_j p_j δ(θ_j(t)), where the points start on ρ_0 and move with the flow:
dθ_j/dt = −2 ξ ∇Ψ(θ_j; ρ_t). The only error besides that of the ODE solver is how well Σ_j p_j δ(θ_j(0)) integrates.

Scheme: placement of the points in widelimit.dynamics.start, adaptive Tsit5 in widelimit.dynamics.flow.
"""

from __future__ import annotations

from widelimit.dynamics.flow import flow_run
from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.run import Run, prepare
from widelimit.dynamics.start import initial_points
from widelimit.potentials.landscapes import landscape
from widelimit.problem.statement import Problem


@prepare.register
def _(method: MeanField, problem: Problem, seed: int) -> Run:
    theta, weights = initial_points(problem, method.points, method.placement)
    return flow_run(problem, landscape(problem, reduced=True), theta, weights, method)
