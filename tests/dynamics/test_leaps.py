"""Leaps of gradient descent against the steps they stand for."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics import gd
from widelimit.dynamics.leaps import descend, evenly, leap, scheme
from widelimit.solving.clock import Chunk


def weights_of_trees(a, b):
    """Σ b …, for the eight trees of up to four nodes."""
    c = a.sum(axis=1)
    return [b.sum(), b @ c, b @ c**2, b @ (a @ c), b @ c**3, b @ (c * (a @ c)), b @ (a @ c**2), b @ (a @ (a @ c))]


@pytest.mark.parametrize("m", [4, 5, 6, 7, 12, 31])
def test_a_leap_has_the_weights_of_its_steps_for_every_tree_of_four_nodes(m):
    euler = np.tri(m, k=-1) / m, np.full(m, 1 / m)
    ours = (np.asarray(x) / m for x in scheme(m))
    np.testing.assert_allclose(weights_of_trees(*ours), weights_of_trees(*euler), rtol=1e-13)


def force(theta):
    return 0.01 * jnp.stack([jnp.sin(theta[1]) - theta[0], theta[0] ** 2 - jnp.tanh(theta[1])])


def stepped(theta, count):
    for _ in range(count):
        theta = theta + force(theta)
    return theta


def test_the_error_of_a_leap_is_of_order_five_and_four_steps_are_exact():
    theta = jnp.array([1.0, 0.5])
    errors = [float(jnp.abs(leap(force, theta, m) - stepped(theta, m)).max()) for m in (16, 32)]
    assert errors[1] / errors[0] == pytest.approx(32, rel=0.25)
    np.testing.assert_allclose(leap(force, theta, 4), stepped(theta, 4), atol=1e-15)


jitted = jax.jit(lambda theta, chunk, tolerance=1e-8: descend(force, theta, chunk, tolerance))


@pytest.mark.parametrize("count", [0, 1, 11, 12, 257])
def test_any_number_of_steps_is_reached_within_the_tolerance(count):
    theta = jnp.array([1.0, 0.5])
    found = jitted(theta, Chunk(3, 3 + count, 3.0 + count))
    np.testing.assert_allclose(found, stepped(theta, count), atol=2e-8, rtol=0)


def test_a_larger_tolerance_is_used_and_kept():
    theta, exact = jnp.array([1.0, 0.5]), stepped(jnp.array([1.0, 0.5]), 400)
    fine, rough = (np.abs(jitted(theta, Chunk(0, 400, 400.0), rtol) - exact).max() for rtol in (1e-8, 1e-4))
    assert fine < 2e-8 < 100 * fine < rough < 4e-4


@pytest.mark.parametrize(
    "left, most, half", [(500, 128, 125), (500, 300, 250), (501, 100, 83), (11, 128, 5), (0, 6, 0)]
)
def test_what_is_left_is_cut_into_leaps_of_one_length(left, most, half):
    assert evenly(left, most) == half
    assert half <= most and 0 <= left - 2 * half * max(1, math.ceil(left / (2 * most))) < 2 * math.ceil(left / most + 1)


def test_a_last_step_may_be_a_share_of_one():
    theta = jnp.array([1.0, 0.5])
    whole = stepped(theta, 40)
    np.testing.assert_allclose(jitted(theta, Chunk(0, 41, 40.25)), whole + 0.25 * force(whole), atol=2e-8, rtol=0)


def test_a_force_that_changes_within_a_step_is_followed_step_by_step():
    theta, stiff = jnp.array([0.3]), lambda theta: -1.9 * jnp.sin(theta) * (1 + jnp.cos(9 * theta))
    plain = theta
    for _ in range(60):
        plain = plain + stiff(plain)
    np.testing.assert_allclose(descend(stiff, theta, Chunk(0, 60, 60.0), 1e-8), plain, atol=1e-7)


@pytest.mark.slow
def test_descent_in_leaps_is_descent_in_steps(monkeypatch):
    ramp = wl.activations.ramp((0.5, -2.5), (1.5, 7.5))
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge(ramp), wl.initial.gaussian(0.4))
    risks = []
    for many in (256, 10**9):
        monkeypatch.setattr(gd, "MANY", many)
        run = wl.solve(problem, wl.GD(256, 1e-3), 0.1505, save=4, keep="full")
        risks.append((run.risk, run.dataset["theta"].values))
    np.testing.assert_allclose(risks[0][0], risks[1][0], rtol=1e-7)
    np.testing.assert_allclose(risks[0][1], risks[1][1], atol=1e-6)
