"""Flows without noise, by adaptive steps.

    explicit   Tsit5 (diffrax), order 5
    implicit   RODAS, order 4, widelimit.solving.rosenbrock: for stiff flows

    h Λ > LIMITED      the explicit scheme is held back by its stability, not by its error
    h   mean step,     Λ   the fastest rate of the flow, the largest |eigenvalue| of ∂velocity/∂y

A flow is solved explicitly. Where a thousand steps are not enough and stability is what holds them back, or very many
are still to go, the implicit scheme takes over, if what is left is worth a trial of it; if its steps turn out not to be
longer by more than they cost it hands back for a while.
``stiff=False`` keeps to the explicit scheme. ``stiff=True`` begins with the implicit one, which hands over if its steps
are not longer than explicit ones at the edge of stability, STABLE/Λ, by more than they cost. Radii are brought back to
the origin after every step that passed it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import GaveUp, require
from widelimit.frozen import Frozen, static
from widelimit.potentials.chunks import all_finite
from widelimit.potentials.landscape import Landscape
from widelimit.problem.problem import Problem
from widelimit.solving.clock import stretches
from widelimit.solving.flows import Flow, VectorField
from widelimit.solving.protocol import State
from widelimit.solving.replicas import Leg, Plan, compiled
from widelimit.solving.rosenbrock import Rodas

MAX_STEPS = 200_000  # between two saves
STEPS_PER_CALL = {False: 1000, True: 100}  # explicit, implicit
SIZE = 20_000  # numbers in a state, beyond which a call has fewer steps: so that it ends within about a minute
LEAST = 3  # steps of a call
SHORTER = 0.01  # the first step of a call after one in which none was accepted
SHORTEST = 1e-12  # the same, in units of the leg, at which there is no hope
STABLE = 3.3  # hΛ up to which Tsit5 is stable
LIMITED = 2.0
MANY = 20_000  # steps still to go at which the implicit scheme is tried whatever holds the explicit one back
NOT_FINITE = "a velocity is not finite: start elsewhere, or shorten t_end"
KINK = 100.0  # width of the narrowest kink, in units of the relative tolerance
MOST_COUPLED = 3000
POWERS = 30  # of the power iteration


class Solver(Frozen):
    """Tolerances of the adaptive solver, per step, whether it begins implicitly (None: it finds out by itself), and how
    many steps a call has at most."""

    rtol: float
    atol: float
    stiff: bool | None = static()
    most: int = static(default=STEPS_PER_CALL[False])


class Span(NamedTuple):
    """From where to where, on the clock or in time, and the first step, if it is known."""

    start: float
    stop: float
    step: float | None = None


class Reached(NamedTuple):
    """How far the solver has come: the state, the reading of the clock there, and the steps of the last call."""

    state: State
    at: Array
    steps: Array


class Midway(NamedTuple):
    """Between two calls of a leg: how far the solver has come, the steps of the leg so far, and the first of the next
    call, 0 if it is not known."""

    reached: Reached
    taken: int
    step: float


class Tsit5Inside(diffrax.Tsit5):
    """Tsit5 whose steps end inside the boundary of a flow."""

    flow: Flow = cast("Flow", None)

    def step(self, *arguments: Any) -> Any:
        """One step; the velocity at its end, which the next one begins with, is that of the state inside."""
        y, error, dense, carried, result = super().step(*arguments)
        first, velocity = cast("tuple[Array, State]", carried)
        inside, error = unless_too_long(arguments[3], self.flow.inside(y), error)
        return inside, error, dense, (first, self.flow.held(inside, velocity)), result


def unless_too_long(start: State, end: State, error: State) -> tuple[State, State]:
    """The end of a step and its error; where they are no numbers the step was far too long, and is to be refused."""
    fine = jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves((end, error))]).all()
    kept = jax.tree.map(lambda new, old: jnp.where(fine, new, old), end, start)
    return kept, jax.tree.map(lambda x: jnp.where(fine, x, 1e100), error)


class Adaptive(Frozen, eq=False):
    """A flow without noise, on the clock or in time."""

    flow: Flow
    solver: Solver

    def on(self, land: Landscape) -> Adaptive:
        """The same flow on another landscape, with the same scheme."""
        return replace(self, flow=self.flow.on(land))

    def by(self, stiff: bool, size: int = 0) -> Adaptive:
        """The same flow by the explicit or the implicit scheme, which knows no kinks narrower than it resolves; calls
        are those of states of so many numbers."""
        floor = KINK * self.solver.rtol if stiff else 0.0
        solver = replace(self.solver, stiff=stiff, most=steps_per_call(stiff, size))
        return replace(self, flow=self.flow.floored(floor), solver=solver)

    def move(self, begun: Reached, keys: State, leg: Span) -> Reached:
        """How far the steps of one call get."""
        term: diffrax.ODETerm = diffrax.ODETerm(cast("VectorField", self.flow.velocity))
        stiff, (state, at, _) = bool(self.solver.stiff), begun
        solution = diffrax.diffeqsolve(
            term, Rodas(self.flow) if stiff else Tsit5Inside(flow=self.flow), at, leg.stop, leg.step, state,
            stepsize_controller=diffrax.PIDController(rtol=self.solver.rtol, atol=self.solver.atol),
            max_steps=self.solver.most, throw=False, saveat=diffrax.SaveAt(t1=True),
        )  # fmt: skip
        state, (at,) = jax.tree.map(lambda y: y[0], solution.ys), solution.ts
        done = solution.result == diffrax.RESULTS.successful
        settled = jax.tree.map(lambda y, back: jnp.where(done, back, y), state, self.flow.retract(state))
        return Reached(settled, jnp.where(done, leg.stop, at), solution.stats["num_accepted_steps"].astype(int))

    def rate(self, at: Reached, keys: State, leg: Span) -> Array:
        """Λ, by the power iteration."""

        def times(_: int, carry: tuple[State, Array]) -> tuple[State, Array]:
            tangent = jax.jvp(lambda y: self.flow.velocity(at.at, y), (at.state,), (carry[0],))[1]
            size = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(tangent)))
            return jax.tree.map(lambda x: x / jnp.where(size > 0, size, 1.0), tangent), size

        start = jax.tree.map(lambda y: jnp.sin(1.0 + jnp.arange(y.size)).reshape(y.shape), at.state)
        return jax.lax.fori_loop(0, POWERS, times, (start, jnp.zeros(())))[1]


def steps_per_call(stiff: bool, size: int) -> int:
    """How many steps a call has at most, for a state of so many numbers. The clock has no say: a run that goes on after
    a stop makes the same calls.

    >>> steps_per_call(False, 400), steps_per_call(False, 10**6), steps_per_call(True, 10**7)
    (1000, 20, 3)
    """
    return max(LEAST, min(STEPS_PER_CALL[stiff], STEPS_PER_CALL[stiff] * SIZE // max(size, 1)))


def size_of(state: State) -> int:
    """How many numbers a state has."""
    return sum(np.size(leaf) for leaf in jax.tree.leaves(state))


def smooth_legs(flow: Flow, problem: Problem, solver: Solver, start: float, stop: float) -> Iterator[Leg]:
    """The legs of a flow without noise: no jump of the mobility inside any of them."""
    for part in stretches(problem, start, stop):
        yield Leg(Adaptive(flow.during(part), solver), Span(part.start, part.stop), part.end)


@dataclass
class SchemeChoice:
    """Which scheme a run is solved by at the moment.

    stiff   whether the implicit one
    open    whether that may still change
    pace    mean step of the explicit scheme when it was held back, 0 if it was not
    waits   calls before the scheme is judged: the first of the implicit one, which resolves what relaxes at once, and
            some of the explicit one after a trial in vain
    pause   how many these are after the next trial in vain
    notes   what the record says of it
    steps   taken so far
    cost    of an implicit step, in explicit ones
    midway  where in a leg it pauses, or shall go on
    """

    stiff: bool = False
    open: bool = False
    pace: float = 0.0
    waits: int = 0
    pause: int = 4
    notes: list[str] = field(default_factory=list)
    steps: int = 0
    cost: float = 4.0
    midway: Midway | None = None

    @classmethod
    def of(cls, solver: Solver, land: Landscape, n: int) -> SchemeChoice:
        """The one a run of n neurons begins with."""
        coupled = land.coupled(n)
        few = coupled <= MOST_COUPLED
        wanted = f"an implicit solver needs neurons that meet in at most {MOST_COUPLED} numbers"
        require(few or not solver.stiff, wanted, coupled, "use coordinates='reduced', or drop stiff")
        begins = bool(solver.stiff)
        return cls(begins, few and solver.stiff is not False, waits=int(begins), cost=land.implicit_cost(n))

    def recall(self) -> tuple[bool, bool, float, int, int]:
        """The choice at the moment."""
        return self.stiff, self.open, self.pace, self.waits, self.pause

    def restore(self, choices: tuple[bool, bool, float, int, int]) -> None:
        """Go on with an earlier choice."""
        self.stiff, self.open, self.pace, self.waits, self.pause = choices

    def reconsider(self, pace: float, rate: float, left: float, end: float) -> None:
        """Change hands, in the leg that ends at a time, if the steps of the last call suggest it."""
        worth = left > STEPS_PER_CALL[True] * self.cost * pace  # what a trial costs
        if self.waits:
            self.waits -= 1
        elif self.stiff and pace * rate < self.cost * (self.pace * rate or STABLE):
            self.stiff, self.waits, self.pause = False, self.pause, 2 * self.pause
            self.notes.append(f"not stiff enough: the explicit one again before t = {end:.3g}")
        elif not self.stiff and worth and (pace * rate > LIMITED or left > MANY * pace):
            self.stiff, self.pace = True, pace
            self.notes.append(f"stiff: the implicit solver from before t = {end:.3g} on")


@dataclass(frozen=True)
class SmoothPlan(Plan):
    """How a flow without noise is moved: in as many calls as it takes, by the scheme that suits it."""

    scheme: SchemeChoice = field(default_factory=SchemeChoice)

    def moved(self, leg: Leg, land: Landscape | None, state: State) -> State:
        """The state after a leg, on another landscape if one is given; not finite if a velocity is not."""
        dynamics = cast("Adaptive", leg.dynamics if land is None else leg.dynamics.on(land))
        span, pause = leg.numbers, None if leg.pauses is None else next(leg.pauses, None)
        size = size_of(state)
        begun = Midway(Reached(state, jnp.full(self._lead, span.start, float), jnp.zeros(self._lead, int)), 0, 0.0)
        now, taken, step = self.scheme.midway or begun
        self.scheme.midway = None
        while True:
            before, stiff = np.asarray(now.at), self.scheme.stiff
            if size > SIZE and step:  # a call of few steps cannot afford to find out how long they may be
                span = span._replace(step=step)
            if self._mapping == "apart":
                now = self._over_the_cores(leg._replace(dynamics=dynamics.by(stiff, size), numbers=span), now)
            else:
                now = compiled(Adaptive.move, self._mapping)(dynamics.by(stiff, size), now, self.keys, span)
            steps = int(np.asarray(now.steps).max())
            self.scheme.steps += steps
            if not all_finite(now):
                return now.state
            if bool(np.all(np.asarray(now.at) >= span.stop)):
                if stiff and not taken and self.scheme.open:  # the whole leg in one call: was it worth it?
                    self._choose(dynamics, now, before, leg, self._pace(now, before, span, steps))
                return now.state
            taken += steps
            pace = self._pace(now, before, span, taken)
            step = pace or SHORTER * (step or span.stop - span.start)
            if not pace and (size <= SIZE or step < SHORTEST * (span.stop - span.start)):
                raise GaveUp("no step was short enough: start elsewhere, or shorten t_end")
            regular = STEPS_PER_CALL[stiff]  # a choice costs as much as many steps
            if self.scheme.open and (size <= SIZE or taken // regular > (taken - steps) // regular):
                self._choose(dynamics, now, before, leg, pace)
            if pause is not None:
                self.scheme.midway = Midway(now, taken, step)
                pause()
                self.scheme.midway = None

    def _pace(self, now: Reached, before: np.ndarray, span: Span, taken: int) -> float:
        """The mean step of the last call of so many steps in all, the shortest of all replicas, or give up; replicas
        that were at the end before have no say."""
        paces = (np.asarray(now.at) - before) / np.maximum(now.steps, 1)
        pace = float(np.min(paces, where=before < span.stop, initial=math.inf))
        if taken >= MAX_STEPS or (self.scheme.stiff and not pace > 0):
            raise GaveUp(f"the solver gave up after {taken} steps: raise rtol and atol, or shorten t_end")
        return pace

    def _choose(self, dynamics: Adaptive, now: Reached, before: np.ndarray, leg: Leg, pace: float) -> None:
        """Choose the scheme of the next call."""
        reached, under_way = float(np.min(now.at)), before < leg.numbers.stop
        mapping = "in turn" if self._mapping == "apart" else self._mapping
        rates = np.asarray(compiled(Adaptive.rate, mapping)(dynamics.by(False), now, self.keys, leg.numbers))
        rate = float(np.max(rates, where=under_way, initial=0.0))
        self.scheme.reconsider(pace, rate, leg.numbers.stop - reached, leg.end)

    @property
    def _lead(self) -> tuple[int, ...]:
        return () if self.replicas is None or self.mapping == "shared" else (self.replicas,)

    @property
    def _mapping(self) -> str:
        """Batched factorisations can wait for each other for ever on a CPU."""
        return "alone" if not self._lead else "in turn" if self.scheme.stiff else self.mapping
