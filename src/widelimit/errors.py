"""What can go wrong, said in one sentence: what was expected, what arrived, what to do."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any


class InputError(ValueError):
    """Bad input. The message is one sentence and is all a user needs to see."""


class Diverged(ArithmeticError):
    """A run left the range of floating point numbers; ``solution`` (or comparison) is what was computed before."""

    def __init__(self, message: str, solution: Any):
        super().__init__(message)
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """A run was stopped from the keyboard; ``solution`` (or comparison) is what was computed before."""

    def __init__(self, solution: Any):
        super().__init__("interrupted")
        self.solution = solution


def require(condition: bool, expected: str, got: Any, do: str) -> None:
    """Raise an InputError "expected, got ...: do" unless the condition holds."""
    if not condition:
        raise InputError(f"{expected}, got {got!r}: {do}.")


def require_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise an InputError that lists the known names, and offers the nearest, unless ``name`` is one."""
    names = sorted(known)
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"unknown {kind} {name!r}: {hint}known are {', '.join(names)}.")


def require_keywords(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise an InputError unless all keywords are known."""
    for name in given:
        require_known("keyword", name, known)


def require_positive(name: str, value: Any, example: str) -> None:
    """Raise an InputError unless ``value`` is a finite number > 0."""
    require(
        is_number(value) and 0 < value < math.inf,
        f"{name} must be a positive number",
        value,
        f"try {name}={example}",
    )


def require_nonnegative(name: str, value: Any, example: str) -> None:
    """Raise an InputError unless ``value`` is a finite number >= 0."""
    require(is_finite(value) and value >= 0, f"{name} must be a number >= 0", value, f"try {name}={example}")


def require_count(name: str, value: Any, example: str) -> None:
    """Raise an InputError unless ``value`` is a whole number >= 1."""
    require(
        is_whole(value) and value >= 1,
        f"{name} must be a whole number of at least 1",
        value,
        f"try {name}={example}",
    )


def shortened(names: Sequence[str]) -> str:
    """Names for a sentence, the middle left out where there are many."""
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])} … {names[-1]}"


def is_number(value: Any) -> bool:
    """A real number, Python's or NumPy's; not a bool, not nan."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def is_whole(value: Any) -> bool:
    """A whole number of an integer type; not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """A real number that is not infinite."""
    return is_number(value) and not math.isinf(value)
