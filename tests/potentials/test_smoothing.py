"""Smoothed activations A_k(m, s) = E[σ(m + sG) h_k(G)] against quadrature that knows nothing of closed forms.

Closed forms: Gauss–Legendre panels of 48 nodes on [−20, 20] in 100 digits, split where σ bends. Its own floor is about
1e−63 (|h_12| φ at ±20, and cancellation), so FLOOR = 1e−58 is allowed everywhere. A wave of s = 20 radians per unit is
too fast for the panels and is compared to its characteristic function instead.
General functions, for which ten digits are promised: the same panels in double precision.
"""

import math
from functools import lru_cache, partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre
from scipy.special import expit

from widelimit.errors import InputError
from widelimit.potentials.quadrature import ladder
from widelimit.potentials.smoothing import slopes, smoothed
from widelimit.problem import activations as ac

ORDER = 12
FLOOR = 1e-58
MEANS = (-2.2, 0.0, 0.5, 0.7, 6.0)  # 0.5 is a knot of the ramp, 0 of the relu
DEVIATIONS = (1e-6, 1e-2, 0.3, 1.0, 5.0, 20.0)
GRID = [(m, s) for m in MEANS for s in DEVIATIONS]

FIGURE_4 = ac.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)]).form
CUBIC = ac.polynomial([1, -2, 0.5, 0.3])
SILU = ac.custom(jax.nn.silu, name="silu")
KINKED = ac.custom(lambda x: jnp.abs(x - 0.3) * jnp.tanh(x), kinks=[0.3], name="kinked")


def name(activation):
    return activation.name if isinstance(activation, ac.General) else ac.name_of(activation)


def exact(activation):
    """The same function in mpmath, written from the numbers that define it."""
    if isinstance(activation, ac.Hinges):
        hinges = [(mp.mpf(t), mp.mpf(d)) for t, d in zip(activation.knots, activation.jumps, strict=True)]
        start, slope = mp.mpf(activation.intercept), mp.mpf(activation.slope)
        return lambda x: start + slope * x + sum(d * (x - t) for t, d in hinges if x > t)
    if isinstance(activation, ac.Polynomial):
        return lambda x: mp.polyval([mp.mpf(c) for c in reversed(activation.coefficients)], x)
    return {
        "erf": mp.erf,
        "sin": mp.sin,
        "cos": mp.cos,
        "tanh": mp.tanh,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log1p(mp.exp(x)),
    }[name(activation)]


def plain(activation):
    """General functions in NumPy."""
    return {
        "tanh": np.tanh,
        "sigmoid": expit,
        "softplus": lambda x: np.logaddexp(0, x),
        "silu": lambda x: x * expit(x),
        "kinked": lambda x: np.abs(x - 0.3) * np.tanh(x),
    }[name(activation)]


def bends(activation):
    """Where σ is not analytic, or nearly not on the scale of a wide s."""
    if isinstance(activation, ac.Hinges):
        return activation.knots
    return (0.0,) if isinstance(activation, ac.ErrorFunction) else ()


@lru_cache(maxsize=1)
def legendre():
    return GaussLegendre(mp.mp).calc_nodes(5, 340)


@lru_cache(maxsize=200)
def panel(a, b):
    """Nodes in [a, b] and, for each order, weights with h_k φ in them."""
    centre, half = (a + b) / 2, (b - a) / 2
    nodes = [centre + half * x for x, _ in legendre()]
    columns = [[mp.npdf(g) * w * half for g, (_, w) in zip(nodes, legendre(), strict=True)]]
    columns.append([g * v for g, v in zip(nodes, columns[0], strict=True)])
    for k in range(1, ORDER):
        columns.append(
            [
                (g * one - mp.sqrt(k) * two) / mp.sqrt(k + 1)
                for g, one, two in zip(nodes, columns[k], columns[k - 1], strict=True)
            ]
        )
    return nodes, columns


def reference(activation, m, s):
    """A_0, …, A_12 in mpmath."""
    with mp.workdps(100):
        m, s, function = mp.mpf(m), mp.mpf(s), exact(activation)
        edges = {mp.mpf(x) for x in range(-20, 21, 4)}
        wide = (0,) if isinstance(activation, ac.Hinges) else (0, -1, 1, -2, 2, -4, 4, -8, 8)
        for t in bends(activation):
            edges |= {z for z in ((mp.mpf(t) + e - m) / s for e in wide) if abs(z) < 20}
        edges = sorted(edges)
        totals = [mp.mpf(0)] * (ORDER + 1)
        for a, b in pairwise(edges):
            nodes, columns = panel(a, b)
            values = [function(m + s * g) for g in nodes]
            totals = [t + mp.fdot(values, column) for t, column in zip(totals, columns, strict=True)]
        return totals


