"""A target as a sum of products of functions that share no variable: then integrals are products of small ones.

    f(z) = Σ_j c_j Π_b g_{jb}(z_b),    the blocks b of a term have no variable in common

    2*tanh(z1)*z2 + z3*(z1 - 1)   →   2 · tanh(z1) · z2  +  1 · z3 · z1  −  1 · z3

Sums and products are multiplied out, everything else is a block of its own. Factors that share a variable are joined
into one block.
"""

from __future__ import annotations

from typing import NamedTuple

from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import CONSTANTS, VARIABLES, Item, Prefix, fold, number

MOST_TERMS = 400  # beyond, a product is one block


class Term(NamedTuple):
    """c Π_b g_b."""

    coefficient: float
    blocks: tuple[Expression, ...]


def separated(f: Expression) -> list[Term]:
    """The terms of an expression.

    >>> from widelimit.problem.expressions import expression
    >>> [(t.coefficient, *map(str, t.blocks)) for t in separated(expression("2*tanh(z1)*z2 - z1*z3*z1"))]
    [(2.0, 'tanh(z1)', 'z2'), (-1.0, 'z1*z1', 'z3')]
    """
    return list(fold(f.prefix, _joined)[1])


Piece = tuple[Prefix, tuple[Term, ...]]  # the form of a part, and its terms


def _joined(item: Item, *parts: Piece) -> Piece:
    form: Prefix = (item, *(word for part in parts for word in part[0]))
    terms = [part[1] for part in parts]
    if isinstance(item, float):
        return form, (Term(item, ()),)
    if item in CONSTANTS:
        return form, (Term(CONSTANTS[item], ()),)
    if item == "+":
        return form, terms[0] + terms[1]
    if item in ("-", "neg"):
        return form, (*terms[0][: len(terms[0]) * (item == "-")], *_scaled(-1.0, terms[-1]))
    if item == "*" and len(terms[0]) * len(terms[1]) <= MOST_TERMS:
        return form, tuple(_product(s, t) for s in terms[0] for t in terms[1])
    if item == "/" and all(not t.blocks for t in terms[1]):
        return form, _scaled(1 / sum(t.coefficient for t in terms[1]), terms[0])
    if VARIABLES.keys().isdisjoint(form):
        return form, (Term(fold(form, number), ()),)
    return form, (Term(1.0, (Expression(form),)),)


def _scaled(c: float, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(Term(c * t.coefficient, t.blocks) for t in terms)


def _product(s: Term, t: Term) -> Term:
    """Blocks with a variable in common become one."""
    blocks = list(s.blocks)
    for block in t.blocks:
        shared = [b for b in blocks if set(b.names) & set(block.names)]
        blocks = [b for b in blocks if b not in shared]
        for b in shared:
            block = Expression(("*", *b.prefix, *block.prefix))
        blocks.append(block)
    return Term(s.coefficient * t.coefficient, tuple(sorted(blocks, key=lambda b: [VARIABLES[n] for n in b.names])))
