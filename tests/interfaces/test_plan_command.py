"""``widelimit plan``: what it shows, its exit codes, its JSON; the plan itself is scripted."""

import json

import numpy as np
import pytest

from widelimit.interfaces.cli import run
from widelimit.theory.gap.network_plan import NetworkPlan, Stage

SPEC = """
[problem]
data = {law = "gaussian_classes", d = 4, delta = 0.5}
neuron = {activation = "relu"}
initial = {law = "gaussian", scale = 1.0}
[run]
t_end = 0.5
seed = 3
[[method]]
name = "SGD"
n = 8
step = 0.1
"""
STAGES = (
    Stage("pilot", 64, 0.01, 0.08, 0.06, 0.05, 0.7),
    Stage("verify", 128, 0.005, 0.04, float("nan"), float("nan"), 1.0),
)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What `plan` was asked for; its gaps are those of four runs, all within 0.045."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    calls = []

    def plan(problem, tolerance, confidence, t_end, **options):
        calls.append((problem, tolerance, confidence, t_end, options))
        gaps = np.linspace(-0.04, 0.045, 4)[:, None] * np.array([0.0, 1.0])
        times = np.array([0.0, t_end])
        return NetworkPlan(128, 0.005, t_end, tolerance, confidence, gaps, times, 0.03, 0.02, 1e-4, 0.5, STAGES)

    monkeypatch.setattr("widelimit.theory.gap.planner.plan", plan)
    return calls


def test_the_command_hands_its_options_on_and_shows_table_and_sentence(asked, capsys):
    assert run(["plan", "spec.toml", "--tolerance", "0.1", "--runs", "4"]) == 0
    problem, *numbers, options = asked[0]
    assert problem.data.d == 4 and numbers == [0.1, 0.95, 0.5] and options == {"runs": 4, "seed": 3}
    shown = capsys.readouterr().out
    assert "verify" in shown and "n = 128 and step = 0.005 suffice: 4 of 4" in shown and "width dominates" in shown


def test_json_is_one_document_and_a_plan_that_fails_exits_with_one(asked, capsys, tmp_path):
    words = ["plan", "spec.toml", "--tolerance", "0.01", "--t-end", "2", "--seed", "5", "--json", "--out", "pictures"]
    assert run(words) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["holds"] is False and document["inside"] == 0.0 and document["stages"][1]["width"] is None
    assert asked[0][3] == 2.0 and asked[0][4]["seed"] == 5
    assert (tmp_path / "pictures" / "plan.png").stat().st_size > 10_000


def test_bad_input_exits_with_two_and_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    assert run(["plan", "spec.toml", "--tolerance", "0"]) == 2
    assert run(["plan", "spec.toml", "--confidence", "1.5"]) == 2
    (tmp_path / "wide.toml").write_text(
        SPEC.replace("d = 4", "d = inf").replace('name = "SGD"\nn = 8\nstep = 0.1', 'name = "MeanField"')
    )
    assert run(["plan", "wide.toml"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == [
        "widelimit: tolerance must be a positive number",
        "widelimit: confidence must be a number between 0 and 1",
        "widelimit: a plan is for finite networks and needs a finite d",
    ]
