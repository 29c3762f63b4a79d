"""Conditions on the fields of runs: ``n >= 200 and data.delta < 0.6``.

    either      both, then any number of: or both
    both        single, then any number of: and single
    single      not single | ( either ) | comparison
    comparison  side, then one or more of: < <= > >= == != side      0.2 < data.delta < 0.6
    side        a field, a number such as 1e-3 or 2*pi (widelimit.problem.grammar), inf, true, false, or text in quotes

Nothing is handed to Python. A field that a run does not have fails every comparison.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from widelimit.errors import InputError, require
from widelimit.experiments.run_fields import Plain, full_name
from widelimit.problem import grammar

Fields = Mapping[str, Plain]
Condition = Callable[[Fields], bool]
LONGEST, DEEPEST = 1000, 50
Sign = Callable[[Any, Any], bool]  # of two numbers, or of two texts
SIGNS: dict[str, Sign] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
CONSTANTS: dict[str, Plain] = {"inf": float("inf"), "true": True, "false": False}
WORD = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')|(?P<sign><=|>=|==|!=|<|>)|(?P<bracket>[()])"""
    r"""|(?P<number>[-+]?(?:[0-9.*/+-]|[eE](?=[-+0-9])|(?<=[*/+-])pi)+(?![A-Za-z_])|pi\b)|(?P<name>[A-Za-z_][\w.]*)"""
    r"""|(?P<other>\S)"""
)
EXAMPLE = 'try "n >= 200 and data.delta < 0.6"'


class Side(NamedTuple):
    """One side of a comparison: a field, or a value."""

    field: str
    value: Plain

    def of(self, fields: Fields) -> Plain:
        """The value of this term in a run: that of its field, or the constant it is."""
        return fields.get(self.field) if self.field else self.value


def where(text: str, known: Iterable[str]) -> Condition:
    """The condition that a text states on runs whose fields are known.

    >>> large = where("n >= 200 and not outcome == 'diverged'", ["method.n", "outcome"])
    >>> large({"method.n": 400, "outcome": "done"}), large({"method.n": 100, "outcome": "done"})
    (True, False)
    """
    good = isinstance(text, str) and len(text.strip()) > 0 and len(text) <= LONGEST
    require(good, f"a condition must be a text of at most {LONGEST} characters", text, EXAMPLE)
    reader = _Conditions(text, list(known))
    found = reader.either()
    reader.require(not reader.word, "a condition must end here, or go on with and, or")
    return found


class _Conditions:
    """Reads a condition from left to right; its methods are the lines of the grammar."""

    def __init__(self, text: str, known: list[str]):
        self.text, self.known, self.depth = text, known, 0
        self.words = _words(text)
        self.kind, self.word = next(self.words)

    def require(self, good: bool, expected: str) -> None:
        require(good, f"{expected} in {self.text!r}", self.word or "its end", EXAMPLE)

    def take(self, *words: str) -> str:
        """The next word, if it is one of these and not in quotes."""
        found = self.word if self.word in words and self.kind != "text" else ""
        if found:
            self.kind, self.word = next(self.words)
        return found

    def either(self) -> Condition:
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        return lambda fields: any(part(fields) for part in parts)

    def both(self) -> Condition:
        parts = [self.single()]
        while self.take("and"):
            parts.append(self.single())
        return lambda fields: all(part(fields) for part in parts)

    def single(self) -> Condition:
        self.depth += 1
        self.require(self.depth <= DEEPEST, f"brackets and nots must be at most {DEEPEST} deep")
        if self.take("not"):
            inner = self.single()
            found: Condition = lambda fields: not inner(fields)  # noqa: E731
        elif self.take("("):
            found = self.either()
            self.require(bool(self.take(")")), "expected a closing bracket")
        else:
            found = self.comparison()
        self.depth -= 1
        return found

    def comparison(self) -> Condition:
        sides, signs = [self.side()], list[Sign]()
        while sign := self.take(*SIGNS):
            signs.append(SIGNS[sign])
            sides.append(self.side())
        self.require(bool(signs), "expected one of < <= > >= == !=")
        return lambda fields: all(
            _holds(sign, left.of(fields), right.of(fields))
            for sign, left, right in zip(signs, sides, sides[1:], strict=False)
        )

    def side(self) -> Side:
        kind, word = self.kind, self.word
        self.require(kind in ("text", "number", "name") and word not in ("and", "or", "not"),
                     "expected a field, a number or a text in quotes")  # fmt: skip
        self.kind, self.word = next(self.words)
        if kind == "text":
            return Side("", word)
        if kind == "number":
            prefix = grammar.read(word)
            return Side("", grammar.fold(prefix, grammar.number))
        return Side("", CONSTANTS[word]) if word in CONSTANTS else Side(full_name(word, self.known), None)


def _words(text: str) -> Iterator[tuple[str, str]]:
    """The words with their kinds, then empty ones."""
    for found in WORD.finditer(text):
        kind, word = str(found.lastgroup), found[0]
        if kind == "other":
            hint = "write == to compare" if word == "=" else EXAMPLE
            raise InputError(f"a condition holds fields, numbers and < <= > >= == !=, got {word!r}: {hint}.")
        yield kind, word[1:-1] if kind == "text" else word
    while True:
        yield "end", ""


def _holds(sign: Sign, left: Plain, right: Plain) -> bool:
    """Whether two values compare; those of different kinds are only unequal."""
    if left is None or right is None:
        return False
    if isinstance(left, str) != isinstance(right, str):
        return sign is operator.ne
    return bool(sign(left, right))
