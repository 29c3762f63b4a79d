r"""Leap and staircase: in which order the monomials of a target can be learnt, and how far the longest step is.

    leap = min over orderings of max_i |α_i \ U_i|,    U_i the variables of α_1, …, α_{i−1}

    α          index of a coefficient that is not 0, the constant left out
    |α \ U|    Σ α_j over the variables j that are not in U: on the cube, how many are new

Optimal ordering: always take an index with the fewest new degrees. Proof: let the last long step of this ordering, of
length L, leave from U. Every index that is not yet taken then has |α \ U| ≥ L. In any other ordering, the first index
from outside those taken before finds at most U known, so that its step is at least L too.

Merged staircase: leap 1 [abam22]. SGD takes about d^{max(leap, 2)} steps [abam23], in the basis that is given: for
Gaussian inputs the leap depends on the basis, see widelimit.theory.learning.isotropic_leap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from widelimit.errors import finite_or_none, require, require_known
from widelimit.potentials.product_families import Index
from widelimit.problem.expressions import Expression
from widelimit.theory.learning.degeneracy import Degeneracy, degeneracy
from widelimit.theory.learning.hermite_spectrum import hermite
from widelimit.theory.learning.isotropic_leap import IsotropicLeap, isotropic_leap
from widelimit.theory.learning.spectrum import Spectrum, by_degree
from widelimit.theory.learning.walsh_spectrum import walsh

FAMILIES = {"cube": walsh, "gauss": hermite}
CAVEAT = (
    "for Gaussian inputs the leap is that of the given coordinates: a rotation, which neither the inputs nor SGD "
    "notice, may change it"
)


class Step(NamedTuple):
    """One step of the staircase.

    at        index of the coefficient
    new       names of the variables it adds
    length    degrees of these variables
    enabled   indices of the earlier steps that brought its other variables
    """

    at: Index
    new: tuple[str, ...]
    length: int
    enabled: tuple[Index, ...]


@dataclass(frozen=True, eq=False)
class Leap:
    """An optimal ordering of the monomials of a target, and its longest step.

    spectrum     the coefficients
    steps        the ordering
    isotropic    for Gaussian inputs and up to four variables: the largest leap over all rotations; else None
    degeneracy   a symmetry because of which SGD cannot learn the target though its leap is 1; None if there is none

    >>> import widelimit as wl
    >>> wl.leap("z1 + z1*z2*z3")
    <Leap 2: z1 → z1*z2*z3>
    """

    spectrum: Spectrum
    steps: tuple[Step, ...]
    isotropic: IsotropicLeap | None = None
    degeneracy: Degeneracy | None = None

    @property
    def leap(self) -> int:
        """The longest step; 0 for a constant."""
        return max((step.length for step in self.steps), default=0)

    @property
    def merged_staircase(self) -> bool:
        """Whether no step adds more than one degree."""
        return self.leap <= 1

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in the order in which they are learnt."""
        return tuple(name for step in self.steps for name in step.new)

    def word(self, index: Index) -> str:
        """A monomial in symbols."""
        return self.spectrum.word(index)

    @property
    def notes(self) -> list[str]:
        """What to know beside the number."""
        said = []
        if self.spectrum.basis == "hermite" and len(self.spectrum.names) > 1:
            said.append(
                CAVEAT + (f"; over all rotations it is at most {self.isotropic.leap}" if self.isotropic else "")
            )
        if not self.spectrum.complete:
            said.append(f"degrees above {self.spectrum.order} were not looked at: they can only lower the leap")
        if self.degeneracy is not None:
            said.append(self.degeneracy.sentence)
        return said

    @property
    def sentence(self) -> str:
        """The leap in words."""
        if not self.steps:
            return "the target is a constant: there is nothing to learn."
        kind = "a merged staircase" if self.merged_staircase else "no merged staircase"
        return f"leap {self.leap}, {kind}; variables are learnt in the order {', '.join(self.variables)}."

    def table(self) -> list[dict[str, object]]:
        """One row for each step."""
        return [
            {
                "monomial": self.word(step.at), "new": list(step.new), "length": step.length,
                "enabled_by": [self.word(index) for index in step.enabled],
            }
            for step in self.steps
        ]  # fmt: skip

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {
            "leap": self.leap, "merged_staircase": self.merged_staircase, "variables": list(self.variables),
            "steps": self.table(),
            "isotropic_leap": None if self.isotropic is None else finite_or_none(self.isotropic.leap),
            "degenerate": self.degeneracy is not None, "notes": self.notes, "sentence": self.sentence,
        }  # fmt: skip

    def __repr__(self) -> str:
        shown = [self.word(step.at) for step in self.steps]
        chain = " → ".join(shown if len(shown) <= 8 else [*shown[:7], f"… {shown[-1]}"])
        return f"<Leap {self.leap}: {chain}>"


def leap(target: str | Expression | Spectrum, law: str = "cube") -> Leap:
    """The leap of a target with an optimal ordering of its monomials.

    target   an expression in z1, z2, …, or its spectrum, from `wl.hermite` or `wl.walsh`
    law      of the inputs of an expression: "cube" or "gauss"

    >>> import widelimit as wl
    >>> [wl.leap(f).leap for f in ("z1 + z1*z2 + z1*z2*z3", "z1*z2*z3", "z1 + z1*z2*z3")]
    [1, 3, 2]
    >>> wl.leap("z1 + z2 + z1*z2", "gauss").isotropic.leap
    2
    """
    require_known("law", law, FAMILIES)
    good = isinstance(target, str | Expression | Spectrum)
    require(good, "leap needs an expression or a spectrum", target, "try 'z1 + z1*z2' or wl.walsh(f, k=3)")
    spectrum = target if isinstance(target, Spectrum) else FAMILIES[law](target)
    found = Leap(spectrum, ordering(spectrum.nonzero, spectrum.names))
    gauss = spectrum.basis == "hermite"
    coefficients = {index: c for index, c in spectrum.nonzero.items() if any(index)}
    turned = isotropic_leap(coefficients, len(spectrum.names)) if gauss and coefficients else None
    stuck = degeneracy(coefficients, spectrum.names) if found.merged_staircase else None
    return Leap(spectrum, found.steps, turned, stuck)


def ordering(indices: Iterable[Index], names: tuple[str, ...]) -> tuple[Step, ...]:
    """An optimal ordering, shortest step first.

    >>> [step.at for step in ordering([(1, 1), (0, 1)], ("a", "b"))]
    [(0, 1), (1, 1)]
    """
    left = sorted((index for index in indices if any(index)), key=by_degree)
    brought: dict[int, Index] = {}  # the step that brought each variable
    steps = []
    while left:
        index = min(left, key=lambda a: (sum(n for i, n in enumerate(a) if i not in brought), by_degree(a)))
        new = [i for i, n in enumerate(index) if n and i not in brought]
        enabled = {brought[i]: None for i, n in enumerate(index) if n and i in brought}
        length = sum(index[i] for i in new)
        steps.append(Step(index, tuple(names[i] for i in new), length, tuple(enabled)))
        brought |= dict.fromkeys(new, index)
        left.remove(index)
    return tuple(steps)
