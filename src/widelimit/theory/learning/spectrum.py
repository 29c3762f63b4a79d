"""The spectrum of a target: its coefficients in an orthonormal family, each with its error.

    f = Σ_α f̂_α e_α,    E f² = Σ_α f̂_α²,    ‖P_ℓ f‖² = Σ_{|α| = ℓ} f̂_α²

    e_α   Gaussian inputs   Π_i h_{α_i}(z_i), h_k = He_k/√k!          widelimit.theory.learning.hermite_spectrum
          the cube {±1}^k   Π_{i: α_i = 1} z_i                        widelimit.theory.learning.walsh_spectrum
    |α|   degree            Σ_i α_i

Information exponent: the least degree ≥ 1 with a coefficient that is not 0; infinite for a constant. Rule: a
coefficient counts as 0 unless it exceeds ``trusted`` times its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widelimit.errors import finite_or_none
from widelimit.potentials.product_families import Index

EPS = float(np.finfo(float).eps)


class WithError(NamedTuple):
    """A number, and how far it may be off."""

    value: float
    error: float

    @property
    def square(self) -> WithError:
        """Its square, off by 2|c|δ + δ² at most."""
        return WithError(self.value**2, 2 * abs(self.value) * self.error + self.error**2)

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.error:.1g}" if self.error > 1e-7 * abs(self.value) else f"{self.value:.6g}"


def with_errors(values: np.ndarray, errors: np.ndarray) -> list[WithError]:
    """Each number with its error."""
    return [WithError(float(v), float(e)) for v, e in zip(values, errors, strict=True)]


def total(numbers: Iterable[WithError]) -> WithError:
    """Their sum: errors add up."""
    value = error = 0.0
    for one in numbers:
        value, error = value + one.value, error + one.error
    return WithError(value, error)


def square_sums(coefficients: Mapping[Index, WithError], order: int) -> tuple[WithError, ...]:
    """Σ_{|α| = ℓ} f̂_α² for ℓ = 0, …, order."""
    squares: list[list[WithError]] = [[] for _ in range(order + 1)]
    for index, c in coefficients.items():
        squares[sum(index)].append(c.square)
    return tuple(map(total, squares))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Coefficients of a target, what they add up to, and the information exponent.

    basis          "hermite" or "walsh"
    names          of the variables, one for each place of an index
    coefficients   {α: f̂_α with its error}, of every degree up to ``order``; what is not listed is 0
    norm           E f², with its error
    order          the highest degree that was looked at
    complete       whether f has no higher degree, as a polynomial has none
    trusted        a coefficient counts as 0 unless it exceeds so many times its error: 1 where errors are bounds, 4
                   where they are standard errors of samples

    >>> import widelimit as wl
    >>> wl.hermite("He3(z) + z**2").information_exponent
    2
    """

    basis: str
    names: tuple[str, ...]
    coefficients: dict[Index, WithError]
    norm: WithError
    order: int
    complete: bool
    trusted: float = 1.0

    def is_zero(self, index: Index) -> bool:
        """Whether a coefficient counts as 0."""
        value, error = self.coefficients.get(index, (0.0, 0.0))
        return abs(value) <= self.trusted * error

    @property
    def nonzero(self) -> dict[Index, WithError]:
        """The coefficients that are not 0, in the order of their degree."""
        kept = (index for index in self.coefficients if not self.is_zero(index))
        return {index: self.coefficients[index] for index in sorted(kept, key=by_degree)}

    @property
    def counted_as_zero(self) -> dict[Index, WithError]:
        """The coefficients that were found different from 0 by less than their error."""
        return {index: c for index, c in self.coefficients.items() if c.value != 0 and self.is_zero(index)}

    @property
    def degree_norms(self) -> tuple[WithError, ...]:
        """‖P_ℓ f‖² for ℓ = 0, …, order, of all coefficients, small ones too."""
        return square_sums(self.coefficients, self.order)

    def beyond(self, degree: int) -> WithError:
        """‖P_{>ℓ} f‖², what is left above a degree ℓ; never below 0.

        >>> import widelimit as wl
        >>> round(wl.hermite("z + 2*h3(z)").beyond(1).value, 12)
        4.0
        """
        norms = self.degree_norms
        if self.complete:
            return total(norms[degree + 1 :])
        below = total(norms[: degree + 1])
        return WithError(max(self.norm.value - below.value, 0.0), self.norm.error + below.error)

    @property
    def information_exponent(self) -> float:
        """The least degree ≥ 1 with a coefficient that is not 0; infinite if there is none up to ``order``."""
        return min((sum(index) for index in self.nonzero if sum(index)), default=math.inf)

    @property
    def degree(self) -> float:
        """The highest degree with a coefficient that is not 0; infinite if it was not seen to end."""
        return max((sum(index) for index in self.nonzero), default=0) if self.complete else math.inf

    @property
    def is_constant(self) -> bool:
        """Whether f is known to be a constant."""
        return self.complete and math.isinf(self.information_exponent)

    @property
    def sentence(self) -> str:
        """The information exponent, and which coefficients were taken for 0."""
        s = self.information_exponent
        if self.is_constant:
            said = "the target is a constant: there is nothing to learn, and its information exponent is infinite"
        elif math.isinf(s):
            said = f"no coefficient of degree 1 to {self.order} is different from 0: the information exponent is larger"
        else:
            said = f"information exponent {s}"
        small = len(self.counted_as_zero)
        bar = "its error" if self.trusted == 1 else f"{self.trusted:g} standard errors"
        rule = f"; {small} coefficient{'s' * (small != 1)} within {bar} of 0 counted as 0" if small else ""
        return f"{said}{rule}."

    def word(self, index: Index) -> str:
        """A member of the family in symbols, such as h2(z1)*z2; 1 for the constant."""
        return word_of(index, self.names)

    def table(self) -> list[dict[str, object]]:
        """One row for each coefficient that is not 0."""
        return [
            {"index": list(index), "basis": self.word(index), "degree": sum(index), "value": c.value, "error": c.error}
            for index, c in self.nonzero.items()
        ]

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {
            "basis": self.basis, "variables": list(self.names), "order": self.order, "complete": self.complete,
            "coefficients": self.table(), "counted_as_zero": [self.word(i) for i in self.counted_as_zero],
            "norm": self.norm._asdict(), "degree_norms": [n._asdict() for n in self.degree_norms],
            "information_exponent": finite_or_none(self.information_exponent), "degree": finite_or_none(self.degree),
            "sentence": self.sentence,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Spectrum of {self.basis}: {len(self.nonzero)} coefficients, E f² = {self.norm}, {self.sentence[:-1]}>"


def whole_spectrum(
    basis: str, names: tuple[str, ...], series: dict[Index, WithError], degree: int, order: int | None
) -> Spectrum:
    """The spectrum of a target whose coefficients are all known; those of a degree above ``order`` are left out."""
    highest = degree if order is None else order
    kept = {index: c for index, c in series.items() if sum(index) <= highest}
    norm = total(c.square for c in series.values())
    return Spectrum(basis, names, kept, norm, highest, complete=degree <= highest)


def by_degree(index: Index) -> tuple[int, list[int]]:
    """The key that sorts 1, z1, z2, z1*z2, …"""
    return sum(index), [-k for k in index]


def word_of(index: Index, names: tuple[str, ...]) -> str:
    """A member of a family in symbols.

    >>> word_of((2, 1), ("z1", "z2"))
    'h2(z1)*z2'
    """
    used = [(k, name) for k, name in zip(index, names, strict=True) if k]
    return "*".join(name if k == 1 else f"h{k}({name})" for k, name in used) or "1"
