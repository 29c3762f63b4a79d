"""Schedules ξ(t) ≥ 0 of the step, and their clocks.

    s_k = ε ξ(kε)            the k-th step of SGD
    clock(t) = ∫_0^t ξ(u) du   the clock in which the flows are autonomous: dθ/d clock = −2 ∇Ψ

Where ξ(0) is infinite, as for a power decay, the first step uses the average of ξ over it, s_0 = clock(ε).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import InputError, is_finite, is_number, require
from widelimit.frozen import Frozen, Value, positive, static
from widelimit.integrals import integrate

Time = Array | float
PANELS = 1024  # of the integral of a function, at first
CHUNK = 4096  # times at once

__all__ = ["Schedule", "constant", "exponential", "power", "schedule", "window"]


class Schedule(Value, ABC):
    """ξ, a function of time."""

    @abstractmethod
    def __call__(self, t: Time) -> Time:
        """ξ(t); traceable."""

    @abstractmethod
    def integral(self, t: float) -> float:
        """clock(t)."""

    def clock(self, times: np.ndarray) -> np.ndarray:
        """clock(t) at several times, (T,)."""
        return np.array([self.integral(float(t)) for t in times])


class Constant(Schedule):
    """ξ(t) = value.

    >>> constant(2.0).integral(3.0)
    6.0
    """

    word: ClassVar[str] = "constant"

    value: float = positive("1.0", default=1.0)

    def __call__(self, t: Time) -> Time:
        """ξ(t)."""
        return self.value + 0.0 * t

    def integral(self, t: float) -> float:
        """clock(t) = value·t."""
        return self.value * t


class Power(Schedule):
    """ξ(t) = t^(−exponent), 0 <= exponent < 1 (from 1 on, ∫ξ dt diverges at t = 0).

    >>> power(0.25).integral(16.0)
    10.666666666666666
    """

    word: ClassVar[str] = "power"

    exponent: float

    def validate(self) -> None:
        """The clock must leave t = 0."""
        good = is_finite(self.exponent) and 0 <= self.exponent < 1
        require(good, "the exponent of a power schedule must lie in [0, 1)", self.exponent, "try power(0.25)")

    def __call__(self, t: Time) -> Time:
        """ξ(t)."""
        return t ** (-self.exponent)

    def integral(self, t: float) -> float:
        """clock(t) = t^(1 − exponent)/(1 − exponent)."""
        return t ** (1 - self.exponent) / (1 - self.exponent)


class Exponential(Schedule):
    """ξ(t) = exp(−rate·t).

    >>> round(exponential(0.5).integral(float("inf")), 9)
    2.0
    """

    word: ClassVar[str] = "exponential"

    rate: float = positive("0.1")

    def __call__(self, t: Time) -> Time:
        """ξ(t)."""
        return jnp.exp(-self.rate * t)

    def integral(self, t: float) -> float:
        """clock(t) = (1 − exp(−rate·t))/rate."""
        return -math.expm1(-self.rate * t) / self.rate


class Window(Schedule):
    """ξ(t) = 1 between start and stop, 0 before and after: for a block that is trained only then.

    >>> window(1.0, 3.0).integral(2.0)
    1.0
    """

    word: ClassVar[str] = "window"

    start: float
    stop: float = math.inf

    def validate(self) -> None:
        """It must open before it closes."""
        good = is_finite(self.start) and is_number(self.stop) and 0 <= self.start < self.stop
        require(good, "a window needs 0 <= start < stop", (self.start, self.stop), "try window(0.0, 1.0)")

    def __call__(self, t: Time) -> Time:
        """ξ(t); a time kε that rounding puts just below an edge counts as on the edge."""
        t = t * (1 + 1e-12)
        return 1.0 * ((t >= self.start) & (t < self.stop))

    def integral(self, t: float) -> float:
        """clock(t) = time spent inside."""
        return max(0.0, min(t, self.stop) - self.start)


class Function(Schedule):
    """ξ given as any JAX-traceable, nonnegative function of t."""

    function: Callable[[Time], Time] = static()

    def __call__(self, t: Time) -> Time:
        """ξ(t)."""
        return self.function(t)

    def integral(self, t: float) -> float:
        """clock(t) by adaptive quadrature that begins with PANELS panels, so that a narrow pulse is seen."""
        return float(integrate(self._on_host, np.linspace(0.0, t, PANELS + 1)).values[0])

    def _on_host(self, times: np.ndarray) -> np.ndarray:
        """ξ at times (n,), a fixed number of them at a time, so that it is compiled once."""
        parts = np.resize(times, (-(-len(times) // CHUNK), CHUNK))
        return np.concatenate([_values(self, part) for part in parts])[: len(times)]


constant, power, exponential, window = Constant, Power, Exponential, Window
Choice = Schedule | Callable[[Time], Time]


def schedule(choice: Choice) -> Schedule:
    """A schedule from itself or from any JAX-traceable function of t.

    >>> round(schedule(lambda t: 2 * t).integral(3.0), 9)
    9.0
    """
    if isinstance(choice, Schedule):
        return choice
    require(
        callable(choice),
        "a schedule must be one of schedules.constant, power, exponential, window, or a function of t",
        choice,
        "try schedules.power(0.25)",
    )
    return Function(choice)


def check_schedule(schedule_: Schedule, t_end: float, what: str = "a schedule") -> None:
    """Refuse a schedule that JAX cannot trace, or that is negative or infinite after t = 0."""
    times = jnp.asarray(np.linspace(t_end / 64, t_end, 64))
    try:
        values = np.asarray(_values(schedule_, times))
    except Exception:  # whatever the function does with a tracer
        raise InputError(
            f"{what} must be a function of t that JAX can trace, got {schedule_!r}: write it with jax.numpy."
        ) from None
    good = bool(np.all(np.isfinite(values) & (values >= 0)))
    require(good, f"{what} must be finite and >= 0 for t > 0", float(values.min()), "change the function")


@jax.jit
def _values(schedule_: Schedule, times: Array) -> Array:
    return schedule_(times) + 0 * times


class Steps(Frozen):
    """The whole steps s_k = ε ξ(kε) of a discrete dynamics; s_0 = clock(ε) where ξ(0) is infinite."""

    schedule: Schedule
    step: float
    first: float

    def sizes(self, k: Array) -> Array:
        """s_k for an array of step numbers k."""
        return jnp.where(k == 0, self.first, self.step * self.schedule(jnp.maximum(k, 1) * self.step))


def steps_of(schedule_: Schedule, step: float) -> Steps:
    """The steps of a schedule."""
    infinite = isinstance(schedule_, Power) or not math.isfinite(float(schedule_(jnp.asarray(0.0))))
    first = schedule_.integral(step) if infinite else step * float(schedule_(jnp.asarray(0.0)))
    return Steps(schedule_, float(step), first)


def __dir__() -> list[str]:
    return __all__
