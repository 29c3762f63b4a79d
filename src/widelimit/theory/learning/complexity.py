"""How hard a target is to learn: its spectrum, its staircase, and how many samples that predicts in dimension d.

    online SGD, one neuron      d if s = 1,  d log d if s = 2,  d^{s−1} if s ≥ 3       one variable [agj21]
    SGD, two layers             d^{max(leap, 2)}                                       [abam23]
    kernel methods              d^{degree}; with d^ℓ samples ‖P_{>ℓ} f‖² is left        [gmmm21]
    filtered PCA                d                                                      Gaussian inputs [cm20]

    s        information exponent
    leap     on the cube that of the coordinates; for Gaussian inputs the largest over rotations, where it is known

Powers of d, up to constants and logarithms that the theorems do not fix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from widelimit.errors import finite_or_none, require, require_known
from widelimit.problem.expressions import Expression, expression
from widelimit.theory.learning.hermite_spectrum import hermite
from widelimit.theory.learning.leap import Leap, leap
from widelimit.theory.learning.spectrum import Spectrum
from widelimit.theory.learning.sphere_spectrum import SphereSpectrum, gegenbauer
from widelimit.theory.learning.walsh_spectrum import walsh

LAWS = ("gauss", "cube", "sphere")


class Prediction(NamedTuple):
    """How many samples one way of learning needs.

    method     in words
    exponent   of d; infinite if no power of d suffices
    scaling    in symbols
    reason     the number it follows from
    """

    method: str
    exponent: float
    scaling: str
    reason: str


@dataclass(frozen=True, eq=False)
class Complexity:
    """The spectrum of a target, its staircase, and what they predict.

    target      the expression
    law         of the inputs: "gauss", "cube" or "sphere"
    spectrum    its coefficients, or on the sphere its norms by degree
    staircase   an optimal ordering of its monomials; None on the sphere

    >>> import widelimit as wl
    >>> for row in wl.complexity("z1 + z1*z2*z3", "cube").predictions:
    ...     print(row.method, row.scaling)
    SGD, two layers d^2
    kernel methods d^3
    """

    target: Expression
    law: str
    spectrum: Spectrum | SphereSpectrum
    staircase: Leap | None

    @property
    def information_exponent(self) -> float:
        """The least degree ≥ 1 that the target has."""
        return self.spectrum.information_exponent

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """How many samples each way of learning needs; nothing for a target without a first degree."""
        s = self.information_exponent
        if math.isinf(s):
            return ()
        found = []
        if self.law != "cube" and len(self.spectrum.names) == 1:
            scaling = "d log d" if s == 2 else power(max(1, s - 1))
            found.append(Prediction("online SGD, one neuron", max(1, s - 1), scaling, f"information exponent {s}"))
        if self.staircase is not None:
            turned = self.staircase.isotropic
            longest = self.staircase.leap if turned is None else turned.leap
            reason = f"leap {longest}" + (
                "" if turned is None or len(self.spectrum.names) == 1 else " over all rotations"
            )
            found.append(Prediction("SGD, two layers", max(longest, 2), power(max(longest, 2)), reason))
        degree = self.spectrum.degree
        reason = (
            f"degree {degree}" if math.isfinite(degree) else "no highest degree: with d^ℓ samples ‖P_{>ℓ} f‖² is left"
        )
        found.append(Prediction("kernel methods", degree, power(degree), reason))
        if self.law == "gauss":
            found.append(Prediction("filtered PCA", 1, "d", "any target that the filter sees"))
        return tuple(found)

    @property
    def notes(self) -> list[str]:
        """What to know beside the numbers."""
        if isinstance(self.spectrum, Spectrum):
            return [self.spectrum.sentence, *([] if self.staircase is None else self.staircase.notes)]
        s = self.information_exponent
        constant = "the target is a constant: there is nothing to learn, and its information exponent is infinite."
        return [constant if self.spectrum.is_constant else f"information exponent {s}."]

    def left(self) -> list[dict[str, float | int]]:
        """‖P_ℓ f‖² and ‖P_{>ℓ} f‖² for every degree ℓ, with errors."""
        rows: list[dict[str, float | int]] = []
        for degree, norm in enumerate(self.spectrum.degree_norms):
            beyond = self.spectrum.beyond(degree)
            rows.append({
                "degree": degree, "norm": norm.value, "norm_error": norm.error, "beyond": beyond.value,
                "beyond_error": beyond.error,
            })  # fmt: skip
        return rows

    def document(self) -> dict[str, object]:
        """Everything by name."""
        rows = [{**row._asdict(), "exponent": finite_or_none(row.exponent)} for row in self.predictions]
        return {
            "target": str(self.target), "law": self.law, "spectrum": self.spectrum.document(), "degrees": self.left(),
            "staircase": None if self.staircase is None else self.staircase.document(), "predictions": rows,
            "notes": self.notes,
        }  # fmt: skip

    def __repr__(self) -> str:
        said = ", ".join(f"{row.method}: {row.scaling}" for row in self.predictions)
        return f"<Complexity of {self.target} ({self.law}): {said or self.notes[0]}>"


def complexity(target: str | Expression, law: str = "gauss", d: int = 100, order: int | None = None) -> Complexity:
    """The spectrum of a target, its leap and staircase, and the samples they predict.

    target   an expression in z or z1, z2, …
    law      of the inputs: "gauss" for N(0, I), "cube" for {±1}^d, "sphere" for the sphere of radius √d
    d        dimension of the sphere
    order    the highest degree to look at; by default all of a polynomial

    >>> import widelimit as wl
    >>> wl.complexity("z1*z2", "cube")
    <Complexity of z1*z2 (cube): SGD, two layers: d^2, kernel methods: d^2>
    """
    require(isinstance(target, str | Expression), "complexity needs an expression", target, "try 'z1 + z1*z2'")
    require_known("law", law, LAWS)
    f = expression(target)
    if law == "sphere":
        return Complexity(f, law, gegenbauer(f, d, order), None)
    spectrum = walsh(f, order) if law == "cube" else hermite(f, order)
    return Complexity(f, law, spectrum, leap(spectrum))


def power(exponent: float) -> str:
    """A power of d in symbols.

    >>> power(1), power(2), power(float("inf"))
    ('d', 'd^2', 'no power of d')
    """
    return "no power of d" if math.isinf(exponent) else "d" if exponent == 1 else f"d^{exponent:g}"
