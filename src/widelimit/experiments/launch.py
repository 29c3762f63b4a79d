"""Run a spec into a folder: one record for each method, the spec itself in normal form.

A file is written under another name and then moved, so that a run that is killed leaves whole files only. A method that
diverges is kept as far as it came and the others are run; an interrupt keeps what was finished and what was begun, a
run of more than a minute leaves checkpoints on its way, and the run can be resumed: records that are done are read, the
one that was interrupted goes on, the others are run.
The limits (MeanField, FiniteVolume, JKO) have no replicas and are run once, also where the others have replicas.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jax.errors import JaxRuntimeError

from widelimit.dynamics.estimate import Forecast, estimate
from widelimit.dynamics.methods import Limit, Method
from widelimit.dynamics.solve import solve
from widelimit.errors import InputError, Interrupted, writing_to
from widelimit.experiments.records import load
from widelimit.experiments.spec import Spec
from widelimit.experiments.spec_checks import located
from widelimit.experiments.spec_reading import METHODS
from widelimit.solving.driver import Request
from widelimit.solving.solution import Solution
from widelimit.solving.whole_files import part_of, write_whole

SPEC, FIGURE = "spec.toml", "figure.png"
LAW, LAW_FIGURE = "gibbs.json", "gibbs.png"  # of widelimit gibbs


@dataclass
class Launch:
    """What has been run so far.

    solutions    by the name of their record
    interrupted  whether somebody stopped it
    """

    solutions: dict[str, Solution] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def outcome(self) -> str:
        """ "done", "diverged" or "stopped" if a method did, or "interrupted"."""
        found = [solution.outcome for solution in self.solutions.values()]
        return "interrupted" if self.interrupted else next((o for o in ("diverged", "stopped") if o in found), "done")


def stem(name: str) -> str:
    """The name of a method in the names of files.

    >>> stem("MeanField"), stem("SGD")
    ('mean_field', 'sgd')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def record_names(methods: Iterable[Method]) -> list[str]:
    """A name for the record of each method, numbered if a method occurs twice."""
    stems = [stem(type(method).__name__) for method in methods]
    seen: Counter[str] = Counter()
    names = []
    for name in stems:
        seen[name] += 1
        names.append(f"{name}_{seen[name]}" if stems.count(name) > 1 else name)
    return names


def launch(
    spec: Spec, folder: Path, overwrite: bool = False, resumed: bool = False, devices: int | None = None
) -> Launch:
    """Run every method of a spec and keep the records in a folder, or go on with those that are there."""
    if overwrite and resumed:
        raise InputError(
            f"a run goes on or is made anew, got both --resume and --overwrite for {str(folder)!r}: drop one of them."
        )
    text = spec.to_toml()
    if resumed:
        _require_records(folder, text)
    else:
        clear(folder, overwrite)
    launched = Launch()
    for i, name in enumerate(record_names(spec.methods)):
        try:
            launched.solutions[name] = _run(spec, i, RecordFile(folder / f"{name}.nc", text), devices)
        except Interrupted as stop:
            launched.interrupted = True
            if len(stop.solution.times):
                launched.solutions[name] = stop.solution
        except KeyboardInterrupt:
            launched.interrupted = True
        except InputError:
            _leave(folder)
            raise
        if launched.interrupted:
            break
    return launched


def forecasts(spec: Spec) -> dict[str, Forecast]:
    """What every method of a spec would take, by the name of its record."""
    found = {}
    for name, method in zip(record_names(spec.methods), spec.methods, strict=True):
        found[name] = estimate(spec.problem, method, **_settings(spec, method))
    return found


def _settings(spec: Spec, method: Method) -> dict[str, Any]:
    return spec.settings() | {"replicas": None if isinstance(method, Limit) else spec.replicas}


@dataclass(frozen=True)
class RecordFile:
    """One run kept in one file, as far as it came, beside the spec it belongs to."""

    path: Path
    spec: str
    every: float = 60.0

    def find(self, request: Request) -> Solution | None:
        """What is in the file, if it is there; its spec was compared with the one of the folder."""
        if not self.path.is_file():
            return None
        found = load(self.path)
        assert isinstance(found, Solution)  # no comparison has a record of this name
        return found

    def keep(self, solution: Solution) -> Path:
        """Write the spec, then the record."""
        write_whole(self.path.with_name(SPEC), lambda path: path.write_text(self.spec, encoding="utf-8"))
        return solution.save(self.path)


def _run(spec: Spec, i: int, keeper: RecordFile, devices: int | None) -> Solution:
    """The solution of one method; what cannot be run is an InputError that names the method."""
    method = spec.methods[i]
    try:
        return solve(spec.problem, method, **_settings(spec, method), throw=False, store=keeper, devices=devices)
    except InputError as error:
        raise located(error, ("method", i), asdict(method)) from None
    except (MemoryError, OverflowError, JaxRuntimeError):
        raise InputError(
            f"method[{i + 1}] must fit in the memory of this machine, got {method}: use fewer neurons, points or saves."
        ) from None


def _require_records(folder: Path, text: str) -> None:
    """Refuse to go on where nothing was begun, or with the records of another spec."""
    path = folder / SPEC
    if not path.is_file():
        raise InputError(f"--resume needs the records of a run, got none in {str(folder)!r}: drop --resume.")
    if path.read_text(encoding="utf-8") != text:
        raise InputError(
            f"--resume needs the records of the same spec, got another one in {str(path)!r}: choose another --out."
        )


def _leave(folder: Path) -> None:
    """Leave no folder behind if nothing was kept in it."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def clear(folder: Path, overwrite: bool) -> None:
    """Make a folder ready: new, empty, or without the files of an earlier run if that may be overwritten."""
    with writing_to(folder):
        if any(folder.iterdir()) and not overwrite:
            raise InputError(
                f"--out must be a new or empty folder, got {str(folder)!r}: choose another, or add --overwrite."
            )
        for path in folder.iterdir():
            if _is_ours(part_of(path) or path.name):
                path.unlink()


def _is_ours(name: str) -> bool:
    stems = "|".join(map(stem, METHODS))
    return name in (SPEC, FIGURE, LAW, LAW_FIGURE) or re.fullmatch(rf"({stems})(_\d+)?\.nc", name) is not None
