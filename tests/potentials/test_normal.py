"""The normal law in one and two dimensions: hinge ψ, tail L, double hinge H, far into the tails."""

import math

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from widelimit.potentials.normal import bivariate_hinge, bivariate_tail, density, hinge, tail

CORRELATIONS = [c * sign for c in (0.3, 0.74, 0.76, 0.97, 0.9999) for sign in (1, -1)]
SCORES = np.array([(x, y) for x in (-2.5, -0.8, 0.0, 0.4, 1.7, 3.0) for y in (-2.0, 0.0, 0.4, 0.41, 2.6)])

hinges = jax.jit(bivariate_hinge)
tails = jax.jit(bivariate_tail)
slopes = jax.jit(jax.vmap(jax.grad(bivariate_hinge, argnums=(0, 1, 2))))


def full(c):
    return np.full(len(SCORES), float(c))


def plain_hinge(z):
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - z * ndtr(-z)


def conditioned(z, z2, c):
    """(L, H) by integrating over G the tail and the hinge of G' | G ~ N(cG, 1 − c²), panels around their turn."""
    rest = math.sqrt((1 - c) * (1 + c))
    turn = z2 / c if c else 0.0
    width = rest / abs(c) if c else 1.0
    marks = [turn + e * width for e in (-9, -5, -3, -1, 0, 1, 3, 5, 9)]
    edges = np.unique(np.clip([z, 12.0, *np.arange(-12.0, 12.0), *marks], max(z, -12.0), 12.0))
    x, w = np.polynomial.legendre.leggauss(40)
    half = np.diff(edges)[:, None] / 2
    g = (edges[:-1, None] + half + half * x).ravel()
    weights = (half * w).ravel() * np.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
    u = (z2 - c * g) / rest
    return weights @ ndtr(-u), weights @ ((g - z) * rest * plain_hinge(u))


def test_the_hinge_keeps_twelve_digits_from_zero_to_37_deviations():
    z = np.concatenate([[0.0, 1e-9, 1e-3], np.linspace(0.05, 37.0, 60)])
    values = np.asarray(hinge(jnp.asarray(z)))
    with mp.workdps(40):
        for x, value in zip(z, values, strict=True):
            exact = mp.npdf(mp.mpf(x)) - mp.mpf(x) * mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2  # loses 3 of 40 digits
            assert abs(value / exact - 1) < 1e-12, x


def test_density_and_tail_keep_twelve_digits_to_37_deviations():
    z = np.linspace(-5.0, 37.0, 43)
    with mp.workdps(40):
        exact = [(float(mp.npdf(mp.mpf(x))), float(mp.erfc(mp.mpf(x) / mp.sqrt(2)) / 2)) for x in z]
    np.testing.assert_allclose(np.stack([density(jnp.asarray(z)), tail(jnp.asarray(z))], axis=1), exact, rtol=1e-12)


@pytest.mark.parametrize("c", CORRELATIONS)
def test_tail_and_double_hinge_are_exact_to_ten_digits_at_every_correlation(c):
    expected = np.array([conditioned(z, z2, c) for z, z2 in SCORES])
    np.testing.assert_allclose(tails(*SCORES.T, full(c)), expected[:, 0], atol=1e-10, rtol=0)
    np.testing.assert_allclose(hinges(*SCORES.T, full(c)), expected[:, 1], atol=1e-9, rtol=0)


@pytest.mark.parametrize("c", [0.74, -0.97])
def test_the_tail_is_the_orthant_probability_of_scipy(c):
    law = multivariate_normal([0, 0], [[1, c], [c, 1]])
    expected = [law.cdf([-z, -z2]) for z, z2 in SCORES]
    np.testing.assert_allclose(tails(*SCORES.T, full(c)), expected, atol=1e-9, rtol=0)


def test_uncorrelated_neurons_factorise():
    z, z2 = SCORES.T
    np.testing.assert_allclose(tails(z, z2, full(0)), ndtr(-z) * ndtr(-z2), rtol=1e-13)
    np.testing.assert_allclose(hinges(z, z2, full(0)), plain_hinge(z) * plain_hinge(z2), rtol=0, atol=2e-15)


def test_at_correlation_one_both_hinges_see_the_same_number():
    z, z2 = SCORES.T
    low, high = np.minimum(z, z2), np.maximum(z, z2)  # E (G − low)_+ (G − high)_+ by parts
    expected = (1 + low * high) * ndtr(-high) - low * np.exp(-0.5 * high**2) / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(tails(z, z2, full(1)), ndtr(-high), rtol=1e-13)
    np.testing.assert_allclose(hinges(z, z2, full(1)), expected, rtol=0, atol=1e-14)


@pytest.mark.more
def test_entries_at_both_ends_are_the_same_bits_with_and_without_others_inside():
    z, c = np.linspace(-3.0, 3.0, 7), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    alone = bivariate_tail(jnp.asarray(z), jnp.asarray(z[::-1]), jnp.asarray(c))
    mixed = bivariate_tail(*(jnp.asarray(np.append(x, end)) for x, end in ((z, 0.3), (z[::-1], 0.1), (c, 0.5))))
    np.testing.assert_array_equal(mixed[:-1], alone)


