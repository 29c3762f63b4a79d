"""A sweep is one dataset: its points are the runs they would be alone, and one that fails does not stop the rest."""

import io
import json
import math
import random
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

import widelimit as wl
from widelimit.experiments.sweep import read_sweep
from widelimit.experiments.sweep_axes import axes_of
from widelimit.interfaces.cli import run
from widelimit.solving import progress
from widelimit.solving.team import mapped

TEXT = """
[problem]
data = {law = "gaussian_classes", d = 20, delta = 0.5}
neuron = {activation = {name = "polynomial", coefficients = [0.2, 1.0, 0.3]}}
initial = {law = "gaussian", scale = 0.8}
[run]
t_end = 0.4
save = 5
[[method]]
name = "MeanField"
points = 8
"""


def problem(delta=0.5, scale=0.8, d=20, **more):
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
    return wl.Problem(wl.data.gaussian_classes(d, delta), neuron, wl.initial.gaussian(scale), **more)


def spec(method, **more):
    return wl.Spec(problem(**more), method, t_end=0.4, save=5)


def second(rho):
    return rho.mean(rho.theta**2)


def test_the_points_of_a_sweep_are_the_runs_they_would_be_alone():
    """Twins included: the error of the risk is the same too."""
    axes = {"data.delta": [0.3, 0.6], "scale": [0.5, 0.8, 1.1]}
    found = wl.sweep(spec(wl.MeanField(8)), axes, observers={"second": second}).dataset
    assert found["risk"].dims == ("data.delta", "scale", "time") and (found["outcome"] == "done").all()
    for delta in (0.3, 0.6):
        for scale in (0.5, 1.1):
            alone = wl.solve(problem(delta, scale), wl.MeanField(8), 0.4, save=5, observers={"second": second})
            here = found.sel({"data.delta": delta, "scale": scale})
            for name in ("risk", "risk_error"):
                np.testing.assert_allclose(here[name], alone.dataset[name], rtol=0, atol=1e-12)
            np.testing.assert_allclose(here["second"], alone.dataset["second"], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", [wl.ParticleFlow(6, "reduced"), wl.GD(6, 0.01, "reduced"), wl.GD(6, 0.01)])
@pytest.mark.parametrize("beta", [math.inf, 20.0])
def test_seeds_of_every_dynamics_are_the_runs_they_would_be_alone(method, beta):
    found = wl.sweep(spec(method, beta=beta), {"seed": [0, 3, 5], "delta": [0.4, 0.6]}).dataset
    for seed in (3, 5):
        alone = wl.solve(problem(0.6, beta=beta), method, 0.4, save=5, seed=seed)
        np.testing.assert_allclose(found["risk"].sel(seed=seed, delta=0.6), alone.risk, rtol=0, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [math.inf, pytest.param(20.0, marks=pytest.mark.slow)])
def test_seeds_of_sgd_are_the_runs_they_would_be_alone(beta):
    """Five seeds, in parts of four: the places left over do no harm."""
    found = wl.sweep(spec(wl.SGD(6, 0.003), beta=beta), {"seed": {"seeds": 5}}).dataset
    for seed in (0, 4):
        alone = wl.solve(problem(beta=beta), wl.SGD(6, 0.003), 0.4, save=5, seed=seed)
        np.testing.assert_allclose(found["risk"].sel(seed=seed), alone.risk, rtol=0, atol=1e-12)


def test_a_diverging_and_an_impossible_point_do_not_stop_the_rest():
    found = wl.sweep(spec(wl.GD(6, 0.02, "reduced")), {"scale": [0.5, 200.0, 0.8], "delta": [0.5, 1.5]}).dataset
    assert found["outcome"].values.tolist() == [["done", "failed"], ["diverged", "failed"], ["done", "failed"]]
    assert "step" in str(found["reason"][1, 0].values) and "delta must lie" in str(found["reason"][0, 1].values)
    ends = np.isfinite(found["risk"].isel(time=-1).values)
    assert ends.tolist() == [[True, False], [False, False], [True, False]]
    alone = wl.solve(problem(scale=0.8), wl.GD(6, 0.02, "reduced"), 0.4, save=5)
    np.testing.assert_allclose(found["risk"][2, 0], alone.risk, rtol=0, atol=1e-11)


def test_a_changed_number_compiles_nothing():
    wl.sweep(spec(wl.MeanField(8)), {"delta": [0.3, 0.6]})
    sizes = [f._cache_size() for f in _mapped()]
    wl.sweep(spec(wl.MeanField(8), scale=0.7), {"delta": [0.35, 0.65]})
    assert [f._cache_size() for f in _mapped()] == sizes and sizes


def _mapped():
    from widelimit.solving.adaptive import Adaptive

    return [mapped(Adaptive.move, 0, None)]


@pytest.mark.slow
def test_a_sweep_on_a_terminal_counts_its_points(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=shown, force_terminal=True, width=80))
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    wl.sweep(spec(wl.SGD(6, 0.003)), {"seed": [0, 1, 2]})
    assert "0 of 3 points" in shown.getvalue() and "3 of 3 points" in shown.getvalue()


