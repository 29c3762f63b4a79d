"""Deviations beyond the reach of a rule: what is lost is stated."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.potentials import pair_rules
from widelimit.potentials.beyond_rules import LEAST, kernels_reach, lost, lost_beyond, values_reach
from widelimit.potentials.pair_rules import Pair, value_and_slopes
from widelimit.problem import activations as ac

FRACTION, WAVES = (ac.activation(text).form for text in ("x/(1 + x**2)", "tanh(x)*sin(x)"))


def test_formulas_reach_everything_and_rules_do_not():
    assert math.isinf(values_reach(ac.tanh)) and kernels_reach(ac.tanh) == kernels_reach(FRACTION) > 1e5
    assert math.isinf(kernels_reach(ac.relu.form)) and math.isinf(kernels_reach(ac.erf))
    assert 10 < kernels_reach(WAVES) <= values_reach(WAVES) < 100
    assert values_reach(WAVES) > LEAST and not lost(WAVES, values_reach, np.array([LEAST])).any()
    assert not lost(ac.erf, kernels_reach, np.array([1e6])).any() and lost(WAVES, kernels_reach, np.array([1e3]))[0] > 0
    inside = ac.activation("3*tanh(2*x)").pair_form
    assert kernels_reach(inside) == pytest.approx(kernels_reach(ac.tanh) / 2)


@pytest.mark.slow
def test_the_error_of_a_rule_with_too_few_parts_is_below_the_one_stated(monkeypatch):
    """Deviations up to ten times ŝ of a rule of eight parts, against one that reaches them."""
    s = jnp.geomspace(1.0, 40.0, 9)
    m, corr = jnp.linspace(-1.0, 1.0, 9), jnp.asarray(np.resize([0.999, 0.9, 0.8], 9))
    sigma, at = WAVES, Pair(m, s, -m, s, corr)
    exact = jax.jit(value_and_slopes)(sigma, at)[0]
    monkeypatch.setattr(pair_rules, "MOST", 8)
    reach = pair_rules.largest_deviation(sigma)
    true = np.abs(jax.jit(lambda at: value_and_slopes(sigma, at))(at)[0] - exact)
    assert 2 < reach < 10 and true.max() > 1e-6
    assert np.all(true <= lost_beyond(reach, np.asarray(s)) + 1e-11)  # |σ| ≤ 1


@pytest.mark.slow
def test_a_neuron_too_long_for_the_rules_states_its_error():
    """A function that oscillates far out: what its rules lose is in the error; a short neuron has none."""
    start = wl.initial.gaussian(1.0)
    problem = wl.Problem(wl.data.gaussian_classes(math.inf, 0.5), wl.neurons.ridge("tanh(x)*sin(x) + 0.1*x"), start)
    land = wl.landscape(problem, reduced=True)
    short, long = np.array([[1.0]]), np.array([[200.0]])
    assert land.risk_error(short) == 0 and land.errors(short).risk < 1e-10
    assert 0 < land.risk_error(long) <= land.errors(long).risk
