"""Schedules ξ(t), their clocks τ(t) = ∫ξ and the steps s_k = ε ξ(kε)."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from widelimit.problem import schedules as sc

SCHEDULES = {
    "constant": (sc.constant(0.7), lambda t: 0.7),
    "power": (sc.power(0.25), lambda t: t**-0.25),
    "exponential": (sc.exponential(0.3), lambda t: math.exp(-0.3 * t)),
    "function": (sc.schedule(lambda t: 1 + jnp.sin(3 * t) ** 2), lambda t: 1 + math.sin(3 * t) ** 2),
}
EACH = pytest.mark.parametrize("name", SCHEDULES)


@EACH
def test_the_clock_is_the_integral_of_the_rate(name):
    here, rate = SCHEDULES[name]
    for t in (0.0, 1e-3, 0.5, 4.0, 20.0):
        expected = quad(rate, 0, t, epsabs=1e-12, epsrel=1e-12, limit=400)[0]
        assert here.integral(t) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@EACH
def test_the_rate_is_the_function_named(name):
    here, rate = SCHEDULES[name]
    for t in (0.1, 1.0, 7.5):
        assert float(here(t)) == pytest.approx(rate(t), rel=1e-14)
    t = np.array([0.1, 1.0, 7.5])
    np.testing.assert_allclose(here(t), [rate(x) for x in t], rtol=1e-14)


@EACH
def test_steps_are_the_step_times_the_rate(name):
    here, rate = SCHEDULES[name]
    k, step = jnp.arange(1, 50), 0.02
    np.testing.assert_allclose(
        sc.steps_of(here, step).sizes(k), [step * rate(step * j) for j in range(1, 50)], rtol=1e-13
    )


@pytest.mark.parametrize("name", ["constant", "exponential", "function"])
def test_the_first_step_of_a_finite_rate_is_taken_at_time_zero(name):
    here, rate = SCHEDULES[name]
    assert float(sc.steps_of(here, 0.02).sizes(jnp.arange(3))[0]) == pytest.approx(0.02 * rate(0.0), rel=1e-14)


def test_the_first_step_of_a_power_is_the_clock_at_the_end_of_it():
    sizes = np.asarray(sc.steps_of(sc.power(0.25), 1e-3).sizes(jnp.arange(4)))
    assert np.all(np.isfinite(sizes))
    assert sizes[0] == pytest.approx(1e-3**0.75 / 0.75, rel=1e-14)


@EACH
def test_steps_add_up_to_the_clock_as_they_shrink(name):
    here, _ = SCHEDULES[name]
    errors = []
    for step in (1e-2, 1e-3):
        count = round(2.0 / step)
        total = float(jnp.sum(sc.steps_of(here, step).sizes(jnp.arange(count))))
        errors.append(abs(total - here.integral(2.0)))
    # a left Riemann sum: (ξ(0) − ξ(T)) ε/2, with power decay ε^{3/4} until the first steps are gone
    assert errors[0] <= 2e-2 and errors[1] <= max(errors[0] / 4, 1e-12)


def test_a_power_of_zero_is_the_constant_one():
    k = jnp.arange(5)
    zero, one = (sc.steps_of(here, 0.1).sizes(k) for here in (sc.power(0.0), sc.constant(1.0)))
    np.testing.assert_allclose(zero, one, rtol=1e-15)
