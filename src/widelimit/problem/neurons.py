"""Neurons: the function σ*(x; θ) one particle contributes.

σ*(x; θ) = a σ(⟨w, x⟩ + b),    θ = (a, b, w)

a   outer weight   absent (a = 1), fixed at its initial value, or trained
b   bias           absent (b = 0), fixed at its initial value, or trained
w   inner weights  trained, free in R^d or kept on the unit sphere |w| = 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from widelimit.errors import require_known
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