@pytest.mark.parametrize("c", [0.29999, 0.6, 0.74999, 0.92499])
def test_every_rule_is_at_rounding_up_to_the_correlation_where_it_ends(c):
    """L = ∫_z^∞ φ(g) Φ̄((z' − cg)/√(1−c²)) dg, by a long Gauss rule on [z, 12], itself good to 8e-15."""
    z, z2 = (x.ravel() for x in np.meshgrid(np.linspace(-4.0, 4.0, 17), np.linspace(-4.0, 4.0, 17)))
    x, w = np.polynomial.legendre.leggauss(160)
    g = z[:, None] + (12 - z[:, None]) * (x + 1) / 2
    inner = np.exp(-0.5 * g**2) / math.sqrt(2 * math.pi) * ndtr((c * g - z2[:, None]) / math.sqrt(1 - c * c))
    np.testing.assert_allclose(tails(z, z2, np.full_like(z, c)), inner @ w * (12 - z) / 2, rtol=0, atol=1e-14)


@pytest.mark.more
def test_many_entries_of_all_kinds_in_any_order_and_in_a_batch_are_what_they_are_alone():
    rng = np.random.default_rng(0)
    z, z2, c = rng.normal(size=(3, 4, 600))
    c = np.clip(c, -1.0, 1.0)  # a third of them at an end
    whole = np.asarray(tails(z, z2, c))
    law = [multivariate_normal([0, 0], [[1, x], [x, 1]], allow_singular=True) for x in c[0, :40]]
    expected = [one.cdf([-a, -b]) for one, a, b in zip(law, z[0, :40], z2[0, :40], strict=True)]
    np.testing.assert_allclose(whole[0, :40], expected, atol=1e-8)
    np.testing.assert_allclose(jax.vmap(bivariate_tail)(z, z2, c), whole, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        jax.vmap(bivariate_tail, (0, None, None))(z, z2[0], c[0])[0], whole[0], rtol=0, atol=1e-15
    )
    back = [x.reshape(-1)[::-1] for x in (z, z2, c)]
    np.testing.assert_allclose(tails(*back)[::-1], whole.reshape(-1), rtol=0, atol=1e-15)


def test_at_correlation_minus_one_the_hinges_see_opposite_numbers():
    z, z2 = SCORES.T
    overlap = z < -z2  # G > z and G < −z': E (G − z)(−z' − G) over the interval
    upper = np.where(overlap, -z2, z)
    phi = [np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi) for x in (z, upper)]
    mass = ndtr(upper) - ndtr(z)
    second = mass - upper * phi[1] + z * phi[0]
    expected = -second + (z - z2) * (phi[0] - phi[1]) + z * z2 * mass
    np.testing.assert_allclose(tails(z, z2, full(-1)), mass, rtol=0, atol=1e-14)
    np.testing.assert_allclose(hinges(z, z2, full(-1)), expected, rtol=0, atol=1e-14)


def test_without_thresholds_the_double_hinge_is_the_arc_cosine_kernel():
    c = np.concatenate([np.linspace(-1, 1, 41), [0.9999999, -0.9999999, 0.75, 0.7500001]])
    zero = np.zeros_like(c)
    expected = (np.sqrt((1 - c) * (1 + c)) + c * (math.pi - np.arccos(c))) / (2 * math.pi)
    np.testing.assert_allclose(jax.jit(bivariate_hinge)(zero, zero, c), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        jax.jit(bivariate_tail)(zero, zero, c), 0.25 + np.arcsin(c) / (2 * math.pi), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("c", [0.0, 0.3, -0.74, 0.76, -0.97, 0.9999])
def test_the_derivative_rule_agrees_with_differences(c):
    arguments = [*SCORES.T, full(c)]
    exact = slopes(*arguments)
    room = 1 - abs(c)
    for i, step in enumerate((1e-4, 1e-4, min(1e-4, room / 4))):
        up, down = (hinges(*[x + sign * step * (i == j) for j, x in enumerate(arguments)]) for sign in (1, -1))
        # truncation: step²/6 times the third derivative, of order (1 − |c|)^{−1/2} in z and (1 − |c|)^{−3/2} in c
        allowed = step**2 / 6 * room ** (-0.5 if i < 2 else -1.5) + 1e-15 / step
        np.testing.assert_allclose(exact[i], (up - down) / (2 * step), rtol=0, atol=allowed)


@pytest.mark.parametrize("c", [1.0, -1.0])
def test_at_the_ends_derivatives_are_the_limits_from_inside(c):
    ends, inside = slopes(*SCORES.T, full(c)), slopes(*SCORES.T, full(c * (1 - 1e-12)))
    assert all(np.all(np.isfinite(x)) for x in ends)
    for one, two in zip(ends, inside, strict=True):  # they close like √(1 − c²) ~ 1.4e−6
        np.testing.assert_allclose(one, two, rtol=0, atol=3e-6)


def test_the_double_hinge_is_symmetric_and_grows_with_correlation():
    z, z2 = SCORES.T
    values = []
    for c in sorted([-1.0, *CORRELATIONS, 0.0, 1.0]):
        values.append(np.asarray(hinges(z, z2, full(c))))
        np.testing.assert_allclose(values[-1], hinges(z2, z, full(c)), rtol=0, atol=1e-9)
    assert np.all(np.diff(values, axis=0) >= -2e-9)  # ∂H/∂c = L ≥ 0
