"""Sums of functions of affine arguments.

part        σ(x) = c ς(α x + β),  α of either sign
sum         σ(x) = Σ_i σ_i(x)
amplified   σ(x) = c ς(x),  a part in the forms of ς
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from jax import Array

from widelimit.problem.activations.activation import Activation


class Part(Activation):
    """σ(x) = coefficient·activation(scale·x + shift), scale not 0."""

    word: ClassVar[str] = "part"

    activation: Activation
    coefficient: float
    scale: float
    shift: float

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return self.coefficient * self.activation(self.scale * x + self.shift)

    @property
    def parity(self) -> int:
        """That of ς, if it is not shifted."""
        return 0 if self.shift else self.activation.parity


class Sum(Activation):
    """σ(x) = Σ_i σ_i(x)."""

    word: ClassVar[str] = "sum"

    parts: Sequence[Activation]

    def __post_init__(self) -> None:
        self.settle(parts=tuple(self.parts))

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return sum((part(x) for part in self.parts), 0.0 * x)

    @property
    def parity(self) -> int:
        """That of the parts, if all have the same."""
        found = {part.parity for part in self.parts}
        return found.pop() if len(found) == 1 else 0


class Amplified(Activation):
    """σ(x) = factor·activation(x)."""

    word: ClassVar[str] = "amplified"

    activation: Activation
    factor: float

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return self.factor * self.activation(x)

    @property
    def form(self) -> Activation:
        """A part of the form of ς."""
        return self._part(self.activation.form)

    @property
    def pair_form(self) -> Activation:
        """A part of the form the pairwise kernel of ς is known for."""
        return self._part(self.activation.pair_form)

    def _part(self, form: Activation) -> Part:
        return Part.trusted(activation=form, coefficient=self.factor, scale=1.0, shift=0.0)
