"""The commands ``widelimit runs``: list, show, rerun, export, prune and verify the records of a store."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import InputError, shortened
from widelimit.interfaces.options import Json, command, show
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.experiments.run_fields import Entry
    from widelimit.experiments.store import Store

Folder = Annotated[
    Path | None, typer.Option("--store", help="Folder of the store (default: $WIDELIMIT_STORE, or runs).")
]
Where = Annotated[str, typer.Option(help='Only runs such as "n >= 200 and data.delta < 0.6".', show_default=False)]
Id = Annotated[str, typer.Argument(help="The ID of a run, or the beginning of it.")]
MOST_COLUMNS = 6  # of fields in a list

runs = typer.Typer(add_completion=False, no_args_is_help=True, help="The records of a store.")


def opened(folder: Path | None) -> Store:
    """The store of a folder that is there."""
    from widelimit.experiments.store import HEAD, Store

    store = Store(folder)
    if not store.folder.is_dir():
        others = sorted(str(path.parent) for path in Path().glob(f"*/*/{HEAD}"))
        found = f", but stores in {shortened(others)}" if others else ""
        do = f"try --store {shlex.quote(others[0])}" if others else "runs are kept by widelimit sweep and solve(store=)"
        raise InputError(f"--store must be a folder of runs, got {str(store.folder)!r}: there is none{found}; {do}.")
    return store


@command(runs, "list")
@dataclass(frozen=True)
class ListRuns:
    """List the runs of a store, those under way, and records that cannot be read."""

    where: Where = ""
    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Read the index, show it."""
        home = opened(self.store)
        found, begun = home.runs(self.where or None), home.begun()
        good = [entry for entry in found if not entry.reason]
        bad = [entry for entry in (*found, *begun) if entry.reason]
        under_way = [entry for entry in begun if not entry.reason]

        def tell() -> None:
            print_runs(good)
            for entry in under_way:
                print(f"{entry.id}  under way or stopped, at t = {entry.fields['t']}")
            for entry in bad:
                print(f"{entry.id}  cannot be read: {entry.reason}")

        lists = {"runs": good, "begun": under_way, "unreadable": bad}
        show({name: [plain(e.document()) for e in part] for name, part in lists.items()}, self.as_json, tell)
        return 0


@command(runs, "show")
@dataclass(frozen=True)
class ShowRun:
    """Show a run: its spec, how it ended, and what it was run with."""

    id: Id
    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Load the record, show it."""
        home = opened(self.store)
        solution = home.load(self.id)
        about = {key: value for key, value in solution.dataset.attrs.items() if key != "spec"}

        def tell() -> None:
            print(solution.dataset.attrs["spec"])
            print(solution)
            for key, value in about.items():
                print(f"{key:<12} {value}")

        path = home.path(self.id)
        risks = {"times": solution.times.tolist(), "risk": solution.risk.tolist()}
        document = {"id": path.stem, "spec": solution.dataset.attrs["spec"], **plain(about), **risks}
        show(plain(document), self.as_json, tell)
        return 0


@command(runs, "rerun")
@dataclass(frozen=True)
class RerunRun:
    """Run it again from its spec, and say whether it comes to the same bits; the record stays as it is."""

    id: Id
    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Run it, compare."""
        import numpy as np

        kept = opened(self.store).load(self.id)
        again = kept.rerun()
        compared = [name for name in ("risk", "theta", "masses") if name in kept.dataset]
        same = all(np.array_equal(kept.dataset[n], again.dataset[n], equal_nan=True) for n in compared)
        apart = float(np.max(np.abs(kept.risk - again.risk))) if kept.risk.shape == again.risk.shape else math.inf

        def tell() -> None:
            print("the same bits" if same else f"not the same: the risks are up to {apart:.3g} apart")

        show(plain({"same": same, "apart": apart, "outcome": again.outcome}), self.as_json, tell)
        return 0 if same else 1


@command(runs, "export")
@dataclass(frozen=True)
class ExportRuns:
    """Write runs into one file: a table (.csv, .parquet), or all their numbers (.nc)."""

    target: Annotated[Path, typer.Argument(help="The file; its ending .csv, .parquet or .nc says how.")]
    where: Where = ""
    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Write the file."""
        from widelimit.experiments.exporting import export

        home = opened(self.store)
        found = home.runs(self.where or None)
        try:
            export(home, found, self.target)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"export must be able to write its file, got {str(self.target)!r}: {reason}.") from None
        count = sum(not entry.reason for entry in found)
        for entry in found:
            if entry.reason:
                print(f"widelimit: skipped {entry.id}: {entry.reason}", file=sys.stderr)
        show({"runs": count, "file": str(self.target)}, self.as_json, lambda: print(f"{count} runs in {self.target}"))
        return 0


@command(runs, "prune")
@dataclass(frozen=True)
class PruneRuns:
    """Remove the runs that meet a condition, or without one the records that cannot be read."""

    where: Where = ""
    yes: Annotated[bool, typer.Option("--yes", help="Remove them; without it, only say which.")] = False
    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Choose, remove."""
        home = opened(self.store)
        bad = {entry.id for entry in (*home.runs(), *home.begun()) if entry.reason}
        names = sorted({entry.id for entry in home.runs(self.where)} if self.where else bad)
        if self.yes:
            home.remove(names)
        done = "removed" if self.yes else "would remove"

        def tell() -> None:
            print("\n".join([*(f"{done} {name}" for name in names), f"{done} {len(names)} runs"]))
            if names and not self.yes:
                print("add --yes to do so")

        show({"removed": names if self.yes else [], "chosen": names}, self.as_json, tell)
        return 0


@command(runs, "verify")
@dataclass(frozen=True)
class VerifyRuns:
    """Check that every record has the bytes it was written with, and the name of its spec."""

    store: Folder = None
    as_json: Json = False

    def run(self) -> int:
        """Check them all."""
        home = opened(self.store)
        found = home.faults()

        def tell() -> None:
            print("\n".join([*(f"{name}  {reason}" for name, reason in found.items()), f"{len(found)} faults"]))

        show({"faults": found}, self.as_json, tell)
        return 1 if found else 0


def print_runs(found: Sequence[Entry]) -> None:
    """A table: how every run ended, and the fields in which they differ."""
    from widelimit.experiments.exporting import differing

    if not found:
        print("no runs")
        return
    names = differing(found)[: MOST_COLUMNS + 2]
    headings = ("id", *(name.rpartition(".")[2] for name in names), "t", "risk")
    cells = [[e.id, *(_cell(e.fields.get(name)) for name in (*names, "t", "risk"))] for e in found]
    print_table(None, headings, cells, left=("id", "outcome"), fold=True)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def plain(document: Mapping[str, object]) -> dict[str, object]:
    """A document that JSON can hold: infinite numbers as the words that a spec has for them, none for NaN."""
    return {key: _plain(value) for key, value in document.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
