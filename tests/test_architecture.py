"""The house: imports point upwards in the list, and the five rules of the core hold as far as code can be read."""

import ast
import traceback
from collections import Counter
from pathlib import Path

import jax
import pytest

import widelimit as wl
from widelimit.dynamics.particle_flow import Interacting
from widelimit.dynamics.sgd import Iteration
from widelimit.frozen import Value

ROOT = Path(wl.__file__).parent
FLOORS = (
    "errors",
    "arguments",
    "compiled",
    "on_first_use",
    "agreement",
    "integrals",
    "spheres",
    "frozen",
    "coordinates",
    "measures",
    "problem",
)
FLOORS += ("potentials", "solving", "dynamics", "observables", "theory", "experiments", "interfaces", "__main__")
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")
FOLDERS = sorted({p.parent for p in MODULES} - {ROOT})
TEXTS = {path: path.read_text(encoding="utf-8") for path in MODULES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}
OPTIONAL = {"sklearn"}  # an extra may be imported where it is needed


def module_name(path):
    return ".".join(("widelimit", *path.relative_to(ROOT).with_suffix("").parts))


def floor(name):
    return FLOORS.index(name.split(".")[1])


def imported(tree):
    """Names of the widelimit modules imported in a file, TYPE_CHECKING blocks left out."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (name for late in child.orelse for name in imported_late(late))
            continue
        if isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"relative import of {child.module}"
            names = [f"{child.module}.{a.name}" for a in child.names] if child.module == "widelimit" else [child.module]
        else:
            names = [a.name for a in child.names] if isinstance(child, ast.Import) else []
        yield from (n for n in names if n and n.split(".")[0] == "widelimit")
        yield from imported(child)


def imported_late(tree):
    """Names of the widelimit modules that stand in OnFirstUse("…")."""
    calls = [node for node in nodes(tree, ast.Call) if ast.unparse(node.func) == "OnFirstUse"]
    return [call.args[0].value for call in calls if call.args[0].value.split(".")[0] == "widelimit"]


def wrong_imports(tree, own):
    """Imports that point down the house. The root may be imported for its version."""
    return [
        name
        for name in imported(tree)
        if name != "widelimit.__version__" and (name == "widelimit" or floor(name) > floor(own))
    ]


def test_imports_point_upwards():
    found = {name: wrong_imports(tree, name) for path, tree in TREES.items() if (name := module_name(path))}
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_the_arrow_of_imports_can_be_broken():
    bad = "from widelimit.dynamics.solve import solve\nimport widelimit\ndef f():\n    import widelimit.interfaces.cli"
    bad += "\nif TYPE_CHECKING:\n    pass\nelse:\n    late = OnFirstUse('widelimit.theory.gap.rates')"
    assert len(wrong_imports(ast.parse(bad), "widelimit.potentials.reduced_landscape")) == 4
    fine = "if TYPE_CHECKING:\n    from widelimit.dynamics.solve import solve\nfrom widelimit import __version__"
    assert not wrong_imports(ast.parse(fine), "widelimit.potentials.reduced_landscape")


def test_files_are_short_and_named_for_what_they_hold():
    assert not {path.name: n for path, text in TEXTS.items() if (n := len(text.splitlines())) > 300}
    assert not {path.stem for path in MODULES} & {"utils", "misc", "helpers", "base"}
    assert not {name for name, times in Counter(p.name for p in MODULES).items() if times > 1} - {"__init__.py"}


def test_a_folder_holds_at_least_three_siblings():
    siblings = {f: {p for p in MODULES if p.parent == f} | {g for g in FOLDERS if g.parent == f} for f in FOLDERS}
    assert not [f.name for f, found in siblings.items() if len(found - {f / "__init__.py"}) < 3]


def nodes(tree, *kinds):
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def test_no_two_public_classes_have_one_name():
    names = Counter(node.name for tree in TREES.values() for node in nodes(tree, ast.ClassDef))
    assert not {name for name, times in names.items() if times > 1 and not name.startswith("_")}


def test_no_function_has_more_than_six_parameters():
    def parameters(function):
        given = function.args
        return [a for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg not in ("self", "cls")]

    assert not [
        f"{path.name}:{function.name}"
        for path, tree in TREES.items()
        for function in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        if len(parameters(function)) > 6
    ]


def test_imports_stand_at_the_top_of_a_file_outside_the_command_line():
    hidden = {
        (path.name, (getattr(node, "module", None) or node.names[0].name).split(".")[0])
        for path, tree in TREES.items()
        if "interfaces" not in path.parts
        for function in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in nodes(function, ast.Import, ast.ImportFrom)
    }
    assert not {place for place in hidden if place[1] not in OPTIONAL}


def test_nothing_with_a_number_in_it_is_a_static_argument():
    assert not [path.name for path, text in TEXTS.items() if "static_argnums" in text]


VALUES = [
    wl.data.gaussian_classes(40, 0.625), wl.data.gaussian_classes(40, deviations=[0.5, 2.5], weights=[0.25, 0.75]),
    wl.data.single_index(9, "2.5*z"), wl.data.hypercube(9, "z1*z2 + 0.125"), wl.data.sphere(9, "z1 - 0.25*z2"),
    wl.neurons.ridge("tanh(2.5*x)"), wl.neurons.ridge(wl.activations.ramp()), wl.activations.polynomial([1.5, 2.5]),
    wl.initial.gaussian(0.75, a=wl.initial.normal(0.0, 2.5)), wl.initial.sphere(1.5), wl.schedules.power(0.25),
    wl.schedules.window(0.5, 1.5), wl.regularisers.squares(w=0.5), wl.Mobility(a=0.5), wl.SGD(10, 0.125),
    wl.MeanField(rtol=1.5e-6), wl.FiniteVolume(box=((0.25, 2.5),)), wl.JKO(0.125), wl.GD(10, 0.125),
    wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge("relu"), wl.initial.gaussian(1.5), ridge=0.125),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_numbers_of_a_value_are_its_leaves_and_its_arguments_make_it(value):
    """Rule 1: every float is traced, none is part of the code. Rule 4: an object is its call."""
    assert isinstance(value, Value)
    leaves, structure = jax.tree.flatten(value)
    assert jax.tree.unflatten(structure, leaves) == value
    assert type(value)(**value.arguments) == value
    assert [x for x in leaves if isinstance(x, float) and x % 1]
    assert jax.tree.structure(jax.tree.map(lambda x: 2 * x, value)) == structure


WALKS = {
    "MeanField": (wl.MeanField(16, check=False), Interacting, "velocity"),  # a twin may be traced first, in its thread
    "SGD": (wl.SGD(4, 0.01), Iteration, "block"),
}


@pytest.mark.parametrize("name", WALKS)
def test_the_walk_from_solve_to_the_arithmetic_has_seven_frames(name, monkeypatch):
    """The tour of the house in CONTRIBUTING.md; frames of this package, that of the arithmetic included."""
    method, home, function = WALKS[name]
    walks, plain = [], getattr(home, function)

    def looked_at(self, *arguments):
        frames = traceback.extract_stack()
        walks.append([f.name for f in frames if Path(f.filename).is_relative_to(ROOT)])
        return plain(self, *arguments)

    monkeypatch.setattr(home, function, looked_at)
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    wl.solve(problem, method, 0.1, save=2)
    assert walks and walks[0][0] == "solve" and len(walks[0]) + 1 <= 7, walks[0]


@pytest.mark.parametrize("name", wl.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    assert (getattr(wl, name).__doc__ or "").strip()


def test_tab_completion_lists_what_a_user_calls():
    problem = VALUES[-1]
    inners = (problem, "settle"), (wl.landscape(problem), "self_gradient"), (wl.MeanField(), "offers")
    for value, inner in inners:
        assert hasattr(value, inner) and inner not in dir(value)
        assert not [name for name in dir(value) if not hasattr(value, name)]


def test_public_names_are_listed_once_and_shown_by_dir():
    assert len(set(wl.__all__)) == len(wl.__all__)
    assert set(wl.__all__) <= set(dir(wl))
