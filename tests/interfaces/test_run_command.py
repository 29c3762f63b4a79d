"""Problems written in a file, on the command line: run, check, new."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import widelimit as wl
from widelimit.experiments import launch
from widelimit.experiments.starter import STARTS
from widelimit.interfaces.cli import run

SPEC = """
[problem]
data = {law = "gaussian_classes", d = 6, delta = 0.6}
neuron = {activation = {name = "polynomial", coefficients = [0.2, 1.0, 0.3]}}
initial = {law = "gaussian", scale = 0.8}
[run]
t_end = 0.1
save = 3
[[method]]
name = "GD"
n = 4
step = 0.01
coordinates = "reduced"
[[method]]
name = "MeanField"
points = 8
"""
TWICE = SPEC + '[[method]]\nname = "GD"\nn = 3\nstep = 0.01\ncoordinates = "reduced"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(SPEC)
    return tmp_path


@pytest.mark.more
def test_an_error_that_was_not_measured_is_null(folder, capsys):
    (folder / "grid.toml").write_text(SPEC + '[[method]]\nname = "FiniteVolume"\ncells = 20\n')
    assert run(["run", "grid.toml", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(row["finite_volume_error"] is None and row["finite_volume"] > 0 for row in rows)
    assert all(row["mean_field_error"] is not None for row in rows)


def test_the_table_has_the_times_that_runs_were_saved_at(folder, capsys):
    (folder / "uneven.toml").write_text(SPEC.replace("save = 3", "save = 5").replace("step = 0.01", "step = 0.03"))
    assert run(["run", "uneven.toml", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    saved = {name: wl.load(folder / "uneven" / f"{name}.nc") for name in ("gd", "mean_field")}
    assert [rows[0]["t"], rows[-1]["t"]] == [0.0, 0.1]
    for row in rows:
        for name, solution in saved.items():
            at = solution.risk[solution.times == row["t"]]
            assert row[name] == (at[0] if len(at) else None)
    (folder / "one.toml").write_text(SPEC.replace("save = 3", "save = 5").replace("step = 0.01", "step = 9.0"))
    assert run(["run", "one.toml", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [row["gd"] is None for row in json.loads(out)["rows"]] == [False, True, True, True, False]
    assert "gd: the step 9 is longer than the run and was cut to t_end = 0.1" in err


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_leaves_records_a_figure_and_the_spec_in_a_folder_of_its_name(folder, capsys):
    assert run(["run", "two.toml", "--seed", "7"]) == 0
    shown = capsys.readouterr()
    assert all(word in shown.out for word in ("gd", "mean_field", "0.05", "saved two/figure.png"))
    assert shown.err == "" and names(folder / "two") == ["figure.png", "gd.nc", "mean_field.nc", "spec.toml"]
    again = wl.Spec.from_toml(folder / "two" / "spec.toml")
    assert again.seed == 7 and again.methods == wl.Spec.from_toml(SPEC).methods
    record = wl.load(folder / "two" / "gd.nc")
    expected = wl.solve(again.problem, again.methods[0], 0.1, save=3, seed=7)
    np.testing.assert_array_equal(record.risk, expected.risk)
    assert record.outcome == "done" and (folder / "two" / "figure.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.more
def test_json_is_one_document_and_methods_are_numbered_if_they_occur_twice(folder, capsys):
    (folder / "three.toml").write_text(TWICE.replace("[run]", "[run]\nreplicas = 2"))
    assert run(["run", "three.toml", "--out", "here/there", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == "done"
    assert [m["record"] for m in document["methods"]] == ["gd_1", "mean_field", "gd_2"]
    record = wl.load(folder / "here" / "there" / "gd_2.nc")
    assert record.replicas == 2 and wl.load(folder / "here" / "there" / "mean_field.nc").replicas is None
    last = document["rows"][-1]
    assert last["t"] == 0.1 and last["gd_2"] == pytest.approx(record.risk[:, -1].mean())
    assert all(os.path.isfile(name) for name in document["files"]) and len(document["files"]) == 5


def test_a_folder_with_something_in_it_is_overwritten_only_if_asked(folder, capsys):
    (folder / "two").mkdir()
    for name in ("notes.txt", "sgd_3.nc", ".gd.nc.part"):
        (folder / "two" / name).write_text("old")
    assert run(["run", "two.toml"]) == 2
    said = capsys.readouterr()
    assert "--overwrite" in said.err and "'two'" in said.err and said.err.count("\n") == 1 and said.out == ""
    assert len(names(folder / "two")) == 3
    assert run(["run", "two.toml", "--overwrite"]) == 0
    assert names(folder / "two") == ["figure.png", "gd.nc", "mean_field.nc", "notes.txt", "spec.toml"]


def test_a_diverging_method_exits_1_and_keeps_its_record_and_the_others(folder, capsys):
    text = SPEC.replace("[0.2, 1.0, 0.3]", "[0.0, 0.0, 1.0]").replace("step = 0.01", "step = 2.0")
    text = text.replace("t_end = 0.1", "t_end = 200.0").replace("save = 3", "save = [0.0, 2.0, 100.0]")
    (folder / "wild.toml").write_text(text.replace("points = 8", "points = 4"))
    assert run(["run", "wild.toml", "--json"]) == 1
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document["outcome"] == "diverged" and "step=0.5" in document["methods"][0]["advice"]
    assert shown.err.startswith("widelimit: gd diverged after t = ") and shown.err.count("\n") == 1
    assert document["rows"][-1]["gd"] is None and document["rows"][-1]["mean_field"] is not None
    assert wl.load("wild/gd.nc").outcome == "diverged" and wl.load("wild/mean_field.nc").outcome == "done"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, "inside"])
def test_an_interrupt_exits_130_and_keeps_what_was_finished(folder, capsys, monkeypatch, stop):
    solve, seen = launch.solve, []

    def interrupted(problem, method, **settings):
        if isinstance(method, wl.MeanField):
            if stop is KeyboardInterrupt:
                raise KeyboardInterrupt
            settings["store"].keep(seen[0])
            raise wl.Interrupted(seen[0])
        seen.append(solve(problem, method, **settings))
        return seen[0]

    monkeypatch.setattr(launch, "solve", interrupted)
    (folder / "three.toml").write_text(TWICE)
    assert run(["run", "three.toml"]) == 130
    kept = ["gd_1.nc"] if stop is KeyboardInterrupt else ["gd_1.nc", "mean_field.nc"]
    assert names(folder / "three") == ["figure.png", *kept, "spec.toml"]
    assert "interrupted" in capsys.readouterr().err and wl.load("three/gd_1.nc").outcome == "done"


def test_an_interrupt_before_anything_was_kept_offers_no_way_to_go_on(folder, capsys, monkeypatch):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "solve", interrupted)
    assert run(["run", "two.toml"]) == 130
    assert capsys.readouterr().err == "widelimit: interrupted, before anything was kept.\n"


def test_a_failure_in_the_middle_of_a_write_leaves_no_half_file(folder, monkeypatch):
    def broken(path):
        path.write_bytes(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        launch.write_whole(folder / "record", broken)
    assert not (folder / "record").exists()


def test_a_full_disk_is_one_sentence_and_exit_2(folder, capsys, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("widelimit.experiments.launch._run", full)
    assert run(["run", "two.toml"]) == 2
    assert (
        capsys.readouterr().err
        == "widelimit: --out must have room for the results, got 'two': No space left on device.\n"
    )


CHILD = """
import sys
from widelimit.experiments import launch
from widelimit.experiments.records import load
from widelimit.experiments.spec import Spec
ready = load(sys.argv[1])
def kept(*arguments, store, **named):
    store.keep(ready)
    return ready
