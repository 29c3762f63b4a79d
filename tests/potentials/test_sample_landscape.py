"""Laws without a formula: what is descended on is a draw, what is reported is the risk of the law."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl

TARGET = "z1 + z1*z2 + z1*z2*z3"
RELU = wl.neurons.ridge("relu", outer="trained", bias="trained")
START = wl.initial.gaussian(1.0, a=wl.initial.normal(0.0, 1.0), b=0.0)
N = 40


def target(x):
    return x[:, 0] + x[:, 0] * x[:, 1] + x[:, 0] * x[:, 1] * x[:, 2]


def relu_squares(theta, x):
    f = np.maximum(x @ theta[:, 2:].T + theta[:, 1], 0) @ theta[:, 0] / len(theta)
    return (target(x) - f) ** 2


def brute_force(theta, d, draws=1_000_000, chunk=50_000):
    """R of ReLU networks on the hypercube and its error, from draws of NumPy."""
    rng = np.random.default_rng(11)
    parts = [relu_squares(theta, 2.0 * rng.integers(0, 2, (chunk, d)) - 1) for _ in range(draws // chunk)]
    squares = np.concatenate(parts)
    return squares.mean(), squares.std() / math.sqrt(draws)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [512, 4096])
def test_the_risk_of_a_flow_is_that_of_the_law_and_not_that_of_the_draw_it_descends_on(samples):
    case = wl.Problem(wl.data.hypercube(40, TARGET, samples=samples), RELU, START)
    run = wl.solve(case, wl.GD(N, 0.1), 15.0, seed=1, save=2)
    theta, land = run.final.theta, wl.landscape(case)
    R, error = brute_force(theta, 40)
    own = land.risk_error(theta)  # of a report, without the draw that was descended on
    assert own < run.error[-1]
    assert abs(run.risk[-1] - R) <= 3 * math.hypot(own, error)
    assert abs(land.risk(theta) - R) <= 3 * math.hypot(land.risk_error(theta), error)
    descended = 2 * float(land.energy_of(jnp.asarray(theta), jnp.full(N, 1 / N)))
    assert own < 0.1 * R
    assert R - descended > 5 * own  # the network knows its draw better than the law


# ---- the error is that of the estimate, whatever the law


def by_hand(x, theta):
    return theta[0] * jnp.tanh(theta[1:] @ x)


def product(key, n):
    x = jax.random.normal(key, (n, 4))
    return x, x[:, 0] * x[:, 1]


HAND, TANH = wl.neurons.custom(by_hand, 5), wl.neurons.ridge("tanh", outer="trained")
ROWS = np.random.default_rng(3).normal(size=(6, 5))
THREE = {"deviations": [0.5, 1.0, 2.0], "labels": [0.0, 1.0, -1.0], "weights": [0.2, 0.3, 0.5]}


def with_a_formula(law):
    start = wl.initial.gaussian(1.0, a=1.0)
    return wl.landscape(wl.Problem(law, TANH, start)).risk(ROWS)


def on_all_corners():
    x = np.array(list(itertools.product((1.0, -1.0), repeat=4)))
    f = np.tanh(x @ ROWS[:, 1:].T) @ ROWS[:, 0] / 6
    return np.mean((x[:, 0] * x[:, 1] - f) ** 2) + 0.25


def linear_on_the_sphere():
    """y = x_1², f = ⟨m, x⟩: E x_1⁴ + |m|², odd terms vanish."""
    m = (ROWS[:, :1] * ROWS[:, 1:]).mean(axis=0)
    return 3 * 4 / 6 + m @ m


LINE = wl.neurons.ridge("x", outer="trained")
CASES = {  # law, neuron, and R by another route
    "hypercube": (wl.data.hypercube(4, "z1*z2", noise=0.5, samples=64), TANH, on_all_corners),
    "sphere": (wl.data.sphere(4, "z**2", samples=400), LINE, linear_on_the_sphere),
    "single index": (
        wl.data.single_index(4, "z**2", 0.3), HAND,
        lambda: with_a_formula(wl.data.single_index(4, "z**2", 0.3)),
    ),
    "multi index": (
        wl.data.multi_index(4, 2, "z1*z2"), HAND, lambda: with_a_formula(wl.data.multi_index(4, 2, "z1*z2")),
    ),
    "classes": (
        wl.data.gaussian_classes(4, **THREE, samples=300), HAND,
        lambda: with_a_formula(wl.data.gaussian_classes(4, **THREE)),
    ),
    "sampler": (
        wl.data.sampler(product, 4, samples=400), TANH, lambda: with_a_formula(wl.data.multi_index(4, 2, "z1*z2")),
    ),
}  # fmt: skip
DRAWS = 200


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the risk of nearly parallel neurons")
@pytest.mark.parametrize(
    "name", ["sampler", *(pytest.param(n, marks=pytest.mark.slow) for n in CASES if n != "sampler")]
)
def test_the_stated_error_covers_the_truth_as_often_as_it_should(name):
    """Two standard errors hold the truth in 95 % of 200 draws, up to 3 deviations of that count and the tails."""
    law, neuron, exact = CASES[name]
    start = wl.initial.array(ROWS, coordinates="full" if neuron is not HAND else None)
    land, R = wl.landscape(wl.Problem(law, neuron, start)), exact()
    stack = jnp.broadcast_to(jnp.asarray(ROWS), (DRAWS, *ROWS.shape))  # as many replicas, each on its own draw
    found, errors = (np.asarray(part) for part in land.estimate(stack, jnp.full(6, 1 / 6)))
    covered = np.mean(np.abs(found - R) <= 2 * errors)
    assert 0.9 <= covered <= 0.99
    assert abs(np.mean(found) - R) <= 3 * np.std(found) / math.sqrt(DRAWS)
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(np.std(found), rel=0.2)  # 1/√(2·200) is 5 %, tails


@pytest.mark.slow
def test_parts_and_mirror_images_leave_less_to_chance_than_plain_draws():
    law = wl.data.hypercube(40, TARGET)
    plain = wl.data.sampler(lambda key, n: law.sample(key, n, float), 40, samples=law.samples)
    theta = np.random.default_rng(4).normal(size=(N, 42)) / np.array([1.0, 1.0, *[40**0.5] * 40])
    ours, theirs = (wl.landscape(wl.Problem(data, RELU, START)).risk_error(theta) for data in (law, plain))
    assert ours < 0.1 * theirs


@pytest.mark.more
def test_the_noise_of_the_labels_is_exact():
    quiet, noisy = (wl.landscape(wl.Problem(wl.data.hypercube(9, TARGET, noise), RELU, START)) for noise in (0.0, 0.7))
    theta = np.random.default_rng(2).normal(size=(4, 11))
    assert noisy.risk(theta) - quiet.risk(theta) == pytest.approx(0.49, rel=1e-12)
    assert noisy.risk_error(theta) == quiet.risk_error(theta) > 0
    np.testing.assert_array_equal(noisy.V(theta), quiet.V(theta))


# ---- who shares a draw


@pytest.mark.slow
def test_each_seed_and_replica_reports_on_a_draw_of_its_own_at_all_times_the_same():
    theta = np.random.default_rng(5).normal(size=(3, 8))
    frozen = {"a": 0.0, "b": 0.0, "w": 0.0}  # nothing moves: all that can differ is the draw
    case = wl.Problem(wl.data.hypercube(6, TARGET, samples=64), RELU, wl.initial.array(theta, coordinates="full"),
                      mobility=frozen)  # fmt: skip
    single, other = (wl.solve(case, wl.GD(3, 0.1), 0.2, seed=s, save=3).risk for s in (0, 1))
    many = wl.solve(case, wl.SGD(3, 0.1), 0.2, replicas=4, save=3).risk
    assert (many == many[:, :1]).all()
    np.testing.assert_allclose(many[0], single, rtol=1e-12)  # another dynamics of the same seed meets the same draw
    assert len({*many[:, 0], other[0]}) == 5


@pytest.mark.slow
def test_the_error_has_one_value_for_each_replica_and_is_zero_for_a_data_set():
    rng = np.random.default_rng(6)
    theta, p = jnp.asarray(rng.normal(size=(2, 3, 8))), jnp.asarray([0.2, 0.3, 0.5])
    land = wl.landscape(wl.Problem(wl.data.hypercube(6, TARGET, samples=64), RELU, START))
    errors = land.risk_error_of(theta, p)
    assert errors.shape == (2,) and land.risk_error_of(theta[0], p).shape == ()
    assert errors[0] == pytest.approx(land.risk_error(wl.Cloud(theta[0], np.asarray(p), land.coordinates)), rel=1e-12)
    table = wl.data.empirical(rng.normal(size=(5, 6)), rng.normal(size=5))
    rows = wl.landscape(wl.Problem(table, RELU, START))
    np.testing.assert_array_equal(rows.risk_error_of(theta, p), [0.0, 0.0])
    assert rows.reporting(jax.random.key(1)).risk(theta[0]) == rows.risk(theta[0])


# ---- a custom neuron beside the ridge neuron it is

D = 10


def squared(x, theta):
    return theta[0] * (theta[1:] @ x) ** 2


def quadratic(neuron, samples):
    theta = np.random.default_rng(7).normal(size=(8, 1 + D)) * np.array([1.0, *[D**-0.5] * D])
    return wl.Problem(wl.data.single_index(D, "z**2", samples=samples), neuron, wl.initial.array(theta))


@pytest.mark.slow
def test_a_custom_neuron_agrees_with_its_ridge_neuron_within_the_bar_and_its_flow_with_enough_samples():
    """The bar is that of the network found; its distance from the flow of the law falls like samples^(−1/2)."""
    ridge = quadratic(wl.neurons.ridge("x**2", outer="trained"), 64)
    exact, formula = wl.solve(ridge, wl.GD(8, 0.01), 0.5, save=5), wl.landscape(ridge)
    gaps = {}
    for samples in (1024, 65_536):
        case = quadratic(wl.neurons.custom(squared, 1 + D), samples)
        run = wl.solve(case, wl.GD(8, 0.01), 0.5, save=5, keep="full")
        land = wl.landscape(case)
        for t, R in zip(run.times, run.risk, strict=True):
            theta = run.at(t).theta
            assert abs(R - formula.risk(theta)) <= 3.5 * land.risk_error(theta)
        gaps[samples] = np.abs(run.risk / exact.risk - 1).max()
    assert gaps[65_536] < 0.05 and gaps[65_536] < gaps[1024] / 3  # 1/8 in the mean


# ---- other users of the landscape of a drawn law


def line(key, n):
    x = jax.random.normal(key, (n, 1))
    return x, x[:, 0]


@pytest.mark.slow
def test_the_gibbs_law_of_a_drawn_law_states_the_risk_on_fresh_draws():
    """y = x, f = m x: R = (1 − m)²."""
    case = wl.Problem(wl.data.sampler(line, 1, samples=200), wl.neurons.ridge("x"), wl.initial.gaussian(1.0),
                      ridge=0.5, beta=5.0)  # fmt: skip
    law = wl.gibbs(case)
    R = (1 - law.rho.mean(law.rho.column("w_1"))) ** 2
    assert 0 < abs(law.risk - R) <= 3 * law.error < 0.5 * R  # sd x²/√200 is 10 %
    assert law.gap == pytest.approx(law.error / 2, abs=1e-9)  # F has half of R; the iteration itself has ended


@pytest.mark.slow
def test_minimising_movements_descend_on_the_draw_of_the_flow():
    """Both descend on one draw and report on one draw: what is left is the error of the step."""
    case = wl.Problem(wl.data.sampler(line, 1, samples=100), wl.neurons.ridge("tanh"), wl.initial.gaussian(0.5))
    steps, flow = (wl.solve(case, method, 0.5, save=3).risk for method in (wl.JKO(0.01), wl.MeanField(400)))
    np.testing.assert_allclose(steps, flow, rtol=0, atol=0.01 * flow[0])
    assert flow[-1] < 0.7 * flow[0]
