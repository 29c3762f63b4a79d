"""Write docs/gallery.md and its thumbnails from records of the catalogue: python docs/make_gallery.py FOLDER…

A record of the full form stands before that of the quick one. An entry without a record, or whose record is of another
text, keeps its section if the page has one that was made from the same text, and is said to be missing otherwise.
"""

import hashlib
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from widelimit.experiments import catalogue
from widelimit.experiments.catalogue.catalogue_entry import CatalogueEntry
from widelimit.experiments.catalogue.reproduction import Reproduction, digest, read
from widelimit.interfaces.canvas import Look, Page
from widelimit.interfaces.catalogue_figures import entry_figure

PAGE = Path(__file__).with_name("gallery.md")
THUMBNAILS = Path(__file__).with_name("images") / "gallery"
LARGEST = 40_000  # bytes of a thumbnail
COLOURS = 32  # of a thumbnail
HEAD = """# Gallery

Every entry of the [catalogue](catalogue.md), drawn from its record: lines are what theory or the limit predicts,
symbols what was measured, grey what the paper says. Made by `python docs/make_gallery.py FOLDER` from the records that
`widelimit reproduce NAME --out FOLDER` has left. Times are those of a machine with two cores that had other work too;
seconds of CPU count all cores.
"""
MISSING = "No record: the entry was not run in this form of its text."


def section(entry: CatalogueEntry, folders: Sequence[Path], old: str) -> str:
    """An entry: title, thumbnail, claims and verdicts, time and command."""
    found = newest(entry, folders)
    head = f"## {entry.name}\n\n{entry.title[0].upper()}{entry.title[1:]} [{entry.paper}].\n"
    if found is None:
        kept = re.search(rf"^## {re.escape(entry.name)}\n.*?(?=^## |\Z)", old, re.M | re.S)
        marks = [mark(entry, quick) for quick in (False, True)]
        return kept[0] if kept and any(m in kept[0] for m in marks) else f"{head}\n{MISSING}\n\n"
    draw(found)
    form = "quick form" if found.quick else "full form"
    rows = [" | ".join(cell.replace("|", r"\|") for cell in row.values()) for row in found.rows()]
    table = "\n".join(
        ["| claim | published | measured | verdict |", "|---|---|---|---|", *(f"| {row} |" for row in rows)]
    )
    command = f"widelimit reproduce {entry.name}{' --quick' if found.quick else ''}"
    took = f"{found.seconds:.0f} s, {found.cpu:.0f} s of CPU"
    picture = f"![{entry.name}](images/gallery/{entry.name}.png)"
    deviations = "".join(f"- deviation: {words}\n" for words in entry.deviating(found.quick))
    known = entry.known(found.quick).items()
    unmet = "".join(f"- known not to be reproduced: {name}; {words}\n" for name, words in known)
    notes = "".join(f"- {words}\n" for words in found.outcome.notes)
    lines = f"{head}\n{picture}\n\n**{found.verdict}**, {form}; {took}: `{command}`\n\n{table}\n"
    return f"{lines}\n{deviations}{unmet}{notes}\n{mark(entry, found.quick)}\n\n"


def mark(entry: CatalogueEntry, quick: bool) -> str:
    """What a section was made from, unseen by a reader: what was measured, and what is said of it."""
    shown = {name: part for name, part in entry.document().items() if name != "seconds"}
    said = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:8]
    return f"<!-- {digest(entry, quick)} {said} -->"


def newest(entry: CatalogueEntry, folders: Sequence[Path]) -> Reproduction | None:
    """The record to show."""
    records = (read(entry, quick, folder) for quick in (False, True) for folder in folders)
    return next((record for record in records if record is not None), None)


def draw(found: Reproduction) -> None:
    """A small picture in few colours, as large as the limit allows."""
    look = Look()
    with look.context():
        picture = entry_figure(found.outcome.panels, Page(look))
    for dpi in (64, 52, 42, 34):
        page, small = io.BytesIO(), io.BytesIO()
        picture.savefig(page, dpi=dpi, format="png")
        Image.open(page).convert("RGB").quantize(COLOURS).save(small, format="PNG", optimize=True)
        if small.tell() <= LARGEST:
            break
    THUMBNAILS.mkdir(parents=True, exist_ok=True)
    (THUMBNAILS / f"{found.entry.name}.png").write_bytes(small.getvalue())


def render(folders: Sequence[Path], old: str = "") -> str:
    """The page as Markdown."""
    return f"{HEAD}\n{''.join(section(entry, folders, old) for entry in catalogue.entries())}".rstrip() + "\n"


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(render([Path(folder) for folder in sys.argv[1:]], before), encoding="utf-8")
