"""Means over a sphere: closed forms, quadrature, slopes, and the normal law as the dimension grows."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import widelimit as wl
from widelimit.potentials.smoothing import value
from widelimit.potentials.spherical import sphere_mean, unit_sphere

M = np.array([-3.0, -0.4, 0.0, 0.2, 1.1, 6.0])
S = np.array([0.3, 1.2, 0.7, 0.05, 2.0, 0.4])


def chosen(name):
    return wl.neurons.ridge(name).sigma.form


@jax.jit
def jitted(activation, m, s, sphere):
    return sphere_mean(activation, m, s, sphere)


def mean(activation, m, s, p):
    return jitted(activation, jnp.asarray(m), jnp.asarray(s), unit_sphere(p))


def exact(sigma, m, s, p, knots=()):
    """E σ(m + s √p T) by mpmath, as an integral over the angle, cut at the knots."""
    scale = s * mpmath.sqrt(p)
    cuts = sorted(mpmath.acos((t - m) / scale) for t in knots if abs((t - m) / scale) < 1)
    ends = [mpmath.mpf(0), *cuts, mpmath.pi]
    mass = mpmath.gamma(mpmath.mpf(p) / 2) / (mpmath.gamma(mpmath.mpf(p - 1) / 2) * mpmath.sqrt(mpmath.pi))
    return float(mass * mpmath.quad(lambda a: sigma(m + scale * mpmath.cos(a)) * mpmath.sin(a) ** (p - 2), ends))


def ramp(x):
    return mpmath.mpf(-2.5) if x <= 0.5 else mpmath.mpf(7.5) if x >= 1.5 else -2.5 + 10 * (x - mpmath.mpf(0.5))


CLOSED = {"relu": (lambda x: max(x, mpmath.mpf(0)), (0,)), "ramp": (ramp, (0.5, 1.5))}


@pytest.mark.parametrize("name, p", [("relu", 2), ("relu", 3), ("relu", 200), ("ramp", 19)])
def test_piecewise_linear_means_are_integrals_over_the_angle(name, p):
    sigma, knots = CLOSED[name]
    found = np.asarray(mean(chosen(name), M, S, p))
    expected = [exact(sigma, m, s, p, knots) for m, s in zip(M, S, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (1 + np.abs(M).max()))


def many_dimensions(z, p):
    """E (T − z)_+ and P(T > z) by mpmath, to 30 digits, as integrals over pieces of the width of the law."""
    with mpmath.workdps(30):
        z, p = mpmath.mpf(z), mpmath.mpf(p)
        c = mpmath.gamma(p / 2) / (mpmath.gamma((p - 1) / 2) * mpmath.sqrt(mpmath.pi))
        cuts = [z, *(x / mpmath.sqrt(p) for x in (-6, -3, 0, 1, 2, 4, 8, 14) if x / mpmath.sqrt(p) > z)]

        def density(t):
            return c * (1 - t * t) ** ((p - 3) / 2)

        return float(mpmath.quad(lambda t: (t - z) * density(t), cuts)), float(mpmath.quad(density, cuts))


@pytest.mark.parametrize("p", [199, 200, 1e4, 1e8, 1e12])
def test_no_digit_is_lost_in_many_dimensions(p):
    """Where differences of log Γ and powers of 1 − z² lose p times the rounding: 0.08 of E (T − z)_+ at p = 10¹²."""
    sphere = unit_sphere(p)
    for x in (-1.3, 0.0, 0.2, 1.7, 5.0):
        z = x / math.sqrt(p)
        found = float(sphere.hinge(jnp.asarray(z))), float(sphere.tail(jnp.asarray(z)))
        np.testing.assert_allclose(found, many_dimensions(z, p), rtol=3e-12)


@pytest.mark.parametrize("p", [3, 19, 200])
def test_general_means_are_integrals_over_the_angle(p):
    """tanh has poles at distance π/2 from the axis: at s√p ≤ 8 the rule has converged."""
    m, s = M[:-1], np.minimum(S[:-1], 8 / math.sqrt(p))
    found = np.asarray(mean(chosen("tanh"), m, s, p))
    expected = [exact(mpmath.tanh, x, y, p) for x, y in zip(m, s, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [2, 3, 4, 19, 200])
def test_polynomial_means_are_moments_of_the_sphere(p):
    """E (s√p T)² = s², E (s√p T)⁴ = 3 s⁴ p/(p+2)."""
    quartic = wl.activations.polynomial([0.3, -1.0, 2.0, 0.5, 0.7])
    found = np.asarray(mean(quartic, M, S, p))
    two, four = S**2, 3 * S**4 * p / (p + 2)
    expected = 0.3 - M + 2 * (M**2 + two) + 0.5 * (M**3 + 3 * M * two) + 0.7 * (M**4 + 6 * M**2 * two + four)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["ramp", "tanh"])
def test_derivatives_are_slopes_inside_and_beyond_the_sphere(name):
    """m = ±3, s = 0.3 at p = 19: the whole sphere lies on one side of every knot, |z| > 1."""
    p, h, activation = 19, 1e-4, chosen(name)
    m, s = jnp.asarray(M), jnp.asarray(S)
    by_m, by_s = jax.grad(lambda m, s: jnp.sum(mean(activation, m, s, p)), argnums=(0, 1))(m, s)

    def slope(f):
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

    size = 1e-9 * (10 if name == "ramp" else 1)
    np.testing.assert_allclose(by_m, slope(lambda e: mean(activation, m + e, s, p)), rtol=0, atol=size)
    np.testing.assert_allclose(by_s, slope(lambda e: mean(activation, m, s + e, p)), rtol=0, atol=size)


@pytest.mark.parametrize("p", [pytest.param(3, marks=pytest.mark.slow), 19])
def test_the_hinge_its_slope_and_its_curvature(p):
    """(E (T − z)_+)' = −P(T > z), (E (T − z)_+)'' the density; all three known beyond |z| = 1."""
    z = jnp.asarray([-1.7, -1.0, -0.999, -0.3, 0.0, 0.5, 1.0, 1.4])
    sphere = unit_sphere(p)
    hinge, tail = sphere.hinge, sphere.tail
    bend = jax.grad(hinge)
    here, slope, curvature = jax.jit(jax.vmap(lambda x: (hinge(x), bend(x), jax.grad(bend)(x))))(z)
    right, left = jax.jit(lambda z: (tail(z), tail(-z)))(z)
    np.testing.assert_allclose(slope, -right, rtol=1e-14)
    np.testing.assert_allclose(right + left, 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(here)[[0, -1]], [1.7, 0.0], atol=1e-15)
    assert np.isfinite(curvature).all()
    inside = np.asarray(z)[3:6]
    mass = math.gamma(p / 2) / (math.gamma((p - 1) / 2) * math.sqrt(math.pi))
    np.testing.assert_allclose(curvature[3:6], mass * (1 - inside**2) ** ((p - 3) / 2), rtol=1e-12)


