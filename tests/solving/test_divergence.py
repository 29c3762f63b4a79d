"""A step that is too large is an outcome with advice, in every dynamics that has one."""

import re
from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl
from widelimit.solving.recorder import Saves

SQUARE = wl.activations.polynomial([0.0, 0.0, 1.0])
STEP, TIMES = 2.0, [0.0, 2.0, 100.0, 200.0]
CASES = {
    "GD": (wl.GD(4, STEP, "reduced"), np.inf, None, "step=0.5"),
    "SGD with noise and replicas": (wl.SGD(4, STEP), 20.0, 2, "step=0.5"),
    "ParticleFlow with noise": (wl.ParticleFlow(4, noise_step=STEP), 20.0, None, "noise_step=0.5"),
    "NonlinearFlow with noise": (wl.NonlinearFlow(4, points=4, noise_step=STEP), 20.0, 2, "noise_step=0.5"),
}
EACH = [
    pytest.param(*case, id=name, marks=pytest.mark.slow if "Nonlinear" in name else ()) for name, case in CASES.items()
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("method", "beta", "replicas", "cure"), EACH)
def test_a_huge_step_diverges_with_advice_and_keeps_the_last_good_time(method, beta, replicas, cure):
    problem = wl.Problem(
        wl.data.gaussian_classes(5, 0.5), wl.neurons.ridge(SQUARE), wl.initial.gaussian(0.8), beta=beta
    )
    with pytest.raises(wl.Diverged) as caught:
        wl.solve(problem, method, TIMES[-1], save=TIMES, replicas=replicas)
    got, name = caught.value.solution, type(method).__name__
    said = re.fullmatch(
        rf"{name} diverged \(last good time t = ([\d.]+)\): the \w*step 2 is too large: try (.*) or less\.",
        str(caught.value),
    )
    assert said and said[2] == cure and cure in got.advice
    assert got.outcome == "diverged" and 1 <= len(got.times) < len(TIMES) and float(said[1]) == got.times[-1]
    assert np.isfinite(got.risk).all() and got.replicas == replicas
    one = got if replicas is None else got.replica(1)
    lengths = np.linalg.norm(one.final.theta, axis=1, keepdims=True)
    np.testing.assert_allclose(one.at(got.times[-1]).theta, lengths, rtol=1e-12)


def test_a_negative_risk_is_a_divergence_and_is_not_saved():
    """θ so far out that R# + 2 ∫V + ∬U is rounding, of either sign."""
    saves = Saves(None, "reduced", {})
    assert saves.is_possible(np.array(2.0)) and saves.is_possible(np.array(-1e-16))
    saves.add(0.0, np.array(2.0), np.array(0.0), [])
    assert not saves.is_possible(np.array(-8e29)) and not saves.is_possible(np.array([1.0, -1e-6]))
    assert not saves.is_possible(np.array(np.nan)) and not saves.is_possible(np.array(1e8))


@pytest.mark.parametrize("method", [wl.GD(4, 1000.0, "reduced"), wl.SGD(4, 1000.0)], ids=["GD", "SGD"])
def test_a_step_longer_than_the_run_is_cut_with_advice(method):
    problem = wl.Problem(wl.data.gaussian_classes(5, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.4))
    cut = wl.solve(problem, method, 1e-3, save=5)
    assert cut.times.tolist() == [0.0, 1e-3] and cut.outcome == "done"
    assert "cut to t_end = 0.001: try step=0.00025 or less" in cut.advice
    assert wl.solve(problem, replace(method, step=1e-3), 1e-3, save=5).advice == ""


@pytest.mark.more
@pytest.mark.parametrize("method", [wl.GD(20, 100.0, "reduced"), wl.SGD(20, 100.0)], ids=["GD", "SGD"])
def test_a_step_too_large_that_stays_bounded_is_done_with_advice(method):
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.4))
    run = wl.solve(problem, method, 1000.0, save=3)
    assert run.outcome == "done" and run.risk[-1] > run.risk[0]
    assert run.advice.startswith("the risk ends above its start") and "try step=25 or less" in run.advice


@pytest.mark.slow
def test_neurons_too_long_for_their_kernel_end_a_run_at_once():
    """A ridge of 10⁶ multiplies weights by −2·10⁴ in one step; no rule could integrate their kernel."""
    problem = wl.Problem(
        wl.data.gaussian_classes(6, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0), ridge=1e6
    )
    got = wl.solve(problem, wl.GD(n=8, step=0.01), t_end=0.1, save=11, throw=False)
    assert got.outcome == "diverged" and np.isfinite(got.risk).all() and (got.risk >= 0).all()
