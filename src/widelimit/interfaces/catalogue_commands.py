"""The commands ``widelimit list``, ``show`` and ``reproduce``: the catalogue of published claims."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import require
from widelimit.interfaces.entry import INTERRUPTED
from widelimit.interfaces.options import Json, require_writable, show
from widelimit.interfaces.side_by_side import Shares, reproduce_each, shares
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.experiments.catalogue.catalogue_entry import CatalogueEntry
    from widelimit.experiments.catalogue.reproduction import Reproduction

FPS = 10.0  # frames of a film in a second
POLL = 0.5  # seconds between two looks at the records
QUICKLY_COMPILED = (  # compiling is most of a quick form; read when JAX first meets a device
    "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
ENTRIES = "{task.completed:.0f} of {task.total:.0f} entries"


@dataclass(frozen=True)
class ListCommand:
    """The catalogue: every published figure and claim that can be reproduced by name."""

    paper: Annotated[
        str | None, typer.Option(help="Key of a paper, such as mmn18; all by default.", show_default=False)
    ] = None
    as_json: Json = False

    def run(self) -> int:
        """List."""
        from widelimit.experiments import catalogue

        found = catalogue.entries(self.paper)
        show([entry.document() for entry in found], self.as_json, lambda: print_list(found))
        return 0


@dataclass(frozen=True)
class ShowCommand:
    """An entry of the catalogue: claims, settings and where they are from, tolerances, what would refute it, cost."""

    name: Annotated[str, typer.Argument(help="The name of an entry, see widelimit list.")]
    as_json: Json = False

    def run(self) -> int:
        """Show."""
        from widelimit.experiments import catalogue

        entry = catalogue.entry(self.name)
        show(entry.document(), self.as_json, lambda: print_entry(entry))
        return 0


@dataclass(frozen=True)
class ReproduceCommand:
    """Run entries of the catalogue: claim, published, measured, verdict; a figure and a record of each.

    What is finished is kept in the folder and read when it is asked for again.
    """

    names: Annotated[list[str] | None, typer.Argument(help="Names of entries, see widelimit list.")] = None
    every: Annotated[bool, typer.Option("--all", help="Every entry.")] = False
    quick: Annotated[bool, typer.Option("--quick", help="The quick form: under a minute each, still a check.")] = False
    out: Annotated[Path, typer.Option(help="Folder for records and figures.")] = Path("widelimit-catalogue")
    jobs: Annotated[
        int | None, typer.Option(help="Entries at a time (default: one for each core).", show_default=False)
    ] = None
    as_json: Json = False

    def run(self) -> int:
        """Run what is missing, show each; 1 if a claim failed that is not known to, or a run diverged."""
        require(bool(self.names) != self.every, "reproduce takes names of entries, or --all", self.names or [],
                "see widelimit list")  # fmt: skip
        require(self.jobs is None or self.jobs >= 1, "jobs must be at least 1", self.jobs, "try --jobs 2")
        if self.quick:
            os.environ.setdefault("XLA_FLAGS", QUICKLY_COMPILED)
        from widelimit.experiments import catalogue
        from widelimit.experiments.catalogue.reproduction import read

        names = list(dict.fromkeys(self.names or ()))
        chosen = catalogue.entries() if self.every else [catalogue.entry(name) for name in names]
        require_writable(self.out)
        missing = [entry for entry in chosen if read(entry, self.quick, self.out) is None]
        jobs = min(self.jobs or os.cpu_count() or 1, len(missing))
        self.say_cost(missing, jobs)
        documents: dict[str, dict[str, object]] = {}

        def keep(found: Reproduction) -> None:
            files = _pictures(found, self.out)
            documents[found.entry.name] = {**found.document(), "kept": found.kept, "files": list(map(str, files))}
            if not self.as_json:
                print_reproduction(found, files)

        here = [entry.name for entry in chosen if entry not in missing or jobs <= 1]
        reproduce_each(here, self.quick, self.out, keep)
        if jobs > 1:
            self.reproduce_together(missing, jobs, keep)
        show([documents[entry.name] for entry in chosen if entry.name in documents], self.as_json, lambda: None)
        failed = any(document["failures"] for document in documents.values())
        return int(failed or len(documents) < len(chosen))

    def reproduce_together(
        self, missing: Sequence[CatalogueEntry], jobs: int, keep: Callable[[Reproduction], None]
    ) -> None:
        """Run entries in processes of their own, and show each when its record is there."""
        from widelimit.experiments.catalogue.reproduction import read
        from widelimit.solving.progress import progress_bar

        waiting = {entry.name: entry for entry in missing}
        names = [[entry.name for entry in share] for share in shares(missing, jobs, self.cost)]
        with (
            progress_bar(None, "catalogue", len(missing), ENTRIES) as tick,
            Shares(names, self.quick, self.out) as work,
        ):
            working = True
            while working:
                time.sleep(POLL)
                working = work.working()  # asked before the last look at the records
                for entry in list(waiting.values()):
                    if (found := read(entry, self.quick, self.out)) is not None:
                        del waiting[entry.name]
                        keep(replace(found, kept=False))
                tick(len(missing) - len(waiting))
        print(work.words, file=sys.stderr, end="")
        if INTERRUPTED in work.codes:
            raise KeyboardInterrupt
        if waiting:
            print(f"widelimit: not finished: {', '.join(waiting)}; run the command again.", file=sys.stderr)

    def cost(self, entry: CatalogueEntry) -> float:
        """The seconds that the form asked for takes."""
        return entry.seconds.quick if self.quick else entry.seconds.full

    def say_cost(self, missing: Sequence[CatalogueEntry], jobs: int) -> None:
        """What it will take, beforehand: on a terminal, and always for full forms."""
        if missing and (sys.stderr.isatty() or not self.quick):
            longest = max(sum(map(self.cost, share)) for share in shares(missing, jobs, self.cost))
            words = ", ".join(f"{entry.name} {self.cost(entry):.0f} s" for entry in missing)
            print(f"about {longest:.0f} s in all: {words}", file=sys.stderr)


def _pictures(found: Reproduction, folder: Path) -> list[Path]:
    """The figure as PNG and as PDF, the film as GIF if there is one, and the record."""
    from widelimit.experiments.catalogue.reproduction import record_path
    from widelimit.interfaces.animation import write_film, writer_of
    from widelimit.interfaces.canvas import Look, Page, save_picture
    from widelimit.interfaces.catalogue_figures import entry_figure, entry_film

    look = Look()
    with look.context():
        picture = entry_figure(found.outcome.panels, Page(look))
    files = [record_path(found.entry, found.quick, folder)]
    for form in ("png", "pdf"):
        files.append(save_picture(picture, record_path(found.entry, found.quick, folder, f".{form}")))
    if film := found.outcome.film:
        target = record_path(found.entry, found.quick, folder, ".gif")
        with look.context():
            files.append(write_film(target, writer_of(target, FPS), *entry_film(film, Page(look)), range(len(film))))
    return files


def print_list(found: list[CatalogueEntry]) -> None:
    """name, paper, title, seconds."""
    rows = [[e.name, e.paper, e.title, f"{e.seconds.quick:.0f} s", f"{e.seconds.full:.0f} s"] for e in found]
    _table(None, ("name", "paper", "what", "quick", "full"), rows)


def print_entry(entry: CatalogueEntry) -> None:
    """Everything that was fixed before measuring."""
    print(f"{entry.name} [{entry.paper}]: {entry.title}")
    settings = [p.document() for p in entry.parameters]
    columns = ("name", "published", "source", "full", "quick")
    _table("settings", columns, [["–" if s[c] is None else str(s[c]) for c in columns] for s in settings])
    for claim in entry.claims:
        value = "theory, computed" if claim.published is None else f"{claim.published:g}"
        print(f"\n{claim.sentence}  ({claim.locator})")
        within = f" within {claim.tolerance:g}" if claim.kind == "near" else ""
        print(f"  expected: {claim.kind} {value}{within} ({claim.source}); {claim.reason}")
        print(f"  refuted by: {claim.falsifier}")
    for words in entry.deviations:
        print(f"deviation: {words}")
    print(f"\ncost: quick {entry.seconds.quick:.0f} s, full {entry.seconds.full:.0f} s")


def print_reproduction(found: Reproduction, files: list[Path]) -> None:
    """The table of verdicts, deviations, and where things are."""
    rows = [[row["claim"], row["published"], row["measured"], row["verdict"]] for row in found.rows()]
    form = "quick form" if found.quick else "full form"
    _table(f"{found.entry.name}, {form}: {found.verdict}", ("claim", "published", "measured", "verdict"), rows)
    for words in found.entry.deviating(found.quick):
        print(f"deviation: {words}")
    for parameter in found.entry.parameters:
        if parameter.source == "recalled":
            print(f"setting recalled, not confirmed: {parameter.name} = {parameter.published}")
    for name, words in found.entry.known(found.quick).items():
        print(f"known not to be reproduced: {name}; {words}")
    for note in found.outcome.notes:
        print(f"note: {note}")
    how = "kept from an earlier run of" if found.kept else "took"
    print(f"{how} {found.seconds:.0f} s ({found.cpu:.0f} s of CPU); {', '.join(map(str, files))}")


def _table(title: str | None, headings: tuple[str, ...], rows: list[list[str]]) -> None:
    print_table(title, headings, rows, left=headings, fold=True)
