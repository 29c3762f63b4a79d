"""Run an entry of the catalogue, judge it, and keep what was found.

    NAME.json, NAME-quick.json    the record: the entry, its measurements, verdicts and figure as data
    parts/NAME-DIGEST/            finished parts of a measurement that is under way, and its runs

DIGEST = SHA-256(settings of the form, code of the file that measures)[:16]. A record with the same digest is read and
nothing is computed again; another setting or other code has another one. Words have no part in it: titles, costs and
what is known not to be reproduced may be written after a run, and verdicts are drawn anew from what it measured. Files
are whole or not there, so that a kill costs at most the part that was under way.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from widelimit import __version__
from widelimit.errors import finite_or_none
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome
from widelimit.experiments.catalogue.claims import NOT_REPRODUCED, VERDICTS, Measurement, expected, verdict
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel
from widelimit.solving.whole_files import write_whole

LETTERS = 16


@dataclass(frozen=True)
class Reproduction:
    """An entry that was run.

    quick     which form
    outcome   measurements and figure
    seconds   it took, when it was run
    cpu       seconds of all cores, in the process that finished it
    kept      whether it was read from a record instead of being run now
    version   of the program that measured

    >>> import widelimit as wl
    >>> entry = wl.catalogue.entry("barron-line")
    >>> outcome = Outcome({"rate": Measurement(-1.0, 0.01), "bound": Measurement(1.2)}, ())
    >>> Reproduction(entry, True, outcome, 1.0).verdicts
    {'rate': 'reproduced', 'bound': 'not reproduced'}
    """

    entry: CatalogueEntry
    quick: bool
    outcome: Outcome
    seconds: float
    kept: bool = False
    version: str = __version__
    cpu: float = math.nan

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on every claim, by its name."""
        deviates = bool(self.entry.deviating(self.quick))
        return {c.name: verdict(c, self.outcome.measurements[c.name], deviates) for c in self.entry.claims}

    @property
    def verdict(self) -> str:
        """The worst of them."""
        return max(self.verdicts.values(), key=VERDICTS.index)

    @property
    def failures(self) -> list[str]:
        """The claims that are not reproduced, and are not known to be so."""
        known = self.entry.known(self.quick)
        return [name for name, word in self.verdicts.items() if word == NOT_REPRODUCED and name not in known]

    def rows(self) -> list[dict[str, str]]:
        """claim, published, measured, verdict: in words."""
        found = []
        for claim in self.entry.claims:
            m = self.outcome.measurements[claim.name]
            sign = {"near": "", "at least": "≥ ", "at most": "≤ "}[claim.kind]
            within = f" ± {claim.tolerance:.2g}" if claim.kind == "near" else ""
            error = f" ± {m.error:.1g}" if m.error else ""
            found.append({
                "claim": claim.sentence, "published": f"{sign}{expected(claim, m):.4g}{within} ({claim.source})",
                "measured": f"{m.value:.4g}{error}", "verdict": self.verdicts[claim.name],
            })  # fmt: skip
        return found

    def document(self) -> dict[str, object]:
        """The record."""
        measured = {name: [finite_or_none(x) for x in m] for name, m in self.outcome.measurements.items()}
        return {
            "entry": self.entry.document(), "quick": self.quick, "digest": digest(self.entry, self.quick),
            "verdict": self.verdict, "verdicts": self.verdicts, "failures": self.failures,
            "deviations": list(self.entry.deviating(self.quick)),
            "measurements": measured, "panels": [_panel(panel) for panel in self.outcome.panels],
            "film": [[_panel(panel) for panel in frame] for frame in self.outcome.film],
            "notes": list(self.outcome.notes), "seconds": self.seconds, "cpu": finite_or_none(self.cpu),
            "version": self.version,
        }  # fmt: skip


