"""The axes of a sweep: which numbers of a spec vary, and over which values.

    [sweep]
    delta = [0.2, 0.4, 0.6]                          a list
    "initial.scale" = {linspace = [0.2, 0.8, 7]}     from, to, how many; rounded where the key is a whole number
    step = {geomspace = [1e-4, 1e-2, 3]}
    seed = {seeds = 8}                               0, 1, …, 7
    zip = [["delta", "initial.scale"]]               axes of equal length that go along with each other: one dimension

A name is that of a key in the spec, as short as it stays clear: ``n``, ``data.delta``, ``problem.data.delta``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from widelimit.errors import InputError, is_finite, is_whole, require
from widelimit.experiments.run_fields import full_name
from widelimit.experiments.spec import Spec
from widelimit.frozen import Value
from widelimit.solving.settings import Settings

ZIP = "zip"
SPACES: dict[str, Callable[..., np.ndarray]] = {"linspace": np.linspace, "geomspace": np.geomspace}
MOST_VALUES = 1_000_000
EXAMPLE = 'try {"data.delta": [0.2, 0.4], "seed": [0, 1]}'


@dataclass(frozen=True)
class SweepAxis:
    """A dimension of a sweep: one key, or several that go along with each other.

    names    the keys in full, problem.data.delta
    words    the keys as they were written
    values   of each key, as many for one as for another
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @property
    def dimension(self) -> str:
        """Its name in the dataset: the key as it was written, or the keys with + between them."""
        return "+".join(self.words)

    def __len__(self) -> int:
        return len(self.values[0])

    def changes(self, i: int) -> dict[str, Any]:
        """The values of its keys at a place."""
        return {name: values[i] for name, values in zip(self.names, self.values, strict=True)}


def axes_of(spec: Spec, given: Any) -> tuple[SweepAxis, ...]:
    """The axes that a table of a file, or a dictionary, describes."""
    good = isinstance(given, Mapping) and all(isinstance(name, str) for name in given) and set(given) - {ZIP}
    require(bool(good), "the axes of a sweep must be a dictionary of names and values", given, EXAMPLE)
    known = dict(numbers_in(spec))
    single: dict[str, SweepAxis] = {}
    for word, values in given.items():
        if word != ZIP:
            name = full_name(word, known)
            single[word] = SweepAxis((name,), (word,), (_values(word, values, known[name]),))
    names = [axis.names[0] for axis in single.values()]
    twice = [name for name in names if names.count(name) > 1]
    require(not twice, "every key must be on one axis", twice[:1], "drop one of them")
    return tuple(_zipped(single, given.get(ZIP, [])))


def _zipped(single: dict[str, SweepAxis], together: Any) -> Iterator[SweepAxis]:
    """The axes, those that go along with each other as one, in the order of the file."""
    lists = isinstance(together, list | tuple) and all(
        isinstance(one, list | tuple) and len(one) > 1 for one in together
    )
    require(lists, "zip must be a list of lists of names", together, 'try zip = [["delta", "scale"]]')
    words = [word for one in together for word in one]
    for word in words:
        require(isinstance(word, str) and word in single, "zip must name axes of the sweep", word, f"add {word} to it")
    require(len(set(words)) == len(words), "an axis must be zipped once", words, "drop one of them")
    home = {word: tuple(one) for one in together for word in one}
    for word, axis in single.items():
        parts = [single[w] for w in home.get(word, (word,))]
        if word != parts[0].words[0]:
            continue
        sizes = {part.dimension: len(part) for part in parts}
        require(len(set(sizes.values())) == 1, "zipped axes must have equal lengths", sizes, "make them equal")
        if len(parts) == 1:
            yield axis
            continue
        names, words, values = zip(*((p.names[0], p.words[0], p.values[0]) for p in parts), strict=True)
        yield SweepAxis(names, words, values)


def _values(word: str, given: Any, now: Any) -> tuple[Any, ...]:
    """The values of an axis, whole numbers where the key has one now."""
    if isinstance(given, Mapping):
        found = _spaced(word, given)
    else:
        listed = isinstance(given, list | tuple | range) or (isinstance(given, np.ndarray) and given.ndim == 1)
        good = listed and 0 < len(given) <= MOST_VALUES
        require(good, f"the axis {word} must be a list of one or more values", given, "try [0.2, 0.4]")
        found = [value.item() if isinstance(value, np.generic) else value for value in given]
    whole = isinstance(now, numbers.Integral) and not isinstance(now, bool)
    exact = isinstance(given, Mapping | np.ndarray)
    if whole and exact:
        found = [round(value) if is_finite(value) else value for value in found]
    require(len(set(map(repr, found))) == len(found), f"the values of {word} must differ", found, "drop one of them")
    return tuple(found)


def _spaced(word: str, given: Mapping[str, Any]) -> list[Any]:
    kinds = (*SPACES, "seeds")
    (kind, numbers_given), *more = list(given.items()) or [("", None)]
    require(not more and kind in kinds, f"the axis {word} must be a list or one of {', '.join(kinds)}", dict(given),
            "try {linspace = [0.2, 0.8, 7]}")  # fmt: skip
    if kind == "seeds":
        good = is_whole(numbers_given) and 1 <= numbers_given <= MOST_VALUES
        require(good, "seeds must be how many", numbers_given, "try {seeds = 8}")
        return list(range(int(numbers_given)))
    good = (
        isinstance(numbers_given, list | tuple)
        and len(numbers_given) == 3
        and all(map(is_finite, numbers_given[:2]))
        and is_whole(numbers_given[2])
        and 1 <= numbers_given[2] <= MOST_VALUES
        and (kind == "linspace" or min(numbers_given[:2]) > 0)
    )
    require(good, f"{kind} must be from, to and how many, positive for a geomspace", numbers_given, "try [0.2, 0.8, 7]")
    return [float(value) for value in SPACES[kind](*numbers_given)]


def numbers_in(spec: Spec) -> Iterator[tuple[str, Any]]:
    """Every key that an axis may name, with its value now."""
    (method,) = spec.methods
    for field in fields(Settings):
        yield f"run.{field.name}", getattr(spec, field.name)
    yield from _inside("method", method)
    yield from _inside("problem", spec.problem)


def _inside(path: str, value: Value) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        inner = getattr(value, field.name)
        yield f"{path}.{field.name.rstrip('_')}", inner
        if isinstance(inner, Value):
            yield from _inside(f"{path}.{field.name.rstrip('_')}", inner)


def changed(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """A spec with other values of some keys, given in full; what no constructor takes is an InputError."""
    (method,), problem, settings = spec.methods, spec.problem, spec.settings()
    for name, value in changes.items():
        home, _, path = name.partition(".")
        try:
            if home == "run":
                settings[path] = value
            elif home == "method":
                method = _with(method, path.split("."), value)
            else:
                problem = _with(problem, path.split("."), value)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    return Spec(problem, (method,), **settings)


def _with(whole: Any, path: Sequence[str], value: Any) -> Any:
    """A value in which the one at a path is another."""
    name = next(f.name for f in fields(whole) if f.name.rstrip("_") == path[0])
    inner = value if len(path) == 1 else _with(getattr(whole, name), path[1:], value)
    return replace(whole, **{name: inner})


def count_of(axes: Sequence[SweepAxis]) -> int:
    """How many points a sweep has."""
    return math.prod(len(axis) for axis in axes)
