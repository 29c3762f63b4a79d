"""Data sets from files: the law ``empirical`` of a spec.

    data.npz   arrays x (M, d) and y (M,)
    data.csv   one example per row, its label in the last column; a first row with names is skipped
    digits     the 8 × 8 digits of scikit-learn, all or two classes

A file that has not changed is read once, so that two specs of one file hold the same law.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from widelimit.errors import InputError, require
from widelimit.problem import data

DIGITS = "digits"


def from_file(file: str, classes: Sequence[int] | None = None, replacement: bool = True) -> data.Empirical:
    """A finite data set read from a file.

    file         "data.npz" with arrays x and y, "data.csv" whose last column is y, or "digits"
    classes      with "digits": which two digits to tell apart, the first with y = 1, the other with y = −1
    replacement  whether SGD draws rows with replacement, or goes through a new random order in every epoch
    """
    if file == DIGITS:
        return _digits(None if classes is None else tuple(classes), replacement)
    require(classes is None, "classes belong to file = 'digits'", classes, "drop them")
    path = os.path.abspath(file)
    require(os.path.isfile(path), "file must be a .npz or .csv file", file, "there is no such file")
    stamp = os.stat(path)
    return _table(path, replacement, (stamp.st_mtime_ns, stamp.st_size))


def anchored(file: str, folder: Path) -> str:
    """The absolute path of a data file that a spec in ``folder`` names."""
    return file if file == DIGITS else os.path.abspath(folder / file)


@lru_cache(maxsize=8)
def _table(path: str, replacement: bool, stamp: tuple[int, int]) -> data.Empirical:
    reader = {".npz": _npz, ".csv": _csv}.get(Path(path).suffix.lower())
    if reader is None:
        raise InputError(f"file must end in .npz or .csv, got {path!r}: save the data as one of them.")
    try:
        x, y = reader(path)
    except InputError:
        raise
    except Exception as error:  # numpy raises many kinds for a damaged file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"file must hold numbers, got {path!r}: it cannot be read ({reason}).") from None
    return replace(data.empirical(x, y, replacement), source=_source(path, None, replacement))


def _npz(path: str) -> tuple[Any, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        for name in ("x", "y"):
            if name not in arrays:
                raise InputError(f"file must hold arrays x and y, got {sorted(arrays)}: numpy.savez(file, x=x, y=y).")
        return arrays["x"], arrays["y"]


def _csv(path: str) -> tuple[Any, Any]:
    with open(path, encoding="utf-8-sig") as lines:
        first = next(lines, "")
    skipped = 0 if _is_numeric(first) else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty file is refused below
        rows = np.loadtxt(path, delimiter=",", ndmin=2, skiprows=skipped, encoding="utf-8-sig")
    return rows[:, :-1], rows[:, -1]


def _is_numeric(line: str) -> bool:
    try:
        return bool([float(word) for word in line.split(",")])
    except ValueError:
        return False


@lru_cache(maxsize=8)
def _digits(classes: tuple[int, ...] | None, replacement: bool) -> data.Empirical:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError(
            "file = 'digits' needs scikit-learn, got none installed: run pip install scikit-learn."
        ) from None
    x, y = load_digits(return_X_y=True)
    if classes is not None:
        good = len(set(classes)) == len(classes) == 2 and set(classes) <= set(range(10))
        require(good, "classes must be two different digits", list(classes), "try [0, 1]")
        rows = np.isin(y, classes)
        x, y = x[rows], np.where(y[rows] == classes[0], 1.0, -1.0)
    return replace(data.empirical(x / 16, y, replacement), source=_source(DIGITS, classes, replacement))


def _source(file: str, classes: tuple[int, ...] | None, replacement: bool) -> tuple[tuple[str, object], ...]:
    """The arguments of `from_file` that read this data set again."""
    return ("file", file), ("classes", classes), ("replacement", replacement)
