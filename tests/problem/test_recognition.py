"""Expressions as sums of known functions, and where the rest of them bend."""

import math
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from widelimit.problem import activations as ac
from widelimit.problem.activations.kinks import FAR

X = np.linspace(-6, 6, 241)
evaluate = jax.jit(lambda activation, x: activation(x))  # an activation is a pytree


def part(activation, coefficient=1.0, scale=1.0, shift=0.0):
    return ac.Part(activation, coefficient, scale, shift)


@pytest.mark.some(16)
@pytest.mark.parametrize("text, form", [
    ("max(x, 0)", ac.relu),
    ("abs(x)", ac.hinges([0], [2], 0, -1)),
    ("min(max(x, -1), 1)", ac.hinges([-1, 1], [1, -1], -1)),
    ("relu(x) - relu(x - 1)", ac.truncated_relu),
    ("-2*abs(3*x - 1.5)/4 + x", ac.hinges([0.5], [-3], -0.75, 2.5)),
    ("abs(abs(x) - 1)", ac.hinges([-1, 0, 1], [2, -2, 2], -1, -1)),
    ("max(2*x, max(x, -x))", ac.hinges([0], [3], 0, -1)),
    ("max(x, x + pi)", ac.polynomial([math.pi, 1])),
    ("abs(x) - abs(x)", ac.polynomial([0])),
    ("tanh(x)", ac.tanh),
    ("sin(x + 0)", ac.sin),
    ("tanh(3*x)", part(ac.tanh, scale=3.0)),
    ("-sigmoid(1 - 2*(x + 1))/2", part(ac.sigmoid, -0.5, -2.0, -1.0)),
    ("erf(x)*2 + erf(x)", part(ac.erf, 3.0)),
    ("exp(-x)", part(ac.ExponentialFunction(), scale=-1.0)),
    ("cosh(2*x)", ac.Sum((part(ac.ExponentialFunction(), 0.5, 2.0), part(ac.ExponentialFunction(), 0.5, -2.0)))),
    ("softplus(2*x - 1) + 0.3*abs(x)", ac.Sum((ac.hinges([0], [0.6], 0, -0.3), part(ac.softplus, 1.0, 2.0, -1.0)))),
    ("cos(x) + x**2 - relu(x) + x", ac.Sum((ac.polynomial([0, 1, 1]), ac.hinges([0], [-1]), ac.cos))),
    ("max(tanh(x), tanh(x) + x)", ac.Sum((ac.relu, ac.tanh))),
    ("tanh(2)*x + tanh(0*x) + max(2, 1)", ac.polynomial([2, math.tanh(2)])),
])  # fmt: skip
def test_a_sum_of_known_functions_is_recognised(text, form):
    written = ac.activation(text)
    assert written.form == form and hash(written.form) == hash(form)
    np.testing.assert_allclose(evaluate(written.form, X), written(X), rtol=1e-14, atol=1e-14)
    assert isinstance(written.pair_form, ac.General) == isinstance(form, ac.Sum)
    assert ac.name_of(written) == str(written.function)


def piecewise_linear_text(draw, depth):
    """A random expression of x that is piecewise linear."""
    if depth == 0:
        return draw.choice(("x", "x", "(2*x - 1)", "(0.3 - x/3)", f"{draw.uniform(-2, 2):.3f}"))
    one, two = (piecewise_linear_text(draw, depth - 1) for _ in range(2))
    number = draw.choice((-1.5, 0.1, 2, -0.7))
    return draw.choice((
        f"max({one}, {two})", f"min({one}, {two})", f"abs({one})", f"relu({one} - {two})", f"({one} + {two})",
        f"({number}*{one} - {two}/3)",
    ))  # fmt: skip


def test_piecewise_linear_expressions_are_hinges_with_their_values():
    draw, bent = random.Random(11), 0
    for _ in range(150):
        written = ac.activation(f"0*x + {piecewise_linear_text(draw, draw.randrange(1, 5))}")
        form = written.form
        assert isinstance(form, ac.Hinges | ac.Polynomial), written.name
        bent += isinstance(form, ac.Hinges)
        if isinstance(form, ac.Hinges):
            line = form.intercept + form.slope * X
            values = line + np.maximum(X[:, None] - np.array(form.knots), 0) @ np.array(form.jumps)
        else:
            values = np.polynomial.polynomial.polyval(X, form.coefficients)
        np.testing.assert_allclose(values, by_numpy(written.name), rtol=0, atol=1e-13 * (1 + np.abs(values).max()))
    assert bent > 60


def by_numpy(text):
    """The values of a piecewise linear expression at X, read by Python."""
    names = {"x": X, "max": np.maximum, "min": np.minimum, "abs": np.abs, "relu": lambda y: np.maximum(y, 0)}
    return eval(text, {"__builtins__": {}}, names) + 0 * X


