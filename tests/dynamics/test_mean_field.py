"""The limit in reduced coordinates: points integrate ρ_0, and the flow converges as they grow in number."""

import math

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.stats import norm

import widelimit as wl
from widelimit.dynamics import mean_field
from widelimit.solving.placement import initial_points, random_points

KAPPA = 0.7


def problem(d, initial, informative=None, outer="absent", bias="absent", delta=0.5):
    data = wl.data.gaussian_classes(d, delta, informative)
    return wl.Problem(data, wl.neurons.ridge("ramp", outer=outer, bias=bias), initial)


def moment(p, points, placement, chi):
    theta, weights = initial_points(p, points, placement)
    assert float(weights.sum()) == pytest.approx(1, abs=1e-14)
    assert (np.asarray(weights) >= 0).all()
    return float(np.asarray(weights) @ chi(np.asarray(theta)))


@pytest.mark.parametrize("d", [3, 40, 320])
def test_gauss_nodes_integrate_the_radius_of_a_gaussian_start(d):
    """E r² = κ², E r⁴ = κ⁴ (1 + 2/d); cutting the scores at ±6 leaves out 2e-9 of the mass."""
    p = problem(d, wl.initial.gaussian(KAPPA))
    assert moment(p, 100, "gauss", lambda t: t[:, 0] ** 2) == pytest.approx(KAPPA**2, rel=1e-6)
    assert moment(p, 100, "gauss", lambda t: t[:, 0] ** 4) == pytest.approx(KAPPA**4 * (1 + 2 / d), rel=1e-6)


@pytest.mark.parametrize("d", [40, 320])
def test_quantiles_integrate_the_radius_of_a_gaussian_start_at_least_to_first_order(d):
    """A mid-quantile rule errs by at most the variation of χ over one cell: 1/m, up to a logarithm."""
    p = problem(d, wl.initial.gaussian(KAPPA))
    error = [abs(moment(p, m, "equal", lambda t: t[:, 0] ** 2) / KAPPA**2 - 1) for m in (50, 400, 3200)]
    assert error[1] < 1 / 400 and error[2] < 1 / 3200
    assert error[0] / error[1] > 4 and error[1] / error[2] > 4


def test_a_spherical_start_is_one_radius():
    theta, weights = initial_points(problem(40, wl.initial.sphere(KAPPA)), 400, "quantile")
    assert theta.shape == (1, 1) and float(theta[0, 0]) == KAPPA and float(weights[0]) == 1


@pytest.mark.parametrize("placement", ["gauss", "quantile"])
def test_a_sphere_cut_in_two_groups_shares_its_square_by_the_beta_law(placement):
    """r_1² + r_2² = R² at every point, E r_1² = R² d_1/d, E r_1⁴ = R⁴ d_1 (d_1 + 2)/(d (d + 2))."""
    p = problem(40, wl.initial.sphere(KAPPA), informative=12)
    theta, _ = initial_points(p, 400, placement)
    np.testing.assert_allclose(np.sum(np.asarray(theta) ** 2, axis=1), KAPPA**2, rtol=1e-12)
    tolerance = {"gauss": 1e-6, "quantile": 1 / 400}[placement]
    square, fourth = (moment(p, 400, placement, lambda t, k=k: t[:, 0] ** k) for k in (2, 4))
    assert square == pytest.approx(KAPPA**2 * 12 / 40, rel=tolerance)
    assert fourth == pytest.approx(KAPPA**4 * 12 * 14 / (40 * 42), rel=2 * tolerance)


def test_atoms_of_the_outer_weight_multiply_the_points_without_bias():
    p = problem(40, wl.initial.gaussian(KAPPA, a=wl.initial.signs(2.0), b=0.3), outer="trained", bias="fixed")
    theta, weights = (np.asarray(v) for v in initial_points(p, 100, "gauss"))
    assert theta.shape == (100, 3)
    assert weights @ theta[:, 0] == pytest.approx(0, abs=1e-15)
    assert weights @ theta[:, 0] ** 2 == pytest.approx(4, rel=1e-13)
    assert (theta[:, 1] == 0.3).all()
    assert weights @ (theta[:, 0] ** 2 * theta[:, 2] ** 2) == pytest.approx(4 * KAPPA**2, rel=1e-6)


def test_one_random_scalar_at_infinite_dimension_gets_gauss_nodes():
    p = problem(math.inf, wl.initial.gaussian(KAPPA, a=wl.initial.uniform(-1, 1)), outer="trained")
    assert moment(p, 80, "gauss", lambda t: t[:, 0] ** 2) == pytest.approx(1 / 3, rel=1e-6)
    assert moment(p, 80, "gauss", lambda t: t[:, 1]) == pytest.approx(KAPPA, rel=1e-13)


def test_an_explicit_start_is_taken_as_it_is_and_reduced_if_it_is_full():
    w = np.random.default_rng(0).normal(size=(5, 40))
    theta, weights = initial_points(problem(40, wl.initial.array(w), informative=12), 400, "quantile")
    lengths = [np.linalg.norm(w[:, :12], axis=1), np.linalg.norm(w[:, 12:], axis=1)]
    np.testing.assert_allclose(theta, np.stack(lengths, axis=1), rtol=1e-14)
    np.testing.assert_allclose(weights, 0.2, rtol=1e-15)


