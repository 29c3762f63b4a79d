"""A published claim, what we measure against it, and the verdict.

    slack =  tolerance − |m − p|       "near"        m the measured value with its standard error e
             m − p                     "at least"    p the published one
             p − m                     "at most"

    not reproduced    slack < 0
    not comparable    |slack| < 2e: the measurement cannot tell
    reproduced        otherwise; "with deviation" where a setting is not the published one

The tolerance is part of the claim and is fixed before anything is measured. What is no number is not reproduced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

REPRODUCED, DEVIATING = "reproduced", "reproduced with deviation"
NOT_COMPARABLE, NOT_REPRODUCED = "not comparable", "not reproduced"
VERDICTS = (REPRODUCED, DEVIATING, NOT_COMPARABLE, NOT_REPRODUCED)  # from best to worst
ERRORS = 2.0  # standard errors between a measurement and the line between two verdicts

Number = float | int | str | bool | tuple[float, ...]


@dataclass(frozen=True)
class Parameter:
    """A setting: its published value and how that is known, and what the two forms of the entry use.

    published   the value in the paper; where the source is "chosen", ours
    source      "sure" (read), "recalled" (believed, not read), or "chosen" (the paper does not say)
    full        the value of the full form, if not the published one
    quick       the value of the quick form, if not that of the full one

    >>> Parameter("eps", 1e-6, "sure", quick=1e-4).value(quick=True)
    0.0001
    """

    name: str
    published: Number
    source: Literal["sure", "recalled", "chosen"]
    full: Number | None = None
    quick: Number | None = None

    def value(self, quick: bool) -> Number:
        """The value that is used."""
        full = self.published if self.full is None else self.full
        return self.quick if quick and self.quick is not None else full

    def document(self) -> dict[str, object]:
        """Everything by name; what we chose was not published."""
        given = None if self.source == "chosen" else self.published
        used = {"full": self.value(quick=False), "quick": self.value(quick=True)}
        return {"name": self.name, "published": given, "source": self.source, **used}

    def deviates(self, quick: bool) -> bool:
        """Whether that is not what the paper has; what we chose ourselves cannot deviate."""
        return self.source != "chosen" and self.value(quick) != self.published


@dataclass(frozen=True)
class Claim:
    """One statement that can fail.

    sentence    what is claimed
    locator     where: figure or theorem
    published   the value; None where theory gives it for the settings at hand, see `Measurement`
    source      "text" (read in the paper or its code), "recalled", or "theory" (computed)
    kind        "near" the value, "at least" or "at most" it
    tolerance   fixed beforehand, with its reason
    falsifier   the result that would refute the claim
    """

    name: str
    sentence: str
    locator: str
    published: float | None
    source: Literal["text", "recalled", "theory"]
    kind: Literal["near", "at least", "at most"]
    tolerance: float
    reason: str
    falsifier: str


class Unmet(NamedTuple):
    """A claim that is known not to be reproduced, and why that may be.

    form   in which this was seen; "both" unless told
    """

    claim: str
    why: str
    form: Literal["full", "quick", "both"] = "both"


class Measurement(NamedTuple):
    """A measured value with its standard error over seeds (0 for what is computed), and the value of theory."""

    value: float
    error: float = 0.0
    theory: float | None = None


def verdict(claim: Claim, measured: Measurement, deviates: bool) -> str:
    """How a measurement stands to a claim.

    >>> claim = Claim("slope", "The risk falls like 1/N.", "Theorem 1", -1.0, "text", "near", 0.1, "fit", "slope -1/2")
    >>> [verdict(claim, Measurement(value, 0.02), False) for value in (-1.02, -1.08, -0.5)]
    ['reproduced', 'not comparable', 'not reproduced']
    """
    p = expected(claim, measured)
    m, e = measured.value, measured.error
    slack = {"near": claim.tolerance - abs(m - p), "at least": m - p, "at most": p - m}[claim.kind]
    if not (math.isfinite(slack) and math.isfinite(e)):
        return NOT_REPRODUCED
    if e > 0 and abs(slack) < ERRORS * e:
        return NOT_COMPARABLE
    if slack < 0:
        return NOT_REPRODUCED
    return DEVIATING if deviates else REPRODUCED


def expected(claim: Claim, measured: Measurement) -> float:
    """The value a measurement is held against: the published one, or that of theory; exactly one of them is there."""
    assert (claim.published is None) != (measured.theory is None), claim.name
    return claim.published if claim.published is not None else float(measured.theory)  # type: ignore[arg-type]
