"""Gradient descent on the population risk.

    θ_i ← θ_i − 2 s_k M ∇Ψ(θ_i; ρ^N) + √(4 s_k M/β) g_i^k,      s_k = ε ξ(kε), less for a last step cut by t_end

    θ   theta   (n, D)   full coordinates, or reduced ones, where the noise has a law of its own
    M   rates   (D,)     mobility at time kε

The steps of SGD with the expectation over the sample taken: explicit Euler for the particle flow, order 1. Where
nothing but θ changes from step to step, and a kernel of many pairs makes a gradient dear, small steps are taken many at
a time (widelimit.dynamics.leaps), with the error of the flows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.leaps import descend
from widelimit.dynamics.methods import GD
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.frozen import Frozen, static
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.pairwise_landscape import PairwiseLandscape
from widelimit.potentials.refinement import MOVING
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Constant, Steps, steps_of
from widelimit.solving.clock import Chunk, chunks, whole_steps
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Run, view_neurons
from widelimit.solving.replicas import MANY, Leg, Plan, mapping_of
from widelimit.solving.streams import streams

STEPS_PER_CALL = 64  # compiled together; after each call progress is reported and the landscape certified again
LEAPT_PER_CALL = 4096  # the same where many steps are one leap


class Descent(Frozen, eq=False):
    """Neurons in their own field, step by step, or in leaps."""

    land: Landscape
    rules: Rules
    steps: Steps
    weights: Array
    rtol: float
    leaps: bool = static(default=False)

    def step(self, k: Array, theta: Array, key: Array, share: Array) -> Array:
        """θ after a share of step k."""
        size, rates = share * self.steps.sizes(k), self.rules.rates(k * self.steps.step)
        moved = theta - 2 * size * rates * self.land.self_gradient(theta, self.weights)
        moved = self.rules.lengths(moved)
        if self.rules.is_noisy:
            moved = self.rules.kick(jax.random.fold_in(key, k), moved, rates, size)
        return self.rules.retract(moved)

    def move(self, theta: Array, key: Array, chunk: Chunk) -> Array:
        """θ after some steps."""

        def body(k: Array, theta: Array) -> Array:
            return self.step(k, theta, key, chunk.share(k))

        if not self.leaps:
            return jax.lax.fori_loop(chunk.first, chunk.last, body, theta)
        rates = -2 * self.steps.first * self.rules.rates(0.0)
        return descend(lambda theta: rates * self.land.self_gradient(theta, self.weights), theta, chunk, self.rtol)

    def on(self, land: Landscape) -> Descent:
        """The same descent on another landscape."""
        return replace(self, land=land)


def ready(method: GD, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N neurons drawn from ρ_0."""
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    weights = jnp.full(method.n, 1 / method.n)
    steps = steps_of(problem.schedule, method.step)
    rules = rules_of(problem, reduced)
    alike = isinstance(problem.schedule, Constant) and problem.rates.is_constant and not rules.is_noisy
    land = landscape(problem, reduced)
    leaps = alike and method.n >= MANY and isinstance(land, PairwiseLandscape) and not rules.on_sphere
    descent = Descent(land, rules, steps, weights, method.rtol, leaps)

    def legs(start: float, stop: float) -> Iterator[Leg]:
        for chunk in chunks(start, stop, method.step, LEAPT_PER_CALL if leaps else STEPS_PER_CALL):
            yield Leg(descent, chunk, chunk.end * method.step)

    plan = Plan(legs, streams(seed, "noise", replicas), replicas, mapping_of(theta), descent.land, weights)
    advice = f"the step {method.step:g} is too large: try step={method.step / 4:.2g} or less"
    view = view_neurons(descent.land, weights)
    return Run(
        theta, plan.advance, view, whole_steps(method.step), advice, falls=problem.risk_falls, plan=plan, slopes=MOVING
    )
