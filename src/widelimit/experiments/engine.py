"""The engine: who runs the points of a sweep. This process, worker processes beside it, or a Dask cluster.

    driver                                        worker
    bunches of points that are missing   ──→       looks again in the store, runs those that are missing
    numbers over time, to the dataset   ←──       keeps the records in the store, if it sees the folder of the driver;
    records, to the store               ←──       if not, sends them along

The bunches depend on the grid alone, so that a point has the same bits with any number of workers. They are sent in
random order: two sweeps into one store meet each other's points in the store, and seldom on the way. A token in the
folder of the store, which a worker looks for, tells whether it sees the folder.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import platform
import queue
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widelimit import __version__
from widelimit.errors import InputError, is_whole, require, require_count
from widelimit.experiments.cores import VARIABLES
from widelimit.experiments.spec import Spec
from widelimit.experiments.store import BEGUN, ENDING, Store, Unwritable
from widelimit.experiments.sweep_axes import SweepAxis, count_of
from widelimit.experiments.sweep_points import SHARE, Bunch, Place, Point, Way, bunches_of, looked_up, run_bunch
from widelimit.on_first_use import OnFirstUse
from widelimit.solving.whole_files import part_beside

if TYPE_CHECKING:
    import distributed
else:
    distributed = OnFirstUse("distributed", extra="cluster")

BLOCK = 512  # points in hand at one time in this process
TASKS = 64  # at least so many bunches, if there are as many points
PATIENCE = 5.0  # seconds for a scheduler to answer
START = 60.0  # seconds for workers of its own to start
ONE_CORE = dict.fromkeys(VARIABLES, "1")
WORKER = ("--nthreads=1", "--no-dashboard", "--preload", __name__)  # ready before it takes anything
TOKEN = "sweep"
LOGGERS = ("distributed", "distributed.client", "asyncio", "tornado", "tornado.application")  # Dask gives each a level
SILENT = {"DASK_LOGGING__DISTRIBUTED": "critical"}
Found = tuple[dict[Place, Point], dict[str, bytes]]


@dataclass(frozen=True)
class Engine:
    """Who runs the points of a sweep; by default this process.

    workers    so many processes on this machine, of one core each
    scheduler  the address of the scheduler of a Dask cluster, such as "tcp://127.0.0.1:8786"
    retries    how often points are sent again that were lost with their workers
    together   how many points may run in one compiled call. They end together and are kept then; with 1 every point
               runs by itself, and with a store leaves checkpoints if it takes long

    Workers need the extra ``widelimit[cluster]``.

    >>> Engine(workers=2)
    Engine(workers=2, scheduler=None, retries=2, together=256)
    """

    workers: int | None = None
    scheduler: str | None = None
    retries: int = 2
    together: int = 256

    def __post_init__(self) -> None:
        if self.workers is not None:
            require_count("workers", self.workers, "2")
        good = self.scheduler is None or (isinstance(self.scheduler, str) and self.scheduler != "")
        do = 'try scheduler="tcp://127.0.0.1:8786"'
        require(good, "scheduler must be the address of a Dask scheduler", self.scheduler, do)
        both = self.workers is not None and self.scheduler is not None
        require(not both, "the workers of a sweep must be its own or those of a scheduler", "both", "drop one of them")
        good = is_whole(self.retries) and self.retries >= 0
        require(good, "retries must be a whole number of at least 0", self.retries, "try retries=2")
        require_count("together", self.together, "256")

    def run(self, spec: Spec, axes: Sequence[SweepAxis], way: Way) -> Generator[tuple[Place, Point], None, None]:
        """All points, as they are found or end."""
        if self.workers is None and self.scheduler is None:
            if way.store is not None:
                way.store.open()
            for bunch in bunches_of(spec, axes, BLOCK):
                yield from run_bunch(spec, bunch, way)
            return
        most = min(self.together, max(1, count_of(axes) // TASKS))
        waiting = list(bunches_of(spec, axes, most))
        random.shuffle(waiting)
        store = copy.copy(way.store)
        if store is not None:
            store.folder = store.folder.resolve()
        way = replace(way, store=store, share=SHARE / (self.workers or 1))
        with self._client() as client, _token(way.store) as token:
            _require_same_versions(client)
            yield from _Sweeping(client, Errand(spec, way, token), self.retries).run(waiting)

    @contextlib.contextmanager
    def _client(self) -> Iterator[distributed.Client]:
        """A client of the scheduler, which for workers of its own is in this process."""
        with contextlib.ExitStack() as stack:
            address = self.scheduler or ""
            if self.workers is not None:
                address = stack.enter_context(_own_cluster(self.workers))
            for logger in map(logging.getLogger, LOGGERS):  # a sentence says it
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL)
            client = _answer(address)
            if not isinstance(client, distributed.Client):
                raise InputError(
                    f"a sweep needs a Dask scheduler that answers, got none at {address!r}: start one with "
                    f"dask scheduler, or drop --scheduler ({client})."
                )
            stack.enter_context(client)
            if self.workers is not None:
                _wait_for(self.workers, client)
            yield client


@dataclass(frozen=True)
class Errand:
    """What all workers of a sweep are told: the spec, how points are run, and the token in the folder of the store."""

    spec: Spec
    way: Way
    token: str

    def run(self, bunch: Bunch) -> Found:
        """On a worker: the points of a bunch, and the records that it could not keep itself."""
        store = self.way.store
        if store is None or (store.folder / self.token).is_file():
            try:
                return dict(run_bunch(self.spec, bunch, self.way)), {}
            except Unwritable as error:
                raise Unwritable(f"on the worker {platform.node()}, {error}") from None
        with tempfile.TemporaryDirectory() as folder:
            points = dict(run_bunch(self.spec, bunch, replace(self.way, store=Store(folder, store.every))))
            paths = [path for path in Path(folder).glob(f"*{ENDING}") if not path.name.endswith(BEGUN)]
            return points, {path.name: path.read_bytes() for path in paths}


def _itself(errand: Errand) -> Errand:
    """A task whose result is the errand: it reaches every worker once, and is not lost with one."""
    return errand


def _run(errand: Errand, bunch: Bunch) -> Found:
    return errand.run(bunch)


class _Sweeping:
    """A sweep under way: the bunches that workers have, and how often each was lost."""

    def __init__(self, client: distributed.Client, errand: Errand, retries: int):
        self.client, self.errand, self.retries = client, errand, retries
        self.at_workers = client.submit(_itself, errand, pure=False)
        self.under_way: dict[Any, tuple[Bunch, int]] = {}  # by the keys of their futures
        self.ended = distributed.as_completed(loop=client.loop)

    def run(self, waiting: list[Bunch]) -> Iterator[tuple[Place, Point]]:
        """All points of the bunches. A few bunches for each worker are under way at a time, so that this process holds
        no more of a larger sweep."""
        try:
            while waiting or self.under_way:
                while waiting and len(self.under_way) < 2 * sum(self.client.nthreads().values()) + 2:
                    yield from self._begin(waiting.pop())
                if self.under_way:
                    yield from self._end(next(self.ended))
        except (OSError, distributed.CancelledError):
            raise InputError(
                "a sweep needs its Dask scheduler to the end, got none any more: start it again, then the same "
                "sweep, which runs what is not in its store."
            ) from None

    def _begin(self, bunch: Bunch) -> Iterator[tuple[Place, Point]]:
        """Send what is missing in a bunch, and yield the rest."""
        missing = []
        for place, found in looked_up(self.errand.spec, bunch, self.errand.way):
            if isinstance(found, Point):
                yield place, found
            else:
                missing.append(place)
        if missing:
            self._send(bunch.only(missing), 0)

    def _send(self, bunch: Bunch, tries: int) -> None:
        future = self.client.submit(_run, self.at_workers, bunch, pure=False)
        self.under_way[future.key] = bunch, tries
        self.ended.add(future)

    def _end(self, future: distributed.Future) -> Iterator[tuple[Place, Point]]:
        """The points of a bunch that has come back; of one that has not each goes again by itself."""
        bunch, tries = self.under_way.pop(future.key)
        try:
            points, records = future.result()
        except Exception as error:  # whatever the worker, or its end, has to say
            is_lost = future.status != "error" and isinstance(error, OSError | distributed.CancelledError)
            if is_lost or isinstance(error, Unwritable):
                raise
            for place in bunch.changes:
                if tries < self.retries:
                    self._send(bunch.only([place]), tries + 1)
                else:
                    yield place, Point("failed", _reason(error))
            return
        for name, contents in records.items():
            assert self.errand.way.store is not None  # else there are none
            self.errand.way.store.take(name, contents)
        yield from points.items()


def _reason(error: Exception) -> str:
    if isinstance(error, distributed.KilledWorker):
        return "its workers were lost while it ran: give them more memory, or run fewer points together"
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _answer(address: str) -> distributed.Client | str:
    """A client of the scheduler at an address, or why there is none. Asked in another thread: one that accepts the
    connection and says nothing would be waited for without end."""
    answers: queue.SimpleQueue[distributed.Client | str] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(distributed.Client(address, timeout=PATIENCE, set_as_default=False))
        except Exception as error:  # an odd address has odd ones
            answers.put(str(error).partition("\n")[0])

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=PATIENCE + 2)
    except queue.Empty:
        return "it accepts the connection and says nothing"


@contextlib.contextmanager
def _own_cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler in this process, with so many workers, each a program of its own: none is a fork of
    this process, and an interrupt from the keyboard does not reach them."""
    silent = logging.CRITICAL
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=":0", silence_logs=silent) as cluster,
        contextlib.ExitStack() as stack,
    ):
        worker = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address, *WORKER]
        started = [subprocess.Popen(worker, env={**os.environ, **ONE_CORE, **SILENT}, start_new_session=True)
                   for _ in range(workers)]  # fmt: skip
        for end in (subprocess.Popen.wait, subprocess.Popen.terminate):  # all are told to end before one is waited for
            for process in started:
                stack.callback(end, process)
        yield cluster.scheduler_address


def _wait_for(workers: int, client: distributed.Client) -> None:
    """Wait until the workers are there: the first to come would take all that is sent before the others do."""
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(workers, timeout=START)
    there = len(client.nthreads())
    do = "try dask worker in a terminal, which says why"
    require(there > 0, f"workers must start within {START:g} seconds", f"{there} of {workers}", do)


@contextlib.contextmanager
def _token(store: Store | None) -> Iterator[str]:
    """The name of a file that is in the folder of the store until the sweep ends; the folder is made if need be. One
    that a killed sweep has left is removed by the next."""
    if store is None:
        yield ""
        return
    store.open()
    token = part_beside(store.folder / TOKEN)
    token.touch()
    try:
        yield token.name
    finally:
        token.unlink(missing_ok=True)


def _require_same_versions(client: distributed.Client) -> None:
    """Refuse workers with another widelimit than this process."""
    told: Any = client.get_versions(packages=["widelimit"])
    for address, about in told["workers"].items():
        there = about["packages"].get("widelimit")
        require(there == __version__, f"workers must have widelimit {__version__}", there,
                f"install it on the worker {address}")  # fmt: skip
