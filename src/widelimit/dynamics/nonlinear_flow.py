"""Nonlinear flow: N passive tracers in the field of the limit.

    dθ̄_i = −2 ξ(t) M ∇Ψ(θ̄_i; ρ_t) dt + √(4 ξ(t) M/β) dB_i,      ρ_t the limit

    θ̄   tracers   (n, D)    full or reduced coordinates; with replicas (R, n, D), all in the field of one limit
    ρ   points    (m, D')   the limit in reduced coordinates, solved beside the tracers in one system

In full coordinates a tracer feels the reduced field through its radii r_g = |P_g w|, so that it moves along its own
direction in every group. The tracers share the noise of the particle flow with the same seed; the points have their
own, and their field then has an error of order m^(−1/2), seen as the distance of the risk to that of the same tracers
in the field of half as many.
Scheme: as for the particle flow, widelimit.solving.flows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.apex import Apex, apex_of
from widelimit.dynamics.mean_field import TIMES_NOISY
from widelimit.dynamics.methods import NonlinearFlow
from widelimit.dynamics.particle_flow import Interacting, kicked, require_explicit, step_normals, too_large
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.frozen import Frozen
from widelimit.potentials.curvature import inverted
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import MOVING
from widelimit.problem.problem import Problem
from widelimit.solving.adaptive import NOT_FINITE, SmoothPlan, Solver, smooth_legs
from widelimit.solving.clock import Stretch, whole_steps
from widelimit.solving.flows import HalfKick, NoiseGrid, Solve, Splitting, noisy_legs
from widelimit.solving.placement import halved_points, initial_neurons, initial_points
from widelimit.solving.protocol import Run, view_neurons
from widelimit.solving.replicas import Leg, Plan
from widelimit.solving.scheme_choice import SchemeChoice
from widelimit.solving.streams import stream, streams

State = tuple[Array, Array]  # points, tracers


class Passive(Frozen, eq=False):
    """Points in their own field, and tracers in the field of the points."""

    limit: Interacting
    rules: Rules
    apex: Apex | None = None  # of the tracers

    def velocity(self, t: Array, state: State, args: None = None) -> State:
        """The velocities of the points (m, D') and of the tracers (n, D)."""
        points, tracers = state
        return self.limit.velocity(t, points), self._driven(t, points, tracers)

    def _driven(self, t: Array, points: Array, tracers: Array) -> Array:
        """The velocity of tracers (…, n, D) in the field of the points."""
        rows, at_points = self.rules.seen(tracers).reshape(-1, tracers.shape[-1]), self.limit.rules.seen(points)
        slope = self.gradient(rows, at_points).reshape(tracers.shape)
        driven = self.rules.held(tracers, self.rules.tangent(tracers, -2 * self.rules.rates(t) * slope))
        if self.apex is None:
            return driven
        return self.apex.leaving(
            tracers, driven, lambda: self.limit.land.field(at_points, self.limit.weights), self.rules.rates(t)
        )

    def seen(self, state: State) -> Array:
        """Points and tracers in reduced coordinates, one below the other."""
        points, tracers = state
        return jnp.concatenate([points, self.rules.columns.reduce(tracers.reshape(-1, tracers.shape[-1]))])

    def gradient(self, tracers: Array, points: Array) -> Array:
        """∇Ψ at tracers (n, D) in the field of the points."""
        reduced, pull_back = jax.vjp(self.rules.columns.reduce, tracers)
        return pull_back(self.limit.land.gradient(reduced, points, self.limit.weights))[0]

    def implicit(self, t: Array, state: State, eta: Array) -> Solve:
        """The points as without tracers, then every tracer for itself."""
        points, tracers = state
        of_points = self.limit.implicit(t, points, eta)
        _, along = jax.linearize(lambda tracers: self._driven(t, points, tracers), tracers)
        axes = jnp.eye(tracers.shape[-1])
        blocks = jnp.stack([along(jnp.broadcast_to(e, tracers.shape)) for e in axes], axis=-1)
        alone = inverted(axes - eta * blocks.reshape(-1, *axes.shape)).reshape(blocks.shape)

        def solve(b: State) -> State:
            x = of_points(b[0])
            pushed = jax.jvp(lambda points: self._driven(t, points, tracers), (points,), (x,))[1]
            return x, jnp.einsum("...ij,...j->...i", alone, b[1] + eta * pushed)

        return solve

    def normals(self, keys: State, step: Array, state: State) -> State:
        """The normals of a step of the noise, those of the tracers shared with GD."""
        one = partial(step_normals, step)
        tracers = (one if keys[1].ndim == 0 else jax.vmap(one))(keys[1], state[1])
        return self.limit.normals(keys[0], step, state[0]), tracers

    def kick(self, keys: State, at: HalfKick, state: State, rest: State) -> tuple[State, State]:
        """Points and tracers after a half kick, each from its own random stream."""
        one = partial(kicked, self.rules, at)
        tracers, left = (one if keys[1].ndim == 0 else jax.vmap(one))(keys[1], state[1], rest[1])
        points, other = self.limit.kick(keys[0], at, state[0], rest[0])
        return (points, tracers), (other, left)

    def retract(self, state: State) -> State:
        """Points and tracers back on the sphere, if they live there."""
        return self.limit.retract(state[0]), self.rules.retract(state[1])

    def inside(self, state: State, before: State) -> State:
        """Points and tracers, with radii below 0 put at 0, and w put at 0 where it came too close to the apex."""
        tracers = self.rules.inside(state[1])
        tracers = tracers if self.apex is None else self.apex.arrived(tracers, before[1])
        return self.limit.inside(state[0], before[0]), tracers

    def held(self, state: State, velocity: State) -> State:
        """A velocity without what would take radii at the origin below 0."""
        tracers = self.rules.held(state[1], velocity[1])
        tracers = tracers if self.apex is None else self.apex.held(state[1], tracers)
        return self.limit.held(state[0], velocity[0]), tracers

    def floored(self, floor: float) -> Passive:
        """The same flow, whose landscape sees radii below the floor as if they were at the floor."""
        return replace(self, limit=self.limit.floored(floor), rules=replace(self.rules, floor=floor))

    def during(self, stretch: Stretch) -> Passive:
        """The same flow with another mobility."""
        return replace(self, limit=self.limit.during(stretch), rules=self.rules.during(stretch))

    def on(self, land: Landscape) -> Passive:
        """The same flow on another landscape."""
        return replace(self, limit=self.limit.on(land))


def ready(method: NonlinearFlow, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N tracers drawn from ρ_0, and points placed on it that carry the limit."""
    theta = initial_neurons(problem, seed, method.n, method.coordinates == "reduced", replicas)
    keys = (stream(seed, "field"), streams(seed, "noise", replicas))
    start = Tracers(theta, keys, replicas)
    run = _in_the_field_of(initial_points(problem, method.points, method.placement), method, problem, start)
    if not problem.is_noisy:
        return run
    if not method.check:
        return replace(run, unknown=math.nan)
    fewer = halved_points(problem, method.points, method.placement)
    if fewer is None:
        return run
    return replace(run, twin=_in_the_field_of(fewer, method, problem, start), times=TIMES_NOISY)


class Tracers(NamedTuple):
    """The tracers (n, D), or (R, n, D), and the keys of the noise of the points and of theirs."""

    theta: Array
    keys: tuple[Array, Array]
    replicas: int | None


def _in_the_field_of(carriers: tuple[Array, Array], method: NonlinearFlow, problem: Problem, start: Tracers) -> Run:
    """Tracers in the field of weighted points, ready for the driver."""
    (points, weights), (theta, keys, replicas), reduced = carriers, start, method.coordinates == "reduced"
    of_points, of_tracers = (rules_of(problem, kind) for kind in (True, reduced))
    limit = Interacting(landscape(problem, reduced=True), of_points, weights, apex_of(problem, of_points.columns))
    flow = Passive(limit, of_tracers, apex_of(problem, of_tracers.columns))
    splitting = Splitting(flow)
    solver, step = Solver(method.rtol, method.atol, method.stiff), method.noise_step

    def legs(start: float, stop: float) -> Iterator[Leg]:
        if problem.is_noisy:
            return noisy_legs(splitting, problem, NoiseGrid(step, method.substeps), start, stop)
        return smooth_legs(flow, problem, solver, start, stop)

    view = view_neurons(landscape(problem, reduced), jnp.full(method.n, 1 / method.n), lambda state: state[1])
    if not problem.is_noisy:
        scheme = SchemeChoice.of(solver, limit.land, len(weights))
        smooth = SmoothPlan(legs, keys, replicas, "shared", limit.land, weights, scheme, rows=flow.seen)
        run = Run((points, theta), smooth.advance, view, lambda t: t, NOT_FINITE, plan=smooth, slopes=MOVING)
        return replace(run, memory=scheme, notes=scheme.notes)
    require_explicit(method)
    plan = Plan(legs, keys, replicas, "shared", limit.land, weights, rows=flow.seen)
    return Run((points, theta), plan.advance, view, whole_steps(step), too_large(step), plan=plan, slopes=MOVING)
