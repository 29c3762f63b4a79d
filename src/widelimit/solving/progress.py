"""Progress over the time of a dynamics, or over the points of a sweep: a bar on stderr, or nothing."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from widelimit.solving.protocol import State, Tick

TIME, POINTS = "t = {task.completed:.3g}", "{task.completed:.0f} of {task.total:.0f} points"


def progress_bar(wanted: bool | None, name: str, end: float, shown: str = TIME) -> AbstractContextManager[Tick]:
    """A bar on stderr up to an end, or nothing."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return nullcontext(silent)
    return _Bar(name, end, shown)


def silent(t: float, state: State | None = None) -> None:
    """No progress is shown."""


class _Bar(AbstractContextManager):
    """A rich progress bar; until the first compiled call is back it says so."""

    def __init__(self, name: str, end: float, shown: str):
        self.name = name
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn(shown))
        self.bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(f"{name}, compiling", total=end)

    def __enter__(self) -> Tick:
        self.bar.start()
        return lambda t, state=None: self.bar.update(self.task, completed=t, description=self.name)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
