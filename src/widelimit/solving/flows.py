"""Flows in continuous time: from a velocity to a state at a later time.

    dy = velocity(y) dτ + noise,     τ = ∫ξ dt the clock

Scheme: without noise widelimit.solving.adaptive; with noise Strang splitting, half a kick, a midpoint step, half a
kick, which is exact in law for the noise, of weak order 2, and of order 1 on every path.

A step of the noise is cut into m substeps, hence into 2m half kicks. Its normals g are those of the step of the same
number of GD and SGD; the half kicks have normals g_1, …, g_2m with Σ_i g_i = √(2m) g, drawn one after the other:

    g_i = S/q + √(1 − 1/q) z_i,     S what is left of √(2m) g, q how many are left, z_i fresh normals

which are independent normals if g is one. So the flow and the discrete dynamics move on one Brownian path, known at the
multiples of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from widelimit.frozen import Frozen
from widelimit.potentials.landscape import Landscape
from widelimit.problem.problem import Problem
from widelimit.solving.clock import Chunk, Stretch, chunks
from widelimit.solving.protocol import State
from widelimit.solving.replicas import Leg

STEPS_PER_CALL = 64  # of the splitting scheme; after each call progress is reported and the landscape certified again

VectorField = Callable[[ArrayLike, State, None], State]
Solve = Callable[[State], State]


class HalfKick(NamedTuple):
    """Which half kick it is.

    step     number of the step of the noise
    number   of the half kick in it, from 0
    left     how many are left, this one included
    t        time at which the rates are read
    stretch  Δτ of the clock that it covers
    """

    step: Array
    number: Array
    left: Array
    t: Array
    stretch: Array

    def normals(self, key: Array, rest: Array) -> Array:
        """g_i, from what is left of the normals of the step and the key of this half kick."""
        z = jax.random.normal(key, rest.shape, rest.dtype)
        return rest / self.left + jnp.sqrt(1 - 1 / self.left) * z


class Flow(Protocol):
    """A right-hand side: velocity per unit of the clock, its noise, and its constraint."""

    def velocity(self, t: Array, state: State, args: None = None) -> State:
        """dy/dτ, or dy/dt in a stretch of time; ``args`` is always None (diffrax hands it over)."""

    def normals(self, keys: State, step: Array, state: State) -> State:
        """The normals g of a step of the noise, one for every number of the state."""

    def kick(self, keys: State, at: HalfKick, state: State, rest: State) -> tuple[State, State]:
        """The state after a half kick, back on its constraint, and what it leaves of the normals of the step."""

    def retract(self, state: State) -> State:
        """The state back on its constraint."""

    def inside(self, state: State, before: State) -> State:
        """The state after a step from ``before``: radii below 0 are put at 0, and inner weights that came too close to
        the apex w = 0 of a kink are put there (widelimit.dynamics.apex)."""

    def held(self, state: State, velocity: State) -> State:
        """A velocity without what would take radii at the origin below 0."""

    def implicit(self, t: Array, state: State, eta: Array) -> Solve:
        """b ↦ (1 − ηJ)^{-1} b with J the derivative of the velocity."""

    def floored(self, floor: float) -> Self:
        """The same flow, whose landscape sees radii below the floor as if they were at the floor."""

    def during(self, stretch: Stretch) -> Self:
        """The same flow with the rates of a stretch of time."""

    def on(self, land: Landscape) -> Self:
        """The same flow on another landscape."""


class NoisySteps(NamedTuple):
    """Some steps of length ``step``, the stretches of the clock they cover, (STEPS_PER_CALL,), and m."""

    chunk: Chunk
    step: float
    stretches: np.ndarray
    substeps: int


class Splitting(Frozen, eq=False):
    """A flow with noise, by the splitting scheme."""

    flow: Flow

    def on(self, land: Landscape) -> Splitting:
        """The same flow on another landscape, with the same scheme."""
        return Splitting(self.flow.on(land))

    def move(self, state: State, keys: State, leg: NoisySteps) -> State:
        """The state after the steps of the leg."""
        flow, chunk = self.flow, leg.chunk

        def drift(t: Array, stretch: Array, state: State) -> State:
            def to(i: int, middle: State) -> State:  # the middle of the step, then its end
                by = stretch * jnp.where(i == 0, 0.5, 1.0)
                return flow.retract(jax.tree.map(lambda y, v: y + by * v, state, flow.velocity(t, middle)))

            return jax.lax.fori_loop(0, 2, to, state)

        def half(k: Array, i: Array, both: tuple[State, State]) -> tuple[State, State]:
            m, stretch = leg.substeps, leg.stretches[k - chunk.first] / leg.substeps
            t = (k + chunk.share(k) * (i // 2 + 0.5) / m) * leg.step
            state, rest = flow.kick(keys, HalfKick(k, i, 2 * m - i, t, stretch / 2), *both)
            return jax.lax.cond(i % 2 == 0, partial(drift, t, stretch), lambda state: state, state), rest

        def body(k: Array, state: State) -> State:  # loops, so that kick and velocity are compiled once
            rest = jax.tree.map(lambda g: jnp.sqrt(2 * leg.substeps) * g, flow.normals(keys, k, state))
            return jax.lax.fori_loop(0, 2 * leg.substeps, partial(half, k), (state, rest))[0]

        return jax.lax.fori_loop(chunk.first, chunk.last, body, state)


class NoiseGrid(NamedTuple):
    """The steps of the noise, and into how many substeps the scheme cuts each."""

    step: float
    substeps: int


def noisy_legs(flow: Splitting, problem: Problem, grid: NoiseGrid, start: float, stop: float) -> Iterator[Leg]:
    """The legs of a flow with noise: some steps of the splitting scheme each."""
    clock, step = problem.schedule.integral, grid.step
    for chunk in chunks(start, stop, step, STEPS_PER_CALL):
        readings = [clock(k * step) for k in (*range(chunk.first, chunk.last), chunk.end)]
        covered = np.zeros(STEPS_PER_CALL)
        covered[: chunk.last - chunk.first] = np.diff(readings)
        yield Leg(flow, NoisySteps(chunk, step, covered, grid.substeps), chunk.end * step)
