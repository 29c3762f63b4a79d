"""The pairwise kernel by a rule for every pair, and where it takes the place of Mehler's series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from widelimit.potentials.pair_kernels import kernel
from widelimit.potentials.pair_rules import Pair, by_rule, value_and_slopes
from widelimit.potentials.square_moments import mean_square
from widelimit.problem import activations as ac

CORRELATIONS = np.array([1.0, -1.0, 1 - 1e-13, 1 - 1e-7, -0.999, 0.97, 0.8, -0.75])
ramp = ac.ramp()
AS_FUNCTION = ac.custom(ramp.form, kinks=ramp.form.knots)
rule, joint = jax.jit(value_and_slopes), jax.jit(kernel)


def pairs(seed=0, top=4.0, n=32):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=n), rng.uniform(0, top, n), rng.normal(size=n), rng.uniform(0, top, n)
    return Pair(*map(jnp.asarray, (*numbers, np.resize(CORRELATIONS, n))))


@jax.jit
def closed(sigma, at):
    """K and its slopes, pair by pair."""

    def one(*numbers):
        m, s, m2, s2, corr = (jnp.reshape(x, (1,)) for x in numbers)
        return kernel(sigma, Pair(m, s, m2, s2, corr[None]))[0, 0]

    return jnp.stack(jax.vmap(jax.value_and_grad(one, (0, 1, 2, 3, 4)))(*at)[1]), jax.vmap(one)(*at)


@pytest.mark.slow
def test_the_rule_of_a_bent_function_has_the_closed_value_and_slopes_at_every_correlation():
    at = pairs()
    slopes, value = closed(ramp.form, at)
    found = rule(AS_FUNCTION, at)
    np.testing.assert_allclose(found[0], value, rtol=0, atol=1e-11 * float(jnp.abs(value).max()))
    for mine, own in zip(found[1:], slopes, strict=True):
        away = np.minimum(at.s, at.s2) > 0.02  # a closed kernel divides by s
        np.testing.assert_allclose(mine[away], own[away], rtol=0, atol=1e-9 * float(jnp.abs(own).max()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tanh", "gelu"])
def test_a_neuron_with_itself_has_the_mean_square_and_half_its_slopes(name):
    sigma, at = ac.activation(name), pairs(1, top=8.0)
    same = Pair(at.m, at.s, at.m, at.s, jnp.ones(32))
    value, by_m, by_s, by_m2, by_s2, _ = rule(sigma, same)
    np.testing.assert_allclose(value, mean_square(sigma, at.m, at.s), rtol=1e-12)
    own = jax.grad(lambda m, s: jnp.sum(mean_square(sigma, m, s)) / 2, (0, 1))(at.m, at.s)
    for found, wanted in zip((by_m, by_s), own, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * float(jnp.abs(wanted).max()))
    np.testing.assert_allclose([by_m, by_s], [by_m2, by_s2], rtol=0, atol=1e-11)


@pytest.mark.slow
def test_only_pairs_that_are_needed_are_integrated_and_have_slopes():
    sigma, at = ac.tanh, pairs(2)
    table = Pair(at.m[:7], at.s[:7], at.m2[:9], at.s2[:9], jnp.asarray(np.resize(CORRELATIONS, (7, 9))))
    needed = jnp.asarray(np.random.default_rng(0).random((7, 9)) < 0.6)  # more than one batch of pairs
    value, pull = jax.vjp(lambda table: by_rule(sigma, table, needed), table)
    i, j = np.indices((7, 9)).reshape(2, -1)
    wanted = rule(sigma, Pair(table.m[i], table.s[i], table.m2[j], table.s2[j], table.corr.ravel()))
    wanted = np.where(needed, np.asarray(wanted).reshape(6, 7, 9), 0.0)
    np.testing.assert_allclose(value, wanted[0], atol=1e-14)
    m, s, m2, s2, corr = pull(jnp.ones((7, 9)))[0]
    for found, own in zip((m, s), wanted[1:3], strict=True):
        np.testing.assert_allclose(found, own.sum(axis=1), atol=1e-12)
    for found, own in zip((m2, s2), wanted[3:5], strict=True):
        np.testing.assert_allclose(found, own.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(corr, wanted[5], atol=1e-13)


@pytest.mark.some(1)
@pytest.mark.parametrize("s", [1.0, 1e3, 30.0, 1e4])
def test_a_long_neuron_has_its_mean_square_and_the_kernel_of_the_sign(s):
    """E tanh² = 1 − E tanh' at every length; E tanh(h) tanh(h') = (2/π) asin c + O(1/s²) for m = 0, |c| < 1."""
    deviations, corr = jnp.full(32, s), jnp.asarray(np.resize([1.0, 0.999, 0.9, -0.8], 32))
    found = rule(ac.tanh, Pair(jnp.zeros(32), deviations, jnp.zeros(32), deviations, corr))
    own = mean_square(ac.tanh, jnp.zeros(1), deviations[:1])
    np.testing.assert_allclose(found[0][corr == 1], np.resize(own, 8), rtol=0, atol=1e-13)
    if s >= 1e3:
        apart = np.abs(found[0] - 2 / np.pi * np.arcsin(corr))[corr < 1]
        assert apart.max() < 4 / (s**2 * np.sqrt(1 - 0.999**2))
        assert apart.max() > 1e-2 / s**2  # the correction itself is seen
        np.testing.assert_allclose(found[5] / (s * s), _mean_slopes(s, np.asarray(corr)), rtol=0, atol=1e-12)


def _mean_slopes(s, corr):
    """E σ'(h) σ'(h') of tanh for m = 0: panels of NumPy around 0, where both slopes are not 0."""
    edges = np.unique([sign * 2.0**k / s for k in range(-3, 6) for sign in (-1, 1)] + [0.0])
    x, w = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    g, w = (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()
    slope = 1 / np.cosh(np.clip(s * g, -300, 300)) ** 2
    found = []
    for c in corr:
        if c == 1:
            found.append(w @ (slope**2 * np.exp(-g * g / 2)) / np.sqrt(2 * np.pi))
            continue
        joint = np.exp(-(g[:, None] ** 2 - 2 * c * g[:, None] * g + g**2) / (2 * (1 - c * c)))
        found.append((w * slope) @ joint @ (w * slope) / (2 * np.pi * np.sqrt(1 - c * c)))
    return np.array(found)


@pytest.mark.slow
def test_a_kernel_joins_series_and_rule_without_a_seam():
    """tanh: at s = 3 the series is short of digits near |c| = 1, at s = 1 nowhere."""
    m, corr = jnp.asarray([0.4, -0.3]), jnp.asarray([[1.0, 0.999], [0.5, -1.0]])
    for s in (1.0, 3.0, 40.0):
        deviations = jnp.full(2, s)
        i, j = np.indices((2, 2)).reshape(2, -1)
        exact = rule(ac.tanh, Pair(m[i], deviations[i], m[j], deviations[j], corr.ravel()))[0].reshape(2, 2)
        joined = joint(ac.tanh, Pair(m, deviations, m, deviations, corr))
        np.testing.assert_allclose(joined, exact, rtol=0, atol=1e-13)
