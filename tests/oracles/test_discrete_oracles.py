"""Landscapes of corners, spheres and data sets against plain sums, angles and Monte Carlo."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import all_corners, data_set, infinite_cube, on_the_sphere
from library_problems import (
    assert_as_stated,
    assert_numbers,
    cloud_of,
    numbers_of,
    problem_of,
    random_full,
    random_rows,
)
from link_terms import LINKS

import widelimit as wl

WEIGHTS = np.array([0.2, 0.3, 0.5])


def staircase(z):
    return z[:, 0] + z[:, 0] * z[:, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "tanh", "cos"])
def test_the_cube_in_infinite_dimension(name):
    theta = random_rows(np.random.default_rng(0), 3, "ab", 2, 1)
    land = wl.landscape(problem_of(wl.data.hypercube(math.inf, "z1 + z1*z2"), name, "ab"), reduced=True)
    wanted = infinite_cube(SIGMAS[name], 2, staircase, "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("d", [4, 8])
def test_the_cube_with_all_its_corners(d):
    """The risk is that of a draw; it must lie within four standard errors of the sum over all 2^d corners."""
    theta, x = random_full(np.random.default_rng(1), 3, "ab", d), all_corners(d)
    own = data_set(SIGMAS["relu"], x, staircase(x), "ab")
    land = wl.landscape(problem_of(wl.data.hypercube(d, "z1 + z1*z2"), "relu", "ab"))
    V, _, gradient, risk = own.numbers(theta, WEIGHTS)
    phi, slopes = own.features(theta)
    gap, samples = WEIGHTS @ phi - own.y, 4096
    rho = cloud_of(land, theta, WEIGHTS)
    assert abs(land.risk(rho) - risk) < 4 * (gap**2).std() / math.sqrt(samples)
    assert (np.abs(np.asarray(land.V(theta)) - V) <= 4 * (phi * own.y).std(axis=1) / math.sqrt(samples)).all()
    spread = (gap[None, :, None] * slopes).std(axis=1)
    assert (np.abs(np.asarray(land.grad_psi(theta, rho)) - gradient) <= 5 * spread / math.sqrt(samples)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "d", "name"), [("He2(z)", 10, "tanh"), ("sign(z)", 6, "erf"), ("z1*z2", 12, "sigmoid")]
)
def test_the_sphere_in_reduced_coordinates(text, d, name):
    link = LINKS[text]
    theta = random_rows(np.random.default_rng(2), 3, "ab", link.k, 1)
    land = wl.landscape(problem_of(wl.data.sphere(d, text), name, "ab"), reduced=True)
    wanted = on_the_sphere(SIGMAS[name], d, link, "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("row", [(1.0, 30.0, 0.5, 30.0), (1.0, 10.0, 0.5, 8.0)])
def test_long_neurons_on_the_sphere_are_as_right_as_they_say(row):
    """A tanh far from the middle of the sphere and narrower than the nodes there."""
    theta, weights = np.array([row]), np.ones(1)
    land = wl.landscape(problem_of(wl.data.sphere(15, "z"), "tanh", "ab"), reduced=True)
    wanted = on_the_sphere(SIGMAS["tanh"], 15, LINKS["z"], "ab").numbers(theta, weights)
    assert_as_stated(land, theta, weights, wanted, 0.1)


@pytest.mark.slow
def test_the_sphere_in_full_coordinates():
    """A draw of 4096 points against one of 400,000."""
    d, rng = 7, np.random.default_rng(3)
    theta = random_full(rng, 3, "ab", d)
    x = rng.normal(size=(400_000, d))
    x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
    own = data_set(SIGMAS["softplus"], x, LINKS["He2(z)"](x[:, :1]), "ab")
    land = wl.landscape(problem_of(wl.data.sphere(d, "He2(z)"), "softplus", "ab"))
    phi, _ = own.features(theta)
    square = (WEIGHTS @ phi - own.y) ** 2
    error = square.std() * math.sqrt(1 / 4096 + 1 / len(x))
    assert abs(land.risk(cloud_of(land, theta, WEIGHTS)) - square.mean()) < 4 * error


ROWS = np.random.default_rng(4).normal(size=(17, 3))
LABELS = np.random.default_rng(5).normal(size=17)


def test_a_data_set_is_a_plain_sum():
    theta = random_full(np.random.default_rng(6), 3, "ab", 3)
    land = wl.landscape(problem_of(wl.data.empirical(ROWS, LABELS), "tanh", "ab"))
    wanted = data_set(SIGMAS["tanh"], ROWS, LABELS, "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-13)


def bump(x, theta):
    return theta[0] * jnp.exp(-jnp.sum((x - theta[1:]) ** 2))


@pytest.mark.slow
def test_a_custom_neuron_on_a_data_set():
    """V, U and R as sums; the gradient by differences of fourth order."""
    theta, h = np.random.default_rng(7).normal(size=(3, 4)), 1e-3
    problem = wl.Problem(wl.data.empirical(ROWS, LABELS), wl.neurons.custom(bump, 4), wl.initial.array(theta))
    land = wl.landscape(problem)

    def values(theta):
        return theta[:, :1] * np.exp(-((ROWS[None] - theta[:, None, 1:]) ** 2).sum(-1))

    phi, F = values(theta), WEIGHTS @ values(theta)

    def psi(i, row):
        return np.mean((F - LABELS) * values(np.array([row]))[0])

    V, U, gradient, risk = numbers_of(land, theta, WEIGHTS)
    np.testing.assert_allclose(V, -phi @ LABELS / 17, rtol=1e-12)
    np.testing.assert_allclose(U, phi @ phi.T / 17, rtol=1e-12)
    assert risk == pytest.approx(np.mean((LABELS - F) ** 2), rel=1e-12)
    for i, row in enumerate(theta):
        for j, e in enumerate(h * np.eye(4)):
            near, far = psi(i, row + e) - psi(i, row - e), psi(i, row + 2 * e) - psi(i, row - 2 * e)
            assert gradient[i, j] == pytest.approx((8 * near - far) / (12 * h), abs=1e-9)


@pytest.mark.slow
def test_a_flow_on_a_drawn_law_reports_the_risk_of_fresh_draws():
    """Trained on 512 noisy draws the network fits them; what is reported must be the risk of the law itself."""
    d, n, noise = 10, 100, 1.0
    data = wl.data.hypercube(d, "z1*z2", noise=noise, samples=512)
    neuron = wl.neurons.ridge("tanh", outer="trained", bias="trained")
    start = wl.initial.gaussian(3.0, a=wl.initial.normal(0, 20), b=wl.initial.normal(0, 1))
    run = wl.solve(wl.Problem(data, neuron, start), wl.ParticleFlow(n, rtol=1e-4, atol=1e-6), 5.0, save=2)
    x = all_corners(d)
    own = data_set(SIGMAS["tanh"], x, x[:, 0] * x[:, 1], "ab")
    gap = own.features(run.final.theta)[0].mean(axis=0) - own.y
    fourth = np.mean(gap**4 + 6 * gap**2 * noise**2 + 3 * noise**4)
    risk = float(np.mean(gap**2)) + noise**2
    error = math.sqrt((fourth - risk**2) / 512)
    assert abs(run.risk[-1] - risk) < 4 * error
