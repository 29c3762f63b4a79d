"""Schedules ξ(t) ≥ 0 of the step, and their clocks.

    s_k = ε ξ(kε)            the k-th step of SGD
    clock(t) = ∫_0^t ξ(u) du   the clock in which the flows are autonomous: dθ/d clock = −2 ∇Ψ

Where ξ(0) is infinite, as for a power decay, the first step uses the average of ξ over it, s_0 = clock(ε).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from widelimit.errors import InputError, is_finite, is_number, require, require_positive


@dataclass(frozen=True)
class Constant:
    """ξ(t) = value."""

    value: float = 1.0

    def __call__(self, t: Any) -> Any:
        """ξ(t)."""
        return self.value + 0.0 * t

    def integral(self, t: float) -> float:
        """clock(t) = value·t."""
        return self.value * t


@dataclass(frozen=True)
class Power:
    """ξ(t) = t^(−exponent)."""

    exponent: float

    def __call__(self, t: Any) -> Any:
        """ξ(t)."""
        return t ** (-self.exponent)

    def integral(self, t: float) -> float:
        """clock(t) = t^(1 − exponent)/(1 − exponent)."""
        return t ** (1 - self.exponent) / (1 - self.exponent)


@dataclass(frozen=True)
class Exponential:
    """ξ(t) = exp(−rate·t)."""

    rate: float

    def __call__(self, t: Any) -> Any:
        """ξ(t)."""
        import jax.numpy as jnp

        return jnp.exp(-self.rate * t)

    def integral(self, t: float) -> float:
        """clock(t) = (1 − exp(−rate·t))/rate."""
        return -math.expm1(-self.rate * t) / self.rate


@dataclass(frozen=True)
class Window:
    """ξ(t) = 1 for start <= t < stop, else 0."""

    start: float
    stop: float

    def __call__(self, t: Any) -> Any:
        """ξ(t); a time kε that rounding left just below an edge is on it."""
        t = t * (1 + 1e-12)
        return 1.0 * ((t >= self.start) & (t < self.stop))

    def integral(self, t: float) -> float:
        """clock(t) = time spent inside."""
        return max(0.0, min(t, self.stop) - self.start)


@dataclass(frozen=True)
class Function:
    """ξ given as any JAX-traceable, nonnegative function of t."""

    function: Callable[[Any], Any]

    def __call__(self, t: Any) -> Any:
        """ξ(t)."""
        return self.function(t)

    def integral(self, t: float) -> float:
        """clock(t) by adaptive quadrature."""
        from scipy.integrate import quad

        return quad(lambda u: float(self.function(u)), 0.0, t, epsabs=1e-13, epsrel=1e-12, limit=500)[0]


Schedule = Constant | Power | Exponential | Window | Function


def constant(value: float = 1.0) -> Constant:
    """ξ(t) = value."""
    require_positive("value", value, "1.0")
    return Constant(value)


def power(exponent: float) -> Power:
    """ξ(t) = t^(−exponent), 0 <= exponent < 1 (an exponent of 1 or more never leaves t = 0).

    >>> power(0.25).integral(16.0)
    10.666666666666666
    """
    require(
        is_finite(exponent) and 0 <= exponent < 1,
        "the exponent of a power schedule must lie in [0, 1)",
        exponent,
        "try power(0.25)",
    )
    return Power(exponent)


def exponential(rate: float) -> Exponential:
    """ξ(t) = exp(−rate·t)."""
    require_positive("rate", rate, "0.1")
    return Exponential(rate)


def window(start: float, stop: float = math.inf) -> Window:
    """ξ(t) = 1 between start and stop, 0 before and after: for a block that is trained only then."""
    good = is_finite(start) and is_number(stop) and 0 <= start < stop
    require(good, "a window needs 0 <= start < stop", (start, stop), "try window(0.0, 1.0)")
    return Window(float(start), float(stop))


def schedule(choice: Schedule | Callable[[Any], Any]) -> Schedule:
    """A schedule from itself or from any JAX-traceable function of t."""
    if isinstance(choice, Schedule):
        return choice
    require(
        callable(choice),
        "a schedule must be one of schedules.constant, power, exponential, window, or a function of t",
        choice,
        "try schedules.power(0.25)",
    )
    return Function(choice)


def check_schedule(schedule_: Schedule, t_end: float) -> None:
    """Refuse a schedule that JAX cannot trace, or that is negative or infinite after t = 0."""
    import jax
    import jax.numpy as jnp

    times = jnp.linspace(t_end / 64, t_end, 64)
    try:
        values = jax.jit(schedule_)(times) + 0 * times
    except Exception:  # whatever the function does with a tracer
        raise InputError(
            f"a schedule must be a function of t that JAX can trace, got {schedule_!r}: write it with jax.numpy."
        ) from None
    good = bool(jnp.all(jnp.isfinite(values) & (values >= 0)))
    require(good, "a schedule must be finite and >= 0 for t > 0", float(jnp.min(values)), "change the function")


def step_sizes(schedule_: Schedule, step: float, k: Any) -> Any:
    """s_k = ε ξ(kε) for an array of step numbers k; s_0 = clock(ε) where ξ(0) is infinite."""
    import jax
    import jax.numpy as jnp

    with jax.ensure_compile_time_eval():
        first = step * float(schedule_(jnp.asarray(0.0)))
        first = first if math.isfinite(first) else schedule_.integral(step)
    return jnp.where(k == 0, first, step * schedule_(jnp.maximum(k, 1) * step))
