"""Schedules ξ(t) ≥ 0 of the step, and their clocks.

    s_k = ε ξ(kε)            the k-th step of SGD
    clock(t) = ∫_0^t ξ(u) du   the clock in which the flows are autonomous: dθ/d clock = −2 ∇Ψ

A power decay is infinite at 0; there the first step uses the average of ξ over it, clock(ε).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from widelimit.errors import is_finite, require, require_positive


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


Schedule = Constant | Power | Exponential | Function


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


def schedule(choice: Schedule | Callable[[Any], Any]) -> Schedule:
    """A schedule from itself or from any JAX-traceable function of t."""
    if isinstance(choice, Schedule):
        return choice
    require(
        callable(choice),
        "a schedule must be one of schedules.constant, power, exponential, or a function of t",
        choice,
        "try schedules.power(0.25)",
    )
    return Function(choice)


def step_sizes(schedule_: Schedule, step: float, k: Any) -> Any:
    """s_k = ε ξ(kε) for an array of step numbers k; for a power decay s_0 = clock(ε)."""
    import jax.numpy as jnp

    if isinstance(schedule_, Power):
        return jnp.where(k == 0, schedule_.integral(step), step * schedule_(jnp.maximum(k, 1) * step))
    return step * schedule_(k * step)
