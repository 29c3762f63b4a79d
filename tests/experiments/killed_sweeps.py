"""Sweeps on a real scheduler and two workers, processes that talk over TCP, of which one after the other is killed.

python tests/experiments/killed_sweeps.py 100     so many kills at random moments: the driver, a worker, the scheduler
python tests/experiments/killed_sweeps.py 100 4   the same, where four runs go together in one compiled call
"""

import asyncio
import contextlib
import hashlib
import itertools
import multiprocessing
import os
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import widelimit as wl
from widelimit.experiments import engine as engines
from widelimit.experiments.sweep import sweep

RUNS, WORKERS = 60, 2
ONE_CORE = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
REFUSED = 2


class CountingStore(wl.Store):
    """A store that notes every run that was made."""

    def keep(self, solution):
        path = super().keep(solution)
        with open(self.folder / "made.txt", "a") as file:
            file.write(f"{path.name}\n")
        return path


def spec():
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), neuron, wl.initial.gaussian(0.8))
    return wl.Spec(problem, wl.SGD(6, 0.003), t_end=0.1, save=3)


def scheduler(port):
    import distributed

    async def serve():
        async with distributed.Scheduler(host="127.0.0.1", port=port, dashboard=False) as server:
            await server.finished()

    asyncio.run(serve())


def worker(port):
    import distributed

    async def serve():
        async with distributed.Worker(f"tcp://127.0.0.1:{port}", nthreads=1, death_timeout=60) as server:
            await server.finished()

    asyncio.run(serve())


def driver(port, folder, together):
    engines.TASKS = RUNS // together  # as if there were more runs
    try:
        engine = wl.Engine(scheduler=f"tcp://127.0.0.1:{port}")
        sweep(spec(), {"seed": {"seeds": RUNS}}, store=CountingStore(folder), engine=engine)
    except wl.InputError as error:
        print(error)
        os._exit(REFUSED)
    os._exit(0)


class Processes:
    """A scheduler and its workers; all processes are forked from a server that has loaded the library, not used it."""

    def __init__(self):
        for name in ONE_CORE:
            os.environ[name] = "1"
        os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # where the server finds what it loads
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["distributed", __name__ if __name__ != "__main__" else "killed_sweeps"])
        self.started = []
        self.begin()

    def begin(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.scheduler = self.start(scheduler, self.port)
        self.workers = [self.start(worker, self.port) for _ in range(WORKERS)]

    def start(self, target, *arguments):
        process = self.context.Process(target=target, args=arguments, daemon=True)
        process.start()
        self.started.append(process)
        return process

    def driver(self, folder, together=1):
        self.wait()
        return self.start(driver, self.port, str(folder), together)

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.port}"

    def wait(self):
        """Until the scheduler can be reached."""
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)

    def kill(self, victims):
        for process in victims:
            process.kill()
            process.join()

    def end(self):
        self.kill([self.scheduler, *self.workers])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill(self.started)


def records(folder):
    """What is in a store: the checksum of every record."""
    found = {}
    for path in Path(folder).glob("*.nc"):
        if not path.name.endswith(".begun.nc"):
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def survive(kills, folder, together=1, seed=0):
    """Sweeps under kills until so many were done; returns how many sweeps that took, and records there at the kills."""
    draw, victims, done, there = random.Random(seed), itertools.cycle(("driver", "worker", "scheduler")), 0, []
    with Processes() as cluster:
        undisturbed = cluster.driver(folder / "undisturbed", together)
        undisturbed.join()
        assert undisturbed.exitcode == 0 and len(records(folder / "undisturbed")) == RUNS
        for number in itertools.count(1):
            store = wl.Store(folder / f"sweep {number}")
            driver = cluster.driver(store.folder, together)
            while True:
                more = len(records(store.folder)) + draw.randrange(2, 14)
                while driver.is_alive() and len(records(store.folder)) < more:
                    time.sleep(0.01)
                time.sleep(draw.uniform(0.0, 0.2))
                if not driver.is_alive() or done == kills:
                    break
                victim, before = next(victims), records(store.folder)
                there.append(len(before))
                if victim == "driver":
                    cluster.kill([driver])
                elif victim == "worker":
                    k = draw.randrange(WORKERS)
                    cluster.kill([cluster.workers[k]])
                    cluster.workers[k] = cluster.start(worker, cluster.port)
                else:
                    cluster.kill([cluster.scheduler])
                    driver.join(60)
                    assert driver.exitcode == REFUSED or len(records(store.folder)) == RUNS
                    cluster.kill(cluster.workers)
                    cluster.begin()
                done += 1
                print(f"kill {done}, of the {victim}, at {len(before)} of {RUNS} records of sweep {number}", flush=True)
                after = records(store.folder)
                assert not store.faults() and before.items() <= after.items()
                if victim != "worker":
                    driver = cluster.driver(store.folder, together)
            driver.join()
            assert driver.exitcode == 0, driver.exitcode
            assert_same(store, wl.Store(folder / "undisturbed"))
            assert not list(store.folder.glob(".sweep*"))
            if done == kills:
                return number, there


def assert_same(one, two):
    """Two stores have the same runs to the last bit."""
    names = [entry.id for entry in one.runs()]
    assert names == [entry.id for entry in two.runs()] and len(names) == RUNS
    for name in names:
        first, second = one.load(name).dataset, two.load(name).dataset
        for variable in ("risk", "risk_error", "theta", "final"):
            np.testing.assert_array_equal(first[variable], second[variable])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import killed_sweeps  # by its name, under which the processes find it

    with tempfile.TemporaryDirectory() as room:
        kills, together = (*map(int, sys.argv[1:]), 1)[:2]
        began, spent = time.time(), killed_sweeps.survive(kills, Path(room), together)
        print(f"{kills} kills in {spent[0]} sweeps of {RUNS} runs, {time.time() - began:.0f} s; records there at")
        print(f"each kill: {spent[1]}; every record whole or absent, none lost, all sweeps the same to the last bit")
