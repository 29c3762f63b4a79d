"""Particle flow of N neurons.

    dθ_i = −2 ξ(t) M ∇Ψ(θ_i; ρ) dt + √(4 ξ(t) M/β) dB_i,      ρ = Σ_j p_j δ(θ_j)

    θ   theta     (n, D)   one row per neuron
    p   weights   (n,)     1/n for a finite network
    Ψ   psi       (n,)     half the first variation of the risk, V(θ) + ∫ U(θ, ·) dρ + λ v(θ)
    M   rates     (D,)     mobility of every column

On the clock τ = ∫ξ dt the flow is autonomous as long as the mobility is constant, so schedules that are infinite at 0
need no care; time is cut where the mobility jumps.
Scheme: widelimit.solving.flows.  Reference: [mmn18].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.apex import Apex, apex_of
from widelimit.dynamics.methods import MeanField, NonlinearFlow, ParticleFlow
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.errors import require
from widelimit.frozen import Frozen
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import MOVING
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import NOT_FINITE, SmoothPlan, Solver, smooth_legs
from widelimit.solving.clock import Stretch, whole_steps
from widelimit.solving.flows import HalfKick, NoiseGrid, Solve, Splitting, noisy_legs
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Run, view_neurons
from widelimit.solving.replicas import Leg, Plan, mapping_of
from widelimit.solving.scheme_choice import SchemeChoice
from widelimit.solving.streams import streams

Kicked = tuple[Array, Array]  # neurons, and what is left of the normals of the step


class Interacting(Frozen, eq=False):
    """Weighted particles in their own field."""

    land: Landscape
    rules: Rules
    weights: Array
    apex: Apex | None = None

    def velocity(self, t: Array, theta: Array, args: None = None) -> Array:
        """−2 M ∇Ψ(θ; ρ), along the sphere if θ is on it, (n, D)."""
        seen = self.rules.seen(theta)
        velocity = self._driven(t, theta, self.land.self_gradient(seen, self.weights))
        if self.apex is None:
            return velocity
        return self.apex.leaving(theta, velocity, lambda: self.land.field(seen, self.weights), self.rules.rates(t))

    def _driven(self, t: Array, theta: Array, gradient: Array) -> Array:
        """The velocity of neurons that feel a gradient."""
        return self.held(theta, self.rules.tangent(theta, -2 * self.rules.rates(t) * gradient))

    def implicit(self, t: Array, theta: Array, eta: Array) -> Solve:
        """The linear systems of a stiff flow."""
        seen = self.rules.seen(theta)
        gradient, curvature = self.land.self_gradient(seen, self.weights), self.land.curvature(seen, self.weights)
        fixed = self.rules.is_below(theta) if self.apex is None else self.rules.is_below(theta) | self.apex.fixed(theta)
        driven = curvature.unmoved(fixed).applied(partial(self._driven_along, t, theta, gradient))
        turned = jax.vmap(jax.jacfwd(lambda row, slope: self._driven(t, row, slope)))(theta, gradient)
        return driven._replace(blocks=driven.blocks + turned).solver(eta)

    def _driven_along(self, t: Array, theta: Array, gradient: Array, change: Array) -> Array:
        """The change of that velocity with the gradient."""
        return jax.jvp(partial(self._driven, t, theta), (gradient,), (change,))[1]

    def normals(self, key: Array, step: Array, theta: Array) -> Array:
        """The normals of a step of the noise, those of GD."""
        return step_normals(step, key, theta)

    def kick(self, key: Array, at: HalfKick, theta: Array, rest: Array) -> Kicked:
        """The neurons after a half kick."""
        return kicked(self.rules, at, key, theta, rest)

    def retract(self, theta: Array) -> Array:
        """The neurons back on the sphere, if they live there."""
        return self.rules.retract(theta)

    def inside(self, theta: Array, before: Array) -> Array:
        """The neurons, with radii below 0 put at 0, and w put at 0 where it came too close to the apex."""
        inside = self.rules.inside(theta)
        return inside if self.apex is None else self.apex.arrived(inside, before)

    def held(self, theta: Array, velocity: Array) -> Array:
        """A velocity without what would take radii at the origin below 0."""
        held = self.rules.held(theta, velocity)
        return held if self.apex is None else self.apex.held(theta, held)

    def floored(self, floor: float) -> Interacting:
        """The same flow, whose landscape sees radii below the floor as if they were at the floor."""
        return replace(self, rules=replace(self.rules, floor=floor))

    def during(self, stretch: Stretch) -> Interacting:
        """The same flow with another mobility."""
        return replace(self, rules=self.rules.during(stretch))

    def on(self, land: Landscape) -> Interacting:
        """The same particles on another landscape."""
        return replace(self, land=land)


def step_normals(step: Array, key: Array, theta: Array) -> Array:
    """g of a step of the noise: what `Rules.kick` draws in the same step of GD and SGD."""
    return jax.random.normal(jax.random.fold_in(key, step), theta.shape, theta.dtype)


def kicked(rules: Rules, at: HalfKick, key: Array, theta: Array, rest: Array) -> Kicked:
    """Neurons after a half kick, and what it leaves of the normals of the step."""
    own = jax.random.fold_in(jax.random.fold_in(key, at.step), at.number)
    g = at.normals(own, rest)
    return rules.retract(rules.kick_by(g, own, theta, rules.rates(at.t), at.stretch)), rest - g


def ready(method: ParticleFlow, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N neurons drawn from ρ_0, in their own field."""
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    land, rules, weights = landscape(problem, reduced), rules_of(problem, reduced), jnp.full(method.n, 1 / method.n)
    flow = Interacting(land, rules, weights, apex_of(problem, rules.columns))
    solver = Solver(method.rtol, method.atol, method.stiff)
    if not problem.is_noisy:
        return smooth_run(flow, problem, solver, theta, replicas)
    require_explicit(method)
    grid = NoiseGrid(method.noise_step, method.substeps)
    return noisy_run(flow, problem, grid, theta, streams(seed, "noise", replicas))


