"""What public functions take, checked at their doors.

    problem = instance_of(Problem, problem, "cooling", "build one first")
    betas = numbers_of("betas", betas, "[10.0, 100.0]")

Each function here returns its argument in the form that the code behind the door counts on, or raises an InputError.
Single numbers and words have their checks in `widelimit.errors`, fields of values in `widelimit.frozen`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from widelimit.errors import InputError, is_whole, require, require_count, shown

Kind = TypeVar("Kind")
REAL = "biuf"  # kinds of arrays of numbers


def instance_of(kind: Callable[..., Kind], value: Any, who: str, do: str) -> Kind:
    """A value of one of the library's own kinds, such as a Problem."""
    assert isinstance(kind, type)
    require(isinstance(value, kind), f"{who} needs a wl.{kind.__name__}", type(value).__name__, do)
    return value


def array_of(name: str, values: object, shape: str, do: str, *, finite: bool = False) -> np.ndarray:
    """An array of real numbers in double precision; the shape, such as "(n, D)" or "(D,) or (n, D)", tells its axes.

    >>> array_of("x", [[1, 2]], "(n, D)", "reshape it")
    array([[1., 2.]])
    """
    try:
        array = np.asarray(values)
    except Exception:  # rows of different lengths, or whatever the object does
        array = np.empty((), object)
    axes = {len([side for side in one.strip("()").split(",") if side]) for one in shape.split(" or ")}
    numeric = array.dtype.kind in REAL or (array.size == 0 and isinstance(values, list | tuple))
    kind = "finite numbers" if finite else "numbers"
    wanted = f"{name} must be {kind} of shape {shape}"
    require(numeric and array.ndim in axes, wanted, Shape(array) if numeric else values, do)
    require(not finite or bool(np.isfinite(array).all()), wanted, Shape(array), "drop or replace nan and inf")
    return np.asarray(array, float)


class Shape:
    """An array in a sentence: its shape, and what is not a finite number in it."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __repr__(self) -> str:
        wild = "" if np.isfinite(self.array).all() else " with nan or inf"
        return f"shape {self.array.shape}{wild}"


def numbers_of(
    name: str, values: Any, example: str, kind: str = "a list of one or more finite numbers"
) -> tuple[float, ...]:
    """One or more finite numbers, in a list, a tuple, a range or an array."""
    good = isinstance(values, list | tuple | range | np.ndarray) or hasattr(values, "__array__")
    expected, do = f"{name} must be {kind}", f"try {example}"
    require(good, expected, values, do)
    try:
        array = array_of(name, values if hasattr(values, "__array__") else list(values), "(n,)", do, finite=True)
    except InputError:
        array = np.empty(0)
    require(len(array) > 0, expected, values, do)
    return tuple(array.tolist())


def words_of(name: str, values: Any, example: str) -> tuple[str, ...]:
    """Words, in a list or a tuple, or alone."""
    listed = (values,) if isinstance(values, str) else values
    good = isinstance(listed, list | tuple) and all(isinstance(word, str) for word in listed)
    require(good, f"{name} must be a list of words", values, f"try {example}")
    return tuple(listed)


def functions_of(name: str, values: Any) -> dict[str, Any]:
    """Functions of ρ by name; none for None."""
    good = values is None or (
        isinstance(values, Mapping) and all(isinstance(k, str) and callable(v) for k, v in values.items())
    )
    require(good, f"{name} must be a dictionary of functions of a Cloud", values, "try {'m': moment('r')}")
    return dict(values or {})


def require_word(name: str, value: object, example: str) -> None:
    """Raise an InputError unless ``value`` is text."""
    require(isinstance(value, str), f"{name} must be a word", value, f"try {name}={example}")


def require_flag(name: str, value: object, *others: object) -> None:
    """Raise an InputError unless ``value`` is True or False, or one of the others, such as None."""
    good = isinstance(value, bool | np.bool_) or any(value is other for other in others)
    words = " or ".join(("True", "False", *map(str, others)))
    require(good, f"{name} must be {words}", value, f"try {name}=True")


def require_seed(value: object) -> None:
    """Raise an InputError unless ``value`` can be a seed."""
    good = is_whole(value) and 0 <= value < 2**32
    require(good, "seed must be a whole number from 0 to 2³² − 1", value, "try seed=0")


def require_replicas(value: Any, least: int) -> None:
    """Raise an InputError unless ``value`` is a number of replicas that is enough for an error bar."""
    require_count("replicas", value, "64")
    require(value >= least, f"an error bar needs at least {least} replicas", value, "try replicas=64")


def path_of(who: str, path: Any) -> Path:
    """The path of a file."""
    good = isinstance(path, str | os.PathLike) and Path(path).name != "" and "\0" not in str(path)
    require(good, f"{who} needs the path of a file", path, "try 'run.nc'")
    return Path(path)


def record_path(path: object) -> Path:
    """The path of a record that shall be written, a NetCDF file."""
    target = path_of("save", path)
    good = target.suffix.lower() == ".nc"
    require(good, "save writes NetCDF and needs a path that ends in .nc", str(path), f"try {target.stem + '.nc'!r}")
    return target


def answer_of(function: Callable[..., Any], what: str, *arguments: object) -> Any:
    """What a function that was passed in answers; if it fails, its own error is told in the sentence."""
    try:
        return function(*arguments)
    except InputError:
        raise
    except Exception as error:  # whatever the function does
        reason = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")[:200]
        raise InputError(
            f"{what} failed, got {shown(function)} ({reason}): check what it does with its argument."
        ) from error
