"""Time, cut into the stretches that one compiled call covers.

clock(t) = ∫_0^t ξ(u) du      on it a flow is autonomous as long as its mobility is constant
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax.numpy as jnp

from widelimit.errors import require
from widelimit.problem.mobility import Mobility
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Schedule


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
    return lambda t: int(t / step + 1e-6) * step


def chunks(start: float, stop: float, step: float, span: int) -> list[tuple[int, int]]:
    """The numbers [first, last) of the steps between two times, cut at the multiples of ``span``."""
    first, last = round(start / step), round(stop / step)
    cuts = [first, *range((first // span + 1) * span, last, span), last]
    return list(itertools.pairwise(cuts)) if first < last else []


class ProximalStep(NamedTuple):
    """A step of minimising movements: its middle and end, and η = 2 ∫ξ over it."""

    middle: float
    end: float
    eta: float


def proximal_steps(problem: Problem, step: float, start: float, stop: float) -> Iterator[ProximalStep]:
    """The steps between two times."""
    clock = problem.schedule.integral
    for k in range(round(start / step), round(stop / step)):
        yield ProximalStep((k + 0.5) * step, (k + 1) * step, 2 * (clock((k + 1) * step) - clock(k * step)))
