"""Activations: values, names, equality."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import eval_hermitenorm, ndtr

from widelimit.errors import InputError
from widelimit.problem import activations as ac
from widelimit.problem.expressions import expression
from widelimit.problem.neurons import ridge

X = np.linspace(-4, 4, 33)
BY_NUMPY = {
    "relu": lambda x: np.maximum(x, 0),
    "truncated_relu": lambda x: np.clip(x, 0, 1),
    "ramp": lambda x: np.interp(x, [0.5, 1.5], [-2.5, 7.5]),
    "erf": lambda x: np.vectorize(math.erf)(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * ndtr(x),
}


@pytest.mark.parametrize("name", sorted({*BY_NUMPY, *ac.NAMED}))
def test_a_named_activation_is_the_function_it_is_named_after(name):
    found = ac.activation(name)
    assert ac.name_of(found) == name
    np.testing.assert_allclose(found(jnp.asarray(X)), BY_NUMPY[name](X), rtol=1e-13, atol=1e-15)


def test_a_stated_derivative_is_the_one_that_is_used():
    """log(1 + e^x) overflows beyond 710, its slope 1/(1 + e^{−x}) does not."""
    plain = ac.custom(lambda x: jnp.log1p(jnp.exp(x)))
    known = ac.custom(plain.function, derivative=jax.nn.sigmoid)
    np.testing.assert_array_equal(known(X), plain(X))
    np.testing.assert_allclose(jax.vmap(jax.grad(known))(X), jax.vmap(jax.grad(plain))(X), rtol=1e-13)
    assert np.isnan(jax.grad(plain)(800.0)) and jax.grad(known)(800.0) == 1.0


def test_hermite_activations_are_orthonormal_under_the_normal_law():
    x, w = np.polynomial.hermite_e.hermegauss(40)
    values = np.stack([ac.hermite(k)(x) for k in range(13)])
    np.testing.assert_allclose(values * (w / w.sum()) @ values.T, np.eye(13), atol=1e-10)
    forms = [ac.hermite(k).form for k in range(13)]
    assert all(form.degree == k and form.coefficients[-1] > 0 for k, form in enumerate(forms))


points = st.lists(st.tuples(st.integers(-50, 50), st.floats(-10, 10)), min_size=1, max_size=6, unique_by=lambda p: p[0])


@settings(deadline=None, max_examples=40)
@given(points, st.floats(-3, 3), st.floats(-3, 3))
def test_a_piecewise_linear_activation_passes_through_its_points_with_the_slopes_asked(knots, left, right):
    knots = sorted(knots)
    line = ac.piecewise_linear(knots, left, right)
    t, v = (np.array(x, float) for x in zip(*knots, strict=True))
    middle = (t[1:] + t[:-1]) / 2
    np.testing.assert_allclose(np.asarray(line(t)), v, atol=1e-9)
    np.testing.assert_allclose(np.asarray(line(middle)), np.interp(middle, t, v), atol=1e-9)
    assert float(line(t[0] - 2.0)) == pytest.approx(v[0] - 2 * left, abs=1e-9)
    assert float(line(t[-1] + 2.0)) == pytest.approx(v[-1] + 2 * right, abs=1e-9)


def test_a_polynomial_lists_its_lowest_power_first():
    np.testing.assert_allclose(ac.polynomial([1, -2, 0, 3])(X), 1 - 2 * X + 3 * X**3, rtol=1e-14, atol=1e-13)


def test_equal_activations_compare_and_hash_by_value():
    assert ac.ramp() == ac.activation("ramp") and hash(ac.ramp()) == hash(ac.activation("ramp"))
    assert ac.ramp() != ac.ramp(end=(1.5, 7.0)) and ac.sin != ac.cos
    assert ac.hermite(3) == ac.hermite(3) and ac.hermite(3) != ac.hermite(2)
    assert ac.custom(jnp.tanh, name="x") == ac.custom(jnp.tanh, name="x")
    assert ac.custom(jnp.abs, kinks=[0]) != ac.custom(jnp.abs)


def test_any_function_is_accepted_and_keeps_its_name():
    neuron = ridge(jnp.arctan, outer="trained")
    assert neuron.sentence.endswith("σ = arctan") and float(neuron.sigma(1.0)) == pytest.approx(math.pi / 4)
    assert ac.custom(jnp.abs, kinks=[2, -1]).kinks == (-1.0, 2.0)


@pytest.mark.parametrize("text, by_numpy", [
    ("tanh(3*x)", lambda x: np.tanh(3 * x)),
    ("1/(1+exp(-z))", lambda x: 1 / (1 + np.exp(-x))),
    ("relu(x - 1)", lambda x: np.maximum(x - 1, 0)),
    ("He20(x)**2", lambda x: eval_hermitenorm(20, x) ** 2),
])  # fmt: skip
def test_an_expression_is_an_activation_and_so_is_its_form(text, by_numpy):
    found = ac.activation(text)
    assert isinstance(found, ac.Written) and ac.name_of(found) == str(expression(text))
    for function in (found, found.form, found.pair_form, jax.jit(found.form)):
        np.testing.assert_allclose(function(jnp.asarray(X)), by_numpy(X), rtol=1e-12)
    same = ac.activation(text.replace("(", " ( "))
    assert same == found and hash(same) == hash(found) and ac.activation(found.function) == found


@pytest.mark.parametrize("text, same", [
    ("x", ac.polynomial([0, 1])),
    ("z", ac.polynomial([0, 1])),
    ("x**3 - 3*x", ac.polynomial([0, -3, 0, 1])),
    ("2 + 1", ac.polynomial([3])),
    ("h4(z)", ac.hermite(4).form),
])  # fmt: skip
def test_the_form_of_a_polynomial_expression_is_a_polynomial(text, same):
    assert ac.activation(text).form == same


@pytest.mark.parametrize("text, sentence", [
    ("rleu", "unknown activation 'rleu': did you mean 'relu'"),
    ("y", "unknown activation 'y'"),
    ("", "unknown activation ''"),
    ("z1*z2", "an activation must be a function of one variable, got 'z1*z2'"),
    ("tanh(3*y)", "unknown name 'y'"),
])  # fmt: skip
def test_a_text_that_is_no_activation_is_refused(text, sentence):
    with pytest.raises(InputError) as refusal:
        ac.activation(text)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize("name", ["ramp", "piecewise_linear", "hinges", "polynomial", "hermite", "custom"])
def test_a_maker_that_was_not_called_is_refused(name):
    with pytest.raises(InputError, match=rf"^{name} makes.*uncalled"):
        ac.activation(getattr(ac, name))


@pytest.mark.parametrize("outer, bias, scalars, trained", [
    ("absent", "absent", (), ()),
    ("trained", "absent", ("a",), (True,)),
    ("absent", "fixed", ("b",), (False,)),
    ("fixed", "trained", ("a", "b"), (False, True)),
])  # fmt: skip
def test_roles_decide_which_scalars_exist_and_move(outer, bias, scalars, trained):
    neuron = ridge("relu", outer=outer, bias=bias)
    assert neuron.scalars == scalars and neuron.trained == trained
