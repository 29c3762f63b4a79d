"""Make the notebook and the pictures of the tutorial from its page: python docs/make_tutorial.py."""

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("tutorial.md")
NOTEBOOK = PAGE.with_suffix(".ipynb")
PICTURES = PAGE.parent / "images" / "tutorial"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n", re.MULTILINE)  # a notebook draws its own
SAVED = re.compile(r"(wl\.figure\(.*\))\.savefig\(\"\w+\.png\"\)")


def cells(page: str) -> list[dict]:
    """The page as the cells of a notebook, text and code in turn; figures are shown instead of saved."""
    found = []
    for i, part in enumerate(BLOCK.split(page)):
        text = SAVED.sub(r"\1", part) if i % 2 else PICTURE.sub("", part).strip() + "\n"
        kind = {"cell_type": "code", "execution_count": None, "outputs": []} if i % 2 else {"cell_type": "markdown"}
        if text.strip():
            found.append({**kind, "id": f"cell-{i}", "metadata": {}, "source": text.rstrip("\n").splitlines(True)})
    return found


def notebook(page: str) -> str:
    """The text of the notebook."""
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells(page), "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def draw(page: str) -> None:
    """Run the page in an empty folder and keep the pictures it saves."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exec("\n".join(BLOCK.findall(page)), {"__name__": "tutorial"})
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, PICTURES / picture.name)


if __name__ == "__main__":
    TEXT = PAGE.read_text(encoding="utf-8")
    NOTEBOOK.write_text(notebook(TEXT), encoding="utf-8")
    draw(TEXT)
