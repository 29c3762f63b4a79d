"""Published claims about lazy training, in small: larger starts test worse, wide networks move less, W_2 ~ 1/α."""

import math
from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl

pytestmark = pytest.mark.slow


def teacher_rows(d, count, seed):
    """Inputs on the unit sphere, labels of a teacher with three ReLU neurons."""
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(99).normal(size=(3, d))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    x = rng.normal(size=(count, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.maximum(x @ w.T, 0) @ np.array([1.0, -1.0, 1.0])


def test_a_larger_start_trains_lazily_and_tests_worse():
    """COB19: f = Σ_j b_j relu(⟨a_j, x⟩), both layers ~ τ N(0, 1), in pairs; the sum is α = N."""
    d, m, count = 30, 40, 150
    (x, y), (x2, y2) = teacher_rows(d, count, 0), teacher_rows(d, 1000, 1)
    found = {}
    for tau in (0.1, 2.0):
        start = wl.initial.paired(wl.initial.gaussian(tau * math.sqrt(d), a=wl.initial.normal(0.0, tau)))
        problem = wl.Problem(wl.data.empirical(x, y), wl.neurons.ridge("relu", "trained"), start, alpha=float(m))
        rate = min(10.0, 0.1 / tau**2)
        run = wl.solve(problem, wl.GD(m, rate * m), 4000 * rate * m, save=2, keep="full")
        theta = run.dataset["theta"].values
        moved = np.linalg.norm(theta[-1] - theta[0]) / np.linalg.norm(theta[0])
        found[tau] = wl.observables.test_risk(problem, run.final, x2, y2).risk, moved, run.risk[-1]
    (small, far, _), (large, near, fitted) = found[0.1], found[2.0]
    assert near < 0.1 < far and fitted < 1e-3  # the large start hardly moves, and still fits its data
    assert large > 3 * small


def test_networks_of_the_lazy_scaling_move_less_the_wider_they_are():
    """COB19: 1/√m against 1/m."""
    d, count = 20, 100
    x, y = teacher_rows(d, count, 0)
    start = wl.initial.paired(wl.initial.gaussian(math.sqrt(d), a=wl.initial.normal()))
    problem = wl.Problem(wl.data.empirical(x, y), wl.neurons.ridge("relu", "trained"), start)
    moved = {}
    for name, alpha in (("1/m", 1.0), ("1/√m", "lazy")):
        for m in (32, 512):
            run = wl.solve(
                replace(problem, alpha=alpha), wl.ParticleFlow(m, rtol=1e-5, atol=1e-7), 30.0, save=2, keep="full"
            )
            theta = run.dataset["theta"].values
            moved[name, m] = np.linalg.norm(theta[-1] - theta[0]) / np.linalg.norm(theta[0])
    assert moved["1/√m", 512] / moved["1/√m", 32] == pytest.approx(0.25, rel=0.25)  # like m^{−1/2}
    assert moved["1/m", 512] / moved["1/m", 32] == pytest.approx(1.0, rel=0.25)


def test_the_measure_hardly_moves_where_the_scale_is_large():
    """MMM19: W_2(ρ_T, ρ_0) = O(T/α)."""
    start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.normal()))
    problem = wl.Problem(wl.data.single_index(20, "He1(z) + 0.5*He2(z)"), wl.neurons.ridge("tanh", "trained"), start)
    scales, far = (4.0, 8.0, 16.0, 32.0), []
    for alpha in scales:
        run = wl.solve(replace(problem, alpha=alpha), wl.MeanField(128, check=False), 1.0, save=2)
        far.append(wl.observables.wasserstein(run.at(0.0), run.final, 2))
    assert np.polyfit(np.log(scales), np.log(far), 1)[0] == pytest.approx(-1.0, abs=0.1)
