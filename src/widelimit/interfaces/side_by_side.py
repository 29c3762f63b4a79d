"""Entries of the catalogue on several cores: every core runs a share of them, in a process of its own.

    python -m widelimit.interfaces.side_by_side quick|full FOLDER NAME…        one share

An entry goes to the share that is the shortest so far, the longest entries first. What a share finds is in the records,
which are whole or not there; what it says on stderr is kept until it ends. A share has the threads of its part of the
cores. An interrupt is handed on, and a share whose parent is gone, however that ended, interrupts itself: its standard
input is then at its end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from widelimit.errors import Diverged
from widelimit.experiments.cores import part_of_cores
from widelimit.interfaces.entry import INTERRUPTED

if TYPE_CHECKING:
    from widelimit.experiments.catalogue.catalogue_entry import CatalogueEntry
    from widelimit.experiments.catalogue.reproduction import Reproduction

FORMS = ("full", "quick")
PATIENCE = 60.0  # seconds for a share to keep what it has, once it is interrupted


def shares(
    entries: Sequence[CatalogueEntry], jobs: int, cost: Callable[[CatalogueEntry], float]
) -> list[list[CatalogueEntry]]:
    """The entries in as many shares as there are jobs, none empty, of about the same cost.

    >>> [[len(word) for word in share] for share in shares(["a", "bbbb", "cc", "dd"], 2, len)]
    [[4, 1], [2, 2]]
    """
    found: list[list[CatalogueEntry]] = [[] for _ in range(min(jobs, len(entries)))]
    for entry in sorted(entries, key=cost, reverse=True):
        min(found, key=lambda share: sum(map(cost, share))).append(entry)
    return found


def reproduce_each(
    names: Iterable[str], quick: bool, folder: Path, keep: Callable[[Reproduction], None] = lambda found: None
) -> None:
    """Reproduce entries one after the other; one that diverges is told, and the others go on."""
    from widelimit.experiments import catalogue

    for name in names:
        try:
            keep(catalogue.reproduce(name, quick=quick, folder=folder))
        except Diverged as error:
            print(f"widelimit: {name}: {error}", file=sys.stderr)


class Shares(AbstractContextManager):
    """Processes at work, one for each list of names; left, none of them is running."""

    def __init__(self, names: Sequence[Sequence[str]], quick: bool, folder: Path):
        start = [sys.executable, "-m", __name__, FORMS[quick], str(folder)]
        self.said: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in names]  # noqa: SIM115
        own = {**part_of_cores(max(1, len(names))), **os.environ}
        self.workers = [
            subprocess.Popen([*start, *some], stdin=subprocess.PIPE, stderr=said, start_new_session=True, env=own)
            for some, said in zip(names, self.said, strict=True)
        ]

    def working(self) -> bool:
        """Whether any of them still is."""
        return any(worker.poll() is None for worker in self.workers)

    @property
    def codes(self) -> list[int | None]:
        """The exit codes so far."""
        return [worker.returncode for worker in self.workers]

    @property
    def words(self) -> str:
        """All that was said on stderr."""
        found = []
        for said in self.said:
            said.seek(0)
            found.append(said.read().decode(errors="replace"))
        return "".join(found)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGINT)
        for worker in self.workers:
            try:
                worker.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if worker.stdin is not None:
                worker.stdin.close()


def _follow_parent() -> None:
    os.read(0, 1)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def main() -> None:
    """Run a share."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    form, folder, *names = sys.argv[1:]
    for name in names:
        try:
            reproduce_each([name], form == FORMS[True], Path(folder))
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except Exception:  # a mistake in one entry is told, and the others go on
            traceback.print_exc()


if __name__ == "__main__":
    main()
