"""Linear combinations of functions, multiplied out.

    f = Σ_k c_k e_k        as {k: c_k}, k the exponents of a monomial e_k = z1^k1 z2^k2 …, or another function itself
    e_k e_l = e_{k+l}      for monomials; any other function is multiplied by numbers only

The operators of the grammar act on them; what is no such combination, or too large a one, is answered with Unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from widelimit.problem.grammar import ALGEBRA, OF_NUMBERS, VARIABLES, Item, number

HIGHEST_DEGREE, MOST_PRODUCTS = 40, 20_000  # of a polynomial that is multiplied out


class Unknown(ArithmeticError):
    """Not a combination of known functions, or one too large to multiply out."""


@dataclass(frozen=True)
class Combination:
    """Σ_k c_k e_k of ``width`` variables; see above."""

    terms: dict[Hashable, float]
    width: int

    def __add__(self, other: Combination | float) -> Combination:
        others = self._lift(other).terms
        return self._keep({k: self.terms.get(k, 0.0) + others.get(k, 0.0) for k in self.terms | others})

    def __mul__(self, other: Combination | float) -> Combination:
        others = self._lift(other).terms
        if len(self.terms) * len(others) > MOST_PRODUCTS:
            raise Unknown
        terms: dict[Hashable, float] = {}
        for k, c in self.terms.items():
            for j, b in others.items():
                both = _product(k, j)
                terms[both] = terms.get(both, 0.0) + c * b
        return self._keep(terms)

    __rmul__ = __mul__

    def __neg__(self) -> Combination:
        return self * -1.0

    def __sub__(self, other: Combination | float) -> Combination:
        return self + -other

    def __truediv__(self, other: Combination | float) -> Combination:
        divisor = self._lift(other).constant()
        return self._keep({k: c / divisor for k, c in self.terms.items()})

    def __pow__(self, k: int) -> Combination:
        return math.prod([self] * k, start=self._lift(1.0))

    def _lift(self, other: Combination | float) -> Combination:
        return other if isinstance(other, Combination) else Combination({(0,) * self.width: other}, self.width)

    def _keep(self, terms: dict[Hashable, float]) -> Combination:
        """Drop what cancelled; refuse a degree too high."""
        if any(isinstance(k, tuple) and sum(k) > HIGHEST_DEGREE for k in terms):
            raise Unknown
        return Combination({k: c for k, c in terms.items() if c != 0}, self.width)

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return all(isinstance(k, tuple) and not any(k) for k in self.terms)

    def constant(self) -> float:
        """The number that it is."""
        if not self.is_constant:
            raise Unknown
        return sum(self.terms.values())


def _product(k: Hashable, j: Hashable) -> Hashable:
    """The function e_k e_j."""
    if isinstance(k, tuple) and isinstance(j, tuple):
        return tuple(map(operator.add, k, j))
    for one, other in ((k, j), (j, k)):
        if isinstance(one, tuple) and not any(one):
            return other
    raise Unknown


def combine(width: int, item: Item, *parts: Combination) -> Combination:
    """An item of the grammar and its parts, multiplied out, in ``width`` variables."""
    if isinstance(item, str) and item in VARIABLES:
        place = max(VARIABLES[item], 1)
        return Combination({tuple(int(j == place) for j in range(1, width + 1)): 1.0}, width)
    value: Any
    if not parts or item in OF_NUMBERS:
        value = number(item, *(part.constant() for part in parts))
    else:
        value = ALGEBRA[str(item)](*parts)
    return Combination({}, width) + value
