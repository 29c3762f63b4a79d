"""What can go wrong, said in one sentence: what was expected, what arrived, what to do."""

from __future__ import annotations

import difflib
import math
import numbers
import re
import reprlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

LARGEST = 2**63 - 1  # of a whole number
LISTED = 24  # names that a sentence can hold
_short = reprlib.Repr()
_short.maxlevel, _short.maxlist, _short.maxlong, _short.maxstring, _short.maxother = 3, 6, 40, 80, 160


class InputError(ValueError):
    """Bad input. The message is one sentence and is all a user needs to see.

    >>> import widelimit as wl
    >>> try:
    ...     wl.SGD(n=0, step=0.1)
    ... except wl.InputError as error:
    ...     print(error)
    n must be a whole number of at least 1, got 0: try n=800.
    """


class Diverged(ArithmeticError):
    """A run whose risk is no longer finite, far above its start or below 0; ``solution`` is what was computed before.

    >>> Diverged("GD diverged.", None).solution is None
    True
    """

    def __init__(self, message: str, solution: Any):
        super().__init__(message)
        self.solution = solution


class Stopped(Diverged):
    """A run that gave up on its way though all is finite; ``solution`` (or comparison) is what was computed before.

    >>> issubclass(Stopped, Diverged)
    True
    """


class GaveUp(Exception):
    """A dynamics gives up, for the reason that is its message; the driver ends the run as "stopped"."""


class Interrupted(KeyboardInterrupt):
    """A run was stopped from the keyboard; ``solution`` (or comparison) is what was computed before.

    kept   what that is, for a sentence

    >>> str(Interrupted(None))
    'interrupted: what was computed is in .solution.'
    """

    def __init__(self, solution: Any, kept: str = "what was computed is in .solution"):
        super().__init__(f"interrupted: {kept}.")
        self.solution = solution


def require(condition: bool, expected: str, got: object, do: str) -> None:
    """Raise an InputError "expected, got ...: do" unless the condition holds."""
    if not condition:
        raise InputError(f"{expected}, got {shown(got)}: {do}.")


def require_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise an InputError that lists the known names, and offers the nearest, unless ``name`` is one."""
    names = list(known)
    if not isinstance(name, str) or name not in names:
        raise InputError(f"unknown {kind} {shown(name)}: {nearest(name, names)}.")


def nearest(name: object, known: Iterable[str], listed: str = "known are") -> str:
    """What to do about an unknown name: the nearest known one, and all of them, or a few where there are many.

    >>> nearest("w_170", [f"w_{i}" for i in range(1, 101)])
    "did you mean 'w_70'? known are w_1, w_2, w_3 … w_100"
    """
    names = sorted(known, key=natural)
    near = difflib.get_close_matches(str(name)[:100], names[:1000], n=1, cutoff=0.5) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}{listed} {', '.join(names) if len(names) <= LISTED else shortened(names)}"


def natural(name: str) -> list[tuple[int, str]]:
    """The key that sorts w_2 before w_10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def shown(value: object) -> str:
    """A value for a sentence: as Python writes it, in one line and not too long.

    >>> shown(10**5000)
    '<int>'
    """
    try:
        return " ".join(_short.repr(value).split())
    except Exception:  # whatever the value does when it is asked for its name
        return f"<{type(value).__name__}>"


def require_keywords(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise an InputError unless all keywords are known."""
    for name in given:
        require_known("keyword", name, known)


def require_positive(name: str, value: object, example: str) -> None:
    """Raise an InputError unless ``value`` is a finite number > 0."""
    require(
        is_number(value) and 0 < value < math.inf,
        f"{name} must be a positive number",
        value,
        f"try {name}={example}",
    )


def require_nonnegative(name: str, value: object, example: str) -> None:
    """Raise an InputError unless ``value`` is a finite number >= 0."""
    require(is_finite(value) and value >= 0, f"{name} must be a number >= 0", value, f"try {name}={example}")


def require_count(name: str, value: object, example: str) -> None:
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


def is_number(value: object) -> TypeGuard[float]:
    """A real number, Python's or NumPy's, that a float can hold; not a bool, not nan."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)
    except OverflowError:
        return False


def is_whole(value: object) -> TypeGuard[int]:
    """A whole number of an integer type that fits in 64 bits; not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) <= LARGEST


def is_finite(value: object) -> TypeGuard[float]:
    """A real number that is not infinite."""
    return is_number(value) and not math.isinf(value)


def finite_or_none(value: float | None) -> float | None:
    """A number as JSON can hold it: None for infinity and nan, a whole number stays one.

    >>> finite_or_none(2), finite_or_none(0.5), finite_or_none(math.inf), finite_or_none(None)
    (2, 0.5, None, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(value)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """A folder, made if need be, to be emptied or filled inside; says why it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"--out must be a folder that can be written to, got {str(folder)!r}: {error.strerror}."
        ) from None
