"""What a value in a spec file may be: a number, a whole number, text, true or false, or a list of them.

A type in a Python signature stands for one in the file: ``float`` for a number (or inf), ``int`` for a whole number,
``str`` for text, ``Sequence`` and ``tuple`` for lists. TOML has no empty value: instead of ``None``, leave the key out.
"""

from __future__ import annotations

import collections.abc
import math
import types
import typing
from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticCustomError

Check = Callable[[Any], Any]
LARGEST = 2**63 - 1
INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def refuse(expected: str, do: str, kind: str = "value") -> PydanticCustomError:
    """What a check raises: what must be there, what to do, and whether a "value", a "name" or a "key" is to blame."""
    return PydanticCustomError("spec", "{expected}", {"expected": expected, "do": do, "kind": kind})


def number(value: Any) -> float:
    """A number, or inf; not nan, not a bool."""
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    real = isinstance(value, float) and not math.isnan(value)
    if not real and not _fits(value):
        raise refuse("must be a number", "write it like 0.5, 1e-4 or inf, without quotes")
    return value


def whole(value: Any) -> int:
    """A whole number that fits in 64 bits."""
    if not _fits(value):
        raise refuse("must be a whole number", "write it with digits only")
    return value


def _fits(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


def text(value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise refuse("must be text", "put it in double quotes")
    return value


def flag(value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise refuse("must be true or false", "write one of them, without quotes")
    return value


def listed(item: Check, length: int | None = None) -> Check:
    """A list whose items pass a check, of the given length if there is one."""

    def check(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list) or length not in (None, len(values)):
            count = "" if length is None else f" of {length}"
            raise refuse(f"must be a list{count}", "put the values in square brackets, with commas between them")
        return tuple(_item(item, i, value) for i, value in enumerate(values, start=1))

    return check


def _item(check: Check, i: int, value: Any) -> Any:
    try:
        return check(value)
    except PydanticCustomError as error:
        ctx = error.context or {}
        raise refuse(f"must be a list in which value {i} {ctx['expected']}", ctx["do"]) from None


def count_or_times(value: Any) -> int | tuple[float, ...]:
    """How many, or the times themselves."""
    if isinstance(value, list):
        return listed(number)(value)
    if not _fits(value):
        raise refuse("must be a whole number or a list of times", "try 41 or [0.0, 0.5, 1.0]")
    return value


SCALARS: dict[Any, Check] = {
    float: number,
    int: whole,
    str: text,
    bool: flag,
    int | collections.abc.Sequence[float]: count_or_times,
}


def check_of(hint: Any) -> Check:
    """The check that belongs to a type in a Python signature."""
    if hint in SCALARS:
        return SCALARS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        some = [one for one in inner if one is not types.NoneType]
        return text if str in some else check_of(some[0])  # an object, or the text it is read from
    if origin is tuple and Ellipsis not in inner:
        return listed(check_of(inner[0]), len(inner))
    if origin in (tuple, list, collections.abc.Sequence):
        return listed(check_of(inner[0]))
    raise TypeError(f"no check for a value of type {hint}: add one to widelimit.experiments.spec_values")
