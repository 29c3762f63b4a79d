import sys

import numpy as np
import pytest

from widelimit.dynamics.methods import SGD
from widelimit.experiments import point_convergence as points
from widelimit.experiments.demo import TwoClasses
from widelimit.solving.streams import stream
from widelimit_benchmarks import grid_speed
from widelimit_benchmarks import sgd_speed as speed


def test_bench_measures_every_peer_and_says_why_one_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(speed, "STEPS", dict.fromkeys(speed.STEPS, 128))
    result = speed.measure(n=20, d=10, repeats=1)
    assert set(result["microseconds_per_step"]) == {"ours", "floor", "scan", "stored_scan", "numpy"}
    assert "pip install" in result["skipped"]["torch"]
    ours = result["microseconds_per_step"]["ours"]
    assert result["times_faster_than"]["scan"] == result["microseconds_per_step"]["scan"] / ours


def test_the_stored_scan_is_the_equation():
    problem = TwoClasses(d=10, delta=0.5, scale=0.4).problem
    theta = problem.sample_initial(stream(0, "initial"), 20) * 5
    moved = np.asarray(speed._stored_scan(problem, SGD(20, 1e-3), theta)())
    x, y = problem.data.sample(stream(0, "data"), speed.STEPS["stored_scan"], float)
    w = np.array(theta)
    for sample, label in zip(np.asarray(x), np.asarray(y), strict=True):
        h = w @ sample
        error = label - np.interp(h, (0.5, 1.5), (-2.5, 7.5)).mean()
        w += 2e-3 * error * 10 * ((h > 0.5) & (h < 1.5))[:, None] * sample
    np.testing.assert_allclose(moved, w, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_convergence_of_the_points_is_measured_and_drawn():
    rows = points.measure(counts=(20, 80), fine=320, t_end=0.2)
    assert {row.placement for row in rows} == {"equal", "gauss"}
    assert all(row.errors[1] < row.errors[0] for row in rows if row.placement == "equal")
    left, right = points.draw(rows).axes
    assert "points" in left.get_xlabel() and len(right.get_lines()) == 2


@pytest.mark.speed
def test_blocks_beat_the_plain_loops_by_the_stated_factors():
    """On an idle machine with two cores; a ratio in one run."""
    for dtype, scan, torch in (("float64", 4.0, 12.0), ("float32", 2.5, 25.0)):
        result = speed.measure(dtype=dtype)
        assert result["times_faster_than"]["scan"] >= scan
        if "torch" in result["times_faster_than"]:
            assert result["times_faster_than"]["torch"] >= torch
        assert result["ours_over_floor"] <= 2.5


@pytest.mark.slow
def test_the_grid_is_measured_and_a_missing_peer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pde", None)
    result = grid_speed.measure(cells=200, repeats=1, t_end=0.5)
    assert set(result["seconds"]) == {"ours"} and "pip install" in result["skipped"]["py_pde"]
    assert result["lowest_mass_when_cold"]["ours"] >= 0


@pytest.mark.speed
def test_the_grid_beats_py_pde_tenfold_and_stays_positive():
    """On an idle machine; a ratio in one run."""
    pytest.importorskip("pde")
    result = grid_speed.measure()
    assert result["times_faster_than"]["py_pde"] >= 10
    assert result["lowest_mass_when_cold"]["ours"] >= 0 > result["lowest_mass_when_cold"]["py_pde"]
    assert abs(result["risk_above_rest"]["ours"]) < 1e-6