def smooth_run(flow: Interacting, problem: Problem, solver: Solver, theta: Array, replicas: int | None) -> Run:
    """Weighted particles without noise, ready for the driver."""

    def legs(start: float, stop: float) -> Iterator[Leg]:
        return smooth_legs(flow, problem, solver, start, stop)

    no_keys = None if replicas is None else jnp.zeros(replicas)
    scheme = SchemeChoice.of(solver, flow.land, len(flow.weights))
    plan = SmoothPlan(legs, no_keys, replicas, mapping_of(theta), flow.land, flow.weights, scheme)
    view = view_neurons(flow.land, flow.weights)
    return Run(
        theta, plan.advance, view, lambda t: t, NOT_FINITE, memory=scheme, notes=scheme.notes, plan=plan, slopes=MOVING
    )


def noisy_run(flow: Interacting, problem: Problem, grid: NoiseGrid, theta: Array, keys: Array) -> Run:
    """Weighted particles with noise, ready for the driver; one key, or those of all replicas (R,)."""
    splitting = Splitting(flow)

    def legs(start: float, stop: float) -> Iterator[Leg]:
        return noisy_legs(splitting, problem, grid, start, stop)

    replicas, step = len(keys) if keys.ndim else None, grid.step
    plan = Plan(legs, keys, replicas, mapping_of(theta), flow.land, flow.weights)
    view = view_neurons(flow.land, flow.weights)
    return Run(theta, plan.advance, view, whole_steps(step), too_large(step), plan=plan, slopes=MOVING)


def require_explicit(method: ParticleFlow | NonlinearFlow | MeanField) -> None:
    """Refuse an implicit solver with noise."""
    require(not method.stiff, "noise goes by an explicit splitting scheme and needs stiff=False", method, "drop stiff")


def too_large(step: float) -> str:
    """What to do when the splitting scheme fails."""
    return f"the noise_step {step:g} is too large: try noise_step={step / 4:.2g} or less"
