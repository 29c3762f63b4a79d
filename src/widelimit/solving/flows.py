"""Flows in continuous time: from a velocity to a state at a later time.

    dy = velocity(y) dτ + noise,     τ = ∫ξ dt the clock

Scheme: without noise widelimit.solving.adaptive; with noise Strang splitting, half a kick, a midpoint step, half a
kick, which is exact in law for the noise and of weak order 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, Self

import jax
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


class HalfStep(NamedTuple):
    """Where a splitting step stands: the number of the step, which half of the noise, the time, and Δτ."""

    step: Array
    half: int
    t: Array
    stretch: Array


class Flow(Protocol):
    """A right-hand side: velocity per unit of the clock, its noise, and its constraint."""

    def velocity(self, t: Array, state: State, args: None = None) -> State:
        """dy/dτ, or dy/dt in a stretch of time; ``args`` is always None (diffrax hands it over)."""

    def kick(self, keys: State, at: HalfStep, state: State) -> State:
        """The state after the noise of a stretch of the clock, back on its constraint."""

    def retract(self, state: State) -> State:
        """The state back on its constraint."""

    def inside(self, state: State) -> State:
        """The state with radii below 0 at the origin."""

    def held(self, state: State, velocity: State) -> State:
        """A velocity without what would take radii at the origin below 0."""

    def implicit(self, t: Array, state: State, eta: Array) -> Solve:
        """b ↦ (1 − ηJ)^{-1} b with J the derivative of the velocity."""

    def floored(self, floor: float) -> Self:
        """The same flow on the landscape whose radii end at a floor."""

    def during(self, stretch: Stretch) -> Self:
        """The same flow with the rates of a stretch of time."""

    def on(self, land: Landscape) -> Self:
        """The same flow on another landscape."""


class NoisySteps(NamedTuple):
    """Some steps of length ``step``, and the stretches of the clock they cover, (STEPS_PER_CALL,)."""

    chunk: Chunk
    step: float
    stretches: np.ndarray


class Splitting(Frozen, eq=False):
    """A flow with noise, by the splitting scheme."""

    flow: Flow

    def on(self, land: Landscape) -> Splitting:
        """The same flow on another landscape, with the same scheme."""
        return Splitting(self.flow.on(land))

    def move(self, state: State, keys: State, leg: NoisySteps) -> State:
        """The state after the steps of the leg."""
        flow, chunk = self.flow, leg.chunk

        def shifted(state: State, velocity: State, by: Array) -> State:
            return flow.retract(jax.tree.map(lambda y, v: y + by * v, state, velocity))

        def body(k: Array, state: State) -> State:
            t, stretch = (k + chunk.share(k) / 2) * leg.step, leg.stretches[k - chunk.first]
            state = flow.kick(keys, HalfStep(k, 0, t, stretch / 2), state)
            middle = shifted(state, flow.velocity(t, state), stretch / 2)
            return flow.kick(keys, HalfStep(k, 1, t, stretch / 2), shifted(state, flow.velocity(t, middle), stretch))

        return jax.lax.fori_loop(chunk.first, chunk.last, body, state)


def noisy_legs(flow: Flow, problem: Problem, step: float, start: float, stop: float) -> Iterator[Leg]:
    """The legs of a flow with noise: some steps of the splitting scheme each."""
    clock = problem.schedule.integral
    for chunk in chunks(start, stop, step, STEPS_PER_CALL):
        readings = [clock(k * step) for k in (*range(chunk.first, chunk.last), chunk.end)]
        covered = np.zeros(STEPS_PER_CALL)
        covered[: chunk.last - chunk.first] = np.diff(readings)
        yield Leg(Splitting(flow), NoisySteps(chunk, step, covered), chunk.end * step)
