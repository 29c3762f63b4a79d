"""What is known of a stored run without reading its numbers: every key of its spec, and how it ended.

    problem.data.delta, problem.initial.scale, run.t_end, method.n, …   the keys of the spec, those left out included
    outcome, risk, t, wall_time, versions.widelimit, …                  what the record says of itself

A name may be written as short as it stays clear: ``n`` for method.n, ``data.delta`` for problem.data.delta.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import h5py  # type: ignore[import-untyped]
import numpy as np

from widelimit.errors import InputError, nearest
from widelimit.experiments import spec_reading as names
from widelimit.problem.neurons import ridge
from widelimit.problem.problem import Problem
from widelimit.solving.settings import Settings
from widelimit.solving.whole_files import sealed

Plain = float | int | str | bool | None
SHORT = ("", "method.", "run.", "problem.")  # where a short name is looked for first
KINDS = {  # the constructors that the name in a table chooses from
    "problem.data": names.DATA,
    "problem.initial": names.INITIAL,
    "problem.schedule": names.SCHEDULES,
    "problem.regulariser": names.REGULARISERS,
    "method": names.METHODS,
}
ENDINGS = ("outcome", "advice", "wall_time", "device")  # as the record has them
ATTRIBUTES = (*ENDINGS, "versions", "spec")
FIXED = {"problem": Problem, "problem.neuron": ridge, "run": Settings}


@dataclass(frozen=True)
class Entry:
    """A line of the index of a store.

    id       of the run, the name of its record
    fields   what is known of it, by dotted names
    reason   why the record cannot be read, "" if it can
    """

    id: str
    fields: Mapping[str, Plain] = field(default_factory=dict)
    reason: str = ""

    def document(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)


def entry_of(path: Path) -> Entry:
    """The entry of a record; one that cannot be read says why."""
    name = path.name.partition(".")[0]
    try:
        sealed(path)
        with h5py.File(path, "r") as file:
            about = {key: _plain(file.attrs[key]) for key in ATTRIBUTES}
            return Entry(name, {**fields_of(str(about["spec"])), **_ending(about, file)})
    except InputError as error:
        return Entry(name, reason=str(error))
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        return Entry(name, reason=f"it holds no run ({type(error).__name__}).")


def fields_of(text: str) -> dict[str, Plain]:
    """Every key of a spec with one method, those with their defaults included, by its dotted name.

    >>> found = fields_of('[problem.data]\\nlaw = "gaussian_classes"\\nd = 40\\n[[method]]\\nname = "SGD"\\nn = 8')
    >>> found["problem.data.d"], found["method.n"], found["method.batch"], found["run.seed"]
    (40, 8, 1, 0)
    """
    document = tomllib.loads(text)
    document["method"] = document["method"][0]
    document.setdefault("run", {})
    return _flat(document, "")


def _flat(table: Mapping[str, object], path: str) -> dict[str, Plain]:
    found: dict[str, Plain] = dict(_defaults(path, str(table.get("name", table.get("law", "")))))
    for key, value in table.items():
        place = f"{path}.{key}".removeprefix(".")
        if isinstance(value, dict):
            found |= _flat(value, place)
        else:
            found[place] = value if isinstance(value, str | bool | int | float) else json.dumps(value)
    return found


@cache
def _defaults(path: str, name: str) -> tuple[tuple[str, Plain], ...]:
    """The plain values that a table has where it says nothing."""
    build = FIXED.get(path) or KINDS.get(path, {}).get(name)
    if build is None:
        return ()
    values = ((key, argument.default) for key, argument in names.arguments_of(build).items())
    return tuple((f"{path}.{key}", v) for key, v in values if isinstance(v, str | bool | int | float))


def _plain(value: object) -> Plain:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):  # NetCDF knows no single numbers
        return value.ravel()[0].item() if value.size == 1 else str(value.tolist())
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[return-value]


def _ending(about: Mapping[str, Plain], file: h5py.File) -> dict[str, Plain]:
    """How a run ended: its last time, and its risk there, a mean over replicas."""
    times, risk = file["time"], file["risk"]
    last = {"t": float(times[-1]), "risk": float(np.mean(risk[..., -1]))} if len(times) else {"t": None, "risk": None}
    versions = json.loads(str(about["versions"]))
    return {
        **{key: about[key] for key in ENDINGS},
        **last,
        **{f"versions.{library}": str(version) for library, version in versions.items()},
    }


def full_name(name: str, known: Iterable[str]) -> str:
    """The dotted name that a short one stands for, among those that are known.

    >>> full_name("n", ["method.n", "run.seed"])
    'method.n'
    """
    every = list(known)
    for front in SHORT:
        if front + name in every:
            return front + name
    ends = [one for one in every if one.endswith(f".{name}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise InputError(f"a field must be clear, got {name!r}: write one of {', '.join(sorted(ends))}.")
    alike = every if "." in name else sorted({one.rpartition(".")[2] for one in every})
    raise InputError(f"unknown field {name!r}: {nearest(name, alike)}.")
