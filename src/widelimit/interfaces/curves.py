"""Runs as they are drawn: each with its label and its colour, limits as lines and finite networks as symbols.

Runs of one problem share a colour where there are several problems; otherwise each run has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from widelimit.errors import require
from widelimit.interfaces.palette import COLOURS, LINES, SYMBOLS, shades
from widelimit.interfaces.run_labels import is_limit, labels_of, problem_of
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

PREFERRED = {"MeanField": ("black", "-"), "FiniteVolume": (COLOURS[0], "--"), "JKO": (COLOURS[3], ":")}


@dataclass(frozen=True, eq=False)
class Curve:
    """A run with the way it is drawn.

    line    of a limit: its style
    symbol  of a finite network
    owner   number of its problem among those of the figure
    beside  whether a limit of the same problem is drawn by another method
    """

    solution: Solution
    label: str
    colour: str
    line: str
    symbol: str
    owner: int = 0
    beside: bool = False

    @property
    def is_limit(self) -> bool:
        """Whether it is drawn as a line."""
        return is_limit(self.solution)


def entries_of(records: Sequence[Any]) -> list[tuple[str | None, Any]]:
    """Records one by one, those of a dictionary with their key; lists are taken apart."""
    return list(_flat(records))


def _flat(records: Any) -> Iterator[tuple[str | None, Any]]:
    for record in records:
        if isinstance(record, Mapping):
            yield from ((str(key), value) for key, value in record.items())
        elif isinstance(record, list | tuple):
            yield from _flat(record)
        else:
            yield None, record


def curves_of(entries: Sequence[tuple[str | None, Any]], labels: tuple[str, ...] | None) -> list[Curve]:
    """The runs of a figure; ``labels`` replace their names."""
    solutions = [record for _, record in entries]
    require(
        bool(solutions) and all(isinstance(s, Solution) and len(s.times) for s in solutions),
        "figure needs one or more solutions with something saved",
        [type(s).__name__ for s in solutions],
        "pass what wl.solve returned",
    )
    names = _names(entries, labels)
    owners = _owners(solutions)
    colours, lines = _colours(solutions, owners), _lines(solutions)
    finite = [i for i, s in enumerate(solutions) if not is_limit(s)]
    symbols = {i: SYMBOLS[(place + 1) % len(SYMBOLS)] for place, i in enumerate(finite)}
    return [
        Curve(s, names[i], colours[i], lines[i], symbols.get(i, ""), owners[i], _has_company(solutions, owners, i))
        for i, s in enumerate(solutions)
    ]


def _names(entries: Sequence[tuple[str | None, Any]], labels: tuple[str, ...] | None) -> list[str]:
    """Labels that are given, keys of a dictionary, or what differs."""
    if labels is not None:
        good = len(labels) == len(entries)
        require(good, f"labels must be as many as the runs, {len(entries)}", len(labels), "give one for each")
        return list(labels)
    found = labels_of([record for _, record in entries])
    return [name if key is None else key for (key, _), name in zip(entries, found, strict=True)]


def _owners(solutions: Sequence[Solution]) -> list[int]:
    """For each run the number of its problem; a run whose problem is not known has that of the first."""
    problems: list[Problem] = []
    owners = []
    for s in solutions:
        problem = problem_of(s)
        if problem is not None and problem not in problems:
            problems.append(problem)
        owners.append(0 if problem is None else problems.index(problem))
    return owners


def _colours(solutions: Sequence[Solution], owners: list[int]) -> list[str]:
    many = len(set(owners))
    if many > 1:
        keys = owners if many < len(solutions) else list(range(len(solutions)))
        several = shades(len(set(keys)))
        return [several[key] for key in keys]
    if len(solutions) > len(COLOURS) + 1:
        return shades(len(solutions))
    found: list[str] = []
    for s in solutions:
        free = [c for c in (*COLOURS[1:3], *COLOURS[4:], COLOURS[0], COLOURS[3], "black") if c not in found]
        wished = PREFERRED.get(s.name, ("black", ""))[0] if is_limit(s) else free[0]
        found.append(free[0] if wished in found else wished)
    return found


def _lines(solutions: Sequence[Solution]) -> list[str]:
    """A line for each run: that of its method, or another one where it is taken and there are some left."""
    few = sum(map(is_limit, solutions)) <= len(LINES)
    found: list[str] = []
    for s in solutions:
        wished = PREFERRED.get(s.name, ("", "-."))[1]
        free = [line for line in LINES if line not in found] if few and is_limit(s) else [wished]
        found.append(wished if wished in free else free[0])
    return [line if is_limit(s) else "none" for line, s in zip(found, solutions, strict=True)]


def _has_company(solutions: Sequence[Solution], owners: list[int], i: int) -> bool:
    """Whether a limit of the same problem is drawn by another method."""
    return any(is_limit(s) and owners[j] == owners[i] and s.name != solutions[i].name for j, s in enumerate(solutions))