@pytest.mark.some(5)
@pytest.mark.parametrize("text, kinks", [
    ("max(x**2 - 1, 0)", (-1, 1)),
    ("abs(x)*tanh(x)", (0,)),
    ("abs(x**2 - 2)", (-math.sqrt(2), math.sqrt(2))),
    ("min(max(x**3, -1), 1)", (-1, 1)),
    ("max((x - 1)**3, 0)", (1,)),
    ("tanh(abs(x - 0.3)) + x*relu(x)", (0, 0.3)),
    ("abs(x - 100000)*tanh(x)", (1e5,)),
    ("max(exp(x) - 2, 0)**2", (math.log(2),)),
    ("max(relu(x)*tanh(x), 0)", (0,)),
    ("x*sign(x - 0.5)", (0.5,)),
    ("arctan(x)", ()),
    ("abs(1 + x**2)*arctan(x)", ()),
    ("He20(x)**2", ()),
])  # fmt: skip
def test_the_kinks_of_an_expression_are_found(text, kinks):
    form = ac.activation(text).form
    assert isinstance(form, ac.General) and len(form.bends) == len(kinks)
    np.testing.assert_allclose(form.bends, kinks, rtol=4e-16, atol=1e-16)


def test_a_wave_bends_at_each_of_its_zeros_as_far_as_quadrature_reaches():
    bends = np.array(ac.activation("abs(sin(x))").form.bends)
    np.testing.assert_allclose(bends, np.pi * np.arange(-95, 96), rtol=1e-15)
    assert FAR - np.pi < bends[-1] <= FAR


def test_kinks_that_are_listed_are_taken():
    assert ac.custom("abs(x)*tanh(x)", kinks=[0.5, -1]).form.bends == (-1.0, 0.5)
    assert ac.custom("abs(x)*tanh(x)", kinks=[]).form.bends == ()
    assert ac.custom(jnp.abs, kinks=[2, -1]).bends == (-1.0, 2.0)
    assert ac.custom("abs(x)*tanh(x)", kinks=[0.5]).pair_form.bends == (0.5,)
    assert ac.activation("tanh(x) + abs(x)").pair_form.bends == (0.0,)


@pytest.mark.some(3)
@pytest.mark.parametrize("function, kinks", [
    (lambda x: jnp.maximum(x, 0) + jnp.abs(x - 1), (0, 1)),
    (lambda x: jnp.clip(x, 0, 0.001), (0, 0.001)),
    (lambda x: jnp.maximum(x, 0) + 5 * jnp.tanh(10 * x), (0,)),
    (lambda x: x * jnp.abs(x - 1 / 3), (1 / 3,)),
    (lambda x: x * jnp.abs(x), (0,)),
    (lambda x: jnp.where(x > 0.25, 1.0, 0.0), (0.25,)),
    (jax.nn.hard_swish, (-3, 3)),
    (jax.nn.elu, (0,)),
], ids=["two", "close", "steep", "third", "second slope", "jump", "hard_swish", "elu"])  # fmt: skip
def test_the_kinks_of_a_function_are_found(function, kinks):
    bends = ac.custom(function).bends
    assert len(bends) == len(kinks)
    np.testing.assert_allclose(bends, kinks, rtol=4e-16, atol=1e-16)


@pytest.mark.some(2)
@pytest.mark.parametrize("function", [
    lambda x: jnp.tanh(50 * x), jax.nn.softplus, jax.nn.gelu, jnp.sinc, lambda x: jnp.log(jnp.cosh(x)), lambda x: x**20,
], ids=["tanh(50x)", "softplus", "gelu", "sinc", "log cosh", "x^20"])  # fmt: skip
def test_a_smooth_function_has_no_kinks(function):
    assert ac.custom(function).bends == ()


def test_the_kinks_of_a_function_are_found_while_another_is_compiled():
    assert jax.jit(lambda x: x + sum(ac.custom(lambda y: jnp.abs(y - 2)).bends))(1.0) == 3.0


@pytest.mark.parametrize("texts", [
    ("tanh(3*x)", "tanh(2.5*x)"),
    ("max(x - 0.1, 0)", "max(x - 0.2, 0)"),
    ("2*x**3 - x", "0.5*x**3 - 7*x"),
    ("softplus(2*x - 1) + 0.3*abs(x)", "softplus(x - 3) - 2*abs(x)"),
])  # fmt: skip
def test_a_changed_number_compiles_nothing_again(texts):
    run = jax.jit(lambda activation, x: activation(x))
    for text in texts:
        activation = ac.activation(text)
        np.testing.assert_allclose(run(activation.form, X), activation(X), rtol=1e-13, atol=1e-13)
    assert run._cache_size() == 1
