"""Time, cut into the stretches that one compiled call covers.

clock(t) = ∫_0^t ξ(u) du      on it a flow is autonomous as long as its mobility is constant
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from widelimit.errors import require
from widelimit.problem.mobility import Mobility
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Schedule

ROUNDING = 1e-6  # of a step: a time this close to a multiple of it counts as the multiple


class Stretch(NamedTuple):
    """An interval in which the mobility does not jump.

    rates        the mobility in it, numbers where it is constant
    xi           the schedule the flow must contain; None if it is run on the clock
    start, stop  its ends, on the clock if xi is None, else in time
    end          its end in time
    """

    rates: Mobility
    xi: Schedule | None
    start: float
    stop: float
    end: float


def stretches(problem: Problem, start: float, stop: float, in_time: bool = False) -> Iterator[Stretch]:
    """An interval of time, cut where the mobility jumps; on the clock where the mobility is constant."""
    for begin, end in itertools.pairwise([start, *(t for t in problem.rates.jumps if start < t < stop), stop]):
        rates, clock = problem.rates.between(begin, end), problem.schedule.integral
        if rates.is_constant and not in_time:
            yield Stretch(rates, None, clock(begin), clock(end), end)
            continue
        require(
            begin > 0 or bool(jnp.isfinite(problem.schedule(jnp.asarray(0.0)))),
            "a mobility that varies smoothly, or a fixed step, needs a schedule that is finite at t = 0",
            problem.schedule,
            "use windows, or put the decay in the mobility",
        )
        yield Stretch(rates, problem.schedule, begin, end, end)


def whole_steps(step: float) -> Callable[[float], float]:
    """The last multiple of the step that does not exceed a time."""
    return lambda t: int(t / step + ROUNDING) * step


def steps_until(t: float, step: float) -> float:
    """How many steps fit into a time: a whole number up to rounding, or with the share of the last step."""
    count = t / step
    return float(round(count)) if abs(count - round(count)) < ROUNDING else count


class Chunk(NamedTuple):
    """Steps first, …, last − 1 of a discrete dynamics; ``end`` steps are done after them, not whole if the run ends."""

    first: int
    last: int
    end: float

    def share(self, k: Array) -> Array:
        """The share of step k that is taken: 1, less if the run ends inside the step, 0 after the end."""
        return jnp.clip(self.end - k, 0.0, 1.0)


def chunks(start: float, stop: float, step: float, span: int) -> list[Chunk]:
    """The steps between two times, cut at the multiples of ``span``; the last one ends at the second time."""
    first, end = round(start / step), steps_until(stop, step)
    last = math.ceil(end)
    cuts = [first, *range((first // span + 1) * span, last, span), last]
    return [Chunk(a, b, min(float(b), end)) for a, b in itertools.pairwise(cuts) if a < b]


class ProximalStep(NamedTuple):
    """A step of minimising movements: its middle and end, and η = 2 ∫ξ over it."""

    middle: float
    end: float
    eta: float


def proximal_steps(problem: Problem, step: float, start: float, stop: float) -> Iterator[ProximalStep]:
    """The steps between two times; the last one ends at the second time."""
    clock = problem.schedule.integral
    for k, _, after in chunks(start, stop, step, 1):
        yield ProximalStep((k + after) / 2 * step, after * step, 2 * (clock(after * step) - clock(k * step)))
