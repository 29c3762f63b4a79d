"""The full landscape: V, U, Ψ and R of neurons in all their coordinates."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.errors import InputError
from widelimit.measures import Cloud
from widelimit.potentials import pair_series, pairwise_landscape
from widelimit.potentials.pair_kernels import Pair, kernel
from widelimit.potentials.pair_series import CutRisk, seen_by
from widelimit.potentials.pairwise_landscape import _kernel_risk
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.square_moments import mean_square, mean_square_slope
from widelimit.problem import activations as ac

D = 12
SAMPLES = 400_000


def problem(informative=None, activation="ramp", ridge=0.0, d=D):
    neuron = wl.neurons.ridge(activation, outer="trained", bias="trained")
    start = wl.initial.gaussian(0.4, a=1.0, b=0.0)
    return wl.Problem(wl.data.gaussian_classes(d, 0.6, informative), neuron, start, ridge=ridge)


def neurons(n, seed=0, d=D, size=1.0):
    rng = np.random.default_rng(seed)
    w = size * rng.normal(size=(n, d)) / math.sqrt(d)
    return np.hstack([rng.normal(1.0, 0.5, (n, 1)), rng.normal(0.0, 0.5, (n, 1)), w])


N = 6  # one size everywhere, so that each landscape is compiled once
EQUAL = jnp.full(N, 1 / N)
CASES = {name: problem(5, name, ridge=0.1) for name in ("ramp", "tanh")}


@pytest.mark.slow
@pytest.mark.parametrize("informative", [None, 5], ids=["isotropic", "anisotropic"])
def test_V_U_and_R_are_averages_over_data(informative):
    case = CASES["ramp"] if informative else problem()
    x, y = (np.asarray(v) for v in case.data.sample(jax.random.key(1), SAMPLES, float))
    theta = neurons(N)
    responses = theta[:, 0] * np.interp(x @ theta[:, 2:].T + theta[:, 1], [0.5, 1.5], [-2.5, 7.5])
    full = wl.landscape(case)

    def check(samples, closed):
        error = samples.std(axis=0) / math.sqrt(SAMPLES)
        assert np.all(np.abs(samples.mean(axis=0) - np.asarray(closed)) <= 4 * error)
        assert np.all(error <= 0.01 * np.abs(closed).max())

    check(-y[:, None] * responses, full.V(theta))
    check(responses[:, :, None] * responses[:, None, :], full.U(theta, theta))
    check((y - responses.mean(axis=1)) ** 2, full.risk(theta))


def series(activation, m, s, m2, s2, c, order=100):
    """Mehler's series, term by term."""
    a, a2 = smoothed(activation, order, m, s), smoothed(activation, order, m2, s2)
    return sum(c**k * a[:, k, None] * a2[:, k] for k in range(order + 1))


def pairs(n=12, seed=3, top=1.0):
    """Deviations, and correlations that include ±1."""
    rng = np.random.default_rng(seed)
    corr = rng.uniform(-1, 1, (n, n))
    corr[0, :3] = 1.0, -1.0, 0.0
    return jnp.asarray(rng.uniform(0.05, top, n)), jnp.asarray(rng.uniform(0.05, top, n)), jnp.asarray(corr)


def test_relu_without_bias_is_the_arc_cosine_kernel():
    s, s2, c = pairs(top=3.0)
    zero = jnp.zeros_like(s)
    expected = s[:, None] * s2 * (np.sqrt((1 - c) * (1 + c)) + c * (math.pi - np.arccos(c))) / (2 * math.pi)
    np.testing.assert_allclose(kernel(ac.relu, Pair(zero, s, zero, s2, c)), expected, rtol=1e-12, atol=1e-13)


def test_erf_without_bias_is_the_arcsine_kernel():
    s, s2, c = pairs(top=8.0)
    zero = jnp.zeros_like(s)
    inside = 2 * c * s[:, None] * s2 / np.sqrt(np.outer(1 + 2 * s**2, 1 + 2 * s2**2))
    np.testing.assert_allclose(
        kernel(ac.erf, Pair(zero, s, zero, s2, c)), 2 / math.pi * np.arcsin(inside), rtol=0, atol=1e-13
    )


