"""Nonlinear flow: N passive tracers in the field of the limit.

    dθ̄_i = −2 ξ(t) M ∇Ψ(θ̄_i; ρ_t) dt + √(4 ξ(t) M/β) dB_i,      ρ_t the limit

    θ̄   tracers   (n, D)    full or reduced coordinates; with replicas (R, n, D), all in the field of one limit
    ρ   points    (m, D')   the limit in reduced coordinates, solved beside the tracers in one system

In full coordinates the field is that of the reduced one through r_g = |P_g w|, so that a tracer moves along its own
direction in every group. The tracers share the noise of the particle flow with the same seed; the points have their
own, and their field then has an error of order m^(−1/2).
Scheme: as for the particle flow, widelimit.dynamics.flow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.flow import Interacting, advance_flow, advice, kicked, legs, time_grid
from widelimit.dynamics.methods import NonlinearFlow
from widelimit.dynamics.motion import Motion, motion
from widelimit.dynamics.run import Run, Tick, initial_neurons, prepare
from widelimit.dynamics.start import initial_points
from widelimit.dynamics.streams import stream, streams
from widelimit.potentials.landscapes import landscape, reduce
from widelimit.problem.mobility import Mobility
from widelimit.problem.statement import Problem

State = tuple[Array, Array]  # points, tracers


@dataclass(frozen=True)
class Passive:
    """Points in their own field, and tracers in the field of the points."""

    problem: Problem
    limit: Interacting
    rules: Motion

    def __call__(self, t: Any, state: State, weights: Array) -> State:
        """The velocities of the points (m, D') and of the tracers (n, D)."""
        points, tracers = state
        slope = self._gradient(tracers.reshape(-1, tracers.shape[-1]), points, weights).reshape(tracers.shape)
        return self.limit(t, points, weights), self.rules.tangent(tracers, -2 * self.rules.rates(t) * slope)

    def _gradient(self, tracers: Array, points: Array, weights: Array) -> Array:
        """∇Ψ at the tracers (n, D)."""
        if self.rules.dimensions is not None:
            return self.limit.land.gradient(tracers, points, weights)
        reduced, pull_back = jax.vjp(lambda theta: reduce(self.problem, theta), tracers)
        return pull_back(self.limit.land.gradient(reduced, points, weights))[0]

    def kick(self, keys: State, moment: tuple[Any, int], t: Any, state: State, stretch: Any) -> State:
        """Points and tracers after some noise, each with their own."""
        one = partial(kicked, self.rules, moment, t, stretch)
        tracers = (one if keys[1].ndim == 0 else jax.vmap(one))(state[1], keys[1])
        return self.limit.kick(keys[0], moment, t, state[0], stretch), tracers

    def retract(self, state: State) -> State:
        """Both back on the sphere."""
        return self.limit.retract(state[0]), self.rules.retract(state[1])

    def during(self, rates: Mobility) -> Passive:
        """The same field with another mobility."""
        return replace(self, limit=self.limit.during(rates), rules=replace(self.rules, mobility=rates))


@prepare.register
def _(method: NonlinearFlow, problem: Problem, seed: int, replicas: int | None = None) -> Run:
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    points, weights = initial_points(problem, method.points, method.placement)
    flow = Passive(
        problem, Interacting(landscape(problem, reduced=True), motion(problem, reduced=True)), motion(problem, reduced)
    )
    keys = stream(seed, "field"), streams(seed, "noise", replicas)

    def advance(state: State, start: float, stop: float, tick: Tick) -> State:
        for begin, end in legs(problem, method, start, stop):
            state = advance_flow(flow, problem, method, None, state, weights, keys, begin, end)
            tick(end)
        return state

    return Run(
        (points, theta), jnp.full(method.n, 1 / method.n), landscape(problem, reduced), advance,
        time_grid(problem, method), advice(problem, method), lambda state: state[1],
    )  # fmt: skip