def test_a_point_mass_is_the_activation_itself():
    m = jnp.asarray([-0.7, 0.4, 2.0])
    for name in ("ramp", "tanh"):
        found = mean(chosen(name), m, jnp.zeros(3), 19)
        np.testing.assert_allclose(found, chosen(name)(m), rtol=0, atol=1e-13)
    slopes = jax.jit(jax.grad(lambda m: jnp.sum(sphere_mean(chosen("relu"), m, jnp.zeros(3), unit_sphere(19)))))(m)
    np.testing.assert_allclose(slopes, [0, 1, 1], atol=1e-15)


@pytest.mark.parametrize("name", ["relu", "erf"])
def test_in_many_dimensions_it_is_the_mean_over_a_normal_law(name):
    """The first correction is −s⁴ E σ''''/(4p): the gap shrinks like 1/p, and p times it converges."""
    m, s = jnp.asarray([0.2, -0.6]), jnp.asarray([0.8, 1.1])
    limit = jax.jit(lambda m, s: value(chosen(name), m, s))(m, s)
    gaps = [p * np.asarray(mean(chosen(name), m, s, p) - limit) for p in (500, 1000, 2000)]
    assert np.all(np.abs(gaps[-1]) < 1) and np.all(np.abs(gaps[-1]) > 1e-3)
    assert np.all(np.abs(gaps[2] - gaps[1]) <= 0.6 * np.abs(gaps[1] - gaps[0]) + 1e-9)
