import json
import runpy
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import widelimit as wl
from widelimit.interfaces import entry
from widelimit.interfaces.cli import app, run

ROOT = Path(__file__).parents[2]
QUICK = ["--d", "20", "--n", "30", "--step", "1e-3", "--t-end", "0.05"]


def test_demo_prints_a_table_and_saves_a_picture_and_two_records(tmp_path, capsys):
    assert run(["demo", *QUICK, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("SGD", "PDE", "gap"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demo.png", "mean_field.nc", "sgd.nc"]
    assert (tmp_path / "demo.png").stat().st_size > 10_000


@pytest.mark.more
def test_demo_json_is_one_document_and_compares_equal_times(tmp_path, capsys):
    assert run(["demo", *QUICK, "--out", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    finite, limit = (wl.load(tmp_path / f"{name}.nc") for name in ("sgd", "mean_field"))
    np.testing.assert_array_equal(finite.times, limit.times)
    last = document["rows"][-1]
    assert (last["t"], last["sgd"], last["pde"]) == (finite.times[-1], finite.risk[-1], limit.risk[-1])
    assert last["gap"] == pytest.approx(finite.risk[-1] - limit.risk[-1])
    assert last["gap_error"] == finite.error[-1] + limit.error[-1] > 0
    assert document["outcome"] == "done" and last["t"] == pytest.approx(0.05)


def test_an_interrupted_demo_exits_130_and_keeps_the_finished_run(tmp_path, capsys, monkeypatch):
    def stop(demo, finite):
        raise wl.Interrupted(finite)

    monkeypatch.setattr("widelimit.experiments.demo.Demo.run_limit", stop)
    assert run(["demo", *QUICK, "--out", str(tmp_path)]) == 130
    assert (tmp_path / "sgd.nc").is_file()


@pytest.mark.slow
def test_a_diverging_demo_exits_1_with_advice_and_keeps_what_was_computed(tmp_path, capsys):
    blow_up = ["--d", "20", "--n", "10", "--step", "50", "--t-end", "2e3", "--activation", "relu"]
    assert run(["demo", *blow_up, "--out", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "diverged" in message and "step" in message and "Traceback" not in message
    assert (tmp_path / "sgd.nc").is_file()


BAD = {
    "delta above 1": (["--delta", "1.5"], "1.5"),
    "delta zero": (["--delta", "0"], "0"),
    "d below 1": (["--d", "0"], "0"),
    "d not a number": (["--d", "many"], "many"),
    "d nan": (["--d", "nan"], "nan"),
    "d infinite": (["--d", "inf"], "inf"),
    "negative step": (["--step", "-1"], "-1"),
    "unknown activation": (["--activation", "rleu"], "relu"),
    "no time": (["--t-end", "0"], "0"),
    "too many informative directions": (["--informative", "41"], "41"),
    "no neurons": (["--n", "0"], "0"),
    "unknown option": (["--wrong"], "--wrong"),
    "not a number": (["--delta", "x"], "x"),
    "no such start": (["--initial", "absent.npy"], "absent.npy"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_exit_2(name, capsys, tmp_path):
    arguments, shown = BAD[name]
    assert run(["demo", "--out", str(tmp_path / "never"), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("widelimit: ") and shown in captured.err
    assert not (tmp_path / "never").exists()


def test_a_start_of_the_wrong_shape_is_one_sentence_and_exit_2(tmp_path, capsys):
    np.save(tmp_path / "start.npy", np.zeros((5, 7)))
    assert run(["demo", "--initial", str(tmp_path / "start.npy"), "--out", str(tmp_path / "never")]) == 2
    assert "(5, 7)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["demo", "--dleta", "2"], ["dmeo"], ["run"]])
def test_help_and_a_mistyped_option_answer_without_the_heavy_libraries(arguments):
    heavy = ("jax", "numpy", "scipy", "xarray", "matplotlib")
    code = f"import sys; from widelimit.interfaces.cli import run; run({arguments!r}); "
    code += f"sys.exit(any(name in sys.modules for name in {heavy}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr


@pytest.mark.parametrize("word, ending", [("dmeo", "Did you mean 'demo'? See"), ("zzz", "No such command 'zzz': see")])
def test_a_mistyped_command_is_a_sentence_that_ends_once(word, ending, capsys):
    assert run([word]) == 2
    assert f"{ending} widelimit --help." in capsys.readouterr().err


def test_a_help_text_is_shown_whole(monkeypatch):
    """Brackets are no markup: what a command says of itself and of its options is on the screen."""
    monkeypatch.setenv("COLUMNS", "400")
    for name, command in typer.main.get_command(app).commands.items():
        shown = " ".join(CliRunner().invoke(app, [name, "--help"]).output.split())
        assert not [
            text for text in (command.help, *(o.help for o in command.params)) if " ".join(text.split()) not in shown
        ]


def test_the_reference_of_the_command_line_is_in_step():
    rendered = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["render"]()
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == rendered


def test_the_readme_has_exactly_the_two_commands_and_ci_runs_the_second():
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```sh\n")[1].split("```")[0]
    commands = [line.split("#")[0].strip() for line in block.strip().splitlines()]
    assert commands == ["pip install . && widelimit demo", "pip install -e '.[test]' && pytest"]
    assert commands[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


PARTS = ["--d", "12", "--n", "12", "--step", "2e-3", "--t-end", "0.02"]


@pytest.mark.more
def test_compare_prints_the_parts_and_saves_a_picture_and_five_records(tmp_path, capsys):
    assert run(["compare", *PARTS, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("PDE–ND", "ND–PD", "PD–GD", "GD–SGD", "total", "distance"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["compare.png", "gd.nc", "nd.nc", "pd.nc", "pde.nc", "sgd.nc"]
    assert (tmp_path / "compare.png").stat().st_size > 20_000


@pytest.mark.slow
def test_a_diverging_comparison_exits_1_with_advice_in_one_json_document(tmp_path, capsys):
    blow_up = ["--d", "12", "--n", "6", "--step", "50", "--t-end", "2e3", "--activation", "relu"]
    assert run(["compare", *blow_up, "--out", str(tmp_path), "--json"]) == 1
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document["outcome"] == "diverged" and "try step=" in document["advice"]
    assert "diverged" in shown.err and "Traceback" not in shown.err
    assert (tmp_path / "pde.nc").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--n", "0"], "n must be a whole number"),
        (["--replicas", "0"], "replicas must be a whole number"),
        (["--d", "inf"], "needs a finite dimension"),
        (["--activation", "rellu"], "did you mean 'relu'"),
        (["--seed", "-1"], "seed must be"),
    ],
)
def test_bad_input_to_compare_is_one_sentence_and_exit_code_2(words, sentence, tmp_path, capsys):
    assert run(["compare", *words, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err and shown.out == "" and shown.err.count("\n") == 1


EARLY = """
import signal, sys
class Impatient:
    def find_spec(self, name, *rest):
        if name == "jax":
            signal.raise_signal(signal.SIGINT)
from widelimit.interfaces.entry import main
sys.meta_path.insert(0, Impatient())
sys.argv = ["widelimit", "demo"]
main()
"""


def test_an_interrupt_during_the_imports_exits_130_without_a_traceback(tmp_path):
    found = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (130, "widelimit: interrupted.\n")


def test_an_interrupt_that_could_not_be_raised_is_sent_again():
    with pytest.raises(KeyboardInterrupt):
        entry.send_again(types.SimpleNamespace(exc_type=KeyboardInterrupt))
        time.sleep(10)
