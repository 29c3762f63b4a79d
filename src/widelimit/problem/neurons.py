"""Neurons: the function σ*(x; θ) one particle contributes.

ridge    σ*(x; θ) = a σ(⟨w, x⟩ + b),    θ = (a, b, w)
custom   σ*(x; θ) any JAX-traceable function, θ ∈ R^D

a   outer weight   absent (a = 1), fixed at its initial value, or trained
b   bias           absent (b = 0), fixed at its initial value, or trained
w   inner weights  trained, free in R^d or kept on the unit sphere |w| = 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from jax import Array

from widelimit.errors import require
from widelimit.frozen import As, Value, argument, count, one_of, static
from widelimit.problem.activations import Activation, Amplified, Choice, General, activation, name_of

ROLES = ("absent", "fixed", "trained")
DOMAINS = ("free", "sphere")

__all__ = ["Neuron", "custom", "ridge"]


class Ridge(Value):
    """The neuron a σ(⟨w, x⟩ + b).

    activation  σ: a name, an expression, an activation or a JAX-traceable function
    outer       a: "absent" (a = 1), "fixed" at its start or "trained"
    bias        b: "absent" (b = 0), "fixed" at its start or "trained"
    inner       w: "free", or on the unit "sphere": discrete steps renormalise, flows move along the sphere

    >>> ridge("relu", outer="trained").scalars
    ('a',)
    """

    word: ClassVar[str] = "ridge"

    activation: As[Choice, Activation] = argument(form=activation)
    outer: str = one_of("role of the outer weight", ROLES, default="absent")
    bias: str = one_of("role of the bias", ROLES, default="absent")
    inner: str = one_of("domain of the inner weights", DOMAINS, default="free")

    @property
    def sigma(self) -> Activation:
        """The activation σ."""
        return self.activation

    @property
    def form(self) -> Ridge:
        """The same neuron with σ in the form its smoothed versions are known for."""
        return self._with(self.sigma.form)

    def times(self, alpha: float) -> Ridge:
        """The neuron α σ*."""
        return self._with(Amplified.trusted(activation=self.activation, factor=alpha))

    def _with(self, sigma: Activation) -> Ridge:
        return Ridge.trusted(activation=sigma, outer=self.outer, bias=self.bias, inner=self.inner)

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of the columns before the inner weights: those of a and b that exist."""
        return tuple(name for name, role in (("a", self.outer), ("b", self.bias)) if role != "absent")

    @property
    def trained(self) -> tuple[bool, ...]:
        """Whether each of `scalars` moves."""
        return tuple(role == "trained" for role in (self.outer, self.bias) if role != "absent")

    def size(self, d: int) -> int:
        """Number of parameters for an input of d coordinates."""
        return len(self.scalars) + d

    @property
    def sentence(self) -> str:
        """The neuron in symbols."""
        outer, bias = "a " if self.outer != "absent" else "", " + b" if self.bias != "absent" else ""
        fixed = "".join(f", {name} fixed" for name, moves in zip(self.scalars, self.trained, strict=True) if not moves)
        where = ", |w| = 1" if self.inner == "sphere" else ""
        name = self.sigma.name if isinstance(self.sigma, General) else name_of(self.sigma)
        return f"{outer}σ(⟨w, x⟩{bias}), σ = {name}{fixed}{where}"

    def __repr__(self) -> str:
        roles = {name: value for name, value in self.arguments.items() if name != "activation"}
        inside = [repr(name_of(self.sigma)), *(f"{name}={value!r}" for name, value in roles.items())]
        return f"ridge({', '.join(inside)})"


class Custom(Value):
    """Any neuron: ``function(x, theta)`` is σ*(x; θ), a number, for x of shape (d,) and theta of shape (D,), traceably.

    Its parameters are one block, ``w``; `initial.blocks` starts its columns from several laws. Gradients are those of
    JAX; it runs in every dynamics, without reduction, with features from data.

    >>> import jax.numpy as jnp
    >>> custom(lambda x, theta: theta[0] * jnp.exp(-jnp.sum((x - theta[1:]) ** 2)), D=3).size(2)
    3
    """

    word: ClassVar[str] = "custom"

    function: Callable[[Array, Array], Array] = static()
    D: int = count("3")

    def validate(self) -> None:
        """A function."""
        good = callable(self.function)
        require(good, "a custom neuron must be a function of x and theta", self.function, "see the docstring")

    scalars: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[tuple[bool, ...]] = ()
    inner: ClassVar[str] = "free"

    @property
    def form(self) -> Custom:
        """The neuron itself: a custom function has no other form."""
        return self

    def value(self, x: Array, theta: Array) -> Array:
        """σ*(x; θ)."""
        return self.function(x, theta)

    def times(self, alpha: float) -> AmplifiedCustom:
        """The neuron α σ*."""
        return AmplifiedCustom.trusted(function=self.function, D=self.D, factor=alpha)

    def size(self, d: int) -> int:
        """Number of parameters."""
        return self.D

    @property
    def sentence(self) -> str:
        """The neuron in symbols."""
        return f"{getattr(self.function, '__name__', 'σ*')}(x, θ), θ ∈ R^{self.D}"


class AmplifiedCustom(Custom):
    """A custom neuron times a number."""

    factor: float = 1.0

    def value(self, x: Array, theta: Array) -> Array:
        """factor·σ*(x; θ)."""
        return self.factor * self.function(x, theta)


class Linearised(Value):
    """A neuron that remembers its start: σ*(x; θ⁰) + ⟨∇σ*(x; θ⁰), θ − θ⁰⟩, of the row (θ, θ⁰)."""

    word: ClassVar[str] = "linearised"

    neuron: Ridge | Custom


Neuron = Ridge | Custom


def halves(rows: Array) -> tuple[Array, Array]:
    """θ and θ⁰ of the rows (…, n, 2D) of linearised neurons."""
    D = rows.shape[-1] // 2
    return rows[..., :D], rows[..., D:]


ridge, custom = Ridge, Custom


def __dir__() -> list[str]:
    return __all__
