"""One compiled function moves every dynamics, and all replicas of it at once.

    together   mapped over the replicas in one call
    in turn    one after the other inside one call: batched factorisations can wait for each other for ever on a CPU
    grouped    a few in a call, the calls spread over the cores: small runs leave most of a machine idle, their matrix
               products being too short to share among cores; all groups have one size, so that one compilation serves
    apart      every replica in a call of its own, the calls spread over the cores: the n² pairs of many neurons fill a
               cache already, and no replica waits for the steps of another; where all of them need the same length of
               Mehler's series a replica has the bits of a single run
    shared     the dynamics itself takes the replicas as one state

A landscape that offers cheaper certified versions of itself is asked for one before each move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.potentials.chunks import all_finite, on_one_device, one_by_one
from widelimit.potentials.landscape import Landscape
from widelimit.solving.protocol import Dynamics, State, Tick
from widelimit.solving.threads import CORES, threads

GROUP = 8  # replicas in one call, at most: beyond, more calls cost less than numbers that leave the cache
MANY = 256  # neurons, from which on replicas go apart
Move = Callable[..., State]  # (dynamics, state, keys, numbers) ↦ state


class Leg(NamedTuple):
    """What one compiled call, or a few, cover: the dynamics, its numbers, the time at the end, whom to tell midway."""

    dynamics: Dynamics
    numbers: State
    end: float
    pauses: Iterator[Callable[[], None]] | None = None


@dataclass(frozen=True)
class Plan:
    """How a dynamics is moved from one time to another.

    legs      (t_from, t_to) ↦ the legs in between
    keys      of the random streams, those of all replicas stacked
    replicas  None for a single run
    mapping   "together", "in turn", "grouped", "apart" or "shared"
    land      of neurons θ: each leg is moved on the cheapest landscape that is accurate at both of its ends
    weights   of these neurons, (n,)
    rows      state ↦ the neurons it must be accurate at, the state itself if left out
    """

    legs: Callable[[float, float], Iterator[Leg]]
    keys: State
    replicas: int | None
    mapping: str = "together"
    land: Landscape | None = None
    weights: Array | None = None
    rows: Callable[[State], Array] = field(default=lambda state: state, kw_only=True)

    def advance(self, state: State, start: float, stop: float, tick: Tick) -> State:
        """The state at a later time; not finite if the dynamics diverges."""
        weights = cast("Array", self.weights)  # those of the landscape, if there is one
        for leg in self.legs(start, stop):
            leg = leg._replace(pauses=iter([partial(tick, start, state)]))  # a move that is repeated has none
            land = None if self.land is None else self.land.near(self.rows(state), weights)
            moved = self.moved(leg, land, state)
            while land is not None and all_finite(moved):
                land = land.better(self.rows(moved), weights)
                moved = moved if land is None else self.moved(leg, land, state)
            state, start = moved, leg.end
            if not all_finite(state):
                break
            tick(start, state)
        return state

    def moved(self, leg: Leg, land: Landscape | None, state: State) -> State:
        """The state after a leg, on another landscape if one is given."""
        dynamics = leg.dynamics if land is None else leg.dynamics.on(land)
        alone = self.replicas is None or self.mapping == "shared"
        if not alone and self.mapping in ("grouped", "apart"):
            return self._over_the_cores(leg._replace(dynamics=dynamics), state)
        move = compiled(type(dynamics).move, "alone" if alone else self.mapping)
        return move(dynamics, state, self.keys, leg.numbers)

    def _over_the_cores(self, leg: Leg, state: State) -> State:
        """All replicas after a leg, as many calls at once as there are cores."""
        count, apart = self.replicas or 1, self.mapping == "apart"
        most = min(GROUP, max(1, count // CORES))
        size = 1 if apart else max(g for g in range(1, most + 1) if count % g == 0)
        move = compiled(type(leg.dynamics).move, "alone" if apart else "together")

        def run(group: tuple[State, State]) -> State:
            return jax.block_until_ready(move(leg.dynamics, *group, leg.numbers))

        with threads() as pool:
            done = list(pool.map(run, dealt(count // size, apart)((state, self.keys))))
        return gathered(apart)(done)


def mapping_of(theta: Array) -> str:
    """How replicas (R, n, D) of neurons that feel each other are moved; a single run is (n, D)."""
    return "apart" if theta.shape[-2] >= MANY else "together"


@cache
def dealt(calls: int, apart: bool) -> Callable[[State], list[State]]:
    """Cuts what belongs to all replicas into what each of so many calls is given; in one call, itself compiled."""
    cut = partial(jnp.split, indices_or_sections=calls)

    def of_each(tree: State) -> list[State]:
        leaves, places = jax.tree.flatten(tree)
        parts = zip(*(cut(x) for x in leaves), strict=True)
        return [jax.tree.unflatten(places, [x[0] if apart else x for x in part]) for part in parts]

    return jax.jit(of_each)


@cache
def gathered(apart: bool) -> Callable[[list[State]], State]:
    """Puts the states of all calls back into that of all replicas."""
    join = jnp.stack if apart else jnp.concatenate
    return jax.jit(lambda parts: jax.tree.map(lambda *x: join(x), *parts))


@cache
def compiled(move: Move, mapping: str) -> Move:
    """The ``move`` of a kind of dynamics, of one state or of those of all replicas."""
    if mapping == "alone":
        return jax.jit(move)
    if mapping == "in turn":
        return jax.jit(lambda dynamics, states, keys, numbers: one_by_one(
            lambda both: move(dynamics, *both, numbers), (states, keys)
        ))  # fmt: skip
    return jax.jit(jax.vmap(on_one_device(move), in_axes=(None, 0, 0, None)))
