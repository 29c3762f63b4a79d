"""Neurons at w = 0 where σ has a kink: they arrive, stay, and leave along the steepest direction."""

import math

import jax
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


@pytest.mark.parametrize("kept", [1, pytest.param(2, marks=pytest.mark.more), 3])
def test_the_steepest_direction_is_found_between_those_of_the_fan(kept):
    """y = relu(⟨v, z⟩): S is least at u = v, where it is −1/2, and largest at u = −v, where it is 0."""
    v = np.random.default_rng(1).normal(size=kept)
    v /= np.linalg.norm(v)
    target = "max(" + " + ".join(f"({c:.15g})*z{i}" for i, c in enumerate(v, 1)) + ", 0)"
    law = wl.data.multi_index(math.inf, kept, target) if kept > 1 else wl.data.single_index(math.inf, "relu(z)")
    start = wl.initial.array(np.zeros((1, kept + 1)), coordinates="reduced")
    apart = wl.Problem(law, wl.neurons.ridge("relu"), start)
    land, apex = wl.landscape(apart, reduced=True), apex_of(apart, apart.reduced)
    assert apex is not None
    directions, S = apex.steepest(land.field(jnp.zeros((1, kept + 1)), jnp.ones(1)))
    cosine = abs(directions[0, 0]) if kept == 1 else directions[0, :kept] @ v
    assert cosine > 1 - 1e-4 and abs(float(S[0]) + 0.5) < 1e-4
    assert abs(float(S[1])) < 1e-4
    if kept > 1:
        assert (fan(kept, 1)[:, :kept] @ v).max() < 1 - 1e-3  # none of the fan is that


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


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_the_least_slope_of_a_plane_is_found_to_eight_digits(kept):
    """S(ŵ) = −⟨v, ŵ⟩ is least along v; along its part in r = 0 if v points to r < 0."""
    start = wl.initial.array(np.zeros((1, kept + 1)), coordinates="reduced")
    law = wl.data.multi_index(math.inf, kept, "z1*z2") if kept > 1 else wl.data.single_index(math.inf, "z")
    plane = wl.Problem(law, wl.neurons.ridge("relu"), start)
    apex = apex_of(plane, plane.reduced)
    assert apex is not None
    least = jax.jit(lambda v: apex.steepest(lambda theta: jnp.broadcast_to(-v, theta.shape))[1][0])
    for v in np.random.default_rng(0).normal(size=(100, kept + 1)):
        ahead = np.append(v[:-1], max(v[-1], 0.0))
        assert abs(float(least(jnp.asarray(v))) + np.linalg.norm(ahead)) < 1e-7


def test_a_neuron_that_leaves_is_not_brought_back():
    apex = apex_of(problem("z", [[0.0, 0.0]]), problem("z", [[0.0, 0.0]]).reduced)
    assert apex is not None
    before, after = (
        jnp.array([[0.0, 0.0], [1e-8, 2e-8], [1e-6, 1e-6]]),
        jnp.array([[1e-9, 1e-9], [1e-9, 1e-9], [1e-6, 0]]),
    )
    found = np.asarray(apex.arrived(after, before))
    np.testing.assert_array_equal(found, [[1e-9, 1e-9], [0, 0], [1e-6, 0]])
