"""Refine until two agree, and say what is left: the one loop of everything that is made finer step by step.

    x_0, x_1, x_2, …     ever finer versions of a number, a rule or a landscape
    δ_k                  how far x_k is off, as far as can be seen: its distance to the version before, or to a check
    stop                 at the first δ_k ≤ ε, or at the last version there is; δ_k is what is left

A single integral over an interval is in widelimit.integrals, which halves every panel for itself. What comes here
refines something else: one rule that all neurons share, a box in which laws live, a whole landscape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

Found = TypeVar("Found")


class Agreement(NamedTuple, Generic[Found]):
    """The last version that was made, and how far off it is: ``agreed`` if that is within what was allowed."""

    value: Found
    off: float
    agreed: bool


class Row(NamedTuple, Generic[Found]):
    """A version and the two before it; those that there are not are the first one."""

    now: Found
    before: Found
    earlier: Found


def until_two_agree(versions: Iterable[tuple[Found, float]], allowed: float) -> Agreement[Found]:
    """The first of some versions, each with what it is off, that is off by no more than allowed; else the last.

    >>> halves = ((1 + 0.5**k, 0.5**k) for k in range(100))
    >>> until_two_agree(halves, 0.1)
    Agreement(value=1.0625, off=0.0625, agreed=True)
    """
    found: Agreement[Found] | None = None
    for value, off in versions:
        found = Agreement(value, float(off), off <= allowed)
        if found.agreed:
            break
    assert found is not None, "there is no version"
    return found


def in_a_row(values: Iterable[Found], distance: Callable[[Found, Found], float]) -> Iterator[tuple[Row[Found], float]]:
    """Every version with those before it, off by its distance to the last of them; the first one by ∞.

    >>> row, off = until_two_agree(in_a_row((2.0**-k for k in range(9)), lambda a, b: abs(a - b)), 0.2)[:2]
    >>> row, off
    (Row(now=0.125, before=0.25, earlier=0.5), 0.125)
    """
    row: Row[Found] | None = None
    for now in values:
        off = math.inf if row is None else distance(row.now, now)
        row = Row(now, now, now) if row is None else Row(now, row.now, row.before)
        yield row, off
