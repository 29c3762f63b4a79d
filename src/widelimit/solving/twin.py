"""The twin of a run: the same run, coarser or finer, that goes along with it. The distance of the two risks counts as
the error of the run.

    the run     from save to save
    its twin    the same way, on another core; the run waits for it at the save

Where that cannot be, on a mesh of devices or where no plan moves them, the twin moves when the run has arrived. Each
has its own state and choices, so that the numbers of both do not depend on who is ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import NamedTuple

import numpy as np
from jax.sharding import Mesh

from widelimit.errors import GaveUp
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Recorder, recorder
from widelimit.solving.resuming import Behind, Stand, midway_of, recalled
from widelimit.solving.threads import threads


class Held(NamedTuple):
    """What a twin holds after a save: its state and choices, its distance there, and the error of the risk.

    The error is the larger distance of this save and the last, since two risks may cross.
    """

    state: State
    memory: State
    distance: np.ndarray | float = 0.0
    away: np.ndarray | float = 0.0


class Left(Exception):
    """The run has ended before its twin."""


Found = tuple[State, np.ndarray] | None  # the state at the end of a passage and its risk, if the solver gets there


@dataclass
class Twin:
    """The twin of a run.

    run     the coarser or finer run itself
    times   factor from the distance of the two risks to the error
    book    recorder that takes its risk, on the landscape that the first run reports on
    beside  whether it moves at the same time as the first run, on another core
    keep    called with a checkpoint of both whenever the twin pauses while the first run waits for it
    """

    run: Run
    times: float
    book: Recorder
    beside: bool
    keep: Callable[[Stand], None]
    _paused: tuple[Held, Behind] | None = None
    _there: Stand | None = None
    _found: Callable[[], Found] | None = None
    _left: Event = field(default_factory=Event)
    _aside: ThreadPoolExecutor = field(default_factory=lambda: threads(1))

    @property
    def start(self) -> Held:
        """What it holds at the start."""
        return Held(self.run.state, recalled(self.run))

    def sets_out(self, here: Stand, start: float, stop: float) -> None:
        """Begin the passage from the last save, where both stand, to the next."""
        self._paused = self._there = None
        passage = partial(self._moved, here, start if here.behind is None else here.behind.at, stop)
        self._found = self._aside.submit(passage).result if self.beside else passage

    def at(self, here: Stand) -> Stand:
        """Where the run stands, with its twin where that paused last."""
        return here if self._paused is None else here._replace(twin=self._paused[0], behind=self._paused[1])

    def met(self, there: Stand, risk: np.ndarray) -> Held:
        """What it holds at the end of the passage, where the run waits, whose risk is known; a twin whose solver gave
        up tells no error."""
        assert self._found is not None
        self._there = there
        found, held = self._found(), there.twin
        if found is None:
            return held._replace(away=np.full_like(risk, np.nan))
        distance = self.times * np.abs(found[1] - risk)
        return Held(found[0], recalled(self.run), distance, np.maximum(distance, held.distance))

    def leaves(self) -> None:
        """The run has ended: so does the twin, at its next pause."""
        self._left.set()
        self._aside.shutdown(wait=False)

    def _moved(self, here: Stand, start: float, stop: float) -> Found:
        """The passage itself."""
        held = here.twin
        if np.isnan(held.away).any():
            return None

        def tick(t: float, state: State | None = None) -> None:
            if self._left.is_set():
                raise Left
            if state is not None:
                self._paused = held._replace(state=state, memory=recalled(self.run)), Behind(t, midway_of(self.run))
                if self._there is not None:
                    self.keep(self.at(self._there))

        try:
            state = self.run.advance(held.state, start, stop, tick) if stop > start else held.state
        except GaveUp:
            return None
        return state, self.book.risk(state)


@contextmanager
def twin_of(run: Run, book: Recorder, mesh: Mesh | None, keep: Callable[[Stand], None]) -> Iterator[Twin | None]:
    """The twin of a run, if it has one, for as long as the run lasts."""
    if run.twin is None:
        yield None
        return
    view = replace(run.twin.view, land=book.view.land)  # both report on the same draws
    twin = Twin(run.twin, run.times, recorder(view, book.saves), run.plan is not None and mesh is None, keep)
    try:
        yield twin
    finally:
        twin.leaves()
