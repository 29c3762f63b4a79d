"""The table of smoothed moments against the rules it was made with, and where neither may be used."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from widelimit.errors import InputError
from widelimit.potentials import direct_rules
from widelimit.potentials.quadrature import mean_value, scaled_slopes, square_of_slope, table
from widelimit.potentials.table_plan import BROAD, FAR
from widelimit.problem import activations as ac
from widelimit.problem.activations.kinks import slope_of

WAVY = ac.custom(lambda x: jnp.arctan(x) + jnp.exp(-x * x), name="wavy")
SHARP = ac.custom(lambda x: jnp.tanh(3 * x), name="sharp")
KINKED = ac.custom(lambda x: jnp.abs(x - 0.3) * jnp.tanh(x), kinks=[0.3], name="kinked")
FUNCTIONS = [WAVY, SHARP, KINKED]
SOME = [KINKED, *(pytest.param(function, marks=pytest.mark.slow) for function in (WAVY, SHARP))]


def points(low, high, count=300):
    """Random m and s, most of them where activations bend."""
    rng = np.random.default_rng(3)
    return jnp.asarray(rng.normal(size=count) * 2.5), jnp.asarray(rng.uniform(low, high, count))


@pytest.mark.slow
@pytest.mark.parametrize("activation", SOME, ids=lambda a: a.name)
def test_the_table_agrees_with_the_rules_in_every_order(activation):
    m, s = points(0.15, 5.0)
    assert np.all(table(activation).covers(m, s, jnp))
    order = 16
    b = jax.jit(partial(scaled_slopes, activation, order=order))(m, s)
    expected = jax.jit(partial(direct_rules.slopes, activation, order=order))(m, s)
    np.testing.assert_allclose(b, expected, rtol=0, atol=2e-12)
    np.testing.assert_allclose(
        mean_value(activation, m, s), direct_rules.mean(activation, m, s), rtol=0, atol=1e-12 * 8
    )


@pytest.mark.more
@pytest.mark.parametrize("activation", FUNCTIONS, ids=lambda a: a.name)
def test_the_mean_square_of_the_slope_agrees_with_the_rule(activation):
    m, s = points(0.15, 5.0)
    slope = slope_of(activation)
    expected = direct_rules.mean(activation, m, s, lambda x: slope(x) ** 2)
    np.testing.assert_allclose(square_of_slope(activation, m, s), expected, rtol=0, atol=2e-11)


@pytest.mark.slow
@pytest.mark.parametrize("activation", [WAVY, SHARP], ids=lambda a: a.name)
def test_small_noise_gives_derivatives(activation):
    """B_k/s^{k−1} is σ^{(k)}/√k! for k = 1, 2, 3, up to s²."""
    m = jnp.linspace(-4.0, 4.0, 41)
    b = scaled_slopes(activation, m, jnp.full_like(m, 1e-7), 3)
    one = jax.grad(activation)
    two, three = jax.grad(one), jax.grad(jax.grad(one))
    for k, (derivative, root) in enumerate(zip((one, two, three), np.sqrt([1, 2, 6]), strict=True)):
        expected = jax.vmap(derivative)(m) / root
        np.testing.assert_allclose(b[:, k] / 1e-7**k, expected, rtol=0, atol=1e-11 * 10**k)
    np.testing.assert_allclose(mean_value(activation, m, jnp.zeros_like(m)), activation(m), rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("activation", [WAVY, KINKED], ids=lambda a: a.name)
def test_points_outside_of_the_table_are_integrated_and_do_not_disturb_the_others(activation):
    inside = jnp.asarray([0.1, -1.0]), jnp.asarray([0.5, 2.0])
    outside = jnp.asarray([3 * FAR, 0.1, 0.3]), jnp.asarray([1.0, 2 * BROAD, 0.0])
    m, s = (jnp.concatenate(x) for x in zip(inside, outside, strict=True))
    alone, together = (scaled_slopes(activation, *x, 5) for x in (inside, (m, s)))
    np.testing.assert_array_equal(together[:2], alone)
    np.testing.assert_allclose(together[2:4], direct_rules.slopes(activation, m, s, 5)[2:4], atol=1e-13)
    assert np.all(np.isfinite(together)) and np.all(np.isfinite(mean_value(activation, m, s)))


@pytest.mark.more
def test_orders_beyond_the_table_continue_it():
    m, s = points(0.2, 3.0, 50)
    many, few = scaled_slopes(WAVY, m, s, 30), scaled_slopes(WAVY, m, s, 7)
    np.testing.assert_allclose(many[:, :7], few, atol=2e-12)


@pytest.mark.slow
def test_batched_point_by_point_and_differentiated_it_is_the_same():
    m, s = points(0.0, 3.0, 40)
    whole = scaled_slopes(WAVY, m, s, 4)
    single = jax.vmap(partial(scaled_slopes, WAVY, order=4))
    np.testing.assert_allclose(single(m, s), whole, atol=1e-15)
    by_m = jax.jvp(lambda m: mean_value(WAVY, m, s), (m,), (jnp.ones_like(m),))[1]
    np.testing.assert_allclose(by_m, whole[:, 0], atol=1e-12)
    by_s = jax.grad(lambda s: jnp.sum(mean_value(WAVY, m, s)))(s)
    np.testing.assert_allclose(by_s, np.sqrt(2) * whole[:, 1], atol=1e-12)


@pytest.mark.more
def test_what_is_not_a_number_stays_so():
    b = scaled_slopes(WAVY, jnp.asarray([jnp.nan, 0.5]), jnp.asarray([1.0, 1.0]), 2)
    assert np.all(np.isnan(b[0])) and np.all(np.isfinite(b[1]))


def test_a_jump_is_refused():
    with pytest.raises(InputError, match="jump of 1 at its kink 0"):
        mean_value(ac.custom(lambda x: jnp.where(x > 0, 1.0, 0.0), kinks=[0.0], name="step"), jnp.ones(1), jnp.ones(1))


@pytest.mark.parametrize("s", [20.0, 1e3, 1e5])
def test_panels_that_follow_a_function_reach_large_deviations(s):
    """σ = arctan x + e^{−x²} at m = 0: E σ = 1/√(1 + 2s²), E σ' = E 1/(1 + s²G²)."""
    at = jnp.zeros(8), jnp.full(8, s)
    np.testing.assert_allclose(direct_rules.mean(WAVY, *at), 1 / np.sqrt(1 + 2 * s * s), rtol=1e-9, atol=1e-12)
    slope = np.sqrt(np.pi / 2) / s * np.exp(0.5 / s**2) * math.erfc(1 / (np.sqrt(2) * s))
    np.testing.assert_allclose(direct_rules.slopes(WAVY, *at, 1)[:, 0], slope, rtol=1e-9)
