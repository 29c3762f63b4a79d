"""The scale α of a network: σ* → α σ* and M → M/α², in every dynamics; paired starts."""

import math
from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl
from widelimit.solving.streams import stream

ALPHA = 3.0
START = wl.initial.gaussian(1.0, a=wl.initial.normal(0.5, 1.0), b=0.1)
PLAIN = wl.Problem(wl.data.single_index(8, "He2(z)"), wl.neurons.ridge("tanh", "trained", "trained"), START, ridge=0.1)
BY_HAND = replace(
    PLAIN,
    neuron=wl.neurons.ridge("3*tanh(x)", "trained", "trained"),
    mobility={name: 1 / ALPHA**2 for name in ("a", "b", "w")},
)
METHODS = [wl.SGD(6, 0.01), wl.GD(6, 0.01)]
LONG = [wl.MeanField(16), wl.ParticleFlow(6), wl.NonlinearFlow(6, points=16), wl.SGD(6, 0.01, dtype="float32")]
LANES = [*METHODS, *(pytest.param(method, marks=pytest.mark.slow) for method in LONG)]


@pytest.mark.more
@pytest.mark.parametrize("method", LANES, ids=lambda method: type(method).__name__)
def test_the_scale_is_a_louder_neuron_that_moves_more_slowly(method):
    got = wl.solve(replace(PLAIN, alpha=ALPHA), method, 0.2, save=2)
    wished = wl.solve(BY_HAND, method, 0.2, save=2)
    np.testing.assert_allclose(got.risk, wished.risk, rtol=1e-12)
    np.testing.assert_allclose(got.final.theta, wished.final.theta, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", [wl.SGD(5, 0.01), wl.GD(5, 0.01), wl.ParticleFlow(5, noise_step=0.01)])
def test_so_it_is_with_noise(method):
    got, wished = (wl.solve(replace(p, beta=7.0), method, 0.1, save=2) for p in (replace(PLAIN, alpha=ALPHA), BY_HAND))
    np.testing.assert_allclose(got.final.theta, wished.final.theta, rtol=0, atol=1e-12)


@pytest.mark.more
def test_a_scale_of_one_changes_no_bit():
    once, again = (wl.solve(p, wl.SGD(6, 0.01), 0.1, save=2) for p in (PLAIN, replace(PLAIN, alpha=1)))
    assert np.array_equal(once.final.theta, again.final.theta)
    assert replace(PLAIN, alpha=1).network is PLAIN.neuron and replace(PLAIN, alpha=1).rates == PLAIN.rates


def test_a_custom_neuron_has_it_too():
    def neuron(x, theta):
        return theta[0] * x[0]

    def louder(x, theta):
        return ALPHA * theta[0] * x[0]

    rows, labels = np.array([[1.0], [2.0]]), np.array([1.0, -1.0])
    start, data = wl.initial.array([[0.5], [1.0]]), wl.data.empirical(rows, labels)
    got = wl.Problem(data, wl.neurons.custom(neuron, 1), start, alpha=ALPHA)
    wished = wl.Problem(data, wl.neurons.custom(louder, 1), start, mobility={"w": 1 / ALPHA**2})
    method = wl.GD(2, 0.1)
    np.testing.assert_allclose(
        wl.solve(got, method, 0.3, save=2).final.theta, wl.solve(wished, method, 0.3, save=2).final.theta, atol=1e-14
    )


def test_a_louder_network_has_the_risk_of_louder_outputs():
    theta, x = np.array([[1.0, 0.0, *np.eye(8)[0]], [0.5, 0.1, *np.eye(8)[1]]]), np.eye(8)
    f = ALPHA * (theta[:, 0] * np.tanh(x @ theta[:, 2:].T + theta[:, 1])).mean(axis=1)
    got = wl.observables.test_risk(replace(PLAIN, alpha=ALPHA), theta, x, np.zeros(8))
    assert got.risk == pytest.approx(np.mean(f**2), rel=1e-13)


@pytest.mark.slow
def test_lazy_is_the_root_of_the_width():
    lazy = replace(PLAIN, alpha="lazy")
    run = wl.solve(lazy, wl.SGD(9, 0.01), 0.05, save=2)
    assert run.problem.alpha == 3.0 and lazy.at_width(16).alpha == 4.0
    assert np.array_equal(
        run.final.theta, wl.solve(replace(PLAIN, alpha=3.0), wl.SGD(9, 0.01), 0.05, save=2).final.theta
    )


def test_a_file_holds_scale_and_paired_start():
    paired = replace(PLAIN, initial=wl.initial.paired(START), alpha="lazy")
    spec = wl.Spec(paired, [wl.SGD(10, 0.01)], t_end=1.0)
    assert wl.Spec.from_toml(spec.to_toml()) == spec and 'alpha = "lazy"' in spec.to_toml()


@pytest.mark.more
def test_paired_neurons_give_nothing_at_the_start():
    paired = replace(PLAIN, initial=wl.initial.paired(START), alpha=100.0)
    theta = np.asarray(paired.sample_initial(stream(0, "initial"), 6))
    np.testing.assert_array_equal(theta[3:, 0], -theta[:3, 0])
    np.testing.assert_array_equal(theta[3:, 1:], theta[:3, 1:])
    np.testing.assert_array_equal(theta[:3], PLAIN.sample_initial(stream(0, "initial"), 3))
    x = np.random.default_rng(0).normal(size=(5, 8))
    assert wl.observables.test_risk(paired, theta, x, np.zeros(5)).risk < 1e-25
    limit = wl.solve(paired, wl.MeanField(16, check=False), 0.01, save=2)
    assert limit.risk[0] == pytest.approx(2.0, abs=1e-10)  # E y², whatever α is


@pytest.mark.slow
def test_the_limit_of_pairs_is_that_of_either_sign():
    """Signs are even: the paired law is the law itself."""
    start = wl.initial.gaussian(1.0, a=wl.initial.signs())
    neuron = wl.neurons.ridge("tanh", "trained")
    plain, paired = (
        wl.Problem(wl.data.single_index(math.inf, "z"), neuron, law) for law in (start, wl.initial.paired(start))
    )
    risks = [wl.solve(p, wl.MeanField(16, check=False), 0.3, save=3).risk for p in (plain, paired)]
    np.testing.assert_allclose(*risks, rtol=1e-7)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (lambda: replace(PLAIN, alpha=0.0), "alpha must be a number > 0"),
        (lambda: replace(PLAIN, alpha=-1), "alpha must be a number > 0"),
        (lambda: replace(PLAIN, alpha="big"), 'or "lazy"'),
        (lambda: replace(PLAIN, alpha=math.nan), "alpha must be a number > 0"),
        (lambda: wl.solve(replace(PLAIN, alpha="lazy"), wl.MeanField(), 1.0), "needs a number of neurons"),
        (lambda: wl.landscape(replace(PLAIN, alpha="lazy")), "needs a number of neurons"),
        (lambda: wl.solve(replace(PLAIN, initial=wl.initial.paired(START)), wl.SGD(5, 0.1), 1.0), "even number"),
        (lambda: wl.initial.paired(wl.initial.gaussian(1.0)), "law of the outer weight"),
        (lambda: wl.initial.paired(wl.initial.array([[1.0]])), "gaussian or initial.sphere"),
        (lambda: wl.Spec.from_toml('[problem]\nalpha = "loud"'), "alpha"),
    ],
)
def test_misuse_is_answered_in_one_sentence(bad, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        bad()