@pytest.mark.slow
def test_erf_with_bias_is_the_sum_of_mehlers_series():
    s, s2, c = pairs(top=1.0)  # A_k² decays like (2s²/(1 + 2s²))^k ≤ (2/3)^k
    m, m2 = (jnp.asarray(np.random.default_rng(i).normal(size=12)) for i in (5, 6))
    long = series(ac.erf, m, s, m2, s2, c)
    np.testing.assert_allclose(kernel(ac.erf, Pair(m, s, m2, s2, c)), long, rtol=0, atol=1e-13)


@pytest.mark.more
@pytest.mark.parametrize(
    "activation", [ac.sin, ac.cos, ac.polynomial([0.5, 1, -1, 0.3, 0.1]), ac.hermite(3).form], ids=ac.name_of
)
def test_closed_kernels_are_the_sum_of_mehlers_series(activation):
    s, s2, c = pairs(top=2.0)
    m, m2 = (jnp.asarray(np.random.default_rng(i).normal(size=12)) for i in (5, 6))
    long = series(activation, m, s, m2, s2, c, order=80)  # A_k² ≤ 4^k/k!
    closed = np.asarray(kernel(activation, Pair(m, s, m2, s2, c)))
    np.testing.assert_allclose(closed, long, rtol=1e-12, atol=1e-12)
    assert np.abs(closed).max() > 0.1


@pytest.mark.slow
def test_piecewise_linear_kernels_are_the_sum_of_mehlers_series_at_moderate_correlation():
    s, s2, c = pairs(top=2.0)
    c = 0.7 * c  # 0.7^100 < 1e−15
    m, m2 = (jnp.asarray(np.random.default_rng(i).normal(size=12)) for i in (5, 6))
    line = ac.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)], left_slope=0.5, right_slope=-0.2).form
    long = series(line, m, s, m2, s2, c)
    np.testing.assert_allclose(kernel(line, Pair(m, s, m2, s2, c)), long, rtol=0, atol=1e-11)


SMOOTH = [ac.tanh, ac.erf, ac.sin, ac.softplus, ac.hermite(3).form]
BENT = [ac.ramp().form, ac.relu, ac.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)], 0.5, -0.2).form]


@pytest.mark.more
@pytest.mark.parametrize("activation", [*SMOOTH, *BENT], ids=ac.name_of)
def test_mean_squares_are_integrals_of_the_square(activation):
    m, s = jnp.asarray([-1.0, 0.0, 0.5, 2.0]), jnp.asarray([0.3, 1.0, 2.0, 0.1])
    slope = jax.vmap(jax.grad(lambda x: activation(x)))
    x, w = np.polynomial.legendre.leggauss(60)
    moments = zip(m, s, mean_square(activation, m, s), mean_square_slope(activation, m, s), strict=True)
    for mean, deviation, of_value, of_slope in moments:
        knots = (np.array([0.0, 0.5, 1.5]) - float(mean)) / float(deviation)
        edges = np.unique(np.clip([*np.linspace(-10, 10, 21), *knots], -10, 10))
        half = np.diff(edges)[:, None] / 2
        g = (edges[:-1, None] + half + half * x).ravel()
        weights = (half * w).ravel() * np.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
        for moment, values in ((of_value, activation(mean + deviation * g)), (of_slope, slope(mean + deviation * g))):
            expected = weights @ np.asarray(values) ** 2
            assert float(moment) == pytest.approx(expected, abs=1e-11 * (1 + expected))


