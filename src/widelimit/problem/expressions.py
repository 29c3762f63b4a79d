r"""Functions written as expressions, for links, targets and activations.

    text         He1(z) - 0.5*He3(z)                   normal form: reads back to an equal expression
    prefix       - He1 z * 0.5 He3 z                   operators before what they act on, see widelimit.problem.grammar
    latex        \mathrm{He}_{1}(z) - 0.5\mathrm{He}_{3}(z)
    polynomial   (0, 2.5, 0, -0.5)                     coefficients of 1, z, z², …
    monomials    {(1,): 2.5, (3,): -0.5}               coefficients of z1^k1 z2^k2 …

All are readings of the prefix form, from the leaves up; values are in widelimit.problem.expression_arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from widelimit.errors import require
from widelimit.on_first_use import OnFirstUse
from widelimit.problem.combinations import combine
from widelimit.problem.grammar import (
    VARIABLES,
    Item,
    Prefix,
    fold,
    read,
)

if TYPE_CHECKING:
    from widelimit.problem import expression_arrays as arrays
else:
    arrays = OnFirstUse("widelimit.problem.expression_arrays")

Terms = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class Expression:
    """A function, known by the prefix form of its normal form ``text``; build it with `expression`."""

    prefix: Prefix

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return repr(self.text)

    @cached_property
    def text(self) -> str:
        """The normal form."""
        return fold(self.prefix, _text)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables used, in order."""
        used = {item for item in self.prefix if isinstance(item, str) and item in VARIABLES}
        return tuple(sorted(used, key=VARIABLES.__getitem__))

    @property
    def indexed(self) -> bool:
        """Whether the variables are z1, z2, … and not z."""
        return any(VARIABLES[name] for name in self.names)

    @property
    def arity(self) -> int:
        """1 for a function of z or x, the highest index for one of z1, z2, …, 0 for a constant."""
        return max((VARIABLES[name] or 1 for name in self.names), default=0)

    @property
    def latex(self) -> str:
        """The same in LaTeX, for the inside of $…$."""
        return fold(self.prefix, _latex)[0]

    @property
    def monomials(self) -> Terms | None:
        """{exponents of the variables: coefficient} if this is a polynomial of degree at most 40; else None."""
        try:
            terms: Terms = fold(self.prefix, partial(combine, self.arity)).terms
        except ArithmeticError:
            return None
        return terms if all(map(math.isfinite, terms.values())) else None

    @property
    def polynomial(self) -> tuple[float, ...] | None:
        """Coefficients of 1, z, z², … if this is a polynomial in z or x of degree at most 40; else None."""
        terms = None if self.indexed else self.monomials
        if terms is None:
            return None
        powers = {sum(exponents): c for exponents, c in terms.items()}
        return tuple(powers.get(k, 0.0) for k in range(max(powers, default=0) + 1))

    def __call__(self, z: Any) -> Any:
        """Values at each entry of an array, for z, x or a constant; at each row of one, (…, k) to (…), for z1, z2, …

        >>> float(expression("z1 - z2**2")([5.0, 2.0]))
        1.0
        """
        return arrays.array_values(self, z)


def expression(text: str | Expression) -> Expression:
    """The function written in a text; for what may be written see widelimit.problem.grammar.

    >>> expression("He1( z)-0.50 * He3(z)").text
    'He1(z) - 0.5*He3(z)'
    >>> expression("x**3 - 3*x").polynomial
    (0.0, -3.0, 0.0, 1.0)
    """
    if isinstance(text, Expression):
        return text
    require(isinstance(text, str), "an expression must be a text", text, "write it in quotes")
    normal, _ = fold(read(text), _text)
    return Expression(read(normal))


SUM, PRODUCT, SIGN, POWER, ATOM = range(5)  # how strongly a text holds together
Piece = tuple[str, int]


def _text(item: Item, *parts: Piece) -> Piece:
    """The normal form, and how strongly it holds together."""
    if isinstance(item, float):
        return str(int(item)) if item.is_integer() else repr(item), SIGN if item < 0 else ATOM
    if item in ("+", "-"):
        return f"{_hold(parts[0], SUM)} {item} {_hold(parts[1], PRODUCT, first=False)}", SUM
    if item in ("*", "/"):
        return f"{_hold(parts[0], PRODUCT)}{item}{_hold(parts[1], SIGN, first=False)}", PRODUCT
    if item == "neg":
        return f"-{_hold(parts[0], POWER)}", SIGN
    if item.startswith("**"):
        return f"{_hold(parts[0], ATOM)}{item}", POWER
    return (f"{item}({', '.join(text for text, _ in parts)})" if parts else item), ATOM


def _hold(part: Piece, least: int, first: bool = True) -> str:
    """A part, in brackets if it would fall apart, or put a sign after another operator."""
    text, strength = part
    if strength >= least and (first or not text.startswith("-")):
        return text
    return rf"\left({text}\right)" if r"\frac" in text else f"({text})"


def _latex(item: Item, *parts: Piece) -> Piece:
    """LaTeX, and how strongly it holds together."""
    if isinstance(item, float):
        return _latex_number(item)
    if item in ("+", "-"):
        return _text(item, *parts)
    if item == "*":
        return _latex_product(_hold(parts[0], PRODUCT), _hold(parts[1], PRODUCT, first=False)), PRODUCT
    if item == "/":
        return rf"\frac{{{parts[0][0]}}}{{{parts[1][0]}}}", POWER
    if item == "neg":
        return f"-{_hold(parts[0], PRODUCT, first=False)}", SIGN
    if item.startswith("**"):
        return f"{_hold(parts[0], ATOM)}^{{{item[2:]}}}", POWER
    inside = ", ".join(text for text, _ in parts)
    if item == "abs":
        return rf"\left|{inside}\right|", ATOM
    if item == "sqrt":
        return rf"\sqrt{{{inside}}}", POWER
    return (_latex_name(item) + _hold((inside, SUM), ATOM), POWER) if parts else (_latex_name(item), ATOM)


def _latex_product(left: str, right: str) -> str:
    """3x, x y, and a dot where digits would meet."""
    after_digit = left[-1].isdigit()
    if right[0].isdigit() or (after_digit and right.startswith(r"\frac")):
        return rf"{left} \cdot {right}"
    return f"{left}{right}" if after_digit else f"{left} {right}"


def _latex_number(value: float) -> Piece:
    text, strength = _text(value)
    mantissa, tens, exponent = text.partition("e")
    if not tens:
        return text, strength
    power = f"10^{{{int(exponent)}}}"
    return (power, POWER) if mantissa == "1" else (rf"{mantissa} \cdot {power}", PRODUCT)


def _latex_name(name: str) -> str:
    letters = name.rstrip("0123456789")
    upright = letters in ("He", "e", "erf", "sign", "relu", "sigmoid", "softplus", "step")
    symbol = rf"\mathrm{{{letters}}}" if upright else letters if len(letters) == 1 else rf"\{letters}"
    return symbol if letters == name else f"{symbol}_{{{name[len(letters) :]}}}"
