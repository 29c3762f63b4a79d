"""Training on a data set: the risk is the mean over its rows, and a test set is only looked at."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import widelimit as wl

N = 6


def digits():
    """Zeros against ones: scikit-learn's if it is installed, else two clouds of the same shape."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        rng = np.random.default_rng(0)
        y = np.repeat([-1.0, 1.0], 60)
        return wl.data.empirical(rng.normal(size=(120, 64)) / 4 + np.outer(y, np.linspace(0, 0.3, 64)), y)
    x, y = load_digits(n_class=2, return_X_y=True)
    return wl.data.empirical((x - x.mean()) / 16, 2.0 * y - 1)


def problem(data, **more):
    start = wl.initial.gaussian(1.0, a=wl.initial.normal(0, 1), b=0.0)
    return wl.Problem(data, wl.neurons.ridge("tanh", outer="trained", bias="trained"), start, **more)


def mean_square(data, theta):
    """(1/M) Σ_q (y_q − f(x_q))², with numpy."""
    f = np.mean(theta[:, 0] * np.tanh(data.x @ theta[:, 2:].T + theta[:, 1]), axis=1)
    return np.mean((data.y - f) ** 2)


@pytest.fixture(scope="module")
def parts():
    return digits().split(0.25, seed=1)


@pytest.fixture(scope="module")
def flowed(parts):
    train, test = parts
    case = problem(train)
    unseen = wl.observables.risk(wl.landscape(replace(case, data=test)))
    return wl.solve(case, wl.ParticleFlow(N, rtol=1e-6), 4.0, save=9, keep="full", observers={"unseen": unseen})


@pytest.mark.more
def test_the_flow_on_a_data_set_only_descends(flowed):
    assert np.all(np.diff(flowed.risk) < 0) and flowed.risk[-1] < 0.3 * flowed.risk[0]


@pytest.mark.more
def test_the_risk_is_the_mean_over_the_rows_and_has_no_error(flowed, parts):
    train, _ = parts
    for t, risk in zip(flowed.times, flowed.risk, strict=True):
        assert risk == pytest.approx(mean_square(train, flowed.at(t).theta), rel=1e-12)
    assert not flowed.error.any()


def test_the_risk_of_a_test_set_is_observed_beside_it(flowed, parts):
    _, test = parts
    for t, seen in zip(flowed.times, flowed.dataset["unseen"].values, strict=True):
        assert seen == pytest.approx(mean_square(test, flowed.at(t).theta), rel=1e-12)
    assert np.all(flowed.dataset["unseen"].values != flowed.risk)
    assert flowed.dataset["unseen"].values[-1] < flowed.dataset["unseen"].values[0]


def plain_sgd(data, theta, steps, step, seed):
    """The textbook loop over the stream of this seed, gradients by hand."""
    from widelimit.dynamics.block_layout import layout_for
    from widelimit.solving.streams import stream

    size = layout_for(1).steps
    blocks = [data.block(stream(seed, "data"), k, size, float) for k in range(-(-steps // size))]
    x, y = (np.concatenate([np.asarray(b[i]) for b in blocks])[:steps] for i in (0, 1))
    for inputs, label in zip(x, y, strict=True):
        a, b, w = theta[:, 0], theta[:, 1], theta[:, 2:]
        value = np.tanh(w @ inputs + b)
        error = label - np.mean(a * value)
        slope = error * a * (1 - value**2)
        theta = theta + 2 * step * np.column_stack([error * value, slope, slope[:, None] * inputs])
    return theta


@pytest.mark.some(1)
@pytest.mark.parametrize("replacement", [True, False], ids=["with replacement", "without"])
def test_sgd_on_a_data_set_is_the_plain_loop_over_its_stream(replacement):
    """Two data sets of one shape: what was compiled for the one must not serve the other."""
    rng = np.random.default_rng(2 + replacement)
    data = wl.data.empirical(rng.normal(size=(13, 3)), rng.normal(size=13), replacement)
    start = rng.normal(size=(N, 5))
    case = replace(problem(data), initial=wl.initial.array(start))
    solution = wl.solve(case, wl.SGD(N, 0.01), 2.0, seed=4, save=[0.0, 0.7, 2.0])  # 200 steps: more than one block
    expected = plain_sgd(data, start, 200, 0.01, seed=4)
    np.testing.assert_allclose(solution.final.theta, expected, rtol=0, atol=1e-11)
    assert solution.risk[-1] == pytest.approx(mean_square(data, expected), rel=1e-10)


@pytest.mark.more
def test_sgd_in_small_steps_stays_beside_the_flow_on_a_data_set(parts):
    """Noise of order √step."""
    case = problem(parts[0])
    flow = wl.solve(case, wl.ParticleFlow(N, rtol=1e-6), 1.0, seed=1, save=2)
    steps = wl.solve(case, wl.SGD(N, 2e-4), 1.0, seed=1, save=2)
    assert abs(flow.risk[-1] - steps.risk[-1]) <= 10 * np.sqrt(2e-4) * flow.risk[0]
    assert flow.risk[-1] < 0.8 * flow.risk[0]


@pytest.mark.slow
def test_noise_on_a_data_set_goes_step_by_step_and_has_its_variance():
    data = wl.data.empirical(np.zeros((2, 2)), np.zeros(2))  # no signal: a random walk
    start = wl.initial.array(np.zeros((1000, 4)))
    case = replace(problem(data, beta=8.0), initial=start)
    last = wl.solve(case, wl.SGD(1000, 0.01), 0.2, seed=1, save=2).final.theta[:, 2:]
    variance = 4 * 0.2 / 8
    assert abs(np.mean(last**2) - variance) <= 5 * variance * np.sqrt(2 / last.size)


def draw(key, n):
    x = jax.random.normal(key, (n, 3))
    return x, x[:, 0] * x[:, 1]


@pytest.mark.more
def test_a_sampler_trains_and_states_the_error_of_its_risk():
    case = problem(wl.data.sampler(draw, 3, samples=500))
    solution = wl.solve(case, wl.SGD(N, 0.01), 0.5, save=2)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(50_000, 3))
    fresh = wl.data.empirical(x, x[:, 0] * x[:, 1])
    error = solution.error[-1]
    assert 0 < error < 0.5
    assert abs(solution.risk[-1] - mean_square(fresh, solution.final.theta)) <= 5 * error
