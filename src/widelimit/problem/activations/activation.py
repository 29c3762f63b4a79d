"""What every activation σ: R → R offers: its values, and its form.

The form is what smoothed versions A_k(m, s) are known for (see widelimit.potentials): hinges, polynomials, sinusoids,
the error function, the logistic family, sums of these, or any function. A ramp, for instance, is its two end points;
its form is two hinges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from jax import Array

from widelimit.errors import InputError
from widelimit.frozen import Value


class Activation(Value, ABC):
    """σ; frozen, equal and hashed by value."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """σ(x), elementwise; traceable."""

    @property
    def form(self) -> Activation:
        """The same function in the form its smoothed versions are known for."""
        return self

    @property
    def pair_form(self) -> Activation:
        """The same function in the form its pairwise kernel is known for."""
        return self.form


def as_floats(values: object, expected: str) -> tuple[float, ...]:
    """A tuple of floats."""
    try:
        return tuple(float(v) for v in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InputError(f"{expected}, got {values!r}: see its docstring.") from None


def as_points(values: object, expected: str) -> tuple[tuple[float, float], ...]:
    """A tuple of pairs of floats."""
    try:
        rows: Iterable[tuple[float, float]] = values  # type: ignore[assignment]
        return tuple((float(t), float(v)) for t, v in rows)
    except (TypeError, ValueError):
        raise InputError(f"{expected}, got {values!r}: see its docstring.") from None