def double_reference(function, m, s):
    """A_0, …, A_12 in double precision, panels no longer than 1 in g and in the argument of σ near its bends."""
    bend = np.concatenate([np.arange(-40.0, 41.0), [0.3]])
    edges = np.unique(np.concatenate([np.arange(-14.0, 15.0), np.clip((bend - m) / s, -14, 14)]))
    x, w = np.polynomial.legendre.leggauss(48)
    half = np.diff(edges)[:, None] / 2
    g = (edges[:-1, None] + half + half * x).ravel()
    weights = (half * w).ravel() * np.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
    he = np.polynomial.hermite_e.hermevander(g, ORDER) / np.sqrt([math.factorial(k) for k in range(ORDER + 1)])
    return (weights * function(m + s * g)) @ he


@lru_cache(maxsize=64)
def compiled(activation, order=ORDER):
    return jax.jit(partial(smoothed, activation, order))


def computed(activation, grid):
    """A_0, …, A_12 at the points of a grid, repeated to one length so that each activation is compiled once."""
    m, s = (jnp.asarray(np.resize(x, len(GRID))) for x in zip(*grid, strict=True))
    return np.asarray(compiled(activation)(m, s))[: len(grid)]


def distance(numbers, references):
    """|A_k − reference|, subtracted in mpmath so that nothing is lost below 1e−16."""
    return np.array([float(abs(mp.mpf(float(x)) - r)) for x, r in zip(numbers, references, strict=True)])


def neighbours(z, order):
    """√(h_{j}² + h_{j−1}²)(z) for j < order: the size of h_j away from its zeros."""
    h = [1.0, z]
    for k in range(1, order):
        h.append((z * h[k] - math.sqrt(k) * h[k - 1]) / math.sqrt(k + 1))
    return [math.hypot(h[j], h[j - 1] if j else 0.0) for j in range(order)]