@pytest.mark.more
def test_a_store_runs_only_what_is_missing(tmp_path):
    store, axes = wl.Store(tmp_path), {"seed": [0, 1, 2]}
    first = wl.sweep(spec(wl.SGD(6, 0.003)), axes, store=store)
    assert len(store.runs()) == 3
    store.remove([store.runs("seed == 1")[0].id])
    again = wl.sweep(spec(wl.SGD(6, 0.003)), {"seed": [0, 1, 2, 3]}, store=store)
    assert len(store.runs()) == 4
    xr.testing.assert_identical(
        again.dataset[["risk", "outcome"]].isel(seed=[0, 2]), first.dataset[["risk", "outcome"]].isel(seed=[0, 2])
    )
    np.testing.assert_allclose(again.dataset["risk"][1], first.dataset["risk"][1], rtol=0, atol=1e-12)


def test_an_interrupt_keeps_the_points_that_were_finished(tmp_path):
    seen = []

    def impatient(rho):
        seen.append(rho)
        if len(seen) == 12:  # in the third run of five saves
            raise KeyboardInterrupt
        return 0.0

    start, store, alone = spec(wl.SGD(6, 0.003)), wl.Store(tmp_path), wl.Engine(together=1)
    with pytest.raises(wl.Interrupted, match="2 of 4 points") as caught:
        wl.sweep(start, {"seed": [0, 1, 2, 3]}, observers={"m": impatient}, engine=alone)
    assert caught.value.solution.counts == {"done": 2, "missing": 2}
    seen.clear()
    with pytest.raises(wl.Interrupted, match="and in the store"):
        wl.sweep(start, {"seed": [0, 1, 2, 3]}, observers={"m": impatient}, engine=alone, store=store)
    assert len(store.runs()) == 3  # the third had ended, and was only looked at
    assert wl.sweep(start, {"seed": [0, 1, 2, 3]}, store=store).counts == {"done": 4}


def test_axes_are_lists_spaces_and_seeds_and_may_be_zipped():
    text = (
        TEXT
        + """[sweep]
delta = {linspace = [0.2, 0.6, 3]}
scale = {geomspace = [0.1, 1.0, 3]}
points = [4, 8]
seed = {seeds = 2}
zip = [["delta", "scale"]]
"""
    )
    start, given = read_sweep(text)
    one, two, three = axes_of(start, given)
    assert one.dimension == "delta+scale" and len(one) == 3 and one.names[0] == "problem.data.delta"
    assert np.allclose(one.values[1], [0.1, 10**-0.5, 1.0]) and two.values == ((4, 8),) and three.values == ((0, 1),)


