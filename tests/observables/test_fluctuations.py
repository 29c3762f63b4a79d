"""N · Var over replicas, with an error bar that can be believed."""

import json

import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.observables import average, fluctuations, moment
from widelimit.observables.fluctuations import scaled_variance

N, R, TIMES = 50, 400, 3


def replicas(n=N, count=R, seed=0, theta=None, risk=None):
    """Independent neurons r ~ N(0, (1 + t)²); the risk of replica i is 1 + 3 mean_i r."""
    rng = np.random.default_rng(seed)
    spread = 1.0 + np.arange(TIMES)
    theta = spread[:, None, None] * rng.normal(size=(count, TIMES, n, 1)) if theta is None else theta
    risk = 1 + 3 * theta.mean(axis=(2, 3)) if risk is None else risk
    variables = {
        "risk": (("replica", "time"), risk),
        "theta": (("replica", "time", "neuron", "coordinate"), theta),
        "weights": ("neuron", np.full(theta.shape[2], 1 / theta.shape[2])),
    }
    attributes = {"method": "SGD", "spec": json.dumps({}), "outcome": "done", "advice": "", "seed": seed}
    return wl.Solution(xr.Dataset(variables, {"time": np.arange(float(TIMES)), "coordinate": ["r"]}, attributes))


STATISTICS = {"mean": moment("r"), "square": moment("r", 2), "sign": average(lambda theta: np.sign(theta[:, 0]))}


def test_independent_neurons_have_the_variance_of_one_neuron_within_four_standard_errors():
    """N Var of (1/N) Σ χ(r_i) is Var χ(r): s², 2 s⁴ and 1; for the risk 9 s²."""
    found = fluctuations(replicas(), STATISTICS)
    assert found["n_var"].dims == found["stderr"].dims == ("statistic", "time")
    assert list(found["statistic"].values) == ["risk", *STATISTICS]
    assert (found.attrs["neurons"], found.attrs["replicas"]) == (N, R)
    s = 1.0 + np.arange(TIMES)
    exact = np.stack([9 * s**2, s**2, 2 * s**4, np.ones(TIMES)])
    assert np.all(abs(found["n_var"].values - exact) < 4 * found["stderr"].values)
    assert np.all(found["stderr"].values < 0.12 * exact)  # √(2/R) = 7 % where the statistic is nearly normal


def test_the_standard_error_is_that_of_repeated_experiments():
    """Variance of normal numbers: standard error n σ² √(2/(R − 1)); the spread of 300 experiments shows it to 4 %."""
    values = np.random.default_rng(1).normal(size=(40, 300))
    n_var, stderr = scaled_variance(values, 7)
    exact = 7 * np.sqrt(2 / 39)
    assert n_var.std() == pytest.approx(exact, rel=0.2)
    assert np.sqrt(np.mean(stderr**2)) == pytest.approx(exact, rel=0.2)
    assert np.mean(abs(n_var - 7) < 2 * stderr) > 0.88


def test_the_standard_error_is_the_jackknife():
    values = np.random.default_rng(2).gamma(1.0, size=9)
    left_out = np.array([np.var(np.delete(values, i), ddof=1) for i in range(9)])
    exact = np.sqrt(8 / 9 * np.sum((left_out - left_out.mean()) ** 2))
    n_var, stderr = scaled_variance(values, 5)
    assert n_var == pytest.approx(5 * np.var(values, ddof=1), rel=1e-13)
    assert stderr == pytest.approx(5 * exact, rel=1e-12)


def test_neurons_that_move_together_have_n_times_the_variance():
    rng = np.random.default_rng(3)
    together = np.broadcast_to(rng.normal(size=(R, TIMES, 1, 1)), (R, TIMES, N, 1))
    found = fluctuations(replicas(theta=together), {"mean": moment("r")}).sel(statistic="mean")
    assert np.all(abs(found["n_var"].values - N) < 4 * found["stderr"].values)


def test_equal_replicas_do_not_fluctuate():
    theta = np.broadcast_to(np.arange(4.0)[None, None, :, None], (5, TIMES, 4, 1))
    found = fluctuations(replicas(theta=theta), {"mean": moment("r")})
    assert np.all(found["n_var"].values == 0) and np.all(found["stderr"].values == 0)


def test_the_risk_alone_needs_no_statistics():
    found = fluctuations(replicas())
    assert found["n_var"].shape == (1, TIMES)
    np.testing.assert_array_equal(found["time"].values, np.arange(TIMES))


ONE = replicas(4, 5)
REFUSED = {
    "a dataset": (lambda: fluctuations(ONE.dataset), "needs a wl.Solution, got 'Dataset'"),
    "two replicas": (lambda: fluctuations(replicas(4, 2)), "at least 3 replicas, got 2"),
    "one run": (lambda: fluctuations(wl.Solution(ONE.dataset.isel(replica=0))), "at least 3 replicas, got 1"),
    "a list": (lambda: fluctuations(ONE, [moment("r")]), "dictionary of functions"),
    "a word": (lambda: fluctuations(ONE, {"m": "r"}), "dictionary of functions"),
    "named risk": (lambda: fluctuations(ONE, {"risk": moment("r")}), "always there"),
    "many values": (
        lambda: fluctuations(ONE, {"all": average(lambda x: np.tile(x, 2))}),
        "'all' must return one number, got 'float64 of shape \\(2,\\)'",
    ),
    "words": (lambda: fluctuations(ONE, {"w": lambda cloud: "x"}), "'w' must return one number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(wl.InputError, match=sentence) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 300