@pytest.mark.slow
@pytest.mark.parametrize("activation", BENT, ids=ac.name_of)
def test_the_mean_square_of_a_bent_line_has_the_derivatives_of_its_integral(activation):
    """½ ∂_m E σ² = E σσ', ½ ∂_s E σ² = s E σ'² + Σ_j δ_j σ(t_j) φ(z_j) by parts, without cancellation as s → 0."""
    m, s = jnp.full(4, 0.7), jnp.asarray([1e-8, 1e-3, 0.3, 2.0])
    by_m, by_s = jax.grad(lambda m, s: jnp.sum(mean_square(activation, m, s)) / 2, (0, 1))(m, s)
    knots, slope = np.array(activation.knots), jax.vmap(jax.grad(lambda x: activation(x)))
    g, w = np.polynomial.legendre.leggauss(100)
    for k, deviation in enumerate(s):
        z = np.clip((knots - 0.7) / deviation, -30, 30)
        breaks = np.unique([-9.0, *np.clip(z, -9, 9), 9.0])
        half = np.diff(breaks)[:, None] / 2
        x = (breaks[:-1, None] + half + half * g).ravel()
        h = jnp.asarray(0.7 + deviation * x)
        expected = ((half * w).ravel() * density(x)) @ (activation(h) * slope(h))
        assert float(by_m[k]) == pytest.approx(float(expected), rel=1e-11, abs=1e-12)
        bends = np.asarray(activation(jnp.asarray(knots))) * np.array(activation.jumps) @ density(z)
        expected = deviation * mean_square_slope(activation, m, s)[k] + bends
        assert float(by_s[k]) == pytest.approx(float(expected), rel=1e-11, abs=1e-13)


def density(z):
    return np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def crowd():
    """Two of the neurons are nearly aligned, so that the series has something to miss."""
    theta = neurons(N, seed=4, size=1.5)
    theta[1] = theta[0] * 1.1 + 0.1 * theta[1]
    return jnp.asarray(theta)


@jax.jit
def by_series(full, points):
    """R by one, four and all runs of Mehler's series, and the bounds of what each leaves out."""
    columns = full.penalty.columns
    seen = [(family, seen_by(family, full.sigma, *columns.split(points))) for family in full.families]
    cut = [[pair_series.risk_parts(family, full.sigma, at, EQUAL).cut(k) for family, at in seen] for k in (1, 4, 13)]
    return [[sum(getattr(part, name) for part in parts) for parts in cut] for name in CutRisk._fields]


@pytest.mark.more
@pytest.mark.parametrize("name", CASES)
def test_the_series_risk_is_the_kernel_risk_within_its_bound(name):
    full, points = wl.landscape(CASES[name]), crowd()
    exact = float(_kernel_risk(full, points, EQUAL))
    risks, left = by_series(full, points)
    errors = [abs(float(risk) - exact) for risk in risks]
    assert errors[0] <= left[0] and errors[1] <= left[1] + 1e-12
    assert errors[0] > 1e-6 and left[1] < left[0] < 1e3 * errors[0]  # something is missed, and not overstated


def test_the_kernel_risk_of_some_rows_at_a_time_is_that_of_all(monkeypatch):
    full, points = wl.landscape(CASES["ramp"]), crowd()
    whole = float(_kernel_risk(full, points, EQUAL))
    monkeypatch.setattr(pairwise_landscape, "PAIRS", 4 * N + 1)  # four rows, and two are left over
    assert float(_kernel_risk.__wrapped__(full, points, EQUAL)) == pytest.approx(whole, rel=1e-13)


@pytest.mark.more
def test_the_risk_takes_the_kernel_exactly_where_the_series_is_not_certified():
    full, apart = wl.landscape(CASES["ramp"]), jnp.asarray(np.hstack([neurons(N)[:, :2], 0.8 * np.eye(N, D)]))
    aligned = apart.at[1].set(apart[0])
    assert by_series(full, aligned)[1][-1] > full.tolerance
    assert full.risk(aligned) == float(_kernel_risk(full, aligned, EQUAL))
    risks, left = by_series(full, apart)
    assert left[0] <= full.tolerance and full.risk(apart) == pytest.approx(float(risks[0]), rel=1e-14)
    assert full.risk(apart) == pytest.approx(float(_kernel_risk(full, apart, EQUAL)), abs=1e-12)


