"""The network linearised at its start: exact solutions, and its coupling with the network itself."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import widelimit as wl
from widelimit.potentials.tangent_landscape import tangent_landscape
from widelimit.solving.streams import stream

ROWS = np.random.default_rng(1).normal(size=(7, 3))
LABELS = np.sin(ROWS[:, 0]) + ROWS[:, 1] * ROWS[:, 2]
START = wl.initial.gaussian(1.5, a=wl.initial.normal(0.2, 1.0))
PROBLEM = wl.Problem(wl.data.empirical(ROWS, LABELS), wl.neurons.ridge("tanh", "trained"), START)


def outputs(theta, alpha):
    """f on the rows, written out."""
    return alpha * (jnp.tanh(ROWS @ theta[:, 1:].T) @ theta[:, 0]) / len(theta)


def exact(alpha, n, t, ridge=0.0):
    """θ̄ and f̄ at time t: the flow is linear, dθ/dt = −(2n/α²) [Jᵀ (f̄ − y)/M + (λ/n) θ]."""
    theta = np.asarray(PROBLEM.sample_initial(stream(0, "initial"), n))
    f0, J = outputs(theta, alpha), np.asarray(jax.jacobian(outputs)(jnp.asarray(theta), alpha)).reshape(7, -1)
    M, pace = len(ROWS), 2 * n / alpha**2
    A = -pace * (J.T @ J / M + ridge / n * np.eye(J.shape[1]))
    b = -pace * (J.T @ (np.asarray(f0) - LABELS) / M + ridge / n * theta.ravel())
    block = np.block([[A, b[:, None]], [np.zeros((1, len(b) + 1))]])
    delta = expm(block * t)[:-1, -1]
    return theta + delta.reshape(theta.shape), np.asarray(f0) + J @ delta


@pytest.mark.more
@pytest.mark.parametrize(("alpha", "ridge"), [(1.0, 0.0), (3.0, 0.2)])
def test_the_flow_is_the_exponential_of_a_matrix(alpha, ridge):
    problem = replace(PROBLEM, alpha=alpha, ridge=ridge)
    run = wl.solve(problem, wl.TangentFlow(4, rtol=1e-10, atol=1e-12), 0.7, save=2)
    theta, f = exact(alpha, 4, 0.7, ridge)
    np.testing.assert_allclose(run.final.theta, theta, rtol=0, atol=1e-8)
    assert run.risk[-1] == pytest.approx(np.mean((f - LABELS) ** 2), abs=1e-9)


@pytest.mark.more
def test_sgd_of_the_tangent_model_is_the_plain_loop():
    alpha, n, step = 2.0, 3, 0.05
    problem, key = replace(PROBLEM, alpha=alpha), stream(0, "data")
    run = wl.solve(problem, wl.TangentSGD(n, step), 10 * step, save=2)
    theta0 = problem.sample_initial(stream(0, "initial"), n)
    x, y = problem.data.block(key, 0, 128, float)

    def f(theta, row):
        return alpha * jnp.tanh(row @ theta[:, 1:].T) @ theta[:, 0] / n

    theta = theta0
    for k in range(10):
        value, slope = f(theta0, x[k]), jax.grad(f)(theta0, x[k])
        linear = value + jnp.sum(slope * (theta - theta0))
        theta = theta + 2 * step * n / alpha**2 * (y[k] - linear) * slope
    np.testing.assert_allclose(run.final.theta, theta, rtol=0, atol=1e-13)


@pytest.mark.slow
def test_reduced_coordinates_are_linearised_in_the_features():
    """One step of a flow from θ⁰: both networks have the same velocity there, so they part like t²."""
    law = wl.data.single_index(12, "He2(z)")
    problem = wl.Problem(law, wl.neurons.ridge("tanh", "trained"), START)
    apart = []
    for t in (0.02, 0.01):
        both = wl.linearise(problem, 5, t, save=2)
        apart.append(both.last("apart"))
    assert apart[0] / apart[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.more
def test_replicas_are_single_runs():
    many = wl.solve(PROBLEM, wl.TangentFlow(4), 0.2, save=2, replicas=2)
    one = wl.solve(PROBLEM, wl.TangentFlow(4), 0.2, save=2)
    np.testing.assert_allclose(many.replica(0).final.theta, one.final.theta, rtol=0, atol=1e-9)
    assert not np.allclose(many.risk[0], many.risk[1])


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (lambda: wl.solve(replace(PROBLEM, beta=3.0), wl.TangentFlow(4), 0.1), "without noise"),
        (
            lambda: wl.solve(
                wl.Problem(PROBLEM.data, wl.neurons.ridge("tanh", inner="sphere"), wl.initial.sphere(1.0)),
                wl.TangentFlow(4),
                0.1,
            ),
            "move freely",
        ),
        (lambda: wl.linearise(PROBLEM, 0, 1.0), "n must be"),
        (lambda: wl.linearise(PROBLEM, 3, 1.0, step=-1.0), "step must be"),
        (lambda: wl.linearise("x", 3, 1.0), "needs a wl.Problem"),
        (lambda: wl.linearise(PROBLEM, 3, 1.0, steps=1), "steps"),
    ],
)
def test_misuse_is_answered_in_one_sentence(bad, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        bad()


def test_a_linearised_network_at_its_start_is_as_uncertain_as_the_network_itself():
    """In three dimensions orders are left out; they count in its risk, its slopes and the path of its flow."""
    relu = wl.neurons.ridge("relu", outer="trained")
    case = wl.Problem(wl.data.gaussian_classes(3, 0.8), relu, wl.initial.gaussian(1.0, a=1.0))
    land, theta, weights = wl.landscape(case, reduced=True), jnp.array([[1.0, 0.5], [-2.0, 1.5]]), jnp.full(2, 0.5)
    own = land.errors_at(theta, weights)
    found = tangent_landscape(case, reduced=True).errors_at(jnp.concatenate([theta, theta], axis=1), weights)
    assert found.risk == pytest.approx(own.risk, rel=1e-9) and own.risk > 1e-7
    np.testing.assert_allclose(found.gradient[:, :2], own.gradient, rtol=1e-6)
    errors = wl.solve(case, wl.TangentFlow(8, "reduced"), 0.2, save=3).error
    assert np.all(np.diff(errors) > 0)
