"""Runs that are kept while they go and found when they are asked for again.

    find(request)    the run that was kept for a request: whole, or as far as it came (outcome "interrupted"), or None
    keep(solution)   keep a run; one with the outcome "interrupted" is a checkpoint, and a later one takes its place
    every            seconds between two checkpoints of a run

Observers are functions, which no file holds. They see the neurons as they are saved, so a run is kept without them and
they look at its saves afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from widelimit.errors import Interrupted
from widelimit.measures import Measure
from widelimit.solving.driver import Request, drive, told_of
from widelimit.solving.recorder import Observer, observed, over_time
from widelimit.solving.solution import Solution


class Keeper(Protocol):
    """Whoever keeps runs, see above."""

    @property
    def every(self) -> float:
        """Seconds between two checkpoints."""

    def find(self, request: Request) -> Solution | None:
        """What was kept for a request."""

    def keep(self, solution: Solution) -> object:
        """Keep a run, or a checkpoint of it."""


def kept(request: Request, keeper: Keeper) -> Solution:
    """The run that a keeper has of a request, or a new one, which is then kept."""
    found = keeper.find(request)
    if found is None or found.outcome == "interrupted":
        plain = replace(request, observers={}, throw=False, keeper=keeper)
        try:
            found = drive(plain, None if found is None else found.dataset)
        except Interrupted as stop:
            if len(stop.solution.times):
                keeper.keep(stop.solution)
            raise
        keeper.keep(found)
    return told_of(replace(observing(found, request.observers), request=request), request)


def observing(solution: Solution, observers: Mapping[str, Observer]) -> Solution:
    """A run with what observers see in its saves."""
    if not observers:
        return solution
    runs = [solution] if solution.replicas is None else [solution.replica(r) for r in range(solution.replicas)]
    lead, variables = solution.dataset["risk"].ndim - 1, {}
    for name, observer in observers.items():
        values = []
        for t in solution.times:
            measures: list[Measure] = [run.at(t) for run in runs]
            values.append(observed(name, observer, measures if lead else measures[0]))
        extra = tuple(f"{name}_{i}" for i in range(1, np.ndim(values[0]) - lead + 1)) if values else ()
        shape = (0, *solution.dataset["risk"].shape[:lead])
        variables[name] = over_time(values, lead, ("time", *extra), {}, shape)
    return replace(solution, dataset=solution.dataset.assign(variables))