@pytest.mark.more
def test_the_risk_of_one_neuron_repeated_is_the_risk_of_one():
    full, copies = wl.landscape(CASES["ramp"]), np.repeat(neurons(1), N, axis=0)
    alone = 1 + 2 * float(full.V(copies)[0]) + float(full.U(copies, copies)[0, 0])
    assert full.risk(copies) == pytest.approx(alone, rel=1e-11)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", CASES)
def test_grad_psi_is_the_slope_of_psi(name):
    full = wl.landscape(CASES[name])
    theta, cloud = neurons(N), neurons(N, seed=1)
    gradient = np.asarray(full.grad_psi(theta, cloud))
    h = 1e-3
    for j in (0, 1, 2, 6, 7, 13):  # a, b, informative and other directions
        step = h * np.eye(theta.shape[1])[j]
        at = {e: np.asarray(full.psi(theta + e * step, cloud)) for e in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        # h⁴/30 times a fifth derivative, of order 10⁴ for a ramp of slope 10 smoothed over 0.4 |w|
        np.testing.assert_allclose(gradient[:, j], slope, rtol=0, atol=1e-8 * (1 + np.abs(slope).max()))


@pytest.mark.more
@pytest.mark.parametrize("name", CASES)
def test_grad_psi_on_the_cloud_itself_is_half_n_times_the_gradient_of_the_risk(name):
    full, theta = wl.landscape(CASES[name]), jnp.asarray(neurons(N))
    by_risk = jax.jit(jax.grad(lambda t: _kernel_risk(full, t, EQUAL)))(theta)
    np.testing.assert_allclose(full.grad_psi(theta, theta), N / 2 * by_risk + 0.1 * theta, rtol=1e-10, atol=1e-11)


def test_psi_is_half_the_first_variation_of_the_risk():
    full, points = wl.landscape(CASES["ramp"]), neurons(N)
    rho = np.array([1 / (N - 1)] * (N - 1) + [0.0])  # all but the last neuron
    here = np.eye(N)[-1]

    def mixed(e):  # R((1 − e) ρ + e δ_θ), a parabola in e: three values give its slope exactly
        return float(_kernel_risk(full, jnp.asarray(points), jnp.asarray((1 - e) * rho + e * here)))

    slope = 4 * mixed(0.5) - 3 * mixed(0.0) - mixed(1.0)
    psi = np.asarray(full.psi(points, Cloud(points, rho, full.coordinates))) - 0.05 * np.sum(points**2, axis=1)
    assert slope == pytest.approx(2 * (here - rho) @ psi, rel=1e-10)


def test_U_is_symmetric_and_positive():
    full, theta = wl.landscape(CASES["ramp"]), neurons(N)
    u = np.asarray(full.U(theta, theta))
    np.testing.assert_allclose(u, u.T, rtol=0, atol=1e-12 * np.trace(u))
    assert np.linalg.eigvalsh(u).min() > 0


def test_full_coordinates_at_infinite_dimension_are_refused_in_a_sentence():
    case = problem(d=math.inf)
    with pytest.raises(InputError, match=r"finite dimension.*inf.*reduced coordinates\.$"):
        wl.landscape(case)
    assert wl.landscape(case, reduced=True).coordinates == ("a", "b", "r")


@pytest.mark.parametrize("reduced, width", [(False, 3), (False, 13), (True, 14)])
def test_rows_of_the_wrong_width_are_refused(reduced, width):
    here = wl.landscape(problem(), reduced=reduced, tolerance=1e-3)
    wrong = np.zeros((2, width))
    for call in (here.V, here.risk, lambda t: here.U(t, t), lambda t: here.grad_psi(t, t)):
        with pytest.raises(InputError, match=rf"\(n, {len(here.coordinates)}\).*\(2, {width}\)"):
            call(wrong)
