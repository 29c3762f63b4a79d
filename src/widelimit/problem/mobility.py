"""Mobility: how fast each block of a neuron's parameters moves.

dθ = −2 ξ M ∇Ψ dt + √(4 ξ M/β) dB,      M = diag(m_a, m_b, m_w)

m   a number ≥ 0 (0 freezes the block) or a schedule m(t), e.g. first w and then a:
    Mobility(w=schedules.window(0, 1), a=schedules.window(1, inf))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jax import Array

from widelimit.errors import is_finite, require, require_known
from widelimit.frozen import As, Value, argument
from widelimit.problem.schedules import Constant, Power, Schedule, Time, Window, check_schedule, schedule

Rate = float | Schedule
Choice = Rate | Callable[[Time], Time]


def _check_rate(name: str, rate: Choice) -> None:
    good = is_finite(rate) or callable(rate)
    require(good, f"the mobility of {name} must be a number or a schedule", rate, "try 1.0")
    good = callable(rate) or rate >= 0
    require(good, f"the mobility of {name} must be >= 0", rate, "try 0 to freeze it")
    require(
        not isinstance(rate, Power),
        f"the mobility of {name} must be finite at t = 0",
        rate,
        "give the power decay to Problem(schedule=...)",
    )


def _rate(choice: Choice) -> Rate:
    return schedule(choice) if callable(choice) else choice


class Mobility(Value):
    """Rates of the blocks a, b and w, each a number >= 0 or a schedule that is finite at t = 0.

    >>> Mobility(a=0.5).at("a", 0.0)
    0.5
    """

    a: As[Choice, Rate] = argument(_check_rate, _rate, default=1.0)
    b: As[Choice, Rate] = argument(_check_rate, _rate, default=1.0)
    w: As[Choice, Rate] = argument(_check_rate, _rate, default=1.0)

    @property
    def each(self) -> tuple[Rate, ...]:
        """The rates of a, b and w."""
        return self.a, self.b, self.w

    def at(self, block: str, t: Array | float) -> Array | float:
        """m(t) of one block."""
        require_known("block", block, ("a", "b", "w"))
        rate: Rate = getattr(self, block)
        return rate(t) if isinstance(rate, Schedule) else rate

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times at which a rate jumps."""
        return tuple(sorted({t for rate in self.each if isinstance(rate, Window) for t in (rate.start, rate.stop)}))

    def between(self, start: float, stop: float) -> Mobility:
        """The same mobility for an interval without jumps: numbers where it is constant there."""
        middle = 0.5 * (start + stop)
        return Mobility(*(_held(rate, middle) for rate in self.each))

    @property
    def is_constant(self) -> bool:
        """Whether every rate is a number."""
        return not any(isinstance(rate, Schedule) for rate in self.each)


class Slowed(Mobility):
    """The same rates, all times one number."""

    pace: float = 1.0

    def at(self, block: str, t: Array | float) -> Array | float:
        """m(t) of one block."""
        return self.pace * super().at(block, t)

    def between(self, start: float, stop: float) -> Slowed:
        """The rates on an interval in which none of them jumps."""
        return slowed(super().between(start, stop), self.pace)


def slowed(rates: Mobility, pace: float) -> Slowed:
    """All rates times a number."""
    return Slowed.trusted(a=rates.a, b=rates.b, w=rates.w, pace=pace)


def check_mobility(rates: Mobility, t_end: float) -> None:
    """Refuse rates that JAX cannot trace, or that are negative or infinite after t = 0."""
    for name, rate in zip("abw", rates.each, strict=True):
        if isinstance(rate, Schedule):
            check_schedule(rate, t_end, f"the mobility of {name}")


def _held(rate: Rate, t: float) -> Rate:
    return float(rate(t)) if isinstance(rate, Window | Constant) else rate


def mobility(choice: Mobility | Mapping[str, Choice]) -> Mobility:
    """A mobility from itself or from a dictionary such as {"a": 0.0, "w": 2.0}."""
    if isinstance(choice, Mobility):
        return choice
    require(isinstance(choice, Mapping), "mobility must be a wl.Mobility or a dictionary", choice, "try {'a': 0.5}")
    for name in choice:
        require_known("block", name, ("a", "b", "w"))
    return Mobility(**choice)
