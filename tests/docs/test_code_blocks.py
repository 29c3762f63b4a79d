"""What the documentation shows runs: its Python blocks, its spec files, its `widelimit new`."""

import importlib.util
import re
import warnings
from pathlib import Path

import pytest

import widelimit as wl
from widelimit.interfaces.cli import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHORT = ("spec.md",)  # the others are run by CI, in a lane of their own


def blocks(page, language):
    """The fenced blocks of one language, with the number of the line each begins in."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in found]


def with_blocks(language):
    return [page for page in PAGES if blocks(page, language)]


def of(page):
    return str(page.relative_to(ROOT))


def in_its_lane(page):
    return pytest.param(page, marks=() if page.name in SHORT else pytest.mark.pages, id=of(page))


@pytest.mark.parametrize("page", [in_its_lane(page) for page in with_blocks("python")])
def test_the_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    if page.name == "torch.md":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for _, text in blocks(page, "sh"):
        for name in re.findall(r"^widelimit new (\w+)", text, re.MULTILINE):
            assert run(["new", name]) == 0
    namespace = {"__name__": "page"}
    for line, text in blocks(page, "python"):
        code = compile("\n" * (line - 1) + text, of(page), "exec")  # a traceback names the line of the page
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            exec(code, namespace)


@pytest.mark.parametrize("page", with_blocks("toml"), ids=of)
def test_the_spec_files_of_a_page_are_read_and_written(page):
    for _, text in blocks(page, "toml"):
        spec = wl.Spec.from_toml(text)
        assert wl.Spec.from_toml(spec.to_toml()) == spec


def test_the_pages_that_must_have_code_have_some():
    names = {page.name for page in with_blocks("python")}
    assert names >= {"README.md", "spec.md", "extend.md", "choose-a-dynamics.md", "tutorial.md", "recipes.md"}
    assert {page.name for page in with_blocks("toml")} >= {"spec.md"}


LINK = re.compile(r"\]\(((?!https?:)[^)#]+)(?:#[^)]*)?\)")
WRITTEN = [*PAGES, ROOT / "VISION.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("page", WRITTEN, ids=of)
def test_links_to_files_lead_somewhere(page):
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not missing


PATH = re.compile(r"`((?:src/widelimit/|tests/|docs/|examples/)?(?:\w+/)*\w+\.py)(?:`|:)")


@pytest.mark.parametrize("page", WRITTEN, ids=of)
def test_python_files_that_are_named_exist(page):
    named = set(PATH.findall(page.read_text(encoding="utf-8")))
    homes = (ROOT, ROOT / "src" / "widelimit")
    assert not [name for name in sorted(named) if not any((home / name).exists() for home in homes)]


KEY = re.compile(r"\[([a-z]+\d\d)\]")


def test_every_work_that_is_referred_to_is_in_the_list_of_references_once():
    sources = [*(ROOT / "src").rglob("*.py"), *PAGES]
    named = {key for file in sources for key in KEY.findall(file.read_text(encoding="utf-8"))}
    listed = re.findall(r"^- \[(\w+)\]", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(listed)


def test_the_notebook_is_the_tutorial():
    maker = importlib.util.spec_from_file_location("make_tutorial", ROOT / "docs" / "make_tutorial.py")
    module = importlib.util.module_from_spec(maker)
    maker.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    assert module.NOTEBOOK.read_text(encoding="utf-8") == module.notebook(text), "run python docs/make_tutorial.py"
    code = "\n".join("".join(c["source"]) for c in module.cells(text) if c["cell_type"] == "code")
    assert "savefig" not in code and compile(code, "tutorial.ipynb", "exec")
