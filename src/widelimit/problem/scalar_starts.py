"""Where the scalars of a neuron start: the same value, a sign, a normal or a uniform number.

Each law is a factor of the reduced law of the neurons (widelimit.problem.initial): a list of atoms, or a function of
standard normal scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import ndtr

from widelimit.errors import is_finite, require
from widelimit.frozen import Value, positive

Curve = Callable[[np.ndarray], np.ndarray]
SCORES = np.linspace(0.25, 3.0, 12)[:, None]  # at which a law shows whether it is even


@dataclass(frozen=True)
class Factor:
    """One independent factor of a reduced law, over one or more neighbouring columns.

    atoms   rows (value of each column, …) with their weights, or None
    curve   standard normal scores (m, scores) → values (m, columns), or None
    """

    columns: int
    atoms: tuple[tuple[tuple[float, ...], float], ...] | None = None
    curve: Curve | None = None
    scores: int = 1


def certain(*values: float) -> Factor:
    """One atom."""
    return Factor(len(values), atoms=((values, 1.0),))


class ScalarLaw(Value, ABC):
    """Where a scalar of a neuron starts."""

    @abstractmethod
    def factor(self) -> Factor:
        """The factor that the law of this scalar is in the reduced law of a neuron."""

    @abstractmethod
    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""


class ConstantLaw(ScalarLaw):
    """Every neuron starts at the same value.

    >>> constant(2.0).value
    2.0
    """

    word: ClassVar[str] = "constant"

    value: float

    def validate(self) -> None:
        """A number."""
        require(is_finite(self.value), "a constant start must be a number", self.value, "try initial.constant(1.0)")

    def factor(self) -> Factor:
        """One atom."""
        return certain(self.value)

    def sample(self, key: Array, n: int) -> Array:
        """n equal values."""
        return jnp.full((n,), self.value)


class Signs(ScalarLaw):
    """±size with equal probability.

    >>> signs(0.5).factor().atoms
    (((0.5,), 0.5), ((-0.5,), 0.5))
    """

    word: ClassVar[str] = "signs"

    size: float = positive("1.0", default=1.0)

    def factor(self) -> Factor:
        """Two atoms."""
        return Factor(1, atoms=(((self.size,), 0.5), ((-self.size,), 0.5)))

    def sample(self, key: Array, n: int) -> Array:
        """n independent signs."""
        return self.size * jax.random.rademacher(key, (n,), float)


class Normal(ScalarLaw):
    """N(mean, std²).

    >>> normal(1.0, 0.5)
    normal(mean=1.0, std=0.5)
    """

    word: ClassVar[str] = "normal"

    mean: float = 0.0
    std: float = positive("1.0", default=1.0)

    def validate(self) -> None:
        """The mean may be any number."""
        require(is_finite(self.mean), "mean must be a number", self.mean, "try mean=0.0")

    def factor(self) -> Factor:
        """The score itself, shifted and scaled."""
        return Factor(1, curve=lambda x: self.mean + self.std * x)

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        return self.mean + self.std * jax.random.normal(key, (n,))


class Uniform(ScalarLaw):
    """Uniform on [low, high].

    >>> uniform(0.0, 2.0)
    uniform(low=0.0, high=2.0)
    """

    word: ClassVar[str] = "uniform"

    low: float = -1.0
    high: float = 1.0

    def validate(self) -> None:
        """An interval."""
        require(
            is_finite(self.low) and is_finite(self.high) and self.low < self.high,
            "a uniform law needs low < high",
            (self.low, self.high),
            "try initial.uniform(-1, 1)",
        )

    def factor(self) -> Factor:
        """Φ of the score, shifted and scaled."""
        return Factor(1, curve=lambda x: self.low + (self.high - self.low) * ndtr(x))

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        return jax.random.uniform(key, (n,), minval=self.low, maxval=self.high)


class EitherSign(ScalarLaw):
    """A number drawn from another law, or its negative, with equal probability."""

    word: ClassVar[str] = "either_sign"

    law: ScalarLaw

    def factor(self) -> Factor:
        """Every atom with both signs; a law with a density must be even already."""
        own = self.law.factor()
        if own.atoms is not None:
            atoms = [((sign * value,), mass / 2) for (value,), mass in own.atoms for sign in (1.0, -1.0)]
            return Factor(1, atoms=tuple(atoms))
        even = own.curve is not None and bool(np.allclose(own.curve(-SCORES), -own.curve(SCORES)))
        require(even, "a paired start on a grid needs a law of a that is even, or has atoms", self.law, "use MeanField")
        return own

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        number, sign = jax.random.split(key)
        return self.law.sample(number, n) * jax.random.rademacher(sign, (n,), float)


def either_sign(law: ScalarLaw) -> ScalarLaw:
    """The law of ±x, x from a law."""
    return EitherSign(law)


constant, signs, normal, uniform = ConstantLaw, Signs, Normal, Uniform
Start = ScalarLaw | float | None


def start_law(law: Start) -> ScalarLaw | None:
    """The law of a scalar from itself or from a number; none for None."""
    if law is None or isinstance(law, ScalarLaw):
        return law
    require(is_finite(law), "the start of a scalar must be a number or one of initial.constant, signs, normal, uniform",
            law, "try initial.normal(0, 1)")  # fmt: skip
    return ConstantLaw(law)
