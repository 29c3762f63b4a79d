"""One sentence for what is wrong in a spec file: the key, what must be there, what arrived, what to do."""

from __future__ import annotations

import difflib
import json
import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from widelimit.errors import InputError

LONGEST = 600
RANKS = {"key": 0, "name": 1, "value": 2, "missing": 3}  # a misspelt key explains a missing one
_short = reprlib.Repr()
_short.maxlevel, _short.maxlist, _short.maxlong, _short.maxstring, _short.maxother = 2, 4, 40, 60, 120


def dotted(path: Iterable[str | int]) -> str:
    """Keys as one writes them in TOML; tables of a list are counted from 1.

    >>> dotted(["method", 0, "step"])
    'method[1].step'
    """
    return "".join(f"[{k + 1}]" if isinstance(k, int) else f".{_bare(k)}" for k in path).removeprefix(".")


def _bare(key: str) -> str:
    plain = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
    return plain if len(plain) <= 60 else f"{plain[:60]}…"


def shown(value: Any) -> str:
    """A value, shortened."""
    return "a table" if isinstance(value, dict) else " ".join(_short.repr(value).split())


def nearest(kind: str, name: Any, known: Iterable[str]) -> str:
    """What to do about an unknown name: the nearest known one, and all of them."""
    names = list(known)
    near = difflib.get_close_matches(str(name)[:100], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known {kind} are {', '.join(names)}"


def one_sentence(message: str) -> str:
    """The first line of a message, its middle left out if it is very long."""
    line = message.splitlines()[0]
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 3 :]}"


def complaint(error: ValidationError) -> InputError:
    """The first error as an InputError, with the number of the others."""
    found = error.errors(include_url=False)
    first = min(found, key=lambda one: RANKS[one["ctx"]["kind"]])
    where = dotted(first["loc"]) or "a spec"
    got = "nothing" if first["ctx"]["kind"] == "missing" else shown(first["input"])
    sentence = one_sentence(f"{where} {first['ctx']['expected']}, got {got}: {first['ctx']['do']}")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return InputError(f"{sentence}{more}.")


def located(error: InputError, path: Iterable[str | int], arguments: Mapping[str, Any]) -> InputError:
    """What a constructor of the library says about its arguments, with the dotted key in front."""
    message, table = str(error), dotted(path)
    if table and any(message.startswith(f"{name} ") for name in arguments):
        return InputError(one_sentence(f"{table}.{message}"))
    blamed = [name for name, value in arguments.items() if f" {value!r}:" in message]
    key = f".{blamed[0]}" if len(blamed) == 1 else ""
    return InputError(one_sentence(f"{table}{key}: {message}".removeprefix(": ")))
