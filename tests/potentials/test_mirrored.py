"""Half of the nodes: what an even or odd neuron sees is what it sees on all of them."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.potentials import landscapes, reduced_landscape
from widelimit.problem import activations as ac

START = wl.initial.gaussian(0.7, a=1.0)
LAWS = {
    "index": wl.data.single_index(20, "He1(z) - 0.5*He2(z)"),
    "indices": wl.data.multi_index(20, 2, "tanh(z1)*z2 + z2**2", nodes=8, noise=0.3),
    "sphere": wl.data.sphere(6, "z + abs(z)"),
    "cube": wl.data.hypercube(math.inf, "z1 + z1*z2 + z1*z2*z3"),
}
SIGMAS = {"tanh": -1, "cos(2*x)": 1}


def problem(law, sigma, bias="absent"):
    neuron = wl.neurons.ridge(sigma, outer="trained", bias=bias)
    return wl.Problem(LAWS[law], neuron, START if bias == "absent" else wl.initial.gaussian(0.7, a=1.0, b=0.0))


def with_all_nodes(law, sigma, monkeypatch):
    """The landscape before any node is left out."""
    monkeypatch.setattr(reduced_landscape, "half_of", lambda *_: None)
    landscapes._cached.cache_clear()
    found = wl.landscape(problem(law, sigma), reduced=True)
    monkeypatch.undo()
    landscapes._cached.cache_clear()
    return found


@pytest.mark.some(2)
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("law", LAWS)
def test_half_of_the_nodes_is_as_good_as_all_of_them(law, sigma, monkeypatch):
    every, half = with_all_nodes(law, sigma, monkeypatch), wl.landscape(problem(law, sigma), reduced=True)
    assert half.parity == SIGMAS[sigma] and 2 * len(half.inputs) == len(every.inputs)
    rng = np.random.default_rng(0)
    theta = np.abs(rng.normal(size=(5, len(half.coordinates))))
    for name, arguments in {"V": (), "U": (theta,), "grad_psi": (theta,)}.items():
        np.testing.assert_allclose(
            getattr(half, name)(theta, *arguments), getattr(every, name)(theta, *arguments), rtol=0, atol=1e-12
        )
    assert half.risk(theta) == pytest.approx(every.risk(theta), rel=1e-13)
    squares = (float(land.fit.risk(jnp.zeros(land.size))) for land in (half, every))
    assert next(squares) == pytest.approx(next(squares), rel=1e-13)  # E y²

    def basis(z):
        return np.stack([z[:, 0], np.cos(z[:, -1]), np.exp(z[:, 0] / 4)], axis=1)

    np.testing.assert_allclose(half.project(theta, basis), every.project(theta, basis), rtol=0, atol=1e-12)
    assert half.kept_nodes.p.sum() == pytest.approx(1, rel=1e-13)


def test_all_nodes_stay_where_a_neuron_can_tell_them_apart():
    for sigma, bias in (("relu", "absent"), ("tanh", "trained")):
        land = wl.landscape(problem("cube", sigma, bias), reduced=True)
        assert land.parity == 0 and len(land.inputs) == 8


@pytest.mark.parametrize("expression", ["abs(x)", "tanh(3*x)", "sin(x) + x**3", "cos(2*x)", "max(x, 0)", "tanh(x + 1)",
                                        "hinges", "polynomial", "sigmoid(x)", "exp(x)"])  # fmt: skip
def test_a_parity_is_that_of_the_function(expression):
    made = {"hinges": ac.hinges([-1.0, 1.0], [1.0, -1.0], -1.0), "polynomial": ac.polynomial([1.0, 0.0, 2.0])}
    sigma, x = made.get(expression) or ac.activation(expression), np.linspace(0.1, 3.0, 30)
    right, left = np.asarray(sigma(x)), np.asarray(sigma(-x))
    expected = {s for s in (1, -1) if np.allclose(left, s * right, rtol=1e-12, atol=0)}
    assert sigma.form.parity in (expected or {0})
    assert (sigma.form.parity == 0) == (not expected)
