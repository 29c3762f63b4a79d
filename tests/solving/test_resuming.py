"""A run that was stopped goes on to the bits of a run that never was."""

import json
import signal
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.interfaces.cli import run
from widelimit.solving.scheme_choice import SchemeChoice

NOISY = {"beta": 20.0}
RUNS = {
    "SGD with noise": (wl.SGD(6, 0.003), NOISY, {"keep": "full"}),  # saves inside blocks
    "SGD, replicas": (wl.SGD(4, 0.003, dtype="float32"), {}, {"replicas": 2}),
    "GD with noise": (wl.GD(4, 0.01), NOISY, {}),
    "ParticleFlow": (wl.ParticleFlow(4), {}, {"replicas": 2}),
    "NonlinearFlow": (wl.NonlinearFlow(4, points=8), {}, {}),
    "MeanField and its twin": (wl.MeanField(8), {}, {}),
    "GD and its twin, replicas": (wl.GD(4, 0.05), {"data": wl.data.hypercube(6, "z1*z2", samples=64)}, {"replicas": 2}),
    "FiniteVolume": (wl.FiniteVolume(16), {"beta": 1.0}, {}),
    "JKO in points": (wl.JKO(0.05, 8), {}, {}),
    "JKO in quantiles": (wl.JKO(0.05, 12), NOISY, {}),
}


LONG = ("SGD, replicas", "ParticleFlow", "NonlinearFlow", "FiniteVolume", "JKO in quantiles")  # to compile
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in RUNS]


def problem(data=wl.data.gaussian_classes(20, 0.6), **more):  # noqa: B008
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
    return wl.Problem(data, neuron, wl.initial.gaussian(0.8), ridge=0.1, **more)


def second(rho):
    return rho.mean(rho.theta**2)


class Impatient:
    """An observer that stops the run at its third save, once."""

    def __init__(self):
        self.calls = 0

    def __call__(self, rho):
        self.calls += 1
        if self.calls == 3:
            signal.raise_signal(signal.SIGINT)
        return second(rho)


def stopped(name):
    method, change, options = RUNS[name]
    with pytest.raises(wl.Interrupted) as caught:
        wl.solve(problem(**change), method, 0.4, seed=5, save=5, observers={"second": Impatient()}, **options)
    return caught.value


@pytest.mark.some(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_run_goes_on_to_the_same_bits(name, tmp_path):
    method, change, options = RUNS[name]
    whole = wl.solve(problem(**change), method, 0.4, seed=5, save=5, observers={"second": second}, **options)
    half = stopped(name).solution
    assert half.outcome == "interrupted" and 1 <= len(half.times) < 5
    kept = wl.load(half.save(tmp_path / "half.nc"))
    found = wl.resume(kept, observers={"second": second})
    drop = ("wall_time", "spec", "spec_error")
    for one in (whole, found):
        one.dataset.attrs = {k: v for k, v in one.dataset.attrs.items() if k not in drop}
    xr.testing.assert_identical(found.dataset, whole.dataset)


def test_what_a_solver_has_chosen_is_recalled_whole():
    chosen, other = SchemeChoice(True, True, 0.1, waits=3, pause=16, step=0.02), SchemeChoice()
    other.restore(chosen.recall())
    assert other == chosen


def test_an_interrupt_before_the_first_save_says_that_nothing_is_kept_and_resume_begins_anew():
    method, change, _ = RUNS["GD with noise"]

    def impatient(rho):
        raise KeyboardInterrupt

    with pytest.raises(wl.Interrupted) as caught:
        wl.solve(problem(**change), method, 0.4, seed=5, save=5, observers={"second": impatient})
    assert str(caught.value) == "interrupted: nothing was saved yet; wl.resume of .solution begins anew."
    found = wl.resume(caught.value.solution, observers={"second": second})
    assert found.outcome == "done" and len(found.times) == 5


def test_an_interrupt_says_what_is_kept_and_a_run_in_memory_knows_its_observers():
    stop = stopped("GD with noise")
    assert str(stop) == "interrupted: 2 saves, to t = 0.1 of 0.4, is in .solution; wl.resume goes on with it."
    found = wl.resume(stop.solution)
    assert found.outcome == "done" and len(found.times) == 5 and len(found.dataset["second"]) == 5
    assert not [name for name in found.dataset.variables if str(name).startswith("state_")]
    assert wl.resume(found) is found


SPEC = """
[problem]
data = {law = "gaussian_classes", d = 20, delta = 0.6}
neuron = {activation = {name = "polynomial", coefficients = [0.2, 1.0, 0.3]}}
initial = {law = "gaussian", scale = 0.8}
ridge = 0.1
beta = 20.0
[run]
t_end = 0.4
save = 5
seed = 5
[[method]]
name = "GD"
n = 4
step = 0.01
[[method]]
name = "GD"
n = 4
step = 0.02
"""


def test_the_command_goes_on_with_an_interrupted_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(SPEC)
    assert run(["run", "two.toml", "--out", "whole"]) == 0
    half = stopped("GD with noise").solution
    bare = wl.solve(problem(**NOISY), RUNS["GD with noise"][0], 0.4, seed=5, save=5)
    half = wl.Solution(half.dataset.drop_vars("second"), bare.request)
    half.save("half/gd_1.nc")
    (tmp_path / "half" / "spec.toml").write_text((tmp_path / "whole" / "spec.toml").read_text())
    capsys.readouterr()
    assert run(["run", "two.toml", "--out", "half", "--seed", "6", "--resume"]) == 2
    assert "--resume needs the records of the same spec" in capsys.readouterr().err
    assert run(["run", "two.toml", "--out", "half", "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "done"
    for name in ("gd_1", "gd_2"):
        one, other = (wl.load(f"{folder}/{name}.nc") for folder in ("whole", "half"))
        np.testing.assert_array_equal(one.risk, other.risk)
        assert other.outcome == "done"


def test_what_cannot_go_on_is_refused_in_one_sentence(tmp_path):
    half = stopped("GD with noise").solution
    record = wl.load(half.save(tmp_path / "half.nc"))
    bare = wl.Solution(half.dataset.drop_vars("state_0"), half.request)
    wild = wl.Solution(half.dataset.assign_attrs(outcome="diverged"), half.request)
    nowhere = wl.Solution(half.dataset)
    one = wl.Solution(half.dataset, replace(half.request, settings=replace(half.settings, replicas=2)))
    for bad, why in ((one, "all replicas"), (record, "observers"), (bare, "state"), (wild, "interrupted run"),
                     (nowhere, "spec"), ("half.nc", "wl.Solution")):  # fmt: skip
        with pytest.raises(wl.InputError, match=rf"{why}.*, got .*: .*\.$"):
            wl.resume(bad)
