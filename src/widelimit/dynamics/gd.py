"""Gradient descent on the population risk.

    θ_i ← θ_i − 2 s_k M ∇Ψ(θ_i; ρ^N) + √(4 s_k M/β) g_i^k,      s_k = ε ξ(kε)

    θ   theta   (n, D)   full coordinates, or reduced ones, where the noise has a law of its own
    M   rates   (D,)     mobility at time kε

The steps of SGD with the expectation over the sample taken: explicit Euler for the particle flow, order 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import GD
from widelimit.dynamics.motion import Motion, motion
from widelimit.dynamics.run import Run, Tick, carry, chunks, initial_neurons, per_replica, prepare, whole_steps
from widelimit.dynamics.streams import streams
from widelimit.potentials.landscape_base import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.schedules import Schedule, step_sizes
from widelimit.problem.statement import Problem

STEPS_PER_CALL = 64  # between two looks at the clock and at the certificate of the landscape


@dataclass(frozen=True)
class Descent:
    """All that stays the same from step to step."""

    motion: Motion
    schedule: Schedule
    step: float


@prepare.register
def _(method: GD, problem: Problem, seed: int, replicas: int | None = None) -> Run:
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    descent = Descent(motion(problem, reduced), problem.schedule, method.step)
    land, weights, keys = (
        landscape(problem, reduced),
        jnp.full(method.n, 1 / method.n),
        streams(seed, "noise", replicas),
    )

    def move(cheap: Landscape, theta: Array, span: tuple[int, int]) -> Array:
        return gd_steps(cheap, descent, replicas, theta, weights, keys, *span)

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        for span in chunks(round(start / method.step), round(stop / method.step), STEPS_PER_CALL):
            theta = carry(land, theta, weights, partial(move, span=span))
            if not bool(jnp.isfinite(theta).all()):
                return theta
            tick(span[1] * method.step)
        return theta

    advice = f"the step {method.step:g} is too large: try step={method.step / 4:.2g} or less"
    return Run(theta, weights, land, advance, whole_steps(method.step), advice)


@partial(jax.jit, static_argnums=(0, 1, 2))
def gd_steps(
    land: Landscape, descent: Descent, replicas: int | None, theta: Array, weights: Array, keys: Array, first: Array,
    last: Array,
) -> Array:  # fmt: skip
    """The iterates after steps first, …, last − 1."""

    def body(k: Array, theta: Array) -> Array:
        size = step_sizes(descent.schedule, descent.step, k)
        return per_replica(partial(_one_step, land, descent, weights, k, size), replicas)(theta, keys)

    return jax.lax.fori_loop(first, last, body, theta)


def _one_step(
    land: Landscape, descent: Descent, weights: Array, k: Array, size: Array, theta: Array, key: Array
) -> Array:
    rules = descent.motion
    rates = rules.rates(k * descent.step)
    moved = rules.lengths(theta - 2 * size * rates * land.self_gradient(theta, weights))
    if rules.is_noisy:
        moved = rules.kick(jax.random.fold_in(key, k), moved, rates, size)
    return rules.retract(moved)
