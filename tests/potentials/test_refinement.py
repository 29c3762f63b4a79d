"""Landscapes that are not exact say how far they are off, and go on to finer ones."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import widelimit as wl
from widelimit.potentials import landscape

RELU = wl.neurons.ridge("relu", outer="trained", bias="trained")
START = wl.initial.gaussian(1.0, a=1.0, b=0.0)


def problem(law, neuron=RELU):
    return wl.Problem(law, neuron, START)


def nearly_kept(size=3.0, r=0.1):
    """A neuron (a, b, u_1, u_2, r) almost within two kept coordinates."""
    return np.array([[1.0, 0.0, size / math.sqrt(2), size / math.sqrt(2), r]])


@pytest.mark.slow
def test_v_of_a_neuron_almost_within_the_kept_coordinates_is_within_its_error():
    """E z_1 z_2 (h)_+ = u_1 u_2 φ(0)/|w| for h = ⟨w, x⟩, by two integrations by parts."""
    theta = nearly_kept()
    exact = -4.5 / (math.hypot(3.0, 0.1) * math.sqrt(2 * math.pi))
    land = wl.landscape(problem(wl.data.multi_index(math.inf, 2, "z1*z2")), reduced=True)
    error, stated = abs(float(land.V(theta)[0]) - exact), land.errors(theta).V[0]
    assert 1e-9 < error <= stated <= 30 * error
    assert error < 1e-4  # the nodes one starts with give 1e−3


@pytest.mark.some(1)
@pytest.mark.parametrize("ratio", [0.3, 0.1, 0.03])
def test_one_kept_coordinate_is_resolved_to_the_tolerance(ratio):
    """E z (b + u z + r G)_+ = u Φ(b/|w|)."""
    land = wl.landscape(problem(wl.data.single_index(math.inf, "z")), reduced=True)
    theta = np.array([[1.0, 0.3, 1.0, ratio]])
    assert float(land.V(theta)[0]) == pytest.approx(-ndtr(0.3 / math.hypot(1.0, ratio)), abs=1e-9)
    assert land.errors(theta).V[0] < 1e-8


def test_nodes_that_are_given_stay_and_their_error_is_stated():
    theta = np.array([[1.0, 0.3, 1.0, 0.02]])
    land = wl.landscape(problem(wl.data.single_index(math.inf, "z", nodes=16)), reduced=True)
    error = abs(float(land.V(theta)[0]) + ndtr(0.3 / math.hypot(1.0, 0.02)))
    assert land.resolving(land.rows(theta)) is land
    assert 1e-6 < error <= land.errors(theta).V[0] <= 30 * error


def test_neurons_move_on_a_landscape_that_resolves_them():
    land = wl.landscape(problem(wl.data.single_index(math.inf, "z")), reduced=True)
    far, near = land.rows([1.0, 0.3, 0.1, 1.0]), land.rows([1.0, 0.3, 1.0, 0.05])
    weights = np.ones(1)
    assert land.near(far, weights) is land and land.better(far, weights) is None
    assert land.better(near, weights).size > land.size  # the move begins again where its end asks for more


def test_an_array_is_compared_with_the_finer_landscape_once(monkeypatch):
    calls, measured = [], landscape.disagreement
    monkeypatch.setattr(landscape, "disagreement", lambda *given: calls.append(given[-1]) or measured(*given))
    land = wl.landscape(problem(wl.data.single_index(math.inf, "z")), reduced=True)
    far, near = land.rows([1.0, 0.3, 0.1, 1.0]), land.rows([1.0, 0.3, 1.0, 0.05])
    assert land.in_motion(far) is land.in_motion(far, 10.0) is land and len(calls) == 1
    assert land.in_motion(near) is not land
    seen = len(calls)
    assert land.in_motion(far) is land and land.in_motion(near) is not land and len(calls) == seen
    assert land.in_motion(land.rows([1.0, 0.3, 0.1, 1.0])) is land and len(calls) == seen + 1


@pytest.mark.more
def test_random_nodes_state_the_standard_error_of_their_mean():
    """E z_4 (u_4 z_4 + r G)_+ = u_4/2, and U by the arc-cosine kernel at angle 0: |w|²/2."""
    law = wl.data.multi_index(math.inf, 4, "z1*tanh(z2)*z3 + z4")
    land = wl.landscape(problem(law), reduced=True)
    theta = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.5]])
    stated = land.errors(theta)
    assert abs(float(land.V(theta)[0]) + 1.0) <= 4 * stated.V[0] < 0.1
    assert abs(float(land.U(theta, theta)[0, 0]) - 2.0) <= 4 * stated.U[0, 0] + 0.125  # r: no orders at d = ∞
    assert land.risk_error(theta) == pytest.approx(stated.risk, rel=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize("link, square", [("z1*z2*z3*z4", 1.0), ("z1*z2*z3*z4*z5*z6", 1.0), ("He8(z1)*z2*z3", 40320.0)])
@pytest.mark.parametrize("reduced", [True, False])
def test_polynomials_of_many_variables_are_exact(link, square, reduced):
    """A network that is 0 has R = E y²."""
    case = problem(wl.data.multi_index(8, link.count("z"), link))
    land = wl.landscape(case, reduced)
    nothing = np.zeros((1, len(land.coordinates)))
    assert land.risk(nothing) == pytest.approx(square, rel=1e-12)


@pytest.mark.some(1)
@pytest.mark.parametrize("link", ["z1*z2*z3", "z1**2*z2 - z3 + 0.5", "He3(z1)"])
def test_full_coordinates_know_the_labels_of_a_polynomial_exactly(link):
    """V against a sum over 40³ nodes of N(0, I_3), given which relu has a mean in closed form."""
    rng = np.random.default_rng(3)
    case = problem(wl.data.multi_index(6, 3, link))
    theta = rng.normal(size=(5, 8))
    x, w = np.polynomial.hermite_e.hermegauss(40)
    z = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    p = np.prod(np.stack(np.meshgrid(w, w, w, indexing="ij"), axis=-1).reshape(-1, 3), axis=1) / (2 * np.pi) ** 1.5
    y = np.asarray(case.data.target(z))
    m = theta[:, 1:2] + theta[:, 2:5] @ z.T
    s = np.linalg.norm(theta[:, 5:], axis=1)[:, None]
    phi = np.exp(-0.5 * (m / s) ** 2) / math.sqrt(2 * math.pi)
    cdf = 0.5 * (1 + np.vectorize(math.erf)(m / s / math.sqrt(2)))
    exact = -theta[:, 0] * ((m * cdf + s * phi) @ (p * y))
    np.testing.assert_allclose(wl.landscape(case).V(theta), exact, atol=1e-6)


@pytest.mark.slow
def test_the_orders_a_polynomial_leaves_out_are_within_the_stated_error():
    """U in reduced coordinates against 48³ nodes, for neurons that lie almost in the kept coordinates."""
    theta = np.array([[1.0, 0.0, 0.5, 0.5, 0.5, 0.3], [1.0, 0.1, 1.0, 0.9, 1.0, 0.5]])
    land = wl.landscape(problem(wl.data.multi_index(30, 3, "z1*z2*z3")), reduced=True)
    nodes = wl.landscape(problem(wl.data.multi_index(30, 3, "z1*z2*z3", nodes=32)), reduced=True)
    error = np.abs(np.asarray(land.U(theta, theta)) - np.asarray(nodes.U(theta, theta)))
    stated = land.errors(theta).U
    assert np.all(error <= stated) and np.all(stated <= 30 * error)


@pytest.mark.slow
def test_full_and_reduced_coordinates_agree_on_a_label_with_a_jump():
    """tanh on some thousand nodes: the means at the nodes must not be fused with the product that leads to them."""
    rng = np.random.default_rng(1)
    case = problem(wl.data.multi_index(10, 2, "sign(z1+z2)"), wl.neurons.ridge("tanh", outer="trained", bias="trained"))
    theta = np.concatenate([np.ones((3, 1)), np.zeros((3, 1)), 0.5 * rng.normal(size=(3, 10))], axis=1)
    reduced = wl.landscape(case, reduced=True).V(np.asarray(wl.reduce(case, theta)))
    np.testing.assert_allclose(wl.landscape(case).V(theta), reduced, atol=1e-9)
    x = rng.normal(size=(200_000, 10))
    values = -np.sign(x[:, :1] + x[:, 1:2]) * np.tanh(x @ theta[:, 2:].T)
    assert np.all(np.abs(values.mean(axis=0) - reduced) <= 5 * values.std(axis=0) / math.sqrt(len(x)))
