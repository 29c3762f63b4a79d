"""What every activation σ: R → R offers: its values, and its form.

The form is what smoothed versions A_k(m, s) are known for (see widelimit.potentials): hinges, polynomials, sinusoids,
the error function, the logistic family, sums of these, or any function. A ramp, for instance, is its two end points;
its form is two hinges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jax import Array

from widelimit.arguments import array_of
from widelimit.errors import InputError, require, shown
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
    def parity(self) -> int:
        """1 where σ is even, −1 where it is odd, 0 where it is neither or nothing is known; ask it of the `form`."""
        return 0

    @property
    def pair_form(self) -> Activation:
        """The same function in the form its pairwise kernel is known for."""
        return self.form


def as_floats(values: object, expected: str) -> tuple[float, ...]:
    """A tuple of floats."""
    numbers: tuple[float, ...] = tuple(_numbers(values, "(n,)", expected, "give a list of numbers").tolist())
    return numbers


def as_points(values: object, expected: str, do: str) -> tuple[tuple[float, float], ...]:
    """A tuple of pairs of floats."""
    if isinstance(values, list | tuple) and not values:
        return ()
    array = _numbers(values, "(n, 2)", expected, do)
    require(array.shape[1] == 2, expected, values, do)
    return tuple((t, v) for t, v in array.tolist())


def _numbers(values: object, shape: str, expected: str, do: str) -> np.ndarray:
    """An array of numbers."""
    try:
        return array_of("", values, shape, "")
    except InputError:
        raise InputError(f"{expected}, got {shown(values)}: {do}.") from None
