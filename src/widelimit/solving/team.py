"""Runs of one shape, moved together: one compiled call for all of them, mapped over the numbers in which they differ.

    dynamics_1, …, dynamics_B      values with the same code and other numbers: their numbers are stacked, (B, …)
    (dynamics, state, keys, leg) ↦ state,   mapped over B;   an argument that is the same for all is not stacked

The members are split into equal parts, one for each core or a few in a part (widelimit.solving.replicas), of few sizes,
each of which is compiled once. Groups always have one size, so that a run has the same bits in any company. Places that
are left over, and those of members that have ended, are filled with a copy of another one. A member whose flow needs
the implicit scheme, or more steps than one call has, is moved alone in that leg.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import GaveUp
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscape import Landscape
from widelimit.solving.adaptive import Adaptive, Reached, SmoothPlan, Span, size_of
from widelimit.solving.protocol import Dynamics, NeuronView, Run, State
from widelimit.solving.replicas import GROUP, Leg, Plan
from widelimit.solving.threads import CORES, threads

ALIKE = (float, int, bool, np.generic)


class Stacked(NamedTuple):
    """Values of one structure: one for all of them (axis None), or their numbers stacked (axis 0)."""

    tree: Any
    axis: int | None


@dataclass
class Stacker:
    """Stacks values; those, and arrays, that it has stacked before are remembered."""

    trees: dict[tuple[int, ...], tuple[Sequence[Any], Stacked]] = field(default_factory=dict)
    arrays: dict[tuple[int, ...], tuple[list[Any], np.ndarray, bool]] = field(default_factory=dict)

    def __call__(self, trees: Sequence[Any]) -> Stacked:
        """The values as one."""
        key = tuple(map(id, trees))
        if key not in self.trees:
            self.trees[key] = trees, self._stacked(trees)
        return self.trees[key][1]

    def _stacked(self, trees: Sequence[Any]) -> Stacked:
        flat = [jax.tree.leaves(tree) for tree in trees]
        columns = [self._column(list(values)) for values in zip(*flat, strict=True)]
        if all(same for _, same in columns):
            return Stacked(trees[0], None)
        return Stacked(jax.tree.unflatten(jax.tree.structure(trees[0]), [values for values, _ in columns]), 0)

    def _column(self, values: list[Any]) -> tuple[np.ndarray, bool]:
        """One number of all values, and whether it is the same in all."""
        if isinstance(values[0], ALIKE):
            return np.asarray(values), all(value == values[0] for value in values)
        key = tuple(map(id, values))
        if key not in self.arrays:
            stacked = np.stack([np.asarray(value) for value in values])
            self.arrays[key] = values, stacked, bool((stacked == stacked[:1]).all())
        return self.arrays[key][1:]


@cache
def mapped(move: Callable[..., State], dynamics: int | None, leg: int | None) -> Callable[..., State]:
    """The ``move`` of a kind of dynamics, of many at once; the dynamics and the leg may be one for all."""
    return jax.jit(jax.vmap(move, in_axes=(dynamics, 0, 0, leg)))


@cache
def mapped_risk(land: int | None) -> Callable[[tuple[Landscape, State], State], State]:
    """R of many measures, on one landscape with one set of weights for all, or each on its own."""
    return jax.jit(jax.vmap(lambda of, points: of[0].risk_of(points, of[1]), in_axes=(land, 0)))


class Legs(NamedTuple):
    """The same leg of all members: their dynamics and numbers, and the leg of a single one of them."""

    dynamics: Stacked
    numbers: Stacked
    of: Callable[[int], Leg]


@dataclass
class Team:
    """Runs of one shape.

    runs     its members, each with a plan
    alive    which of them are still moved
    steady   whether their dynamics never change and their clocks agree, so that they are stacked once
    gave_up  why a member gave up, by its number
    """

    runs: Sequence[Run]
    alive: np.ndarray
    steady: bool = False
    gave_up: dict[int, str] = field(default_factory=dict)
    stack: Stacker = field(default_factory=Stacker)
    held: list[tuple[Landscape, State]] = field(default_factory=list)

    @cached_property
    def plans(self) -> list[Plan]:
        """Of all members."""
        return [run.plan for run in self.runs if run.plan is not None]

    @cached_property
    def keys(self) -> State:
        """Of all random streams, stacked."""
        return joined([plan.keys for plan in self.plans])

    @property
    def start(self) -> State:
        """The states of all, stacked."""
        return joined([run.state for run in self.runs])

    def advance(self, state: State, start: float, stop: float) -> State:
        """The states at a later time."""
        for legs in self._legs(start, stop):
            state = self._leg(legs, state)
        return state

    def _legs(self, start: float, stop: float) -> Iterator[Legs]:
        plans = self.plans
        if self.steady:
            for leg in plans[0].legs(start, stop):
                yield Legs(self._lasting, Stacked(leg.numbers, None), lambda b: next(plans[b].legs(start, stop)))
            return
        for legs in zip(*(plan.legs(start, stop) for plan in plans), strict=True):
            numbers = Stacker()([leg.numbers for leg in legs])
            yield Legs(self.stack(_explicit((leg.dynamics for leg in legs), self._size)), numbers, legs.__getitem__)

    @cached_property
    def _lasting(self) -> Stacked:
        """The dynamics of all members, which never change."""
        return self.stack(_explicit((next(plan.legs(0.0, 1.0)).dynamics for plan in self.plans), self._size))

    @cached_property
    def _size(self) -> int:
        """Numbers in the state of one member."""
        return size_of(self.runs[0].state)

    def _leg(self, legs: Legs, state: State) -> State:
        """The states after a leg; those that cannot go together go alone."""
        explicit = np.array([not (isinstance(plan, SmoothPlan) and plan.scheme.stiff) for plan in self.plans])
        members = self.alive & explicit
        moved, done = state, np.zeros(len(members), bool)
        if members.any():
            moved, done = self._together(legs, state, members)
        for b in map(int, np.flatnonzero(self.alive & ~done)):
            try:
                one = self.plans[b].moved(legs.of(b), None, at(state, b))
            except GaveUp as reason:
                self.gave_up[b] = str(reason)
                self.alive[b] = False
                continue
            moved = jax.tree.map(lambda x, y, b=b: x.at[b].set(y), moved, one)
        return moved

    def _together(self, legs: Legs, state: State, members: np.ndarray) -> tuple[State, np.ndarray]:
        """The states after one call, and which of them have reached the end of the leg, or are not finite."""
        count = len(members)
        places = np.where(members, np.arange(count), np.flatnonzero(members)[0])
        if not isinstance(self.plans[0], SmoothPlan):
            return self._in_parts(legs, state, places), members
        span = cast("Span", legs.numbers.tree)
        stops = np.broadcast_to(np.asarray(span.stop, float), (count,))
        schemes = [cast("SmoothPlan", plan).scheme for plan in self.plans]
        known = jnp.asarray(np.array([float(scheme.step) for scheme in schemes]))
        found = self._in_parts(legs, Reached.begun(state, span, (count,), known), places)
        ended = members & ((np.asarray(found.at) >= stops) | ~finite(found.state))
        steps, planned = np.asarray(found.steps), np.asarray(found.step)
        for b in map(int, np.flatnonzero(ended)):
            schemes[b].steps += int(steps[b])
            schemes[b].step = float(planned[b])
        return found.state, ended

    def _in_parts(self, legs: Legs, state: State, places: np.ndarray) -> State:
        """All places after one call for each part."""
        (dynamics, along), (numbers, across), _ = legs
        count, mapping = len(places), self.plans[0].mapping
        size = {"apart": 1, "grouped": GROUP}.get(mapping, part_size(-(-count // CORES)))
        parts = np.concatenate([places, np.repeat(places[:1], -count % size)]).reshape(-1, size)
        move = mapped(type(dynamics).move, along, across)

        def run(part: np.ndarray) -> State:
            own = dynamics if along is None else at(dynamics, part)
            return move(own, at(state, part), at(self.keys, part), numbers if across is None else at(numbers, part))

        with threads() as pool:
            done = list(pool.map(lambda part: jax.block_until_ready(run(part)), parts))
        return jax.tree.map(lambda *found: jnp.concatenate(found)[:count], *done)

    def risks(self, views: Sequence[NeuronView], state: State) -> np.ndarray:
        """R of every member, (B,); NaN where θ is not finite."""
        rows, good = views[0].rows(state), finite(views[0].theta(state))
        lands = [view.land for view in views]
        if all(land is lands[0] for land in lands):
            risk = _over_the_cores(views[0].risk, state, len(lands))
        elif all(stays(land) for land in lands):
            own = self.stack(self._held(views))
            risk = np.asarray(mapped_risk(own.axis)(own.tree, rows), float)
        else:
            risk = np.array([view.risk(at(state, b)) if good[b] else np.nan for b, view in enumerate(views)], float)
        return np.where(good, risk, np.nan)

    def _held(self, views: Sequence[NeuronView]) -> list[tuple[Landscape, State]]:
        """Landscapes and weights, the same objects at every save."""
        if not self.held:
            self.held = [(view.land, view.weights) for view in views]
        return self.held

    def errors(self, views: Sequence[NeuronView], state: State) -> np.ndarray:
        """How far they may be off, (B,)."""
        lands = [view.land for view in views]
        if all(stays(land) and not land.refinement.matters for land in lands):
            return np.zeros(len(views))
        if all(land is lands[0] for land in lands):
            return np.asarray(views[0].error(state), float)
        return np.array([view.error(at(state, b)) if self.alive[b] else np.nan for b, view in enumerate(views)], float)


def _explicit(dynamics: Iterable[Dynamics], size: int) -> list[Dynamics]:
    """The dynamics by the explicit scheme, where there is a choice, in calls for states of so many numbers."""
    return [one.by(False, size) if isinstance(one, Adaptive) else one for one in dynamics]


def part_size(least: int) -> int:
    """The size of parts that hold so many members: 1, 2, 3, 4, 6, 8, 12, …, so that few sizes are compiled.

    >>> [part_size(least) for least in (1, 5, 17, 100)]
    [1, 6, 24, 128]
    """
    power = 1 << (least - 1).bit_length()
    return 3 * power // 4 if power >= 4 and 3 * power // 4 >= least else power


def _over_the_cores(risk: Callable[[State], Array], state: State, count: int) -> np.ndarray:
    """The risks of stacked states, (B,), in as many parts of one size as there are cores."""
    size = -(-count // CORES)
    places = np.minimum(np.arange(size * CORES), count - 1).reshape(CORES, size)
    with threads() as pool:
        found = pool.map(lambda part: np.asarray(risk(at(state, part)), float), places)
    return np.concatenate(list(found))[:count]


def stays(land: Landscape) -> bool:
    """Whether no finer landscape ever takes the place of this one."""
    return isinstance(land, FeatureLandscape) and not land.refinement.climbs and land.sets == 1


def joined(trees: Sequence[State]) -> State:
    """States stacked on a first axis."""
    return jax.tree.map(lambda *parts: jnp.stack([jnp.asarray(part) for part in parts]), *trees)


def at(tree: State, place: object) -> State:
    """One of stacked states, or some."""
    return _some(tree, place) if isinstance(place, np.ndarray) else jax.tree.map(lambda x: x[place], tree)


@jax.jit
def _some(tree: State, places: Array) -> State:
    return jax.tree.map(lambda x: x[places], tree)


def finite(state: State) -> np.ndarray:
    """Which of stacked states are finite, (B,)."""
    parts = [np.asarray(x) for x in jax.tree.leaves(state)]
    return np.all([np.isfinite(x.reshape(len(x), -1)).all(axis=1) for x in parts], axis=0)
