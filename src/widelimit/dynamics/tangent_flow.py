"""Gradient flow of the tangent model: N neurons linearised at their start.

    dθ_i/dt = −2 ξ(t) M [ Σ_q p_q (F̄_q − y_q) ∇Φ_q(θ_i⁰) + λ ∇v(θ_i) ],     F̄ = (1/N) Σ_j Φ(θ_j⁰) + ∇Φ(θ_j⁰)(θ_j − θ_j⁰)

    rows   (n, 2D)   θ beside its start θ⁰

A linear system: the lazy limit α → ∞ of the particle flow from the same neurons. A radius may become negative in it.
Scheme: that of the particle flow, on the landscape of widelimit.potentials.tangent_landscape.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import TangentFlow
from widelimit.dynamics.particle_flow import Interacting, smooth_run
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.errors import require
from widelimit.potentials.tangent_landscape import tangent_landscape
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import Solver
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Run, require_no_noise, view_started


class StartedRules(Rules):
    """The rules of rows (θ, θ⁰): θ moves freely, θ⁰ does not."""

    def rates(self, t: Array | float) -> Array:
        """ξ m of every column, 0 for θ⁰, (2D,)."""
        own = super().rates(t)
        return jnp.concatenate([own, jnp.zeros_like(own)])

    def columnwise(self, values: Array) -> Array:
        """Numbers of the blocks for every column, 0 for θ⁰, (2D,)."""
        own = super().columnwise(values)
        return jnp.concatenate([own, jnp.zeros_like(own)])

    def inside(self, theta: Array) -> Array:
        """The rows themselves."""
        return theta

    def is_below(self, theta: Array) -> Array:
        """Nowhere."""
        return jnp.zeros(theta.shape, bool)

    def seen(self, theta: Array) -> Array:
        """The rows themselves."""
        return theta

    def held(self, theta: Array, velocity: Array) -> Array:
        """The velocity itself."""
        return velocity


def started_rules(problem: Problem, reduced: bool) -> StartedRules:
    """The rules of linearised neurons."""
    rules = rules_of(problem, reduced)
    require(not rules.on_sphere, "the tangent model needs inner weights that move freely", "inner='sphere'",
            "use inner='free'")  # fmt: skip
    return StartedRules(rules.columns, rules.mobility, rules.beta)


def beside_start(theta: Array) -> Array:
    """The rows (θ, θ⁰) at the start, (…, n, 2D)."""
    return jnp.concatenate([theta, theta], axis=-1)


def ready(method: TangentFlow, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N neurons drawn from ρ_0, those of the particle flow with the same seed."""
    require_no_noise(problem, method)
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    weights = jnp.full(method.n, 1 / method.n)
    flow = Interacting(tangent_landscape(problem, reduced), started_rules(problem, reduced), weights)
    solver = Solver(method.rtol, method.atol, method.stiff)
    run = smooth_run(flow, problem, solver, beside_start(theta), replicas)
    return replace(run, view=view_started(flow.land, weights))