BAD = {
    "names nothing": {"dellta": [0.1, 0.2]},
    "no axes": {},
    "empty": {"delta": []},
    "twice the same": {"delta": [0.2, 0.2]},
    "one key twice": {"delta": [0.2], "data.delta": [0.3]},
    "unequal": {"delta": [0.2, 0.3], "scale": [0.1, 0.2, 0.3], "zip": [["delta", "scale"]]},
    "zip of nothing": {"delta": [0.2, 0.3], "zip": [["delta", "scale"]]},
    "no space": {"delta": {"logspace": [0.1, 0.2, 3]}},
    "geomspace of 0": {"delta": {"geomspace": [0.0, 0.2, 3]}},
    "a million": {"delta": {"linspace": [0.1, 0.2, 1000]}, "scale": {"linspace": [0.1, 0.2, 1000]}},
    "a word": {"delta": "0.1"},
    "a number": 3,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_axes_are_refused_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        wl.sweep(spec(wl.MeanField(8)), BAD[name])
    assert "\n" not in str(caught.value)


def test_a_misspelt_axis_is_told_the_nearest_name():
    with pytest.raises(wl.InputError, match="unknown field 'dellta': did you mean 'delta'"):
        wl.sweep(spec(wl.MeanField(8)), BAD["names nothing"])


def test_two_methods_and_replicas_are_refused():
    with pytest.raises(wl.InputError, match="one method"):
        wl.sweep(wl.Spec(problem(), (wl.MeanField(8), wl.SGD(4, 0.01)), t_end=0.4), {"seed": [0, 1]})
    with pytest.raises(wl.InputError, match="axis of seeds"):
        wl.sweep(wl.Spec(problem(), wl.SGD(4, 0.01), t_end=0.4, replicas=2), {"seed": [0, 1]})


def test_the_command_writes_a_dataset_and_a_picture(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(TEXT + "[sweep]\ndelta = [0.3, 0.6]\nscale = [0.5, 0.8, 1.1]\n")
    assert run(["sweep", "grid.toml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"done": 6} and document["axes"] == {"delta": 2, "scale": 3}
    with xr.open_dataset("grid/sweep.nc", engine="h5netcdf") as kept:
        assert kept["risk"].shape == (2, 3, 5)
    assert (tmp_path / "grid" / "sweep.png").is_file() and len(wl.Store("grid/runs").runs()) == 6
    (tmp_path / "bad.toml").write_text(TEXT + "[sweep]\nnothing = [1, 2]\n")
    assert run(["sweep", "bad.toml"]) == 2
    (tmp_path / "big.toml").write_text(TEXT + "[sweep]\ndelta = {linspace = [0.1, 0.9, 20000]}\n")
    assert run(["sweep", "big.toml"]) == 2 and "--yes" in capsys.readouterr().err
    assert not (tmp_path / "bad").exists() and not (tmp_path / "big").exists()
    assert run(["runs", "list"]) == 2 and "try --store grid/runs." in capsys.readouterr().err


KILLED = """
import sys
import widelimit as wl
neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), neuron, wl.initial.gaussian(0.8))
spec = wl.Spec(problem, wl.SGD(20, 1e-5), t_end=0.4, save=5)
print("begun", flush=True)
wl.sweep(spec, {"seed": {"seeds": 24}}, store=wl.Store(sys.argv[1]), engine=wl.Engine(together=4))
print("done", flush=True)
"""


def begun(folder):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


@pytest.mark.slow
def test_a_sweep_killed_at_any_moment_loses_nothing_that_was_finished(tmp_path):
    """And ends with the bits of one that was never disturbed; two at once do not clash."""
    draw, store, before = random.Random(1), wl.Store(tmp_path / "killed"), 0
    for _ in range(4):
        process, more = begun(store.folder), before + draw.choice((0, 1, 5))
        while process.poll() is None and len(list(store.folder.glob("*.nc"))) < more:
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 1.0))
        process.kill()
        process.wait()
        process.stdout.close()
        assert not store.faults() and len(store.runs()) >= before
        before = len(store.runs())
    assert before > 0
    pair = [begun(store.folder), begun(store.folder)]
    assert [process.communicate()[0].strip() for process in pair] == ["done", "done"]
    whole = begun(tmp_path / "whole")
    assert whole.communicate()[0].strip() == "done"
    other = wl.Store(tmp_path / "whole")
    names = [entry.id for entry in store.runs()]
    assert names == [entry.id for entry in other.runs()] and len(names) == 24
    for name in names:
        one, two = store.load(name), other.load(name)
        np.testing.assert_array_equal(one.risk, two.risk)
        np.testing.assert_array_equal(one.dataset["theta"], two.dataset["theta"])


def faster(axes, start):
    """How many times faster a sweep is than its points one after the other, both warm, and how far they are apart."""
    wl.sweep(start, axes)
    began = time.perf_counter()
    found = wl.sweep(start, axes).dataset
    together = time.perf_counter() - began
    names = list(axes)
    points = np.stack(np.meshgrid(*axes.values(), indexing="ij"), -1).reshape(-1, len(names))
    from widelimit.experiments.sweep_axes import changed

    began, risks = time.perf_counter(), []
    full = {"delta": "problem.data.delta", "scale": "problem.initial.scale", "seed": "run.seed"}
    for point in points:
        values = {full[n]: int(v) if n == "seed" else float(v) for n, v in zip(names, point, strict=True)}
        one = changed(start, values)
        risks.append(wl.solve(one.problem, one.methods[0], **one.settings()).risk)
    loop = time.perf_counter() - began
    apart = np.max(np.abs(np.array(risks).reshape(found["risk"].shape) - found["risk"].values))
    print(f"together {together:.2f} s, in a loop {loop:.2f} s: {loop / together:.1f} times faster, {apart:.1e} apart")
    return loop / together, apart


@pytest.mark.speed
def test_two_hundred_limits_together_are_ten_times_faster():
    """The radial problem in infinite dimension: a radius for every point of the grid."""
    start = wl.Spec(
        wl.Problem(wl.data.gaussian_classes(math.inf, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.4)),
        wl.MeanField(), t_end=10.0,
    )  # fmt: skip
    ratio, apart = faster({"delta": np.linspace(0.2, 0.8, 10), "scale": np.linspace(0.2, 0.8, 20)}, start)
    assert apart < 1e-9 and ratio >= 10


@pytest.mark.speed
def test_sixty_four_seeds_of_sgd_together_are_three_times_faster():
    start = wl.Spec(
        wl.Problem(wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.8)),
        wl.SGD(200, 1e-3), t_end=1.0, save=11,
    )  # fmt: skip
    ratio, apart = faster({"seed": np.arange(64)}, start)
    assert apart < 1e-9 and ratio >= 3
