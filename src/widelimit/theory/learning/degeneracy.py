"""Merged staircases that SGD cannot climb: the degenerate targets of [abam22].

    h(T z) = h(z),   T a permutation of the variables with signs, i ↦ s_i z_{π(i)}

Inputs and start have this symmetry as well, and at d = ∞ neurons start with u = 0: u_{π(i)} = s_i u_i for each neuron
and at all times. The network is then unchanged if the two variables i and π(i) alone are exchanged (with the sign), and
can only learn a target that is, too. z1 + z2 + z1*z3 + z2*z4 is not: exchanging 1 with 2 and 3 with 4 leaves it as it
is, exchanging 3 with 4 alone does not. Targets with generic coefficients have no such symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from widelimit.potentials.product_families import Index
from widelimit.theory.learning.spectrum import WithError

MOST_TRIED = 20_000  # partial symmetries
CLOSE = 1e-9  # relative, of coefficients that are equal

Image = tuple[int, int]  # variable and sign


class Degeneracy(NamedTuple):
    """A symmetry that ties variables together which the target tells apart.

    pairs      the variables that it exchanges, by name
    complete   whether the search ended; if not, there may be a symmetry
    """

    pairs: tuple[tuple[str, str], ...]
    complete: bool = True

    @property
    def sentence(self) -> str:
        """The symmetry in words."""
        if not self.complete:
            return "symmetries were too many to search: the target may be degenerate"
        moved = ", ".join(f"{a} to {b}" for a, b in self.pairs)
        return (
            f"degenerate: a symmetry of the target takes {moved}, so that every neuron of the limit weighs them alike "
            "and SGD cannot tell them apart in the time that the leap promises; other coefficients break the symmetry"
        )


def degeneracy(coefficients: Mapping[Index, WithError], names: tuple[str, ...]) -> Degeneracy | None:
    """A symmetry because of which a target cannot be learnt from u = 0; None if there is none."""
    search = _Search(coefficients)
    used = sorted({i for index in coefficients for i, n in enumerate(index) if n})
    for i in used:
        for j in used:
            for sign in (1, -1):
                if i != j and not search.keeps({i: (j, sign), j: (i, sign)}, used):
                    found = search.extended({i: (j, sign)}, used)
                    if found is not None:
                        moved = tuple(
                            (names[a], ("-" if s < 0 else "") + names[b]) for a, (b, s) in found.items() if a != b
                        )
                        return Degeneracy(moved)
                if search.tried > MOST_TRIED:
                    return Degeneracy((), complete=False)
    return None


class _Search:
    """Permutations with signs that leave a polynomial unchanged, one variable after the other."""

    def __init__(self, coefficients: Mapping[Index, WithError]):
        self.terms = {frozenset((i, n) for i, n in enumerate(a) if n): c for a, c in coefficients.items()}
        self.tried = 0

    def same(self, a: WithError, b: WithError, sign: int) -> bool:
        """Whether two coefficients are equal up to a sign, as far as is known."""
        return abs(a.value - sign * b.value) <= a.error + b.error + CLOSE * abs(a.value)

    def signature(self, variable: int) -> list[tuple[int, int, float]]:
        """What a symmetry keeps of a variable: its power, the degree and the size of each of its monomials."""
        return sorted(
            (n, sum(p for _, p in term), float(f"{abs(c.value):.8g}"))
            for term, c in self.terms.items() for i, n in term if i == variable
        )  # fmt: skip

    def keeps(self, image: dict[int, Image], used: list[int]) -> bool:
        """Whether a map leaves the polynomial unchanged, variables that it does not mention being kept."""
        full = {i: image.get(i, (i, 1)) for i in used}
        return len({j for j, _ in full.values()}) == len(used) and all(self._fits(term, full) for term in self.terms)

    def _fits(self, term: frozenset[tuple[int, int]], image: dict[int, Image]) -> bool:
        moved = frozenset((image[i][0], n) for i, n in term)
        sign = math.prod(image[i][1] ** n for i, n in term)
        return moved in self.terms and self.same(self.terms[term], self.terms[moved], sign)

    def extended(self, image: dict[int, Image], used: list[int]) -> dict[int, Image] | None:
        """A symmetry that continues a map; None if there is none, or after too many trials."""
        self.tried += 1
        known = [term for term in self.terms if all(i in image for i, _ in term)]
        last = list(image)[-1]
        if self.signature(last) != self.signature(image[last][0]) or not all(self._fits(t, image) for t in known):
            return None
        if len(image) == len(used):
            return image
        left = [i for i in used if i not in image]
        i = max(left, key=lambda v: self._decided(v, image))
        taken = {j for j, _ in image.values()}
        for j in used:
            for sign in (1, -1):
                if j not in taken and self.tried <= MOST_TRIED:
                    found = self.extended({**image, i: (j, sign)}, used)
                    if found is not None:
                        return found
        return None

    def _decided(self, variable: int, image: dict[int, Image]) -> int:
        """How many monomials of a variable have no other one that is not yet mapped."""
        own = [{i for i, _ in term} for term in self.terms if any(i == variable for i, _ in term)]
        return sum(others - {variable} <= image.keys() for others in own)
