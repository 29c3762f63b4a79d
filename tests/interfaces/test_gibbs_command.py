"""The Gibbs law of a spec on the command line."""

import json

import numpy as np
import pytest

import widelimit as wl
from widelimit.interfaces import gibbs_command
from widelimit.interfaces.cli import run

SPEC = """
[problem]
ridge = 0.5
beta = 20.0
data = {law = "gaussian_classes", d = 20, delta = 0.5}
neuron = {activation = {name = "polynomial", coefficients = [0.0, 1.0]}}
initial = {law = "gaussian", scale = 0.8}
[run]
t_end = 4.0
save = 3
[[method]]
name = "GD"
n = 40
step = 0.1
coordinates = "reduced"
[[method]]
name = "FiniteVolume"
cells = 40
"""
WITHOUT_GRID = SPEC.split('[[method]]\nname = "FiniteVolume"')[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noisy.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture(scope="module")
def ready():
    """The solutions of the spec, computed once, by the name of the method."""
    spec = wl.Spec.from_toml(SPEC)
    return {type(method).__name__: wl.solve(spec.problem, method, **spec.settings()) for method in spec.methods}


@pytest.fixture
def solved(ready, monkeypatch):
    """The driver answers from what is ready; what is in the dictionary may be changed to an error."""
    answers = dict(ready)

    def drive(request, before=None):
        answer = answers[request.name]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr("widelimit.solving.keeping.drive", drive)
    return answers


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.more
def test_gibbs_prints_quantities_and_leaves_the_law_a_picture_and_the_records(folder, capsys):
    assert run(["gibbs", "noisy.toml", "--points", "64", "--seed", "3"]) == 0
    shown = capsys.readouterr()
    words = ("quantity", "Gibbs law", "gd", "finite_volume", "risk R", "free energy F", "mean r", "β = 20", "gap")
    assert all(word in shown.out for word in words) and shown.err == ""
    assert names(folder / "noisy") == ["finite_volume.nc", "gd.nc", "gibbs.json", "gibbs.png", "spec.toml"]
    assert (folder / "noisy" / "gibbs.png").read_bytes()[:4] == b"\x89PNG"
    again = wl.Spec.from_toml(folder / "noisy" / "spec.toml")
    assert again.seed == 3 and again.methods == wl.Spec.from_toml(SPEC).methods


@pytest.mark.more
def test_json_is_one_document_in_which_the_grid_comes_to_the_law(folder, capsys, solved):
    assert run(["gibbs", "noisy.toml", "--out", "here/there", "--json"]) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    law = wl.gibbs(wl.Spec.from_toml(SPEC).problem)
    assert document["outcome"] == "done" and shown.err == ""
    numbers = {"beta": 20.0, "risk": law.risk, "free_energy": law.free_energy, "gap": law.gap, "error": 0.0}
    assert document["gibbs"] == numbers
    rows = {row["quantity"]: row for row in document["rows"]}
    assert list(rows) == ["risk", "free_energy", "mean r"] and rows["free_energy"]["gd"] is None
    for row in rows.values():
        assert row["finite_volume"] == pytest.approx(row["gibbs"], rel=0.01)
    assert rows["free_energy"]["gibbs_error"] == law.gap and rows["mean r"]["gibbs_error"] is None
    assert (rows["risk"]["gibbs_error"], rows["risk"]["gd_error"]) == (law.error, solved["GD"].error[-1])
    cloud = solved["GD"].at(4.0)
    assert rows["mean r"]["gd"] == pytest.approx(cloud.theta.mean())
    assert sorted(document["files"]) == [f"here/there/{name}" for name in names(folder / "here" / "there")]
    kept = json.loads((folder / "here" / "there" / "gibbs.json").read_text())
    assert {key: kept[key] for key in document["gibbs"]} == document["gibbs"]
    assert np.diff(kept["density"]["r"]["edges"]) @ kept["density"]["r"]["values"] == pytest.approx(1.0, rel=1e-3)


def test_the_picture_shows_the_law_on_the_cells_of_the_grid(ready):
    """Its free energy is reached from above."""
    spec, grid = wl.Spec.from_toml(SPEC), ready["FiniteVolume"]
    law = gibbs_command.where_it_rests(spec, wl.gibbs(spec.problem, 64), list(ready.values()))
    np.testing.assert_array_equal(law.rho.edges[0], grid.final.edges[0])
    assert (grid.dataset["free_energy"].values > law.free_energy - 1e-12).all()
    assert grid.dataset["free_energy"].values[-1] == pytest.approx(law.free_energy, abs=1e-6)


SAMPLED = """
[problem]
ridge = 5.0
beta = 20.0
data = {law = "multi_index", d = 20, k = 2, link = "z1", nodes = 2}
neuron = {activation = {name = "polynomial", coefficients = [0.0, 1.0]}}
initial = {law = "gaussian", scale = 0.8}
[run]
t_end = 0.1
save = 2
replicas = 2
[[method]]
name = "GD"
n = 10
step = 0.05
coordinates = "reduced"
"""


@pytest.mark.slow
def test_in_three_coordinates_the_law_is_found_by_simulation(folder, capsys):
    (folder / "wide.toml").write_text(SAMPLED)
    assert run(["gibbs", "wide.toml", "--n", "20", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gibbs"]["gap"] is None and document["gibbs"]["error"] > 0
    assert [row["quantity"] for row in document["rows"]][2:] == ["mean u_1", "mean u_2", "mean r"]
    assert document["rows"][1]["gd"] is None and document["rows"][0]["gd"] > 0
    assert names(folder / "wide") == ["gd.nc", "gibbs.json", "spec.toml"]


def test_a_grid_is_added_where_none_is_asked_for():
    spec = wl.Spec.from_toml(SPEC)
    assert gibbs_command.comparable(spec) is spec
    bare = wl.Spec.from_toml(WITHOUT_GRID)
    assert gibbs_command.comparable(bare).methods == (*bare.methods, wl.FiniteVolume())


BAD = {
    "no noise": ({"beta = 20.0": "beta = inf"}, [], "needs noise, a finite beta, got inf"),
    "no ridge": ({"ridge = 0.5": "ridge = 0.0"}, [], "needs a ridge > 0"),
    "bad points": ({}, ["--points", "0"], "points must be"),
    "full coordinates": ({'"reduced"': '"full"', "save = 3": 'keep = "full"'}, [], "run.keep must be 'reduced'"),
    "a coordinate of another problem": ({}, ["--coordinate", "u"], "unknown coordinate 'u'"),
    "bad spec": ({"delta": "dleta"}, [], "did you mean 'delta'"),
    "bad seed": ({}, ["--seed", "-1"], "seed must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_gibbs_law_is_one_sentence_and_exit_2_before_anything_is_run(folder, capsys, monkeypatch, name):
    changes, words, sentence = BAD[name]
    text = WITHOUT_GRID
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "noisy.toml").write_text(text)
    monkeypatch.setattr("widelimit.experiments.launch.solve", None)
    assert run(["gibbs", "noisy.toml", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and sentence in said.err
    assert names(folder) == ["noisy.toml"]


@pytest.mark.more
def test_results_are_replaced_only_if_asked(folder, capsys, solved):
    assert run(["gibbs", "noisy.toml"]) == 0 and run(["gibbs", "noisy.toml"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    solved["FiniteVolume"] = KeyboardInterrupt()
    assert run(["gibbs", "noisy.toml", "--overwrite"]) == 130
    assert names(folder / "noisy") == ["gd.nc", "gibbs.json", "spec.toml"]  # no picture of an earlier run is left


def test_an_interrupt_exits_130_and_keeps_and_shows_what_was_begun(folder, capsys, solved):
    half = wl.Solution(solved["FiniteVolume"].dataset.isel(time=[0, 1]).assign_attrs(outcome="interrupted"))
    solved["FiniteVolume"] = wl.Interrupted(half)
    assert run(["gibbs", "noisy.toml", "--json"]) == 130
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document["outcome"] == "interrupted" and "interrupted" in shown.err
    assert document["rows"][0]["finite_volume"] is None and document["rows"][0]["gd"] is not None
    assert names(folder / "noisy") == ["finite_volume.nc", "gd.nc", "gibbs.json", "gibbs.png", "spec.toml"]


@pytest.mark.more
def test_a_method_that_diverges_exits_1_and_is_left_out(folder, capsys, solved):
    lost = solved["GD"].dataset.isel(time=[0]).assign_attrs(outcome="diverged", advice="try step=0.05")
    solved["GD"] = wl.Solution(lost)
    assert run(["gibbs", "noisy.toml", "--json"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "widelimit: gd diverged after t = 0: try step=0.05.\n"
    assert all(row["gd"] is None and row["finite_volume"] is not None for row in json.loads(shown.out)["rows"])
    assert (folder / "noisy" / "gibbs.png").exists()


@pytest.mark.slow
def test_run_takes_every_limit_and_runs_them_once_beside_replicas(folder, capsys):
    text = SPEC.replace("save = 3", "save = 3\nreplicas = 2") + '[[method]]\nname = "JKO"\nstep = 2.0\ncells = 16\n'
    (folder / "all.toml").write_text(text)
    assert run(["run", "all.toml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [method["method"] for method in document["methods"]] == ["GD", "FiniteVolume", "JKO"]
    assert wl.load(folder / "all" / "gd.nc").replicas == 2 and wl.load(folder / "all" / "jko.nc").replicas is None
    last = document["rows"][-1]
    assert last["jko"] == pytest.approx(last["finite_volume"], rel=0.02)