def conditioning(activation, m, s):
    """Size of the terms A_k is the sum of, for k = 0 … 12: what 'relative' means where they cancel.

    A knot (or erf) contributes a multiple of h_j(z), which cannot be computed to relative accuracy beside one of its
    zeros because z itself is rounded; h_{j−1} is not small there and gives the size.
    """
    k = np.arange(2, ORDER + 1)
    if isinstance(activation, ac.Hinges):
        size = np.zeros(ORDER + 1)
        size[0] = abs(activation.intercept) + abs(activation.slope * m)
        size[1] = s * abs(activation.slope)
        for t, jump in zip(activation.knots, activation.jumps, strict=True):
            z = (t - m) / s
            density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            size[0] += abs(jump) * (max(m - t, 0.0) + s * density / (1 + z * z))
            size[1] += s * abs(jump) * (1.0 if z < 0 else 0.5 * math.erfc(z / math.sqrt(2)))
            size[2:] += s * abs(jump) * density * np.array(neighbours(z, ORDER - 1)) / np.sqrt(k * (k - 1))
        return size
    if isinstance(activation, ac.ErrorFunction):
        c = math.sqrt(1 + 2 * s * s)
        x, k = m / c, np.arange(1, ORDER + 1)
        powers = (s / c) ** k * np.sqrt(2.0 ** (k - 1) / k)
        higher = 2 / math.sqrt(math.pi) * powers * np.array(neighbours(math.sqrt(2) * x, ORDER)) * math.exp(-x * x)
        return np.array([abs(math.erf(x)), *higher])
    if isinstance(activation, ac.Polynomial):
        size = np.polynomial.Polynomial(np.abs(activation.coefficients))
        table = [size.deriv(j)(abs(m)) for j in range(ORDER + 1)]
        return np.array(
            [
                s**k / math.sqrt(math.factorial(k))
                * sum(s ** (2 * j) * table[k + 2 * j] / (2**j * math.factorial(j)) for j in range((ORDER - k) // 2 + 1))
                for k in range(ORDER + 1)
            ]
        )  # fmt: skip
    return np.zeros(ORDER + 1)


def wave(activation, m, s):
    """The closed form for sin and cos in mpmath: Im or Re of i^k s^k/√k! e^{im − s²/2}."""
    with mp.workdps(100):
        m, s = mp.mpf(m), mp.mpf(s)
        whole = [mp.mpc(0, 1) ** k * s**k / mp.sqrt(mp.factorial(k)) * mp.exp(mp.mpc(-s * s / 2, m)) for k in range(13)]
        return [mp.im(x) if activation is ac.sin else mp.re(x) for x in whole]


CLOSED = [ac.relu, ac.truncated_relu, ac.ramp().form, FIGURE_4, ac.erf, ac.sin, ac.cos, CUBIC, ac.hermite(3).form]
INTEGRATED = [ac.tanh, ac.sigmoid, ac.softplus, SILU, KINKED]


@pytest.mark.some(3)
@pytest.mark.parametrize("activation", CLOSED, ids=name)
def test_closed_forms_are_exact_to_twelve_digits(activation):
    grid = [(m, s) for m, s in GRID if s < 20 or not isinstance(activation, ac.Sinusoid)]
    for (m, s), numbers in zip(grid, computed(activation, grid), strict=True):
        expected = reference(activation, m, s)
        allowed = 1e-12 * np.maximum([float(abs(r)) for r in expected], conditioning(activation, m, s)) + FLOOR
        error = distance(numbers, expected)
        assert np.all(error <= allowed), (m, s, np.argmax(error - allowed), np.max(error / allowed))


@pytest.mark.parametrize("activation", [ac.sin, ac.cos], ids=name)
def test_waves_damped_by_wide_noise_keep_twelve_digits(activation):
    grid = [(m, s) for m in MEANS for s in (5.0, 20.0)]
    for (m, s), numbers in zip(grid, computed(activation, grid), strict=True):
        expected = wave(activation, m, s)
        size = np.array([float(abs(r)) for r in expected])
        assert size[0] < 1e-5
        assert np.all(distance(numbers, expected) <= 1e-12 * size)


@pytest.mark.some(2)
@pytest.mark.parametrize("activation", INTEGRATED, ids=name)
def test_quadrature_is_exact_to_ten_digits_of_the_activations_scale(activation):
    for (m, s), numbers in zip(GRID, computed(activation, GRID), strict=True):
        scale = 1.0 if activation in (ac.tanh, ac.sigmoid) else 1 + abs(m) + s
        error = np.abs(numbers - double_reference(plain(activation), m, s))
        assert np.all(error <= 1e-10 * scale), (m, s, error)


@pytest.mark.parametrize("activation", [ac.tanh, ac.erf, ac.sigmoid, ac.softplus], ids=name)
def test_A_k_goes_to_zero_like_s_to_the_k_without_noise(activation):
    far, near = np.abs(computed(activation, [(0.7, 1e-3), (0.7, 1e-6)]))
    slopes = np.log(far / near) / math.log(1e3)
    np.testing.assert_allclose(slopes, np.arange(ORDER + 1), atol=1e-3)
    with mp.workdps(80):
        limit = [mp.diff(exact(activation), mp.mpf(0.7), k) / mp.sqrt(mp.factorial(k)) for k in range(ORDER + 1)]
    here = computed(activation, [(0.7, 1e-6)])[0] / 1e-6 ** np.arange(ORDER + 1.0)
    np.testing.assert_allclose(here, np.array([float(x) for x in limit]), rtol=1e-6)


DERIVED = [ac.relu, FIGURE_4, ac.erf, ac.sin, CUBIC, ac.tanh, ac.softplus, SILU, KINKED]
POINTS = [(m, s) for m in (-1.0, -0.4, 0.0, 0.5, 1.3, 3.0) for s in (0.3, 0.5, 0.8, 1.0, 2.0)]


@pytest.fixture(scope="module", params=DERIVED, ids=name)
def differentiated(request):
    """∂_m and ∂_s of A_0 … A_6 at POINTS, and a way to evaluate A elsewhere."""
    activation = request.param
    m, s = (jnp.asarray(x) for x in zip(*POINTS, strict=True))
    function = compiled(activation)
    one, zero = jnp.ones_like(m), jnp.zeros_like(m)
    assert len(POINTS) == len(GRID)
    slope = jax.jit(lambda dm, ds: jax.jvp(partial(smoothed, activation, 6), (m, s), (dm, ds))[1])
    return function, m, s, np.asarray(slope(one, zero)), np.asarray(slope(zero, one))


@pytest.mark.some(7)
def test_derivatives_agree_with_differences(differentiated):
    function, m, s, by_m, by_s = differentiated
    h = 1e-3  # fourth order: h⁴ ~ 1e−12 times a derivative of order one, and rounding of 1e−16/h
    scale = 1 + np.max(np.abs(function(m, s)))

    def slope(at):
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h)))[:, :7] / (12 * h)

    np.testing.assert_allclose(by_m, slope(lambda e: function(m + e, s)), atol=1e-9 * scale, rtol=0)
    np.testing.assert_allclose(by_s, slope(lambda e: function(m, s + e)), atol=1e-9 * scale, rtol=0)


