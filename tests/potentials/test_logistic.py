"""The smoothed logistic family against sums in 30 digits, and the laws every A_k obeys.

The reference is a trapezoidal sum in mpmath: its error e^{−2πw/(sh)}, w = π/2 the strip in which tanh is analytic, is
below 1e−17 for the spacings h used.
"""

import math
from functools import cache, partial

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from widelimit.potentials.logistic import KINDS, mean_square, mean_square_slope, mixture, slopes, value

ORDER = 12
POINTS = ((0.3, 0.2), (-2.2, 1.0), (-9.0, 0.7), (5.0, 3.0), (-30.0, 6.0))
WIDE = (30.0, 20.0)


def logistic(x):
    return 1 / (1 + mp.exp(-x))


EXACT = {
    "sigmoid": (logistic, lambda x: logistic(x) * logistic(-x)),
    "tanh": (mp.tanh, lambda x: mp.sech(x) ** 2),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), logistic),
    "silu": (lambda x: x * logistic(x), lambda x: logistic(x) * (1 + x * logistic(-x))),
    "gelu": (lambda x: x * mp.ncdf(x), lambda x: mp.ncdf(x) + x * mp.npdf(x)),
}


@cache
def rule(steps):
    """Nodes on [−13, 13] and, for every order, weights with h_k φ in them."""
    with mp.workdps(30):
        nodes = [mp.mpf(26 * i) / steps - 13 for i in range(steps + 1)]
        columns = [[mp.npdf(g) * 26 / steps for g in nodes]]
        before = [mp.mpf(0)] * len(nodes)
        for k in range(ORDER):
            last = columns[-1]
            columns.append(
                [(g * p - mp.sqrt(k) * q) / mp.sqrt(k + 1) for g, p, q in zip(nodes, last, before, strict=True)]
            )
            before = last
        return nodes, columns


def reference(function, m, s, order=ORDER):
    """A_0, …, A_order of a function, as floats."""
    nodes, columns = rule(math.ceil(26 * max(4.0, 4.5 * s)))
    with mp.workdps(30):
        values = [function(mp.mpf(m) + mp.mpf(s) * g) for g in nodes]
        return np.array([float(mp.fdot(values, column)) for column in columns[: order + 1]])


