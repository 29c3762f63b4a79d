"""Which variables a target has, its monomials in them, and the indices of a family in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from widelimit.errors import require, require_count
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.product_families import Index, all_indices
from widelimit.problem.expressions import Expression, Terms, expression
from widelimit.problem.grammar import VARIABLES

if TYPE_CHECKING:
    from widelimit.problem import data
    from widelimit.problem.data import Empirical
    from widelimit.problem.data.target import Target
else:
    data = OnFirstUse("widelimit.problem.data")

MOST_VARIABLES = 20
MOST_INDICES = 200_000


def names_of(k: int) -> tuple[str, ...]:
    """z, or z1, …, zk.

    >>> names_of(2)
    ('z1', 'z2')
    """
    require(k <= MOST_VARIABLES, f"a target may have at most {MOST_VARIABLES} variables", k, "fix some of them")
    return ("z",) if k == 1 else tuple(f"z{i}" for i in range(1, k + 1))


def target_of(link: Any, k: int | None = None) -> tuple[Target, tuple[str, ...]]:
    """A target, and the names of the variables it depends on: of an expression those that appear in it."""
    target = expression(link) if isinstance(link, str | Expression) else data.target.parsed(link)
    if isinstance(target, Expression):
        names = target.names
        require(k is None, "k is for functions: an expression says how many variables it has", k, "leave it out")
        require(bool(names), "a target needs a variable, z or z1, z2, …", str(target), "write one, such as z")
        return target, names
    count = 1 if k is None else k
    require_count("k", count, "2")
    return target, names_of(count)


def monomials_of(target: Target, names: tuple[str, ...]) -> Terms | None:
    """The monomials of a polynomial, with one exponent for each of the named variables; None of what is none."""
    terms = target.monomials if isinstance(target, Expression) else None
    if terms is None:
        return None
    places = [max(VARIABLES[name], 1) - 1 for name in names]
    return {tuple(exponents[place] for place in places): c for exponents, c in terms.items()}


def samples_of(link: object) -> Empirical | None:
    """The samples that stand for a target, if they do."""
    return link if not isinstance(link, str | Expression) and isinstance(link, data.Empirical) else None


def indices(k: int, order: int) -> Iterator[Index]:
    """All indices of k variables with degree at most ``order``, by degree."""
    count = math.comb(k + order, k)
    require(count <= MOST_INDICES, f"at most {MOST_INDICES} coefficients can be looked at", count, "lower the order")
    yield from all_indices(k, order)