@pytest.mark.some(7)
def test_derivatives_obey_steins_identity_and_the_heat_equation(differentiated):
    function, m, s, by_m, by_s = differentiated
    a, k, s_ = np.asarray(function(m, s)), np.arange(7.0), np.asarray(s)[:, None]
    np.testing.assert_allclose(by_m, np.sqrt(k + 1) * a[:, 1:8] / s_, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        by_s, (np.sqrt((k + 1) * (k + 2)) * a[:, 2:9] + k * a[:, :7]) / s_, rtol=1e-12, atol=1e-13
    )
    h = 1e-3  # ∂A_0/∂s = s ∂²A_0/∂m², the difference being good to h² A_0''''/12 + 4e−16/h²
    second = (function(m + h, s) - 2 * function(m, s) + function(m - h, s))[:, 0] / h**2
    np.testing.assert_allclose(by_s[:, 0], s * second, atol=1e-5)


@pytest.mark.more
def test_noise_begins_to_act_on_a_kink_at_once():
    def spread(s):
        return smoothed(ac.relu, 0, jnp.zeros(()), s)[0]

    assert float(jax.grad(spread)(jnp.zeros(()))) == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-14)
    assert float(spread(jnp.asarray(1e-9))) == pytest.approx(1e-9 / math.sqrt(2 * math.pi), rel=1e-13)


@pytest.mark.some(2)
@pytest.mark.parametrize("activation", ac.NAMED.values(), ids=name)
def test_without_noise_values_are_those_of_the_activation_and_derivatives_are_finite(activation):
    activation = activation.form
    m, s = jnp.asarray([-1.0, 0.0, 0.25, 0.5, 1.0, 3.0]), jnp.zeros(6)
    values = np.asarray(jax.jit(partial(smoothed, activation, 4))(m, s))
    np.testing.assert_allclose(values[:, 0], activation(m), rtol=1e-14, atol=1e-15)
    assert np.all(values[:, 1:] == 0)
    total = jax.jit(jax.grad(lambda m, s: jnp.sum(smoothed(activation, 4, m, s)), argnums=(0, 1)))
    by_m, by_s = (np.asarray(g) for g in total(m, s))
    assert np.all(np.isfinite(by_m)) and np.all(np.isfinite(by_s))
    smooth_at = np.array([0, 2, 5])  # away from every knot ∂_m Σ_k A_k = σ', ∂_s Σ_k A_k = σ' (from A_1)
    slope = np.asarray(jax.vmap(jax.grad(activation))(m))[smooth_at]
    np.testing.assert_allclose(by_m[smooth_at], slope, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(by_s[smooth_at], slope, rtol=1e-12, atol=1e-13)


def test_a_kink_that_is_not_listed_is_refused_and_accepted_once_it_is_listed_or_found():
    def bent(x):
        return jnp.abs(x - 0.37)

    with pytest.raises(InputError, match="kinks"):
        ladder(ac.custom(bent, kinks=[], name="bent"))
    assert ladder(ac.custom(bent, kinks=[0.37])) == ladder(ac.custom(bent))
    assert ladder(ac.custom(bent))[-1] >= 10


@pytest.mark.parametrize(("m", "s"), [(0.0, 0.5), (-2.0, 3.0), (7.0, 50.0), (100.0, 1e4), (-30.0, 0.0)])
def test_slopes_of_erf_have_all_digits_of_the_first_up_to_the_highest_order_in_use(m, s):
    c = mp.sqrt(1 + 2 * mp.mpf(s) ** 2)
    x, order = mp.mpf(m) / c, 122
    h = [mp.mpf(1), mp.sqrt(2) * x]
    for k in range(1, order):
        h.append((mp.sqrt(2) * x * h[k] - mp.sqrt(k) * h[k - 1]) / mp.sqrt(k + 1))
    first, ratio = 2 / mp.sqrt(mp.pi) / c, -mp.sqrt(2) * s / c
    exact = [float(first * mp.exp(-x * x) * ratio ** (k - 1) * h[k - 1] / mp.sqrt(k)) for k in range(1, order + 1)]
    found = np.asarray(slopes(ac.erf, jnp.array(m), jnp.array(s), order))
    assert np.abs(found - exact).max() < 1e-15 * float(first)