def computed(kind, m, s, order=ORDER):
    """A_0, …, A_order."""
    m, s = jnp.asarray([m]), jnp.asarray([s])
    return np.concatenate([value(kind, m, s), s * np.asarray(slopes(kind, m, s, order))[0]])


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_order_has_an_error_below_1e_14(kind):
    for m, s in (*POINTS, WIDE) if kind in ("tanh", "silu") else POINTS:
        error = np.abs(computed(kind, m, s) - reference(EXACT[kind][0], m, s))
        assert error.max() < 1e-14, (m, s, error)


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_mean_squares_have_an_error_below_1e_14_of_their_scale(kind):
    for m, s in POINTS[:-1]:
        at = jnp.asarray([m]), jnp.asarray([s])
        for ours, function in zip((mean_square, mean_square_slope), EXACT[kind], strict=True):
            expected = reference(lambda x, f=function: f(x) ** 2, m, s, 0)[0]
            allowed = 1e-12 if (kind, ours) == ("softplus", mean_square) else 1e-14
            assert float(ours(kind, *at)[0]) == pytest.approx(expected, abs=allowed * (1 + m * m + s * s)), (m, s)


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_they_are_the_function_and_its_slope(kind):
    m = np.array([-4.0, -1.0, 0.0, 0.25, 3.0])
    function, slope = (np.array([float(f(mp.mpf(x))) for x in m]) for f in EXACT[kind])
    zero = jnp.zeros(5)
    b = np.asarray(slopes(kind, jnp.asarray(m), zero, 5))
    np.testing.assert_allclose(value(kind, jnp.asarray(m), zero), function, rtol=1e-14, atol=5e-16)
    np.testing.assert_allclose(b[:, 0], slope, rtol=1e-14, atol=2e-15)
    assert np.all(b[:, 2:] == 0) and np.all(np.isfinite(b))
    np.testing.assert_allclose(mean_square_slope(kind, jnp.asarray(m), zero), slope**2, rtol=1e-13, atol=2e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_A_k_goes_to_zero_like_s_to_the_k(kind):
    with mp.workdps(60):
        limit = [float(mp.diff(EXACT[kind][0], mp.mpf(0.7), k) / mp.sqrt(mp.factorial(k))) for k in range(1, 13)]
    s = jnp.asarray([1e-6])
    b = np.asarray(slopes(kind, jnp.asarray([0.7]), s, ORDER))[0]
    np.testing.assert_allclose(b / 1e-6 ** np.arange(ORDER), limit, rtol=1e-7)


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_in_m_and_s_are_higher_orders(kind):
    m, s = (jnp.asarray(x) for x in zip(*((0.3, 0.0), (0.3, 0.2), (-1.5, 1.0), (4.0, 3.0)), strict=True))
    order, one, zero = 6, jnp.ones_like(m), jnp.zeros_like(m)

    def smooth(m, s):
        return jnp.concatenate([value(kind, m, s)[..., None], s[..., None] * slopes(kind, m, s, order)], axis=-1)

    by_m, by_s = (jax.jvp(smooth, (m, s), direction)[1] for direction in ((one, zero), (zero, one)))
    k, b = np.arange(order + 1.0), np.asarray(slopes(kind, m, s, order + 2))
    own = np.concatenate([np.zeros((4, 1)), k[1:] * b[:, :order]], axis=-1)
    np.testing.assert_allclose(by_m, np.sqrt(k + 1) * b[:, :-1], rtol=1e-12, atol=5e-14)
    np.testing.assert_allclose(by_s, np.sqrt((k + 1) * (k + 2)) * b[:, 1:] + own, rtol=1e-12, atol=5e-14)


def test_tanh_is_odd_and_keeps_its_digits_near_zero():
    m, s = jnp.asarray([1e-9, 0.3, 2.0, 30.0]), jnp.asarray([1e-7, 0.5, 20.0, 1.0])
    assert np.all(value("tanh", -m, s) == -value("tanh", m, s))
    signs = (-1.0) ** np.arange(9)
    np.testing.assert_array_equal(slopes("tanh", -m, s, 9), signs * slopes("tanh", m, s, 9))
    near = jnp.asarray([1e-9]), jnp.asarray([1e-7])
    assert float(value("tanh", *near)[0]) == pytest.approx(1e-9, rel=3e-14)  # m − m³/3 − m s²
    assert float(mean_square("tanh", *near)[0]) == pytest.approx(1e-18 + 1e-14, rel=3e-14)


@pytest.mark.parametrize(("kind", "rest"), [("softplus", 1.0), ("silu", 1.0), ("gelu", 1.0), ("sigmoid", 0.0)])
def test_reflection_of_the_others(kind, rest):
    """σ(x) − σ(−x) = x, and sigmoid(x) + sigmoid(−x) = 1."""
    m, s = jnp.asarray([0.0, 0.3, 4.0, 25.0]), jnp.asarray([0.0, 0.5, 3.0, 9.0])
    if rest:
        np.testing.assert_allclose(value(kind, m, s) - value(kind, -m, s), m, rtol=1e-14, atol=1e-15)
    else:
        np.testing.assert_allclose(value(kind, m, s) + value(kind, -m, s), 1.0, rtol=1e-14)


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_squares_of_many_orders_add_up_to_the_mean_square(kind):
    m, s = jnp.asarray([0.4, -1.0]), jnp.asarray([0.9, 1.1])
    a = s[:, None] * slopes(kind, m, s, 102)
    assert np.all(np.isfinite(slopes(kind, 20 * m, 10 * s, 102)))
    np.testing.assert_allclose(value(kind, m, s) ** 2 + jnp.sum(a**2, axis=1), mean_square(kind, m, s), rtol=1e-10)


@pytest.mark.more
def test_long_and_short_series_and_many_points_agree():
    rng = np.random.default_rng(0)
    m, s = jnp.asarray(rng.normal(size=(3, 500))), jnp.asarray(rng.uniform(0, 3, (3, 500)))
    whole = jax.jit(partial(slopes, "tanh", order=40))(m, s)
    np.testing.assert_allclose(whole[..., :6], slopes("tanh", m, s, 6), atol=1e-15)
    one_by_one = jax.vmap(jax.vmap(partial(slopes, "tanh", order=6)))(m, s)
    np.testing.assert_allclose(whole[..., :6], one_by_one, atol=1e-15)


def test_the_mixture_is_a_law():
    tau, omega = mixture("sigmoid")
    assert np.all(omega > 0) and omega.sum() == pytest.approx(1.0, abs=1e-15)
    assert np.sum(omega * tau**2) == pytest.approx(math.pi**2 / 3, rel=1e-12)  # the variance of the logistic law
