"""Smoothed versions, kernels and squares of expressions against integrals of their values, which know of no form."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, expit

import widelimit as wl
from widelimit.errors import InputError
from widelimit.potentials.pair_kernels import Pair, kernel
from widelimit.potentials.smoothing import smoothed, value
from widelimit.potentials.spherical import sphere_mean, unit_sphere
from widelimit.potentials.square_moments import mean_square, mean_square_slope
from widelimit.problem import activations as ac

ORDER = 6
M, S = (x.ravel() for x in np.meshgrid([-1.7, 0.0, 0.3, 1.0], [0.0, 1e-3, 0.3, 1.0, 3.0]))
BENDS = np.array([-1.0, 0.0, 0.3, 0.5, 1.0])

CLOSED = {
    "max(x, 0) - 2*abs(x - 0.3) + 1": lambda x: np.maximum(x, 0) - 2 * np.abs(x - 0.3) + 1,
    "x**2 - 0.5*sigmoid(1 - 2*x)": lambda x: x**2 - 0.5 * expit(1 - 2 * x),
    "softplus(2*x - 1) + 0.3*abs(x)": lambda x: np.logaddexp(0, 2 * x - 1) + 0.3 * np.abs(x),
    "erf(-x/2) + sin(2*x + 1)": lambda x: erf(-x / 2) + np.sin(2 * x + 1),
    "sinh(x/2) + tanh(3*x - 1)": lambda x: np.sinh(x / 2) + np.tanh(3 * x - 1),
    "3*exp(0.5 - x/3)": lambda x: 3 * np.exp(0.5 - x / 3),
}
INTEGRATED = {
    "max(x**2 - 1, 0)": lambda x: np.maximum(x**2 - 1, 0),
    "abs(x - 0.3)*tanh(x)": lambda x: np.abs(x - 0.3) * np.tanh(x),
}


def rule(m, s):
    """Nodes and weights of the normal law, split at the bends; panels no longer than 1/4 in g, nor in x within 4."""
    cuts = (np.concatenate([BENDS, np.arange(-16, 17) / 4]) - m) / max(s, 1e-300)
    edges = np.unique(np.clip(np.concatenate([np.arange(-56, 57) / 4, cuts]), -14, 14))
    x, w = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    g = (edges[:-1, None] + half + half * x).ravel()
    return g, (half * w).ravel() * np.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)


def reference(function, m, s):
    """A_0, …, A_6."""
    g, weights = rule(m, s)
    he = np.polynomial.hermite_e.hermevander(g, ORDER) / np.sqrt([math.factorial(k) for k in range(ORDER + 1)])
    return (weights * function(m + s * g)) @ he


of_form = jax.jit(smoothed, static_argnums=1)  # an activation is a pytree


@pytest.mark.parametrize("text", CLOSED)
def test_smoothed_versions_of_a_recognised_expression_are_its_integrals(text):
    form = ac.activation(text).form
    assert not isinstance(form, ac.General)
    found = of_form(form, ORDER, M, S)
    for numbers, m, s in zip(found, M, S, strict=True):
        expected = reference(CLOSED[text], m, s)
        np.testing.assert_allclose(numbers, expected, rtol=0, atol=1e-13 * (1 + np.abs(expected).max()))


@pytest.mark.more
@pytest.mark.parametrize("text", ["max(x**2 - 1, 0)", pytest.param("abs(x - 0.3)*tanh(x)", marks=pytest.mark.slow)])
def test_smoothed_versions_of_an_expression_with_kinks_are_its_integrals(text):
    found = jax.jit(partial(smoothed, ac.activation(text).form, ORDER))(M, S)
    for numbers, m, s in zip(found, M, S, strict=True):
        expected = reference(INTEGRATED[text], m, s)
        np.testing.assert_allclose(numbers, expected, rtol=0, atol=2e-12 * (1 + np.abs(expected).max()))


@pytest.mark.slow
def test_a_function_whose_kinks_were_found_is_integrated():
    found = value(ac.custom(lambda x: jnp.maximum(x, 0) + jnp.abs(x - 1)), jnp.asarray(M), jnp.asarray(S))
    closed = value(ac.activation("max(x, 0) + abs(x - 1)").form, jnp.asarray(M), jnp.asarray(S))
    np.testing.assert_allclose(found, closed, rtol=0, atol=1e-12)


PARTS = {  # the function and its slope
    "tanh(1 - 3*x)/2": (lambda x: np.tanh(1 - 3 * x) / 2, lambda x: -1.5 / np.cosh(1 - 3 * x) ** 2),
    "2*sin(x/2 - 1)": (lambda x: 2 * np.sin(x / 2 - 1), lambda x: np.cos(x / 2 - 1)),
    "-erf(2*x)": (lambda x: -erf(2 * x), lambda x: -4 / math.sqrt(math.pi) * np.exp(-4 * x * x)),
    "exp(x/2 - 1)": (lambda x: np.exp(x / 2 - 1), lambda x: np.exp(x / 2 - 1) / 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", PARTS)
def test_squares_and_kernels_of_a_function_of_an_affine_argument_are_its_integrals(text):
    form, (function, slope) = ac.activation(text).pair_form, PARTS[text]
    m, s, c = jnp.asarray([-1.7, 0.3, 1.0]), jnp.asarray([1e-3, 1.0, 3.0]), 0.4
    squares, of_slope = mean_square(form, m, s), mean_square_slope(form, m, s)
    kernels = kernel(form, Pair(m, s, m, s, jnp.full((3, 3), c)))
    for i, (mean, deviation) in enumerate(zip(m, s, strict=True)):
        g, weights = rule(float(mean), float(deviation))
        x = mean + deviation * g
        assert float(squares[i]) == pytest.approx(weights @ function(x) ** 2, rel=1e-11, abs=1e-12)
        assert float(of_slope[i]) == pytest.approx(weights @ slope(x) ** 2, rel=1e-11, abs=1e-12)
    x = np.linspace(-9, 9, 401)
    w = np.exp(-0.5 * x * x) / np.exp(-0.5 * x * x).sum()
    for i, j in ((0, 1), (1, 0), (1, 1)):  # the second input given the first
        first = float(m[i]) + float(s[i]) * x
        given = float(m[j]) + float(s[j]) * (c * x[:, None] + math.sqrt(1 - c * c) * x)
        assert float(kernels[i, j]) == pytest.approx((w * function(first)) @ (function(given) @ w), abs=1e-11)


def test_a_mean_over_a_sphere_is_the_sum_of_those_of_the_parts():
    form, sphere = ac.activation("abs(x - 0.3) + 2*cos(1 - x)").form, unit_sphere(19)
    m, s = jnp.asarray([0.1, -1.0]), jnp.asarray([0.7, 0.2])
    bent = sphere_mean(ac.activation("abs(x - 0.3)").form, m, s, sphere)
    wave = 2 * jnp.cos(1 - m[:, None] - s[:, None] * jnp.sqrt(19.0) * sphere.nodes) @ sphere.weights
    np.testing.assert_allclose(sphere_mean(form, m, s, sphere), bent + wave, rtol=1e-13)


def test_a_changed_number_compiles_no_smoothed_version_again():
    count = of_form._cache_size()
    for text in ("tanh(3.5*x) + 0.7*max(x - 0.1, 0)", "tanh(2.5*x) - 2*max(x - 0.2, 0)"):
        of_form(ac.activation(text).form, 2, M, S)
    assert of_form._cache_size() == count + 1


@pytest.mark.parametrize("text, sentence", [
    ("sign(x)", "the activation 'sign(x)' must be continuous, got a jump of 2 at its kink 0: smooth it."),
    ("step(x - 1)", "the activation 'step(x - 1)' must be continuous, got a jump of 1 at its kink 1: smooth it."),
    ("abs(sin(x))", "the activation 'abs(sin(x))' must have at most 32 kinks to be integrated, got 191: "),
    ("sqrt(abs(x))", "the activation 'sqrt(abs(x))' must be smooth between its kinks, got a quadrature that does not "),
])  # fmt: skip
def test_what_cannot_be_integrated_is_refused_in_a_sentence(text, sentence):
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge(text), wl.initial.gaussian(0.4))
    with pytest.raises(InputError) as refusal:
        wl.landscape(problem, reduced=True).V(np.ones((1, 1)))
    assert str(refusal.value).startswith(sentence)


def test_a_jump_of_any_function_is_refused():
    with pytest.raises(InputError, match=r"must be continuous, got a jump of 1 at its kink 0\.25"):
        value(ac.custom(lambda x: jnp.where(x > 0.25, 1.0, 0.0)), jnp.ones(1), jnp.ones(1))
