"""Neurons: the function σ*(x; θ) one particle contributes.

ridge    σ*(x; θ) = a σ(⟨w, x⟩ + b),    θ = (a, b, w)
custom   σ*(x; θ) any JAX-traceable function, θ ∈ R^D

a   outer weight   absent (a = 1), fixed at its initial value, or trained
b   bias           absent (b = 0), fixed at its initial value, or trained
w   inner weights  trained, free in R^d or kept on the unit sphere |w| = 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from widelimit.errors import require, require_count, require_known
from widelimit.problem.activations import Activation, activation

ROLES = ("absent", "fixed", "trained")
DOMAINS = ("free", "sphere")


@dataclass(frozen=True)
class Ridge:
    """A ridge neuron, see `ridge`."""

    activation: Activation
    outer: str
    bias: str
    inner: str = "free"

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
        return f"{outer}σ(⟨w, x⟩{bias}), σ = {getattr(self.activation, 'name', '') or self.activation}{fixed}{where}"


@dataclass(frozen=True)
class Custom:
    """Any neuron, see `custom`; its parameters are one block, ``w``."""

    function: Callable[[Any, Any], Any]
    D: int

    scalars: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[tuple[bool, ...]] = ()
    inner: ClassVar[str] = "free"

    def size(self, d: int) -> int:
        """Number of parameters."""
        return self.D

    @property
    def sentence(self) -> str:
        """The neuron in symbols."""
        return f"{getattr(self.function, '__name__', 'σ*')}(x, θ), θ ∈ R^{self.D}"


Neuron = Ridge | Custom


def ridge(
    activation_: Activation | str | Callable[[Any], Any], *, outer: str = "absent", bias: str = "absent",
    inner: str = "free",
) -> Ridge:  # fmt: skip
    """The neuron a σ(⟨w, x⟩ + b); ``outer`` (a) and ``bias`` (b) are each "absent", "fixed" or "trained".

    ``inner`` (w) is "free", or on the unit "sphere": discrete steps renormalise, flows move along the sphere.

    >>> ridge("relu", outer="trained").scalars
    ('a',)
    """
    require_known("role of the outer weight", outer, ROLES)
    require_known("role of the bias", bias, ROLES)
    require_known("domain of the inner weights", inner, DOMAINS)
    return Ridge(activation(activation_), outer, bias, inner)


def custom(function: Callable[[Any, Any], Any], D: int) -> Custom:
    """Any neuron: ``function(x, theta)`` is σ*(x; θ), a number, for x of shape (d,) and theta of shape (D,), traceably.

    Gradients are those of JAX; it runs in every dynamics, without reduction, with features from data.

    >>> import jax.numpy as jnp
    >>> custom(lambda x, theta: theta[0] * jnp.exp(-jnp.sum((x - theta[1:]) ** 2)), D=3).size(2)
    3
    """
    require(callable(function), "a custom neuron must be a function of x and theta", function, "see the docstring")
    require_count("D", D, "3")
    return Custom(function, D)
