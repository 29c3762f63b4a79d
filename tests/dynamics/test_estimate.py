"""What a run takes is said beforehand, and what cannot fit is refused."""

import json
import re
import time

import pytest

import widelimit as wl
from widelimit.dynamics import memory
from widelimit.dynamics.finite_volume import finite_volume
from widelimit.dynamics.jko import jko
from widelimit.interfaces.cli import run
from widelimit.solving import adaptive


def problem(d=20, **more):
    return wl.Problem(wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("erf"), wl.initial.gaussian(0.8), **more)


@pytest.mark.more
def test_fixed_steps_are_counted_and_adaptive_ones_are_an_estimate():
    fixed = wl.estimate(problem(), wl.GD(4, 0.01), 1.005, save=3)
    assert fixed.steps == 101 and fixed.exact and fixed.seconds >= fixed.compiling > 0
    assert re.fullmatch(r"<Forecast: 101 steps, \S+ s \(\S+ s to compile\), \S+ GiB>", repr(fixed))
    adaptive = wl.estimate(problem(), wl.MeanField(8), 1.0, save=3)
    assert not adaptive.exact and adaptive.steps > 5 and "about" in repr(adaptive)


def flat(neuron="x", **start):
    """Two reduced coordinates with noise."""
    line = wl.neurons.ridge(neuron, outer="fixed" if start else "absent")
    data = wl.data.gaussian_classes(9, 0.5) if start else wl.data.single_index(9, "z")
    return wl.Problem(data, line, wl.initial.gaussian(1.0, **start), ridge=0.3, beta=5.0)


CELLS = {
    "one coordinate": (problem(), wl.FiniteVolume(), 400),
    "two": (flat(), wl.FiniteVolume(), 100**2),
    "two, one of them a sign that stays": (flat(a=wl.initial.signs()), wl.FiniteVolume(), 2 * 100),
    "two in a box": (flat(), wl.FiniteVolume(30, ((-4.0, 4.0), (0.0, 6.0))), 30**2),
    "transport in two": (flat(), wl.JKO(0.5), 40**2),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_cells_that_are_counted_are_those_of_the_run(name):
    asked, method, count = CELLS[name]
    ready = jko.ready if isinstance(method, wl.JKO) else finite_volume.ready
    assert memory.cells_of(asked, method) == count == ready(method, asked, 0, None).state.masses.size


def test_transport_on_a_grid_takes_matrices_of_all_pairs_of_cells():
    found = memory.need(flat(), wl.JKO(0.5, cells=60), wl.Spec(flat(), [wl.JKO(0.5)], t_end=1.0))
    assert 8 * memory.MATRICES * 60**4 < found.pairs < 8 * memory.MATRICES * 60**4 * 1.1


HUGE = {
    "neurons": (wl.SGD(10**9, 1e-4), {}),
    "pairs": (wl.ParticleFlow(10**6), {}),
    "points": (wl.MeanField(10**10), {}),
    "cells": (wl.FiniteVolume(10**9), {}),
    "saves": (wl.GD(10**5, 1e-3, "reduced"), {"save": 10**5, "replicas": 100}),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_cannot_fit_in_memory_is_refused_beforehand(name):
    method, options = HUGE[name]
    for ask in (wl.solve, wl.estimate):
        with pytest.raises(wl.InputError, match=r"must fit in the memory of this machine, .* GiB, got .* GiB: .*\.$"):
            ask(problem(), method, 1.0, **options)


def test_memory_is_that_of_the_arrays():
    """θ and saves of a wide run dominate, and both are known exactly."""
    settings = wl.solve(problem(), wl.GD(4, 0.01), 0.02, save=2).settings
    found = memory.need(problem(), wl.SGD(1000, 1e-3), settings)
    assert found.neurons == 8 * memory.IN_BLOCKS * 1000 * 20 and found.saves == 16 * 2 * 1000
    assert 2**20 < memory.available() < 2**60
    wide, narrow = (memory.need(problem(), method(10**5, 1e-3), settings).pairs for method in (wl.GD, wl.SGD))
    assert wide == 8 * memory.MATRICES * 10**10 > 100 * narrow  # SGD meets pairs in its risk only


def test_files_in_the_cache_of_a_container_are_room(tmp_path, monkeypatch):
    for name, text in {"max": "1000\n", "current": "900\n", "stat": "anon 500\ninactive_file 300\n"}.items():
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == 400


@pytest.mark.slow
def test_a_solver_that_gives_up_in_the_pilot_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(adaptive, "MAX_STEPS", 2)
    monkeypatch.setattr(adaptive, "STEPS_PER_CALL", {False: 2, True: 2})  # read when these shapes are compiled, here
    method = wl.ParticleFlow(5, stiff=False)
    with pytest.raises(wl.Stopped, match=r"^ParticleFlow stopped in the pilot .*gave up .*: .*\.$"):
        wl.estimate(problem(7), method, 50.0)
    (tmp_path / "one.toml").write_text(wl.Spec(problem(7), [method], t_end=50.0).to_toml())
    assert run(["run", "one.toml", "--dry-run"]) == 1
    assert re.fullmatch(r"widelimit: ParticleFlow stopped .*\.\n", capsys.readouterr().err)


def test_a_dry_run_says_what_every_method_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = wl.Spec(problem(), [wl.GD(4, 0.01), wl.MeanField(8)], t_end=1.0, save=3)
    (tmp_path / "two.toml").write_text(spec.to_toml())
    assert run(["run", "two.toml", "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "estimated" and found["methods"]["gd"]["steps"] == 100
    assert set(found["methods"]["mean_field"]) == {"steps", "seconds", "compiling", "gib", "exact", "advice"}
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]


@pytest.mark.speed
@pytest.mark.parametrize("method", [wl.SGD(200, 1e-4), wl.GD(100, 1e-3), wl.MeanField()], ids=repr)
def test_seconds_are_right_within_a_factor_of_two(method):
    found = wl.estimate(problem(40), method, 5.0)
    wl.solve(problem(40), method, 5.0)
    began = time.perf_counter()
    wl.solve(problem(40), method, 5.0)
    taken = time.perf_counter() - began
    assert taken / 2 < found.seconds - found.compiling < 2 * taken
