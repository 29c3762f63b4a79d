"""What a legend calls the runs of a figure: what differs between them, in the symbols of the project.

One method, several starts   κ = 0.1, κ = 0.4
Several methods              SGD, N = 800 and mean-field limit (PDE)
Nothing differs              the name of the method, numbered
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widelimit.frozen import Value
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

NAMES = {
    "ParticleFlow": "particle flow",
    "NonlinearFlow": "nonlinear flow",
    "MeanField": "mean-field limit (PDE)",
    "FiniteVolume": "PDE on a grid",
    "JKO": "JKO scheme",
}
LETTERS = {
    "n": "N", "step": "ε", "scale": "κ", "delta": "Δ", "beta": "β", "ridge": "λ", "informative": "s₀",
    "activation": "σ", "schedule": "ξ", "regulariser": "v", "link": "h", "t_end": "t_end",
}  # fmt: skip
GREEK = {"theta": r"\theta"}
LONGEST = 28  # characters of a value


def symbol_of(coordinate: str, names: Sequence[str] = ()) -> str:
    """A coordinate in mathematical type; r is |w| if nothing of w is kept beside it.

    >>> symbol_of("w_12"), symbol_of("theta_3"), symbol_of("r", ["a", "r"]), symbol_of("r", ["u", "r"])
    ('w_{12}', '\\\\theta_{3}', 'r = |w|', 'r')
    """
    if coordinate == "r" and names and not any(name.startswith("u") for name in names):
        return "r = |w|"
    letter, _, number = coordinate.partition("_")
    return GREEK.get(letter, letter) + (f"_{{{number}}}" if number else "")


def is_limit(solution: Solution) -> bool:
    """Whether a solution is the limit of infinitely many neurons, drawn as a line."""
    return solution.name in ("MeanField", "FiniteVolume", "JKO") or solution.is_density


def problem_of(solution: Solution) -> Problem | None:
    """The problem of a run, where its record knows it."""
    return None if solution.request is None else solution.problem


def labels_of(solutions: Sequence[Solution]) -> list[str]:
    """A name for each run, all different."""
    several = len({s.name for s in solutions}) > 1
    parts = [[_named(s)] if several else [] for s in solutions]
    widths = {s.dataset.sizes.get("neuron") for s in solutions if not is_limit(s)}
    if not several and len(widths) > 1:
        parts = [[_width(s)] for s in solutions]
    _add(parts, solutions, lambda s: s.problem)
    for name in dict.fromkeys(s.name for s in solutions):
        chosen = [i for i, s in enumerate(solutions) if s.name == name]
        _add([parts[i] for i in chosen], [solutions[i] for i in chosen], lambda s: s.method)
    for group in _alike(parts):
        _add([parts[i] for i in group], [solutions[i] for i in group], lambda s: s.settings)
    for s, words in zip(solutions, parts, strict=True):
        words[:0] = [] if words else [_named(s)]
        words += [f"{s.replicas} runs"] if s.replicas else []
    return _numbered([", ".join(words) for words in parts])


def _named(solution: Solution) -> str:
    """The name of the method, with the width of a finite network."""
    name = NAMES.get(solution.name, solution.name)
    return name if is_limit(solution) else f"{name}, {_width(solution)}"


def _width(solution: Solution) -> str:
    return f"N = {solution.dataset.sizes['neuron']}"


def _add(parts: Sequence[list[str]], solutions: Sequence[Solution], of: Callable[[Solution], Value]) -> None:
    """Append what differs between the problems, methods or settings of runs."""
    if any(s.request is None for s in solutions):
        return
    for name, values in differences([of(s) for s in solutions]).items():
        for words, value in zip(parts, values, strict=True):
            if value is not None and name not in ("n", "replicas"):
                words.append(_said(name, value))


def differences(values: Sequence[Any], name: str = "", depth: int = 0) -> dict[str, list[Any]]:
    """The arguments in which values differ, each with all its values.

    >>> import widelimit as wl
    >>> differences([wl.SGD(800, 0.01), wl.SGD(800, 0.02)])
    {'step': [0.01, 0.02]}
    """
    first = values[0]
    if all(_same(first, value) for value in values):
        return {}
    if depth == 2 or not isinstance(first, Value) or any(type(value) is not type(first) for value in values):
        return {name: list(values)}
    found: dict[str, list[Any]] = {}
    for f in dataclasses.fields(first):
        own = f"{name} {f.name}" if name in ("mobility", "regulariser") else f.name
        found |= differences([getattr(value, f.name) for value in values], own, depth + 1)
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (type(one) is type(other) and bool(one == other))


def _said(name: str, value: Any) -> str:
    """An argument and its value; parts of a problem are named by their word alone.

    >>> _said("scale", 0.4), _said("beta", math.inf), _said("informative", 20)
    ('κ = 0.4', 'β = ∞', 's₀ = 20')
    """
    if name in ("data", "neuron", "initial"):
        return value.word
    return f"{LETTERS.get(name, name)} = {_written(value)}"


def _written(value: object) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    text = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    text = str(text).removesuffix("()")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _alike(parts: Sequence[list[str]]) -> list[list[int]]:
    """The places of runs that have the same name so far."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, words in enumerate(parts):
        groups.setdefault(tuple(words), []).append(i)
    return [group for group in groups.values() if len(group) > 1]


def _numbered(labels: list[str]) -> list[str]:
    """Labels with a number behind each that is not the only one.

    >>> _numbered(["SGD", "MeanField", "SGD"])
    ['SGD (1)', 'MeanField', 'SGD (2)']
    """
    often, seen = Counter(labels), Counter[str]()
    for i, label in enumerate(labels):
        seen[label] += 1
        labels[i] = f"{label} ({seen[label]})" if often[label] > 1 else label
    return labels
