"""Neurons at w = 0 where σ has a kink: they arrive, stay, and leave along the steepest direction."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.apex import apex_of, fan
from widelimit.dynamics.solve import DYNAMICS


def problem(target: str, start: list[list[float]], **neuron: str) -> wl.Problem:
    law = wl.data.single_index(math.inf, target)
    return wl.Problem(law, wl.neurons.ridge("relu", **neuron), wl.initial.array(np.array(start), coordinates="reduced"))


def test_a_neuron_at_the_apex_leaves_along_the_steepest_direction():
    """y = relu(z): the slope at 0 is least along u, where R = (1 − u)²/2 and u' = 1 − u."""
    run = wl.solve(problem("relu(z)", [[0.0, 0.0]]), wl.MeanField(1), 2.0, save=5)
    u, r = run.dataset["theta"].values[:, 0].T
    np.testing.assert_allclose(u, 1 - np.exp(-run.times), rtol=0, atol=1e-6)
    np.testing.assert_allclose(r, 0, atol=1e-6)


def test_a_neuron_at_the_apex_stays_where_no_direction_leads_down():
    run = wl.solve(problem("-relu(z)", [[0.0, 0.0]]), wl.MeanField(1), 2.0, save=3)
    assert (run.dataset["theta"].values == 0).all()
    np.testing.assert_allclose(run.risk, 0.5, rtol=1e-12)


def test_a_negative_outer_weight_turns_the_cone_over():
    run = wl.solve(problem("-relu(z)", [[-1.0, 0.0, 0.0]], outer="trained"), wl.MeanField(1), 1.0, save=2)
    assert run.final.theta[0, 1] > 0.5 and run.risk[-1] < 0.2


def test_neurons_arrive_in_few_steps_and_stay():
    """y = −1: R = E (1 + σ(h))² grows with |w|."""
    arriving = problem("-1 + 0*z", [[0.3, 0.4], [-0.5, 0.2]])
    run = DYNAMICS[wl.MeanField](wl.MeanField(2, check=False), arriving, 0, None)
    end = run.advance(run.state, 0.0, 3.0, lambda t, state=None: None)
    assert (np.asarray(end) == 0).all() and run.memory.steps < 1000


def test_arrival_takes_the_time_that_small_steps_of_descent_take():
    arriving = problem("-1 + 0*z", [[0.3, 0.4], [-0.5, 0.2]])
    flow = wl.solve(arriving, wl.MeanField(2, check=False), 0.4, save=5)
    coarse, fine = (wl.solve(arriving, wl.GD(2, step, "reduced"), 0.4, save=5).risk for step in (2e-3, 1e-3))
    np.testing.assert_allclose(flow.risk, 2 * fine - coarse, rtol=0, atol=2e-4)  # Richardson, up to the last steps
    tracers = wl.solve(arriving, wl.NonlinearFlow(2, "reduced", points=2), 0.4, save=5)
    np.testing.assert_allclose(tracers.final.theta, flow.final.theta, atol=1e-6)


def test_the_fan_belongs_to_kinks_without_a_bias():
    kinked, columns = problem("z", [[0.0, 0.0]]), problem("z", [[0.0, 0.0]]).reduced
    assert apex_of(kinked, columns) is not None
    smooth = wl.Problem(kinked.data, wl.neurons.ridge("tanh"), kinked.initial)
    assert apex_of(smooth, columns) is None
    assert apex_of(kinked, kinked.reduced.__class__(("b",), 1, (math.inf,))) is None


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_no_direction_is_far_from_the_fan(kept):
    """The largest cosine to the fan, of random directions with r ≥ 0."""
    random = np.random.default_rng(kept).normal(size=(2000, kept + 1))
    random[:, -1] = np.abs(random[:, -1])
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    assert (random @ fan(kept, 1).T).max(axis=1).min() > {1: 0.997, 2: 0.94, 3: 0.8}[kept]


def test_a_neuron_that_leaves_is_not_brought_back():
    apex = apex_of(problem("z", [[0.0, 0.0]]), problem("z", [[0.0, 0.0]]).reduced)
    assert apex is not None
    before, after = (
        jnp.array([[0.0, 0.0], [1e-8, 2e-8], [1e-6, 1e-6]]),
        jnp.array([[1e-9, 1e-9], [1e-9, 1e-9], [1e-6, 0]]),
    )
    found = np.asarray(apex.arrived(after, before))
    np.testing.assert_array_equal(found, [[1e-9, 1e-9], [0, 0], [1e-6, 0]])
