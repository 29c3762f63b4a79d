"""An entry of the catalogue: data, and one function that measures.

entry = CatalogueEntry(name, paper, title, parameters, claims, seconds, measure)
measure(asked) -> Outcome        asked["d"] is the value of a parameter in the form that is run
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from widelimit.experiments.catalogue.claims import Claim, Measurement, Number, Parameter, Unmet
from widelimit.experiments.catalogue.drawing import Panel
from widelimit.experiments.store import Store
from widelimit.solving.whole_files import write_whole

Plain = float | str | Sequence["Plain"] | Mapping[str, "Plain"] | None


class Seconds(NamedTuple):
    """What the two forms take on two cores, about."""

    quick: float
    full: float


@dataclass(frozen=True)
class Outcome:
    """What `measure` returns: a measurement for every claim, the figure, remarks, and the frames of a film."""

    measurements: Mapping[str, Measurement]
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    film: tuple[tuple[Panel, ...], ...] = ()


@dataclass(frozen=True)
class Asked:
    """What `measure` is given: the values of the parameters, and where finished parts are kept.

    folder   of the parts and the runs of this form of the entry; None keeps nothing

    >>> Asked({"d": 40})["d"]
    40
    """

    values: Mapping[str, Number]
    folder: Path | None = None

    def __getitem__(self, name: str) -> Number:
        return self.values[name]

    def number(self, name: str) -> float:
        """A parameter that is a number."""
        value = self.values[name]
        assert isinstance(value, int | float), name
        return value

    def count(self, name: str) -> int:
        """A parameter that is a whole number."""
        return int(self.number(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """A parameter that is a list of numbers."""
        value = self.values[name]
        assert isinstance(value, tuple), name
        return value

    @property
    def store(self) -> Store | None:
        """Where runs are kept: one that was interrupted goes on from its last checkpoint."""
        return None if self.folder is None else Store(self.folder / "runs")

    def part(self, name: str, compute: Callable[[], Plain]) -> Plain:
        """A part of the measurement in plain numbers: read if it was finished before, else computed and kept."""
        if sys.stderr.isatty():
            print(f"  part {name}", file=sys.stderr)
        if self.folder is None:
            return compute()
        path = self.folder / f"{name}.json"
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
        found = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(json.dumps(found), encoding="utf-8"))
        return json.loads(json.dumps(found))


@dataclass(frozen=True)
class CatalogueEntry:
    """A figure or a claim that can be reproduced by its name.

    paper        key of the reference
    parameters   settings, each with its source
    deviations   from the paper that no parameter tells
    seconds      what the forms take
    unmet        claims that are known not to be reproduced

    >>> import widelimit as wl
    >>> wl.catalogue.entry("mmn18-risk").paper
    'mmn18'
    """

    name: str
    paper: str
    title: str
    parameters: tuple[Parameter, ...]
    claims: tuple[Claim, ...]
    seconds: Seconds
    measure: Callable[[Asked], Outcome] = field(repr=False)
    deviations: tuple[str, ...] = ()
    unmet: tuple[Unmet, ...] = ()

    def values(self, quick: bool) -> dict[str, Number]:
        """The parameters of a form by name."""
        return {p.name: p.value(quick) for p in self.parameters}

    def deviating(self, quick: bool) -> tuple[str, ...]:
        """How a form differs from the paper, in words."""
        changed = (p for p in self.parameters if p.deviates(quick))
        return (*(f"{p.name} = {p.value(quick)} instead of {p.published}" for p in changed), *self.deviations)

    def known(self, quick: bool) -> dict[str, str]:
        """The claims that are known not to be reproduced in a form, and why that may be."""
        return {one.claim: one.why for one in self.unmet if one.form in ("both", "quick" if quick else "full")}

    def document(self) -> dict[str, object]:
        """Everything but the function, by name."""
        known = {"unmet": [one._asdict() for one in self.unmet]} if self.unmet else {}
        return {
            "name": self.name, "paper": self.paper, "title": self.title, "seconds": self.seconds._asdict(),
            "claims": [asdict(claim) for claim in self.claims],
            "parameters": [parameter.document() for parameter in self.parameters],
            "deviations": list(self.deviations), **known,
        }  # fmt: skip
