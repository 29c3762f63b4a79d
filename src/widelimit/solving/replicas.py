"""One compiled function moves every dynamics, and all replicas of it at once.

    together   mapped over the replicas in one call
    in turn    one after the other inside one call: batched factorisations can wait for each other for ever on a CPU
    grouped    a few in a call, the calls spread over the cores: small runs leave most of a machine idle, their matrix
               products being too short to share among cores; all groups have one size, so that one compilation serves
    shared     the dynamics itself takes the replicas as one state

A landscape that offers cheaper certified versions of itself is asked for one before each move.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.landscape import Landscape
from widelimit.solving.protocol import Advance, Dynamics, State, Tick

CORES = os.cpu_count() or 1
GROUP = 4  # replicas in one call: more would leave the cache


class Leg(NamedTuple):
    """What one compiled call covers: the dynamics during it, its numbers, and the time at its end."""

    dynamics: Dynamics
    numbers: State
    end: float


@dataclass(frozen=True)
class Plan:
    """How a dynamics is moved from one time to another.

    legs      (t_from, t_to) ↦ the legs in between
    keys      of the random streams, those of all replicas stacked
    replicas  None for a single run
    mapping   "together", "in turn", "grouped" or "shared"
    """

    legs: Callable[[float, float], Iterator[Leg]]
    keys: State
    replicas: int | None
    mapping: str = "together"

    def moved(self, leg: Leg, state: State) -> State:
        """The state after a leg."""
        if self.replicas is None or self.mapping == "shared":
            return _one(leg.dynamics, state, self.keys, leg.numbers)
        if self.mapping == "grouped":
            return self._in_groups(leg, state)
        move = _in_turn if self.mapping == "in turn" else _together
        return move(leg.dynamics, state, self.keys, leg.numbers)

    def moved_on(self, leg: Leg, land: Landscape, state: State) -> State:
        """The state after a leg on another landscape."""
        return self.moved(leg._replace(dynamics=leg.dynamics.on(land)), state)

    def _in_groups(self, leg: Leg, state: State) -> State:
        count = self.replicas or 1
        most = min(GROUP, max(1, count // CORES))
        size = max(g for g in range(1, most + 1) if count % g == 0)
        groups = [jax.tree.map(lambda x, k=k: x[k : k + size], (state, self.keys)) for k in range(0, count, size)]

        def run(group: tuple[State, State]) -> State:
            return jax.block_until_ready(_together(leg.dynamics, *group, leg.numbers))

        with ThreadPoolExecutor(CORES) as pool:
            done = list(pool.map(run, groups))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *done)


def advancing(plan: Plan) -> Advance:
    """The `advance` of a plan on one landscape."""
    return advancing_on(None, plan, lambda state: state, None)


def advancing_on(
    land: Landscape | None, plan: Plan, theta: Callable[[State], Array], weights: Array | None
) -> Advance:  # fmt: skip
    """The `advance` of a plan; a landscape that is given may put a cheaper certified one in its place for a leg."""

    def advance(state: State, start: float, stop: float, tick: Tick) -> State:
        for leg in plan.legs(start, stop):
            if land is None or weights is None:
                state = plan.moved(leg, state)
            else:
                state = land.carry(state, lambda s: (theta(s), weights), partial(plan.moved_on, leg))
            if not all(bool(np.isfinite(x).all()) for x in jax.tree.leaves(state)):
                break
            tick(leg.end)
        return state

    return advance


@jax.jit
def _one(dynamics: Dynamics, state: State, keys: State, numbers: State) -> State:
    return dynamics.move(state, keys, numbers)


@jax.jit
def _together(dynamics: Dynamics, states: State, keys: State, numbers: State) -> State:
    return jax.vmap(lambda state, key: dynamics.move(state, key, numbers))(states, keys)


@jax.jit
def _in_turn(dynamics: Dynamics, states: State, keys: State, numbers: State) -> State:
    return jax.lax.map(lambda both: dynamics.move(both[0], both[1], numbers), (states, keys))
