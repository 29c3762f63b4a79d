"""The limit: distributional dynamics without noise.

    ∂_t ρ = 2 ξ(t) ∇·(ρ M ∇Ψ(θ; ρ))

in reduced coordinates. ρ_t = Σ_j p_j δ(θ_j(t)), where the points start on ρ_0 and move with the flow:
dθ_j/dt = −2 ξ M ∇Ψ(θ_j; ρ_t). The only error besides that of the ODE solver is how well Σ_j p_j δ(θ_j(0)) integrates.

Scheme: placement of the points in widelimit.dynamics.start, adaptive Tsit5 in widelimit.dynamics.flow.
"""

from __future__ import annotations

from widelimit.dynamics.flow import particle_run
from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.run import Run, prepare, require_no_noise
from widelimit.dynamics.start import initial_points
from widelimit.errors import require
from widelimit.problem.statement import Problem


@prepare.register
def _(method: MeanField, problem: Problem, seed: int, replicas: int | None = None) -> Run:
    require_no_noise(problem, method)
    require(replicas is None, "MeanField draws nothing and has no replicas", replicas, "drop replicas")
    theta, weights = initial_points(problem, method.points, method.placement)
    return particle_run(problem, method, theta, weights, True, seed, None)
