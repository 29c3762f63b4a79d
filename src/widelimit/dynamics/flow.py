"""Particle flow of N neurons.

    dθ_i/dt = −2 ξ(t) ∇Ψ(θ_i; ρ),      ρ = Σ_j p_j δ(θ_j)

    θ   theta     (n, D)   one row per neuron
    p   weights   (n,)     1/n for a finite network
    Ψ   psi       (n,)     half the first variation of the risk, V(θ) + ∫ U(θ, ·) dρ + (λ/2)|θ|²

On the clock ∫ξ dt the flow is autonomous, so schedules that are infinite at 0 need no care. Fixed columns do not move.
Scheme: adaptive Tsit5 (diffrax).  Reference: [mmn18].
"""

from __future__ import annotations

from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import MeanField, ParticleFlow
from widelimit.dynamics.run import Run, Tick, prepare, require_no_noise
from widelimit.dynamics.start import initial_reduced
from widelimit.dynamics.streams import stream
from widelimit.potentials.landscape_base import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.statement import Problem

MAX_STEPS = 200_000


@prepare.register
def _(method: ParticleFlow, problem: Problem, seed: int) -> Run:
    reduced = method.coordinates == "reduced"
    theta = initial_reduced(problem, seed, method.n) if reduced else problem.sample_initial(
        stream(seed, "initial"), method.n
    )  # fmt: skip
    return flow_run(problem, landscape(problem, reduced), theta, jnp.full(len(theta), 1 / len(theta)), method)


def flow_run(problem: Problem, land: Landscape, theta: Array, weights: Array, method: ParticleFlow | MeanField) -> Run:
    """The flow of weighted particles, ready for the driver."""
    require_no_noise(problem, method)
    fixed = [n for n, moves in zip(problem.neuron.scalars, problem.neuron.trained, strict=True) if not moves]
    mobility = jnp.asarray([0.0 if name in fixed else 1.0 for name in land.coordinates])

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        clock = (problem.schedule.integral(start), problem.schedule.integral(stop))
        result = integrate(land, theta, weights, mobility, *clock, method.rtol, method.atol)
        tick(stop)
        return result

    return Run(
        theta,
        weights,
        land,
        advance,
        lambda t: t,
        "the solver gave up after 200000 steps or left the numbers: raise rtol and atol, or shorten t_end",
    )


@partial(jax.jit, static_argnums=0)
def integrate(
    land: Landscape, theta: Array, weights: Array, mobility: Array, start: Any, stop: Any, rtol: Any, atol: Any
) -> Array:
    """θ at the clock reading ``stop``; not finite if the solver gives up."""

    def velocity(t: Any, theta: Array, args: Any) -> Array:
        return -2 * mobility * land.gradient(theta, theta, weights)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity), diffrax.Tsit5(), start, stop, None, theta, max_steps=MAX_STEPS, throw=False,
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol), saveat=diffrax.SaveAt(t1=True),
    )  # fmt: skip
    return jnp.where(solution.result == diffrax.RESULTS.successful, solution.ys[0], jnp.nan)
