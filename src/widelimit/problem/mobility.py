"""Mobility: how fast each block of a neuron's parameters moves.

dθ = −2 ξ M ∇Ψ dt + √(4 ξ M/β) dB,      M = diag(m_a, m_b, m_w)

m   a number ≥ 0 (0 freezes the block) or a schedule m(t), e.g. first w and then a:
    Mobility(w=schedules.window(0, 1), a=schedules.window(1, inf))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from jax import Array

from widelimit.errors import is_finite, require, require_known
from widelimit.frozen import Value
from widelimit.problem.schedules import Constant, Power, Schedule, Window, schedule

Rate = float | Schedule


class Mobility(Value):
    """Rates of the blocks a, b and w, each a number >= 0 or a schedule that is finite at t = 0.

    >>> Mobility(a=0.5).at("a", 0.0)
    0.5
    """

    a: Rate = 1.0
    b: Rate = 1.0
    w: Rate = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b", "w"):
            rate = getattr(self, name)
            if is_finite(rate):
                require(rate >= 0, f"the mobility of {name} must be >= 0", rate, "try 0 to freeze it")
                self.settle(**{name: float(rate)})
                continue
            require(callable(rate), f"the mobility of {name} must be a number or a schedule", rate, "try 1.0")
            require(
                not isinstance(rate, Power),
                f"the mobility of {name} must be finite at t = 0",
                rate,
                "give the power decay to Problem(schedule=...)",
            )
            self.settle(**{name: schedule(rate)})

    def at(self, block: str, t: Array | float) -> Array | float:
        """m(t) of one block."""
        rate = getattr(self, block)
        return rate(t) if isinstance(rate, Schedule) else rate

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times at which a rate jumps."""
        windows = (getattr(self, f.name) for f in fields(self))
        return tuple(sorted({t for w in windows if isinstance(w, Window) for t in (w.start, w.stop)}))

    def between(self, start: float, stop: float) -> Mobility:
        """The same mobility for an interval without jumps: numbers where it is constant there."""
        middle = 0.5 * (start + stop)
        return Mobility(**{f.name: _held(getattr(self, f.name), middle) for f in fields(self)})

    @property
    def is_constant(self) -> bool:
        """Whether every rate is a number."""
        return not any(isinstance(getattr(self, f.name), Schedule) for f in fields(self))


def _held(rate: Rate, t: float) -> Rate:
    return float(rate(t)) if isinstance(rate, Window | Constant) else rate


def mobility(choice: Mobility | Mapping[str, Rate]) -> Mobility:
    """A mobility from itself or from a dictionary such as {"a": 0.0, "w": 2.0}."""
    if isinstance(choice, Mobility):
        return choice
    require(isinstance(choice, Mapping), "mobility must be a wl.Mobility or a dictionary", choice, "try {'a': 0.5}")
    for name in choice:
        require_known("block", name, ("a", "b", "w"))
    return Mobility(**choice)
