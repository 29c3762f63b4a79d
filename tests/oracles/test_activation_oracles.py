"""Activations: what the library knows of them in closed form, against panels of numpy."""

import math

import numpy as np
import pytest
from activation_table import SIGMAS, through
from feature_landscapes import normal_smoothed
from gaussian_landscape import GaussianLandscape, GaussianLaw
from library_problems import assert_numbers, numbers_of, problem_of, random_full

import widelimit as wl

# a, b, u, r: at rest, small, large, far away
ROWS = np.array(
    [[1.0, 0.4, 0.0, 0.0], [1.0, 0.0, 0.0, 1e-3], [-0.7, 0.3, 0.5, 0.8], [2.0, -1.2, 3.0, 4.0], [1.0, 6.0, 0.0, 1.0]]
)
QUICK = ("relu", "ramp", "erf", "cos", "tanh", "silu", "h3(x)")
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SIGMAS]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", EVERY)
def test_smoothed_activations(name):
    """With y = 1, V = −a E σ(b + |w| G)."""
    land = wl.landscape(problem_of(wl.data.single_index(math.inf, "1 + 0*z"), name, "ab"), reduced=True)
    value = normal_smoothed(SIGMAS[name], ROWS[:, 1], np.hypot(ROWS[:, 2], ROWS[:, 3]))[0]
    np.testing.assert_allclose(np.asarray(land.V(ROWS)), -ROWS[:, 0] * value, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SIGMAS))
def test_slopes_of_smoothed_activations(name):
    """The gradient of V, with nothing else in the field: ρ is one neuron with a = 0."""
    land = wl.landscape(problem_of(wl.data.single_index(math.inf, "1 + 0*z"), name, "ab"), reduced=True)
    rows = ROWS[2:4]
    s = np.hypot(rows[:, 2], rows[:, 3])
    value, by_m, by_s = normal_smoothed(SIGMAS[name], rows[:, 1], s)
    wanted = -np.stack([value, *(rows[:, 0] * x for x in (by_m, by_s * rows[:, 2] / s, by_s * rows[:, 3] / s))], axis=1)
    found = np.asarray(land.grad_psi(rows, [[0.0, 0.0, 1.0, 1.0]]))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SIGMAS))
def test_pairs_of_neurons_of_every_activation(name):
    """V, U, ∇Ψ and R in full coordinates, with parallel, opposite and equal neurons among them."""
    rng = np.random.default_rng(7)
    theta, weights = random_full(rng, 4, "ab", 3), np.array([0.1, 0.2, 0.3, 0.4])
    theta[2, 2:], theta[3, 2:] = -0.6 * theta[1, 2:], 1.3 * theta[1, 2:]
    law = GaussianLaw((3,), ((0.5, 1.0, (1.6,)), (0.5, -1.0, (0.4,))))
    wanted = GaussianLandscape(law, SIGMAS[name], "ab", reduced=False).numbers(theta, weights)
    land = wl.landscape(problem_of(wl.data.gaussian_classes(3, 0.6), name, "ab"))
    assert_numbers(numbers_of(land, theta, weights), wanted, 1e-8)


KNOTS = [(1.5, 7.5), (0.5, -4.0), (0.0, -2.5)]


def test_knots_out_of_order_are_refused_or_sorted():
    try:
        sigma = wl.activations.piecewise_linear(KNOTS)
    except wl.InputError:
        sigma = wl.activations.piecewise_linear(sorted(KNOTS))
    x = np.linspace(-1.0, 3.0, 33)
    np.testing.assert_allclose(np.asarray(sigma(x)), through(sorted(KNOTS)).value(x), atol=1e-14)
    with pytest.raises(wl.InputError):
        wl.activations.hinges([1.0, 0.0], [1.0, -1.0])
