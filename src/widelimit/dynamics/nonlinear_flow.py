"""Nonlinear flow: N passive tracers in the field of the limit.

    dθ̄_i = −2 ξ(t) M ∇Ψ(θ̄_i; ρ_t) dt + √(4 ξ(t) M/β) dB_i,      ρ_t the limit

    θ̄   tracers   (n, D)    full or reduced coordinates; with replicas (R, n, D), all in the field of one limit
    ρ   points    (m, D')   the limit in reduced coordinates, solved beside the tracers in one system

In full coordinates a tracer feels the reduced field through its radii r_g = |P_g w|, so that it moves along its own
direction in every group. The tracers share the noise of the particle flow with the same seed; the points have their
own, and their field then has an error of order m^(−1/2).
Scheme: as for the particle flow, widelimit.solving.flows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import NonlinearFlow
from widelimit.dynamics.particle_flow import Interacting, kicked, require_explicit, too_large
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.frozen import Frozen
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.solving.clock import Stretch, whole_steps
from widelimit.solving.flows import GAVE_UP, HalfStep, Solver, noisy_legs, smooth_legs
from widelimit.solving.placement import initial_neurons, initial_points
from widelimit.solving.protocol import Run, view_neurons
from widelimit.solving.replicas import Leg, Plan
from widelimit.solving.streams import stream, streams

State = tuple[Array, Array]  # points, tracers


class Passive(Frozen, eq=False):
    """Points in their own field, and tracers in the field of the points."""

    limit: Interacting
    rules: Rules

    def velocity(self, t: Array, state: State, args: None = None) -> State:
        """The velocities of the points (m, D') and of the tracers (n, D)."""
        points, tracers = state
        slope = self._gradient(tracers.reshape(-1, tracers.shape[-1]), points).reshape(tracers.shape)
        return self.limit.velocity(t, points), self.rules.tangent(tracers, -2 * self.rules.rates(t) * slope)

    def _gradient(self, tracers: Array, points: Array) -> Array:
        """∇Ψ at the tracers (n, D)."""
        reduced, pull_back = jax.vjp(self.rules.columns.reduce, tracers)
        return pull_back(self.limit.land.gradient(reduced, points, self.limit.weights))[0]

    def kick(self, keys: State, at: HalfStep, state: State) -> State:
        """Points and tracers after the noise of half a step, each from its own random stream."""
        one = partial(_kicked, self.rules, at)
        tracers = (one if keys[1].ndim == 0 else jax.vmap(one))(keys[1], state[1])
        return self.limit.kick(keys[0], at, state[0]), tracers

    def retract(self, state: State) -> State:
        """Points and tracers back on the sphere, if they live there."""
        return self.limit.retract(state[0]), self.rules.retract(state[1])

    def during(self, stretch: Stretch) -> Passive:
        """The same flow with another mobility."""
        return replace(self, limit=self.limit.during(stretch), rules=self.rules.during(stretch))

    def on(self, land: Landscape) -> Passive:
        """The same flow on another landscape."""
        return replace(self, limit=self.limit.on(land))


def _kicked(rules: Rules, at: HalfStep, key: Array, theta: Array) -> Array:
    return kicked(rules, key, at, theta)


def ready(method: NonlinearFlow, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N tracers drawn from ρ_0, and points placed on it that carry the limit."""
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    points, weights = initial_points(problem, method.points, method.placement)
    limit = Interacting(landscape(problem, reduced=True), rules_of(problem, reduced=True), weights)
    flow = Passive(limit, rules_of(problem, reduced))
    solver, step = Solver(method.rtol, method.atol, method.stiff), method.noise_step

    def legs(start: float, stop: float) -> Iterator[Leg]:
        if problem.is_noisy:
            return noisy_legs(flow, problem, step, start, stop)
        return smooth_legs(flow, problem, solver, start, stop)

    keys = (stream(seed, "field"), streams(seed, "noise", replicas))
    advance = Plan(legs, keys, replicas, "shared").advance
    view = view_neurons(landscape(problem, reduced), jnp.full(method.n, 1 / method.n), lambda state: state[1])
    if not problem.is_noisy:
        return Run((points, theta), advance, view, lambda t: t, GAVE_UP)
    require_explicit(method)
    return Run((points, theta), advance, view, whole_steps(step), too_large(step))