def reproduce_entry(entry: CatalogueEntry, quick: bool, folder: Path | None) -> Reproduction:
    """Run a form of an entry, or read what was found before."""
    kept = None if folder is None else read(entry, quick, folder)
    if kept is not None:
        return kept
    place = None if folder is None else folder / "parts" / f"{entry.name}-{digest(entry, quick)}"
    begun, worked = time.monotonic(), time.process_time()
    outcome = entry.measure(Asked(entry.values(quick), place))
    assert set(outcome.measurements) == {claim.name for claim in entry.claims}, entry.name
    cpu = time.process_time() - worked
    found = Reproduction(entry, quick, outcome, time.monotonic() - begun, cpu=cpu)
    if folder is not None:
        text = json.dumps(found.document(), allow_nan=False, indent=1)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(record_path(entry, quick, folder), lambda part: part.write_text(text, encoding="utf-8"))
    return found


def record_path(entry: CatalogueEntry, quick: bool, folder: Path, ending: str = ".json") -> Path:
    """Where a record, or its figure, is kept."""
    return folder / f"{entry.name}{'-quick' if quick else ''}{ending}"


def digest(entry: CatalogueEntry, quick: bool) -> str:
    """What a record is found by."""
    home = inspect.getmodule(inspect.unwrap(entry.measure))
    code = measuring(inspect.getsource(home)) if home else ""
    asked = {"name": entry.name, "settings": entry.values(quick), "quick": quick, "code": code}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:LETTERS]


def measuring(text: str) -> str:
    """The code of a file without what is said about it: imports, comments, docstrings, and the entry itself.

    >>> measuring('ONE = CatalogueEntry("one", "a title", measure)\\nPOINTS = 3  # enough')
    'POINTS = 3'
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            node.body = [line for line in node.body if not _said(line)]
    return ast.unparse(tree)


def _said(line: ast.stmt) -> bool:
    """An import, a string that stands alone, or an entry that is named."""
    if isinstance(line, ast.Import | ast.ImportFrom):
        return True
    if isinstance(line, ast.Expr):
        return isinstance(line.value, ast.Constant)
    made = isinstance(line, ast.Assign) and isinstance(line.value, ast.Call) and line.value.func
    return isinstance(made, ast.Name) and made.id == "CatalogueEntry"


def read(entry: CatalogueEntry, quick: bool, folder: Path) -> Reproduction | None:
    """The record of a form of this entry; None if there is none, or one of another text."""
    try:
        found = json.loads(record_path(entry, quick, folder).read_text(encoding="utf-8"))
        if found["digest"] != digest(entry, quick):
            return None
        measured = {name: _measurement(*m) for name, m in found["measurements"].items()}
        if set(measured) != {claim.name for claim in entry.claims}:
            return None
        film = tuple(_read_panels(frame) for frame in found.get("film", ()))
        outcome = Outcome(measured, _read_panels(found["panels"]), tuple(found["notes"]), film)
        cpu = math.nan if found.get("cpu") is None else found["cpu"]
        return Reproduction(entry, quick, outcome, found["seconds"], True, found["version"], cpu)
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or it is damaged and will be replaced
        return None


def _measurement(value: float | None, error: float | None, theory: float | None) -> Measurement:
    """A measurement from its record, where null is not a number."""
    return Measurement(math.nan if value is None else value, math.nan if error is None else error, theory)


def _read_panels(found: list[dict]) -> tuple[Panel, ...]:
    """Panels from their record."""
    return tuple(Panel(**{**p, "lines": tuple(_line(one) for one in p["lines"])}) for p in found)


def _line(found: dict) -> DrawnLine:
    """A line from its record: lists are tuples, null is not a number."""
    rows = {k: tuple(math.nan if x is None else x for x in found[k]) for k in ("x", "y", "error")}
    return DrawnLine(**{**found, **rows})


def _panel(panel: Panel) -> dict[str, object]:
    lines = [{**asdict(line), **{k: [finite_or_none(x) for x in getattr(line, k)] for k in ("x", "y", "error")}}
             for line in panel.lines]  # fmt: skip
    return {**asdict(panel), "lines": lines}
