"""Smooth activations whose smoothed versions are known in closed form.

polynomial       σ(x) = Σ_j c_j x^j                        polynomial, hermite
sinusoid         σ(x) = sin(x + qπ/2)                      sin, cos
exponential      σ(x) = e^x                                in expressions
error function   σ(x) = erf(x)                             erf
logistic family  1/(1 + e^{−x}) and its relatives          sigmoid, tanh, softplus, silu, gelu
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.errors import is_finite, is_whole, require
from widelimit.frozen import static
from widelimit.problem.activations.activation import Activation, as_floats

HIGHEST_DEGREE = 30  # of Hermite polynomials, and of expressions that become polynomials


class Polynomial(Activation):
    """σ(x) = c_0 + c_1 x + c_2 x² + …

    coefficients  lowest power first

    >>> polynomial([1.0, 0.0, 2.0])(3.0)
    19.0
    """

    word: ClassVar[str] = "polynomial"

    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        values = as_floats(self.coefficients, "a polynomial needs a list of coefficients, lowest power first")
        require(
            len(values) >= 1 and all(map(is_finite, values)),
            "a polynomial needs one or more finite coefficients, lowest power first",
            list(self.coefficients),
            "try polynomial([0, 1])",
        )
        self.settle(coefficients=values)

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        value = 0.0 * x
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    @property
    def degree(self) -> int:
        """Highest power with a coefficient."""
        return len(self.coefficients) - 1

    @property
    def parity(self) -> int:
        """That of the powers, if all have the same."""
        return 1 if not any(self.coefficients[1::2]) else -1 if not any(self.coefficients[::2]) else 0


class Hermite(Activation):
    """The orthonormal Hermite polynomial h_k = He_k/√k!.

    k  order

    >>> [round(c, 3) for c in hermite(2).form.coefficients]
    [-0.707, 0.0, 0.707]
    """

    word: ClassVar[str] = "hermite"

    k: int = static()

    def __post_init__(self) -> None:
        require(
            is_whole(self.k) and 0 <= self.k <= HIGHEST_DEGREE,
            f"the order of a Hermite activation must be a whole number from 0 to {HIGHEST_DEGREE}",
            self.k,
            "try hermite(2)",
        )

    @property
    def form(self) -> Polynomial:
        """The polynomial by its coefficients, found in exact integers."""
        previous: list[int] = [0]
        current: list[int] = [1]
        for j in range(self.k):  # He_{j+1} = x He_j − j He_{j−1}
            lower = previous + [0] * (len(current) + 1 - len(previous))
            previous, current = current, [c - j * p for c, p in zip([0, *current], lower, strict=True)]
        return Polynomial([c / math.sqrt(math.factorial(self.k)) for c in current])

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return self.form(x)


class Sinusoid(Activation):
    """σ(x) = sin(x + quarter·π/2)."""

    word: ClassVar[str] = "sinusoid"

    quarter: int = static()

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        wave = jnp.sin(x) if self.quarter % 2 == 0 else jnp.cos(x)
        return wave if self.quarter % 4 < 2 else -wave

    @property
    def parity(self) -> int:
        """Odd as sin, or even as cos."""
        return 1 if self.quarter % 2 else -1


class ExponentialFunction(Activation):
    """σ(x) = e^x."""

    word: ClassVar[str] = "exponential"

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return jnp.exp(x)


class ErrorFunction(Activation):
    """σ(x) = erf(x)."""

    word: ClassVar[str] = "erf"

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return jax.lax.erf(x)

    @property
    def parity(self) -> int:
        """Odd."""
        return -1


def _silu(x: Array) -> Array:
    return x * jax.nn.sigmoid(x)


def _gelu(x: Array) -> Array:
    return x * jax.scipy.special.ndtr(x)


Kind = Literal["sigmoid", "tanh", "softplus", "silu", "gelu"]
LOGISTIC: dict[Kind, Callable[[Array], Array]] = {
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "softplus": jax.nn.softplus,
    "silu": _silu,
    "gelu": _gelu,
}


class Logistic(Activation):
    """σ one of the logistic family: sigmoid, tanh, softplus, silu = x·sigmoid, gelu = x·Φ(x)."""

    word: ClassVar[str] = "logistic"

    kind: Kind = static()

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return LOGISTIC[self.kind](x)

    @property
    def parity(self) -> int:
        """Odd, if tanh."""
        return -1 if self.kind == "tanh" else 0


polynomial, hermite = Polynomial, Hermite
