"""The gallery has a section for every entry of the catalogue: its record, or that there is none."""

import runpy
from pathlib import Path

import pytest

from widelimit.experiments import catalogue

DOCS = Path(__file__).parents[2] / "docs"
MAKE = runpy.run_path(str(DOCS / "make_gallery.py"))
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")


def test_the_page_is_that_of_the_entries_as_they_are():
    """A section whose entry has changed would say that its record is missing."""
    assert MAKE["render"]([], PAGE) == PAGE, "run: python docs/make_gallery.py FOLDER"


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_an_entry_has_its_picture_or_is_said_to_be_missing(entry):
    section = PAGE.split(f"## {entry.name}\n")[1].split("\n## ")[0]
    if MAKE["MISSING"] in section:
        assert "images/gallery" not in section
        return
    assert f"images/gallery/{entry.name}.png" in section and f"`widelimit reproduce {entry.name}" in section
    assert (DOCS / "images" / "gallery" / f"{entry.name}.png").stat().st_size <= MAKE["LARGEST"]
    assert all(f"| {claim.sentence.replace('|', chr(92) + '|')} |" in section for claim in entry.claims)


def test_no_picture_is_left_behind():
    names = {entry.name for entry in catalogue.entries()}
    assert {path.stem for path in (DOCS / "images" / "gallery").glob("*")} <= names
