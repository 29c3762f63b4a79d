"""The house: imports point upwards in the list, names say what a file holds, bad input answers without JAX."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import widelimit

ROOT = Path(widelimit.__file__).parent
FLOORS = ("errors", "measures", "problem", "potentials", "dynamics", "observables", "theory")
FLOORS += ("experiments", "interfaces")
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")
FOLDERS = sorted({p.parent for p in MODULES} - {ROOT})


def floor(name):
    return FLOORS.index(name.split(".")[1])


def imported(node, in_function=False):
    """Names of the widelimit modules imported below a node, TYPE_CHECKING blocks left out, with where they stand."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"relative import of {child.module}"
            names = [f"{child.module}.{a.name}" for a in child.names] if child.module == "widelimit" else [child.module]
        else:
            names = [a.name for a in child.names] if isinstance(child, ast.Import) else []
        yield from ((n, in_function) for n in names if n and n.split(".")[0] == "widelimit")
        yield from imported(child, in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def wrong_imports(text, own):
    """Imports that point down the house. The root may be imported for its version, or inside a function."""
    for name, in_function in imported(ast.parse(text)):
        if name == "widelimit.__version__" or (name == "widelimit" and in_function):
            continue
        if name == "widelimit" or floor(name) > floor(own):
            yield name


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = ".".join(("widelimit", *path.relative_to(ROOT).with_suffix("").parts))
    assert own.split(".")[1] in FLOORS, f"{own} stands on no floor of the house"
    assert not list(wrong_imports(path.read_text(), own))


def test_the_arrow_of_imports_can_be_broken():
    bad = "from widelimit.dynamics.solve import solve\nimport widelimit\ndef f():\n    import widelimit.interfaces.cli"
    assert len(list(wrong_imports(bad, "widelimit.potentials.reduced_landscape"))) == 3
    fine = "if TYPE_CHECKING:\n    from widelimit.dynamics.solve import solve\nfrom widelimit import __version__"
    assert not list(wrong_imports(fine, "widelimit.potentials.reduced_landscape"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_short_and_named_for_what_they_hold(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in ("utils", "misc", "helpers", path.parent.name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_a_folder_holds_at_least_three_modules(folder):
    assert len([p for p in folder.glob("*.py") if p.stem != "__init__"]) >= 3


LIGHT = [
    "widelimit",
    *(f"widelimit.problem.{p.stem}" for p in sorted((ROOT / "problem").glob("*.py")) if p.stem != "__init__"),
    "widelimit.dynamics.methods",
    "widelimit.interfaces.cli",
]


def test_stating_a_problem_and_asking_for_help_do_not_import_jax():
    code = (
        "import importlib, sys\n"
        f"for name in {LIGHT!r}:\n"
        "    importlib.import_module(name)\n"
        "    heavy = [m for m in ('jax', 'diffrax', 'scipy', 'xarray', 'matplotlib') if m in sys.modules]\n"
        "    assert not heavy, f'{name} imports {heavy}'\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", widelimit.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    assert (getattr(widelimit, name).__doc__ or "").strip()


def test_public_names_are_listed_once_and_shown_by_dir():
    assert len(set(widelimit.__all__)) == len(widelimit.__all__)
    assert set(widelimit.__all__) <= set(dir(widelimit))
