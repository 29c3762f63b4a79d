"""Flows without noise, by adaptive steps.

    explicit   Tsit5 (diffrax), order 5
    implicit   RODAS, order 4, widelimit.solving.rosenbrock: for stiff flows

Which of them takes over when: widelimit.solving.scheme_choice.
Radii are brought back to the origin after every step that passed it. Each call begins with the step that the one before
would have gone on with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import NamedTuple, cast

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import GaveUp
from widelimit.frozen import Frozen, static
from widelimit.potentials.chunks import all_finite
from widelimit.potentials.landscape import Landscape
from widelimit.problem.problem import Problem
from widelimit.solving.clock import stretches
from widelimit.solving.flows import Flow, VectorField
from widelimit.solving.protocol import State
from widelimit.solving.replicas import Leg, Plan, compiled
from widelimit.solving.rosenbrock import Rodas
from widelimit.solving.scheme_choice import STEPS_PER_CALL, SchemeChoice

MAX_STEPS = 200_000  # between two saves
SIZE = 20_000  # numbers in a state, beyond which a call has fewer steps: so that it ends within about a minute
LEAST = 3  # steps of a call
FIRST = 1e-3  # the first step of a run, in units of its first leg
CLOSE = 2e-14  # to the end of a leg, where a step ends at it
SHORTEST = 1e-12  # a step in units of the leg at which there is no hope
NOT_FINITE = "a velocity is not finite: start elsewhere, or shorten t_end"
KINK = 100.0  # width of the narrowest kink, in units of the relative tolerance
POWERS = 30  # of the power iteration
FACTORING = Lock()  # of implicit calls: batched factorisations of two at once can wait for each other for ever on a CPU


class Solver(Frozen):
    """Tolerances of the adaptive solver, per step, whether it begins implicitly (None: it finds out by itself), and how
    many steps a call has at most."""

    rtol: float
    atol: float
    stiff: bool | None = static()
    most: int = static(default=STEPS_PER_CALL[False])


class Span(NamedTuple):
    """From where to where, on the clock or in time."""

    start: float
    stop: float


class Reached(NamedTuple):
    """How far the solver has come: the state, the reading of the clock there, how many steps the last call took, and
    how long the next one is to be."""

    state: State
    at: Array
    steps: Array
    step: Array

    @classmethod
    def begun(cls, state: State, span: Span, lead: tuple[int, ...] = (), step: Array | float = 0.0) -> Reached:
        """At the beginning of a leg, of as many replicas as lead; a step of 0 is not known yet."""
        at, left = jnp.full(lead, span.start, float), jnp.asarray(span.stop) - jnp.asarray(span.start)
        return cls(state, at, jnp.zeros(lead, int), jnp.where(jnp.asarray(step) > 0, step, FIRST * left + 0 * at))


class Midway(NamedTuple):
    """Between two calls of a leg: how far the solver has come, and the steps of the leg so far."""

    reached: Reached
    taken: int


class Underway(NamedTuple):
    """In the midst of a call: a step from one reading of the clock to another, as planned before it was cut at the end
    of the leg, and how many steps were tried and kept."""

    state: State
    at: Array
    end: Array
    planned: Array
    scheme: State
    controller: State
    tried: Array
    kept: Array


class Tsit5(diffrax.Tsit5):
    """Tsit5 whose first velocity is not traced once more for its shape."""

    def init(self, terms: object, t0: object, t1: object, y0: State, args: None) -> tuple[Array, State]:
        """That the first step is to come, and room for the velocity that each step leaves to the next."""
        return jnp.array(True), jax.tree.map(jnp.zeros_like, y0)


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
        """The same flow by the explicit scheme, or by the implicit one, which sees no kink narrower than KINK · rtol.

        size   how many numbers the state has, which limits the steps of a call
        """
        floor = KINK * self.solver.rtol if stiff else 0.0
        solver = replace(self.solver, stiff=stiff, most=steps_per_call(stiff, size))
        return replace(self, flow=self.flow.floored(floor), solver=solver)

    def move(self, begun: Reached, keys: State, leg: Span) -> Reached:
        """How far the steps of one call get.

        Scheme and controller are those of diffrax. Its loop is not: to see the end of a leg it unrolls a hundred steps
        to the next smaller number, which are up to half of the time of compiling.
        """
        term: diffrax.ODETerm = diffrax.ODETerm(cast("VectorField", self.flow.velocity))
        scheme = Rodas(self.flow) if self.solver.stiff else Tsit5()
        controller = diffrax.PIDController(rtol=self.solver.rtol, atol=self.solver.atol)
        order = cast("float", scheme.error_order(term))

        def step(now: Underway) -> Underway:
            new, error, _, carried, _ = scheme.step(term, now.at, now.end, now.state, None, now.scheme, False)
            new, error = unless_too_long(now.state, self.flow.inside(new, now.state), error)
            if carried is not None:  # the next step begins with the velocity of the state inside
                carried = carried[0], self.flow.held(new, carried[1])
            kept, at, end, _, known, _ = controller.adapt_step_size(
                now.at, now.end, now.state, new, None, error, order, now.controller
            )
            at = jnp.minimum(at, leg.stop)
            planned = jnp.where(kept & (now.end >= leg.stop), jnp.maximum(end - at, now.planned), end - at)
            last = jnp.where(kept, leg.stop, at + (leg.stop - at) / 2)  # not the same step again, if one was refused
            end = jnp.where(end > leg.stop - CLOSE * jnp.abs(leg.stop), last, end)
            old = now.state, now.scheme
            state, carried = jax.tree.map(lambda x, before: jnp.where(kept, x, before), (new, carried), old)
            return Underway(state, at, end, planned, carried, known, now.tried + 1, now.kept + kept)

        end, known = controller.init(term, begun.at, leg.stop, begun.state, begun.step, None, scheme.func, order)
        end = jnp.minimum(end, leg.stop)
        carried, none = scheme.init(term, begun.at, end, begun.state, None), jnp.zeros((), int)
        first = Underway(begun.state, begun.at, end, begun.step, carried, known, none, none)
        last = jax.lax.while_loop(lambda now: (now.at < leg.stop) & (now.tried < self.solver.most), step, first)
        done = last.at >= leg.stop
        settled = jax.tree.map(lambda y, back: jnp.where(done, back, y), last.state, self.flow.retract(last.state))
        return Reached(settled, last.at, last.kept, last.planned)

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


@dataclass(frozen=True)
class SmoothPlan(Plan):
    """How a flow without noise is moved: in as many calls as it takes, by the scheme that suits it."""

    scheme: SchemeChoice = field(default_factory=SchemeChoice)

    def moved(self, leg: Leg, land: Landscape | None, state: State) -> State:
        """The state after a leg, on another landscape if one is given; not finite if a velocity is not."""
        dynamics = cast("Adaptive", leg.dynamics if land is None else leg.dynamics.on(land))
        span, pause = leg.numbers, None if leg.pauses is None else next(leg.pauses, None)
        size = size_of(state)
        now, taken = self.scheme.midway or Midway(Reached.begun(state, span, self._lead, self.scheme.step), 0)
        self.scheme.midway = None
        while True:
            before, stiff = np.asarray(now.at), self.scheme.stiff
            with FACTORING if stiff else nullcontext():
                if self._mapping == "apart":
                    now = self._over_the_cores(leg._replace(dynamics=dynamics.by(stiff, size), numbers=span), now)
                else:
                    now = compiled(Adaptive.move, self._mapping)(dynamics.by(stiff, size), now, self.keys, span)
                steps = int(np.asarray(now.steps).max())
            self.scheme.steps += steps
            self.scheme.step = now.step
            if not all_finite(now):
                return now.state
            if bool(np.all(np.asarray(now.at) >= span.stop)):
                if stiff and not taken and self.scheme.open:  # the whole leg in one call: was it worth it?
                    self._choose(dynamics, now, before, leg, self._pace(now, before, span, steps))
                return now.state
            taken += steps
            pace = self._pace(now, before, span, taken)
            hopeless = float(np.min(now.step)) < SHORTEST * (span.stop - span.start)
            if not pace and (size <= SIZE or hopeless):
                raise GaveUp("no step was short enough: start elsewhere, or shorten t_end")
            regular = STEPS_PER_CALL[stiff]  # a choice costs as much as many steps
            if self.scheme.open and (size <= SIZE or taken // regular > (taken - steps) // regular):
                self._choose(dynamics, now, before, leg, pace)
            if pause is not None:
                self.scheme.midway = Midway(now, taken)
                pause()
                self.scheme.midway = None

    def _pace(self, now: Reached, before: np.ndarray, span: Span, taken: int) -> float:
        """The mean step of the last call, the shortest over the replicas that were not at the end before it. Gives up
        after MAX_STEPS steps ``taken``, or where an implicit call got nowhere."""
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