def test_random_neurons_at_infinite_dimension_follow_the_initial_law():
    n = 4000
    law = wl.initial.gaussian(KAPPA, a=wl.initial.signs(1.5), b=wl.initial.normal(0.2, 0.5))
    p = problem(math.inf, law, informative=0.25, outer="trained", bias="trained")
    theta = np.asarray(random_points(p, jax.random.key(0), n))
    assert set(np.unique(theta[:, 0])) == {-1.5, 1.5}
    assert abs(theta[:, 0].mean() / 1.5) < 4 / math.sqrt(n)
    assert stats.kstest(theta[:, 1], norm(0.2, 0.5).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(theta[:, 0], theta[:, 1])[0, 1]) < 4 / math.sqrt(n)
    np.testing.assert_allclose(theta[:, 2:], [[KAPPA / 2, KAPPA * math.sqrt(0.75)]] * n, rtol=1e-14)


def test_infinite_dimension_is_one_ordinary_differential_equation():
    """ρ_t = δ(r): dr/dt = −2 Ψ'(r), Ψ' = −½ (1 − q₊) q₊' + ½ (1 + q₋) q₋', with q±(r) = E σ((1 ± Δ) r G).

    For the ramp, slope jumps ±10 at ½ and 3/2:  q(s) = −5/2 + 10 [g(½) − g(3/2)], g(t) = s φ(t/s) − t Φ(−t/s), and
    q'(s) = 10 [φ(½/s) − φ(3/(2s))].
    """
    delta = 0.5

    def q(s):
        return -2.5 + 10 * sum(c * (s * norm.pdf(t / s) - t * norm.sf(t / s)) for c, t in ((1, 0.5), (-1, 1.5)))

    def slope(s):
        return 10 * (norm.pdf(0.5 / s) - norm.pdf(1.5 / s))

    def velocity(t, r):
        up, down = (1 + delta) * r, (1 - delta) * r
        return -2 * (-0.5 * (1 - q(up)) * (1 + delta) * slope(up) + 0.5 * (1 + q(down)) * (1 - delta) * slope(down))

    times = np.array([0.0, 0.01, 0.05, 0.2, 1.0])
    want = solve_ivp(velocity, (0, 1), [KAPPA], "DOP853", times, rtol=1e-11, atol=1e-13).y[0]
    got = wl.solve(problem(math.inf, wl.initial.gaussian(KAPPA)), wl.MeanField(), 1.0, save=times)
    assert got.dataset["theta"].shape == (5, 1, 1)
    assert abs(want[-1] - KAPPA) > 0.1
    np.testing.assert_allclose(got.dataset["theta"].values[:, 0, 0], want, rtol=1e-6)
    risk = 0.5 * (1 - q((1 + delta) * want)) ** 2 + 0.5 * (1 + q((1 - delta) * want)) ** 2
    np.testing.assert_allclose(got.risk, risk, rtol=1e-6)


def test_with_noise_in_one_or_two_coordinates_it_says_what_knows_the_limit_better():
    def notes(law, beta):
        p = wl.Problem(law, wl.neurons.ridge("relu", outer="trained"), wl.initial.gaussian(1.0, a=1.0), beta=beta)
        return mean_field.ready(wl.MeanField(8), p, 0, None).notes

    classes, index = wl.data.gaussian_classes(20, 0.6), wl.data.single_index(20, "z")
    assert "FiniteVolume" in " ".join(notes(classes, 10.0))  # a and r
    assert notes(classes, np.inf) == notes(index, 10.0) == []  # a, u and r


@pytest.mark.slow
def test_a_hundred_gauss_nodes_and_four_hundred_quantiles_give_five_digits_of_the_risk():
    p = problem(320, wl.initial.gaussian(0.4))
    fine = wl.solve(p, wl.MeanField(800, "gauss", 1e-9, 1e-11), 10.0, save=6).risk
    assert fine[0] > 5 and fine[-1] < 0.01
    for method in (wl.MeanField(100, "gauss"), wl.MeanField(400)):
        np.testing.assert_allclose(wl.solve(p, method, 10.0, save=6).risk, fine, rtol=1e-5)


@pytest.mark.slow
def test_four_hundred_quantiles_give_three_digits_where_the_mass_splits():
    p = problem(40, wl.initial.gaussian(0.8), delta=0.8)
    coarse, fine = (wl.solve(p, wl.MeanField(m, check=False), 10.0, save=11).risk for m in (400, 3200))
    assert fine[-1] < fine[0] / 5
    np.testing.assert_allclose(coarse, fine, rtol=1e-3)


@pytest.mark.slow
def test_sobol_points_converge_to_the_limit_of_anisotropic_classes():
    p = problem(320, wl.initial.gaussian(0.4), informative=60)
    risk = {m: wl.solve(p, wl.MeanField(m, rtol=1e-6, atol=1e-8), 0.2, save=3).risk for m in (256, 2048, 8192)}
    error = {m: np.abs(risk[m] - risk[8192]).max() for m in (256, 2048)}
    assert error[2048] < error[256] / 2
    assert error[2048] < 1e-3 * risk[8192].min()