launch.solve = kept
spec = Spec.from_toml("two.toml")
print("go", flush=True)
while True:
    launch.launch(spec, launch.Path("killed"), overwrite=True)
"""


@pytest.mark.slow
def test_a_killed_run_leaves_whole_files_only(folder):
    """SIGKILL at random moments of a run that does nothing but write."""
    spec = wl.Spec.from_toml(SPEC)
    ready = wl.solve(spec.problem, wl.MeanField(400), 0.1, save=400).save(folder / "ready.nc")
    draw = random.Random(0)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(ready)], stdout=subprocess.PIPE, cwd=folder)
        assert child.stdout.readline() == b"go\n"
        while not list((folder / "killed").glob("[!.]*")):  # the first files take long on a busy machine
            assert child.poll() is None
            time.sleep(0.01)
        time.sleep(draw.uniform(0.05, 0.6))
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=30)
        for path in (folder / "killed").glob("[!.]*"):
            if path.suffix == ".nc":
                assert len(wl.load(path).times) == 400
            else:
                assert wl.Spec.from_toml(path) == spec


def test_check_says_what_would_run_and_runs_nothing(folder, capsys):
    assert run(["run", "two.toml", "--check"]) == 0
    shown = capsys.readouterr().out
    assert str(wl.Spec.from_toml(SPEC).problem) in shown and "MeanField(points=8" in shown and "into two" in shown
    assert run(["run", "two.toml", "--check", "--json", "--seed", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == "checked" and document["seed"] == 3 and len(document["methods"]) == 2
    assert names(folder) == ["two.toml"]


BAD = {
    "no such file": (["absent.toml"], "no such file"),
    "a folder": (["."], "directory"),
    "bad seed": (["two.toml", "--seed", "-1"], "seed must be"),
    "unknown option": (["two.toml", "--sed", "1"], "--sed"),
    "no file": ([], "Missing argument"),
    "out is a file": (["two.toml", "--out", "two.toml"], "--out must be a folder"),
    "on and anew": (["two.toml", "--resume", "--overwrite"], "got both --resume and --overwrite for 'two': drop one"),
    "on with nothing": (
        ["two.toml", "--resume"],
        "--resume needs the records of a run, got none in 'two': drop --resume.",
    ),
    "value": (["bad.toml"], "problem.data.delta must lie"),
    "value, json": (["bad.toml", "--json"], "problem.data.delta must lie"),
    "value, check": (["bad.toml", "--check"], "problem.data.delta must lie"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_2(folder, capsys, name):
    (folder / "bad.toml").write_text(SPEC.replace("0.6", "1.6"))
    words, sentence = BAD[name]
    assert run(["run", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and sentence in shown.err
    assert names(folder) == ["bad.toml", "two.toml"]


@pytest.mark.parametrize("error", [MemoryError, wl.InputError("n must be smaller, got 4: try 3.")])
def test_what_turns_out_to_be_impossible_names_the_method_and_leaves_no_folder(folder, capsys, monkeypatch, error):
    def refuse(*arguments, **settings):
        raise error

    monkeypatch.setattr("widelimit.experiments.launch.solve", refuse)
    assert run(["run", "two.toml"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("widelimit: method[1]") and said.count("\n") == 1 and names(folder) == ["two.toml"]


@pytest.mark.parametrize("law", STARTS)
def test_the_starter_of_every_law_passes_the_check_and_explains_every_key(folder, capsys, law):
    assert run(["new", "mine", "--law", law]) == 0
    text = (folder / "mine.toml").read_text()
    assert run(["run", "mine.toml", "--check"]) == 0
    assert "method" in capsys.readouterr().out
    assert all(" # " in line or line.strip("# ")[:1] in ("[", "") for line in text.splitlines()[2:])
    assert run(["new", "mine.toml", "--law", law]) == 2
    assert "choose another name" in capsys.readouterr().err and (folder / "mine.toml").read_text() == text


@pytest.mark.parametrize("law", STARTS)
def test_every_key_of_a_starter_that_is_left_out_may_be_used(law, folder):
    """With the '#' removed, one key at a time, the answer is a spec or a sentence about values, not about names."""
    run(["new", "mine", "--law", law])
    lines = (folder / "mine.toml").read_text().splitlines()
    optional = [
        i for i, line in enumerate(lines) if line.startswith("# ") and " = " in line and lines[i - 1][:3] != "# ["
    ]
    for i in optional:
        if any(line.startswith("# [") for line in lines[:i]) and not _in_open_table(lines, i):
            continue
        text = "\n".join([*lines[:i], lines[i][2:], *lines[i + 1 :]])
        try:
            wl.Spec.from_toml(text.replace("mine.csv", str(folder / "mine.csv")))
        except wl.InputError as error:
            assert "not a known key" not in str(error) and "TOML" not in str(error)


def _in_open_table(lines, i):
    """Whether the table a line stands in is not left out itself."""
    return next(line for line in reversed(lines[:i]) if line.strip("# ").startswith("[")).startswith("[")


@pytest.mark.more
def test_the_default_starter_runs_as_it_is(folder, capsys):
    assert run(["new", "first"]) == 0 and run(["run", "first.toml"]) == 0
    assert "saved first/sgd.nc" in capsys.readouterr().out


def test_a_starter_for_an_unknown_law_offers_the_nearest(folder, capsys):
    assert run(["new", ""]) == run(["new", "a/"]) == run(["new", "x", "--law", "hypercub"]) == 2
    assert "did you mean 'hypercube'" in capsys.readouterr().err and names(folder) == ["two.toml"]
