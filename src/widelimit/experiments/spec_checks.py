"""What a value in a spec file may be, and one sentence for what is wrong: the key, what must be there, what to do.

A type in a Python signature stands for one in the file: ``float`` for a number (or inf), ``int`` for a whole number,
``str`` for text, ``Sequence`` and ``tuple`` for lists. TOML has no empty value: instead of ``None``, leave the key out.
"""

from __future__ import annotations

import collections.abc
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TypeGuard, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from widelimit.errors import InputError, shown
from widelimit.frozen import As

Check = Callable[[object], object]
Checked = TypeVar("Checked")
LARGEST = 2**63 - 1  # of a whole number
INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def refuse(expected: str, do: str, kind: str = "value") -> PydanticCustomError:
    """What a check raises: what must be there, what to do, and whether a "value", a "name" or a "key" is to blame."""
    return PydanticCustomError("spec", "{expected}", {"expected": expected, "do": do, "kind": kind})


def number(value: object) -> float:
    """A number, or inf; not nan, not a bool."""
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if (isinstance(value, float) and not math.isnan(value)) or _fits(value):
        return value
    raise refuse("must be a number", "write it like 0.5, 1e-4 or inf, without quotes")


def whole(value: object) -> int:
    """A whole number that fits in 64 bits."""
    if not _fits(value):
        raise refuse("must be a whole number", "write it with digits only")
    return value


def _fits(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


def text(value: object) -> str:
    """Text."""
    if not isinstance(value, str):
        raise refuse("must be text", "put it in double quotes")
    return value


def flag(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise refuse("must be true or false", "write one of them, without quotes")
    return value


def listed(item: Check, length: int | None = None) -> Check:
    """A list whose items pass a check, of the given length if there is one."""

    def check(values: object) -> tuple[object, ...]:
        if not isinstance(values, list) or length not in (None, len(values)):
            count = "" if length is None else f" of {length}"
            raise refuse(f"must be a list{count}", "put the values in square brackets, with commas between them")
        return tuple(_item(item, i, value) for i, value in enumerate(values, start=1))

    return check


def _item(check: Callable[[object], Checked], i: int, value: object) -> Checked:
    try:
        return check(value)
    except PydanticCustomError as error:
        ctx = error.context or {}
        raise refuse(f"must be a list in which value {i} {ctx['expected']}", ctx["do"]) from None


def count_or_times(value: object) -> int | tuple[float, ...]:
    """How many, or the times themselves."""
    if isinstance(value, list):
        return tuple(_item(number, i, t) for i, t in enumerate(value, start=1))
    if not _fits(value):
        raise refuse("must be a whole number or a list of times", "try 41 or [0.0, 0.5, 1.0]")
    return value


SCALARS: dict[object, Check] = {
    float: number,
    int: whole,
    str: text,
    bool: flag,
    int | collections.abc.Sequence[float]: count_or_times,
}


def check_of(hint: object) -> Check:
    """The check that belongs to a type in a Python signature."""
    if hint in SCALARS:
        return SCALARS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is As:  # what it takes
        return check_of(inner[0])
    if origin in (typing.Union, types.UnionType):
        some = [one for one in inner if one is not types.NoneType]
        return text if str in some else check_of(some[0])  # an object, or the text it is read from
    if origin is tuple and Ellipsis not in inner:
        return listed(check_of(inner[0]), len(inner))
    if origin in (tuple, list, collections.abc.Sequence):
        return listed(check_of(inner[0]))
    raise TypeError(f"no check for a value of type {hint}: add one to widelimit.experiments.spec_checks")


LONGEST = 600
RANKS = {"key": 0, "name": 1, "value": 2, "missing": 3}  # a misspelt key explains a missing one


def dotted(path: Iterable[str | int]) -> str:
    """Keys as one writes them in TOML; tables of a list are counted from 1.

    >>> dotted(["method", 0, "step"])
    'method[1].step'
    """
    return "".join(f"[{k + 1}]" if isinstance(k, int) else f".{_bare(k)}" for k in path).removeprefix(".")


def _bare(key: str) -> str:
    plain = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
    return plain if len(plain) <= 60 else f"{plain[:60]}…"


def one_sentence(message: str) -> str:
    """The first line of a message, its middle left out if it is very long."""
    line = message.splitlines()[0]
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 3 :]}"


def complaint(error: ValidationError) -> InputError:
    """The first error as an InputError, with the number of the others."""
    found = error.errors(include_url=False)
    first = min(found, key=lambda one: RANKS[one["ctx"]["kind"]])
    where = dotted(first["loc"]) or "a spec"
    got = (
        "nothing"
        if first["ctx"]["kind"] == "missing"
        else "a table"
        if isinstance(first["input"], dict)
        else shown(first["input"])
    )
    sentence = one_sentence(f"{where} {first['ctx']['expected']}, got {got}: {first['ctx']['do']}")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return InputError(f"{sentence}{more}.")


def located(error: InputError, path: Iterable[str | int], arguments: Mapping[str, object]) -> InputError:
    """What a constructor of the library says about its arguments, with the dotted key in front."""
    message, table = str(error), dotted(path)
    if table and any(message.startswith(f"{name} ") for name in arguments):
        return InputError(one_sentence(f"{table}.{message}"))
    blamed = [name for name, value in arguments.items() if f" {value!r}:" in message]
    key = f".{blamed[0]}" if len(blamed) == 1 else ""
    return InputError(one_sentence(f"{table}{key}: {message}".removeprefix(": ")))
