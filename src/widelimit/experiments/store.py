"""The store: a folder with one immutable record for each run, found again by what was asked for.

    ID.nc          a run that has ended, also one that diverged
    ID.begun.nc    the last checkpoint of one that has not
    index.sqlite   a cache, widelimit.experiments.store_index
    store.json     the format of the store

    ID = SHA-256(format, spec, data)[:20]      spec: problem, method, horizon, seed, saves, in normal form
                                               data: what is in the data file the spec names, if it names one

The version of the program is recorded, and not part of the name: the same question has the same record. Two processes
may write the same run; the one that comes later finds the record there and leaves it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from widelimit.errors import InputError, require, require_positive
from widelimit.experiments.records import load
from widelimit.experiments.run_fields import Entry
from widelimit.experiments.store_index import entries
from widelimit.experiments.where import where
from widelimit.frozen import OfArrays
from widelimit.problem.problem import Problem
from widelimit.solving.driver import Request
from widelimit.solving.solution import Solution
from widelimit.solving.whole_files import read_record, sealed, write_record, write_whole
from widelimit.solving.written import toml_of

FORMAT = 1
DEFAULT, VARIABLE = "runs", "WIDELIMIT_STORE"
ENDING, BEGUN = ".nc", ".begun.nc"
HEAD = "store.json"
LETTERS = 20
DATA = "data_digest"  # attribute of a record: what is in its data file


class Unwritable(InputError):
    """A store that cannot be written to: no matter of one run."""


class Store:
    """A folder of runs: `solve` with ``store=`` reads the run that is in it, and keeps the one that is not.

    folder   by default the one that the variable WIDELIMIT_STORE of the environment names, or "runs"
    every    seconds between two checkpoints of a run that is under way

    >>> import tempfile
    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = wl.Store(folder)
    ...     first, second = (wl.solve(problem, wl.SGD(10, 0.01), 0.1, save=3, store=store) for _ in range(2))
    ...     print(first.source is None, second.source.name == f"{store.runs('n == 10')[0].id}.nc")
    True True
    """

    def __init__(self, folder: str | os.PathLike | None = None, every: float = 60.0):
        chosen = folder if folder is not None else os.environ.get(VARIABLE) or DEFAULT
        good = isinstance(chosen, str | os.PathLike) and str(chosen) != "" and "\0" not in str(chosen)
        require(good, "a store needs the path of a folder", folder, 'try wl.Store("runs")')
        require_positive("every", every, "60.0")
        self.folder, self.every = Path(chosen), float(every)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def open(self) -> None:
        """Make the folder, or say why nothing can be kept there, or that a newer version has written it."""
        self._check_format()
        self._make()

    def find(self, request: Request) -> Solution | None:
        """The run that was kept for a request, whole or as far as it came; None if there is none."""
        self._check_format()
        text = toml_of(request.problem, request.settings, [request.method])
        name = identity(text, digest_of(request.problem))
        for ending in (ENDING, BEGUN):
            path = self.folder / f"{name}{ending}"
            try:
                dataset = read_record(path)["/"]
            except InputError:  # there is none, or it is damaged and will be replaced
                continue
            if dataset.attrs.get("spec") == text:
                return Solution(dataset, request, path)
        self._make()
        return None

    def keep(self, solution: Solution) -> Path:
        """Keep a run, or a checkpoint of one that is under way; returns the path of its record."""
        self._make()
        digest = digest_of(solution.problem)
        name = identity(solution.spec, digest)
        begun = self.folder / f"{name}{BEGUN}"
        with self._room():
            if solution.outcome == "interrupted":
                return write_record(begun, {"/": solution.dataset.assign_attrs({DATA: digest})})
            target = self.folder / f"{name}{ENDING}"
            if not _is_whole(target):
                write_record(target, {"/": solution.dataset.assign_attrs({DATA: digest})})
            begun.unlink(missing_ok=True)
        return target

    def take(self, name: str, contents: bytes) -> None:
        """Keep the record of a run, given by its bytes and the name of its file."""
        with self._room():
            if not _is_whole(self.folder / name):
                write_whole(self.folder / name, lambda path: path.write_bytes(contents))

    def runs(self, condition: str | None = None) -> list[Entry]:
        """What is known of every run that has ended, or of those that meet a condition such as "n >= 200"; a record
        that cannot be read says why, and meets no condition."""
        found = [entry for record, entry in self._entries().items() if not record.endswith(BEGUN)]
        if condition is None:
            return found
        meets = where(condition, {name for entry in found for name in entry.fields})
        return [entry for entry in found if not entry.reason and meets(entry.fields)]

    def begun(self) -> list[Entry]:
        """What is known of the runs that are under way, or were stopped."""
        return [entry for record, entry in self._entries().items() if record.endswith(BEGUN)]

    def path(self, name: str) -> Path:
        """The record of a run, from its ID or the beginning of it."""
        good = isinstance(name, str) and name.isalnum()
        require(good, "the ID of a run is a word of letters and digits", name, "see widelimit runs list")
        self._check_format()
        found = sorted(path for path in self.folder.glob(f"{name}*{ENDING}") if not path.name.endswith(BEGUN))
        if len(found) != 1:
            do = "write more of it" if found else "see widelimit runs list"
            raise InputError(f"an ID must name one run in {str(self.folder)!r}, got {name!r} for {len(found)}: {do}.")
        return found[0]

    def load(self, name: str) -> Solution:
        """The run of an ID, or of the beginning of it."""
        found = load(self.path(name))
        assert isinstance(found, Solution)  # nothing else is kept here
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Remove the records of runs, and their checkpoints, by whole IDs."""
        with self._room():
            for name in names:
                for ending in (ENDING, BEGUN):
                    (self.folder / f"{name}{ending}").unlink(missing_ok=True)

    def faults(self) -> dict[str, str]:
        """What is wrong with records, by their ID: their bytes, or a name that is not that of their spec."""
        found = {}
        for path in sorted(self.folder.glob(f"*{ENDING}")):
            name = path.name.partition(".")[0]
            try:
                about = read_record(path)["/"].attrs
                right = identity(about.get("spec", ""), about.get(DATA, ""))
                if name != right:
                    found[name] = f"its name should be {right}, which is that of its spec."
            except InputError as error:
                found[name] = str(error)
        return found

    def _entries(self) -> dict[str, Entry]:
        self._check_format()
        return entries(self.folder, ENDING) if self.folder.is_dir() else {}

    def _check_format(self) -> None:
        """Refuse a store that a newer version has written."""
        try:
            head = json.loads((self.folder / HEAD).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # new, or damaged: the records speak for themselves
            return
        there = head.get("format") if isinstance(head, dict) else None
        good = not isinstance(there, int) or there <= FORMAT
        require(good, f"a store must have a format up to {FORMAT}", there, "update widelimit, or use another folder")

    def _make(self) -> None:
        """Make the folder, or say why nothing can be kept there, before anything is computed."""
        with self._room():
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
            if not (self.folder / HEAD).is_file():
                head = json.dumps({"format": FORMAT})
                write_whole(self.folder / HEAD, lambda path: path.write_text(head, encoding="utf-8"))

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:  # of the disk, or of HDF5 on it
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
            raise Unwritable(
                f"a store must be a folder that can be written to, got {str(self.folder)!r} ({reason}): make room "
                "there, or choose another; what was finished is kept."
            ) from None


def identity(spec: str, digest: str) -> str:
    """The name of a run: of its spec, and of what is in its data file."""
    whole = json.dumps({"format": FORMAT, "spec": spec, "data": digest})
    return hashlib.sha256(whole.encode()).hexdigest()[:LETTERS]


def digest_of(problem: Problem) -> str:
    """A name for what is in the data file of a problem, "" if it has none."""
    law = problem.data
    return hashlib.sha256(repr(law.content).encode()).hexdigest() if isinstance(law, OfArrays) else ""


def _is_whole(path: Path) -> bool:
    try:
        sealed(path)
    except InputError:
        return False
    return True
