"""The grammar of expressions, from a text to its prefix form: "tanh(3*x)" to ("tanh", "*", 3.0, "x").

    sum        product, then any number of + product or - product
    product    signed, then any number of * signed or / signed
    signed     any number of signs + and -, then power
    power      atom, or atom ** signed                a constant whole number from 0 to 20 on the right
    atom       number | pi | e | variable | function(sum) | max(sum, sum) | min(sum, sum) | (sum)
    variable   z, or x, or z1 … z20, or x1 … x20      one of the four kinds in an expression
    function   exp log sqrt sin cos tan sinh cosh tanh arctan erf abs sign relu sigmoid softplus
               step          1 for z > 0, else 0
               He0 … He20    He_{j+1}(z) = z He_j(z) − j He_{j−1}(z), of weight exp(−z²/2)
               h0 … h20      h_k = He_k/√k!

Operators bind as in Python, but no text is handed to Python. Numbers are combined (2*3*z is 6*z) and signs joined
(z + -3 is z - 3); nothing else is rewritten. A bad text is answered with a caret under the place.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from widelimit.errors import InputError, require_known

LONGEST, MOST_NODES, DEEPEST, LARGEST = 1000, 500, 50, 1e12
HIGHEST = 20  # power, index of a variable, order of a Hermite polynomial
ORDERS = range(HIGHEST + 1)

Item = float | str  # a number, or the name of a variable, a constant, an operator, a function
Prefix = tuple[Item, ...]
Table = dict[str, Callable[..., Any]]


def _hermite(k: int, x: Any) -> Any:
    """He_k(x) of anything that multiplies and subtracts."""
    previous: Any = 0.0
    current: Any = 1.0
    for j in range(k):
        previous, current = current, x * current - j * previous
    return current


BINARY: Table = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
HERMITE: Table = {
    **{f"He{k}": lambda x, k=k: _hermite(k, x) for k in ORDERS},
    **{f"h{k}": lambda x, k=k: _hermite(k, x) / math.sqrt(math.factorial(k)) for k in ORDERS},
}
ALGEBRA: Table = {"neg": operator.neg, **BINARY, **{f"**{k}": lambda x, k=k: x**k for k in ORDERS}, **HERMITE}
OF_NUMBERS: Table = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan": math.atan,
    "erf": math.erf,
    "abs": abs,
    "sign": lambda x: float(x > 0) - float(x < 0),
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: (1 + math.tanh(x / 2)) / 2,
    "softplus": lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))),
    "step": lambda x: float(x > 0),
    "max": max,
    "min": min,
}
NUMERIC = ALGEBRA | OF_NUMBERS
COUNTS = {**dict.fromkeys(NUMERIC, 1), **dict.fromkeys((*BINARY, "max", "min"), 2)}
CONSTANTS = {"pi": math.pi, "e": math.e}
VARIABLES = {f"{letter}{k or ''}": k for letter in "zx" for k in range(HIGHEST + 1)}  # and their index, 0 for z

WORD = re.compile(
    r"(?P<number>(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<mark>\*\*|[-+*/(),])"
    r"|(?P<other>[^ ])",
    re.ASCII,
)
KNOWN = (*OF_NUMBERS, *CONSTANTS, "z", "x", "z1 to z20", "x1 to x20", "He0 to He20", "h0 to h20")
ADVICE_ON_CHARACTERS = {  # written elsewhere
    "^": "write ** for a power",
    "=": "write the right-hand side only",
    "−": "write the plain minus -",
    "π": "write pi",
    **dict.fromkeys("×·", "write * for a product"),
    **dict.fromkeys("[]{}", "use round brackets"),
}
ADVICE_ON_NAMES = {
    **dict(ln="write log", atan="write arctan", heaviside="write step", logistic="write sigmoid"),
    r"[zxZX]_?\d+": f"variables are z or x, z1 to z{HIGHEST} or x1 to x{HIGHEST}",
    r"[hH][eE]?_?\d+": f"Hermite polynomials are He0 to He{HIGHEST} and h0 to h{HIGHEST}",
}


def read(text: str) -> Prefix:
    """The prefix form of a text.

    >>> read("tanh(3*x) + 2*3")
    ('+', 'tanh', '*', 3.0, 'x', 6.0)
    """
    reader = _Reader(text)
    found = reader.sum()
    reader.check_end("end")
    return found


def fold(prefix: Sequence[Item], join: Callable[..., Any]) -> Any:
    """Read a prefix form from the leaves up, without recursion: join(item, its parts …)."""
    stack: list[Any] = []
    for item in reversed(prefix):
        parts = [stack.pop() for _ in range(COUNTS.get(item, 0) if isinstance(item, str) else 0)]
        stack.append(join(item, *parts))
    return stack.pop()


def number(item: Item, *parts: float) -> float:
    """The value of an item without variables; never a negative zero."""
    if isinstance(item, float):
        return item
    return CONSTANTS[item] if item in CONSTANTS else float(NUMERIC[item](*parts)) + 0.0


def short(text: str) -> str:
    """At most 40 characters of a text."""
    return text if len(text) <= 40 else text[:39] + "…"


class _Reader:
    """Reads a text from left to right; `sum`, `product`, … are the lines of the grammar."""

    def __init__(self, text: str):
        self.text = re.sub(r"[\t\n\r]", " ", text[: LONGEST + 50])
        self.check_size(range(len(text)), LONGEST, "characters")
        self.words = [*self.split(), (len(self.text.rstrip()), "end", "")]  # place, kind, word
        nodes = [at for at, _, word in self.words if word not in ("(", ")", ",", "")]
        self.check_size(nodes, MOST_NODES, "names, numbers and operators")
        self.next, self.depth, self.first = 0, 0, ""

    def check(self, good: bool, at: int, expected: str, got: object, do: str) -> None:
        """Raise an InputError, a sentence and a caret under the place, unless ``good``."""
        if not good:
            got = short(got) if isinstance(got, str) else got
            raise InputError(f"{expected}, got {got!r}: {do}.\n{_pointer(self.text, at)}")

    def check_size(self, places: Sequence[int], most: int, what: str) -> None:
        """Refuse more than ``most`` of something that stands at these places."""
        at = places[most] if len(places) > most else 0
        self.check(len(places) <= most, at, f"an expression has at most {most} {what}", len(places), "shorten it")

    def split(self) -> Iterator[tuple[int, str, str]]:
        """The words; refuse a character that belongs to none."""
        expected = "an expression holds names, numbers, + - * / ** ( ) and commas"
        for found in WORD.finditer(self.text):
            at, kind, word = found.start(), str(found.lastgroup), found[0]
            self.check(kind != "other", at, expected, word, ADVICE_ON_CHARACTERS.get(word, "remove it"))
            yield at, kind, word

    def place(self) -> int:
        """Where the next word starts."""
        return self.words[self.next][0]

    def since(self, at: int) -> str:
        """What was read since a place."""
        return self.text[at : self.place()].strip()

    def take(self, *marks: str) -> str:
        """The next word, if it is one of the marks."""
        word = self.words[self.next][2]
        self.next += word in marks
        return word if word in marks else ""

    def check_end(self, end: str) -> None:
        """Say why the next word, unless it is the end, cannot follow what was read."""
        at, kind, word = self.words[self.next]
        expected, do = {
            ")": ("every ) must have been opened", "remove it, or write the missing ("),
            ",": ("a comma separates the two arguments of max or min", "remove it, or write 0.5 for 0,5"),
        }.get(word, ("expected an operator or the end here", "write * for a product"))
        self.check(end in (kind, word), at, expected, word, do)

    def sum(self) -> Prefix:
        at, found = self.place(), self.product()
        while mark := self.take("+", "-"):
            found = self.join(at, mark, found, self.product())
        return found

    def product(self) -> Prefix:
        at, found = self.place(), self.signed()
        while mark := self.take("*", "/"):
            right, factor = self.place(), self.signed()
            good = mark == "*" or factor != (0.0,)
            self.check(good, right, "a divisor must not be 0", self.since(right), "change it")
            found = self.join(at, mark, found, factor)
        return found

    def signed(self) -> Prefix:
        at, negative = self.place(), False
        while mark := self.take("+", "-"):
            negative ^= mark == "-"
        found = self.power()
        return self.join(at, "neg", found) if negative else found

    def power(self) -> Prefix:
        at, base = self.place(), self.atom()
        if not self.take("**"):
            return base
        right, exponent = self.place(), self.deeper(self.signed)
        expected = f"an exponent must be a constant whole number from 0 to {HIGHEST}"
        do = "write sqrt(z) for a root, 1/z for an inverse, exp(z) for an exponential"
        self.check(exponent[0] in ORDERS, right, expected, self.since(right), do)
        return self.join(at, f"**{int(exponent[0])}", base)

    def atom(self) -> Prefix:
        at, kind, word = self.words[self.next]
        if word == "(":
            return self.brackets(1)[0]
        expected = "expected a number, a variable or a function here"
        self.check(kind in ("number", "name"), at, expected, word or "the end", "write one, as in z + 1")
        self.next += 1
        if kind == "number":
            return self.join(at, float(word))
        if word in VARIABLES:
            self.check_variable(at, word)
        return (word,) if word in VARIABLES or word in CONSTANTS else self.call(at, word)

    def check_variable(self, at: int, name: str) -> None:
        """Refuse z beside x, and z beside z1."""
        first = self.first = self.first or name
        same = name[0] == first[0] and bool(name[1:]) == bool(first[1:])
        expected = f"the variables must be of one kind, z, x, z1 … or x1 …, as {first} is"
        self.check(same, at, expected, name, "rename it")

    def call(self, at: int, name: str) -> Prefix:
        """A function of what stands in the brackets after it."""
        self.check_name(at, name)
        example, after = f"write {name}({', '.join('zz'[: COUNTS[name]])})", self.words[self.next][2]
        self.check(after == "(", at, f"{name} is a function", after or "the end", example)
        parts = self.brackets(COUNTS[name])
        self.check(len(parts) == COUNTS[name], at, f"{name} takes {COUNTS[name]} arguments", len(parts), example)
        return self.join(at, name, *parts)

    def check_name(self, at: int, name: str) -> None:
        """Refuse a name that is not a function; offer the nearest."""
        if name in OF_NUMBERS or name in HERMITE:
            return
        for known, do in ADVICE_ON_NAMES.items():
            self.check(not re.fullmatch(known, name), at, "an expression holds known names", name, do)
        try:
            require_known("name", short(name), KNOWN)
        except InputError as unknown:
            raise InputError(f"{unknown}\n{_pointer(self.text, at)}") from None

    def brackets(self, most: int) -> list[Prefix]:
        """What stands in brackets, separated by commas."""
        at, parts = self.place(), list[Prefix]()
        while len(parts) < most and self.take("(", ","):
            parts.append(self.deeper(self.sum))
        self.check(self.words[self.next][1] != "end", at, "every ( must be closed", "(", "write the missing )")
        self.check_end(")")
        self.take(")")
        return parts

    def deeper(self, line: Callable[[], Prefix]) -> Prefix:
        """Read a line of the grammar inside of another."""
        self.depth += 1
        expected = f"brackets and exponents are at most {DEEPEST} deep"
        self.check(self.depth <= DEEPEST, self.place(), expected, self.depth, "take some away")
        found = line()
        self.depth -= 1
        return found

    def join(self, at: int, item: Item, *parts: Prefix) -> Prefix:
        """The form of an item and its parts: numbers combined, signs joined."""
        if item in ("+", "-") and (rest := _after_minus(parts[1])):
            item, parts = "-" if item == "+" else "+", (parts[0], rest)
        form = (item == "neg" and _after_minus(parts[0])) or (item, *chain(*parts))
        if not VARIABLES.keys().isdisjoint(form):
            return form
        try:
            value = fold(form, number)
        except (ArithmeticError, ValueError):
            value = math.nan
        self.check(abs(value) <= LARGEST, at, f"a number must be real and <= {LARGEST:g}", self.since(at), "change it")
        return (value,) if all(isinstance(part[0], float) for part in parts) else form


def _after_minus(form: Prefix) -> Prefix:
    """What follows the minus sign of a form; empty if it has none."""
    first = form[0]
    if isinstance(first, float):
        return (-first,) if first < 0 else ()
    return form[1:] if first == "neg" else ()


def _pointer(text: str, at: int) -> str:
    """The text around a place, and a caret under it."""
    start, end = max(0, at - 40), at + 40
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[start:end])
    left, right = "…" if start else "", "…" if end < len(text) else ""
    return f"    {left}{shown}{right}\n    {' ' * (len(left) + at - start)}^"
