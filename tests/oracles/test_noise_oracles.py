"""Noisy limits against exact laws, finite differences, own minimisations and own quadrature."""

import math

import numpy as np
import pytest
from activation_table import SIGMAS, through
from feature_landscapes import radial_classes, two_classes
from gibbs_law import least_energy, radial_gibbs
from plain_training import rk4
from radial_diffusion import crank_nicolson, ornstein_uhlenbeck_variance
from scipy.optimize import minimize
from scipy.stats import chi

import widelimit as wl

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))


def linear(d, ridge, beta):
    """Linear neurons on centred classes feel the ridge alone: U averages to 0 over directions, V = 0."""
    return wl.Problem(wl.data.gaussian_classes(d, 0.5), LINE, wl.initial.gaussian(2.0), ridge=ridge, beta=beta)


# ---- the PDE on a grid


def test_linear_neurons_with_noise_are_an_ornstein_uhlenbeck_process_on_a_grid():
    """w ~ N(0, v(t) I): masses of the cells from the law of χ_d; the scheme is of order 2 in the cells."""
    d, ridge, beta, t = 5, 0.4, 8.0, 0.6
    run = wl.solve(linear(d, ridge, beta), wl.FiniteVolume(200), t, save=2)
    rho = run.final
    v = ornstein_uhlenbeck_variance(4.0 / d, ridge, beta, t)
    masses = np.diff(chi(d).cdf(rho.edges[0] / math.sqrt(v)))
    assert np.abs(rho.masses - masses).sum() < 3e-3
    assert float(rho.mean(rho.column("r") ** 2)) == pytest.approx(d * v, rel=1e-3)
    assert run.risk[-1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_linear_neurons_of_an_index_model_on_a_grid_of_two_coordinates():
    """u has mean m, dm/dt = −2((1+λ)m − 1), and variance v; r is √v χ_{d−1}. Two grids, their error extrapolated."""
    d, ridge, beta, t, start = 4, 0.5, 10.0, 0.4, 1.5
    problem = wl.Problem(wl.data.single_index(d, "z"), LINE, wl.initial.gaussian(start), ridge=ridge, beta=beta)
    v = ornstein_uhlenbeck_variance(start**2 / d, ridge, beta, t)
    m = (1 - math.exp(-2 * (1 + ridge) * t)) / (1 + ridge)

    def moments(cells):
        rho = wl.solve(problem, wl.FiniteVolume(cells, ((-5.0, 5.0), (0.0, 6.0))), t, save=2).final
        u, r = rho.column("u"), rho.column("r")
        return np.array([float(rho.mean(x)) for x in (u, u**2, r**2)])

    coarse, fine = moments(40), moments(80)
    exact = np.array([m, m * m + v, (d - 1) * v])
    assert (np.abs(fine - exact) < 0.5 * np.abs(coarse - exact) + 1e-3).all()
    np.testing.assert_allclose((4 * fine - coarse) / 3, exact, rtol=3e-3)


@pytest.mark.slow
def test_the_noisy_limit_of_relu_neurons_against_crank_nicolson():
    d, ridge, beta, t = 14, 0.1, 20.0, 0.5
    problem = wl.Problem(
        wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("relu"), wl.initial.gaussian(1.5), ridge=ridge, beta=beta
    )
    run = wl.solve(problem, wl.FiniteVolume(300), t, save=2)
    edges = np.linspace(0.0, 6.0, 601)
    start = np.diff(chi(d).cdf(edges * math.sqrt(d) / 1.5))
    own = radial_classes(SIGMAS["relu"], d, two_classes(0.6))
    masses = crank_nicolson(own, start, edges, (d, ridge, beta, t, 200))
    centres = (edges[1:] + edges[:-1]) / 2
    assert run.risk[-1] == pytest.approx(own.risk(centres[:, None], masses), abs=2e-4)
    for power in (1, 2):
        assert float(run.final.mean(run.final.column("r") ** power)) == pytest.approx(masses @ centres**power, rel=1e-3)
    levels = np.interp(edges, run.final.edges[0], np.concatenate([[0.0], np.cumsum(run.final.masses)]))
    assert np.abs(levels[1:] - np.cumsum(masses)).max() < 2e-3


@pytest.mark.slow
def test_the_limit_without_noise_on_a_grid_is_the_flow_of_quantiles():
    d, m, t = 40, 100, 0.5
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(2.0))
    run = wl.solve(problem, wl.FiniteVolume(400), t, save=2)
    own, p = radial_classes(SIGMAS["gelu"], d, two_classes(0.6), points=10), np.full(m, 1 / m)
    r = rk4(
        2 / math.sqrt(d) * chi(d).ppf((np.arange(m) + 0.5) / m)[:, None], lambda s, x: -2 * own.gradient(x, p), t, 10
    )
    assert run.risk[-1] == pytest.approx(own.risk(r, p), abs=1e-4)
    assert float(run.final.mean(run.final.column("r"))) == pytest.approx(r.mean(), abs=1e-3)


# ---- minimising movements


@pytest.mark.slow
def test_a_step_of_minimising_movements_of_points():
    """argmin ½ R + Σ p |θ − θ_0|²/(2η), η = 2 ε, by BFGS in numpy."""
    r0 = np.array([0.3, 0.7, 1.1, 1.6, 2.2])
    problem = wl.Problem(wl.data.gaussian_classes(math.inf, 0.6), wl.neurons.ridge("gelu"),
                         wl.initial.array(r0[:, None], coordinates="reduced"), ridge=0.05)  # fmt: skip
    run = wl.solve(problem, wl.JKO(0.5), 0.5, save=2)
    own, p = radial_classes(SIGMAS["gelu"], math.inf, two_classes(0.6)), np.full(5, 0.2)

    def value(r):
        return own.risk(r[:, None], p) / 2 + 0.05 * p @ r**2 / 2 + p @ (r - r0) ** 2 / 2.0

    found = minimize(value, r0, method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(np.sort(run.final.column("r")), np.sort(found), atol=2e-6)
    assert np.abs(found - r0).max() > 0.05


@pytest.mark.slow
def test_a_step_of_minimising_movements_with_noise():
    """argmin F(ρ) + W_2²(ρ, ρ_0)/(2η) over the edges of 120 quantile cells, the energy by three nodes in each cell."""
    d, ridge, beta, eta = 12, 0.2, 10.0, 0.4
    problem = wl.Problem(
        wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("relu"), wl.initial.gaussian(1.5), ridge=ridge, beta=beta
    )
    run = wl.solve(problem, wl.JKO(eta / 2), eta / 2, save=2)
    law, cells = chi(d, scale=1.5 / math.sqrt(d)), 120
    levels = np.linspace(0, 1, cells + 1)
    levels[0], levels[-1] = 1e-7, 1 - 1e-7
    start = law.ppf(levels)
    mass = np.diff(levels) / (levels[-1] - levels[0])
    own = radial_classes(SIGMAS["relu"], d, two_classes(0.6))
    slope = own.features(np.ones((1, 1)))[0][0]  # Φ_q(r) = r Φ_q(1)
    x, w = np.polynomial.legendre.leggauss(3)
    area = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)

    def value(gaps):
        edges = np.cumsum(np.exp(gaps))
        low, width = edges[:-1], np.diff(edges)
        r = low[:, None] + width[:, None] * (1 + x) / 2
        mean = mass @ (r @ w) / 2
        risk = own.p @ (own.y - mean * slope) ** 2
        second = mass @ (r**2 @ w) / 2
        volume = (edges[1:] ** d - edges[:-1] ** d) / d
        shift = edges - start
        cost = mass @ (shift[:-1] ** 2 + shift[:-1] * shift[1:] + shift[1:] ** 2) / 3
        return risk / 2 + ridge * second / 2 + mass @ (np.log(mass / volume) - area) / beta + cost / (2 * eta)

    found = minimize(value, np.log(np.diff(start, prepend=0.0)), method="L-BFGS-B",
                     options={"maxiter": 4000, "maxfun": 4_000_000, "ftol": 1e-13})  # fmt: skip
    edges = np.cumsum(np.exp(found.x))
    middle = (edges[1:] + edges[:-1]) / 2
    for power in (1, 2):
        assert float(run.final.mean(run.final.column("r") ** power)) == pytest.approx(mass @ middle**power, rel=5e-3)
    assert run.risk[-1] == pytest.approx(own.risk(middle[:, None], mass), abs=5e-3)


# ---- the Gibbs law


@pytest.mark.parametrize("d", [3, 40])
def test_the_gibbs_law_of_linear_neurons_is_normal(d):
    """ρ = N(0, I/(βλ)): F = ½ − d/(2β) log(2π/(βλ)), the energy of the ridge and the entropy's d/2β cancel."""
    ridge, beta = 0.5, 20.0
    law = wl.gibbs(linear(d, ridge, beta))
    assert law.risk == pytest.approx(1.0, abs=1e-10)
    assert law.free_energy == pytest.approx(0.5 - d / (2 * beta) * math.log(2 * math.pi / (beta * ridge)), rel=1e-9)
    assert float(law.rho.mean(law.rho.column("r") ** 2)) == pytest.approx(d / (beta * ridge), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ridge", "beta"), [("relu", 0.2, 50.0), ("softplus", 0.1, 200.0), ("ramp", 0.1, 100.0)]
)
def test_the_gibbs_law_by_quadrature_over_lengths(name, ridge, beta):
    d = 40
    problem = wl.Problem(
        wl.data.gaussian_classes(d, 0.8), wl.neurons.ridge(name), wl.initial.gaussian(1.0), ridge=ridge, beta=beta
    )
    law = wl.gibbs(problem)
    own = radial_gibbs(radial_classes(SIGMAS[name], d, two_classes(0.8), points=16), d, ridge, beta, (12.0, 300))
    assert law.risk == pytest.approx(own.risk, abs=1e-6)
    assert law.free_energy == pytest.approx(own.free_energy, abs=1e-6)
    for power in (1, 2):
        assert float(law.rho.mean(law.rho.column("r") ** power)) == pytest.approx(own.masses @ own.r**power, rel=1e-5)


FAR = through([(5.0, 0.0), (6.0, 20.0)])


def far_well(beta=math.inf):
    neuron = wl.neurons.ridge(wl.activations.ramp((5.0, 0.0), (6.0, 20.0)))
    return wl.Problem(wl.data.gaussian_classes(40, 0.8), neuron, wl.initial.gaussian(1.0), ridge=0.1, beta=beta)


@pytest.mark.slow
def test_the_gibbs_law_finds_a_well_far_away():
    """Neurons are silent until |w| is about 2, far outside the spread √(1/βλ) = 0.03 of the ridge alone."""
    own = radial_gibbs(radial_classes(FAR, 40, two_classes(0.8), points=16), 40, 0.1, 1e4, (12.0, 600))
    assert (own.risk, own.free_energy) == pytest.approx((0.557, 0.383), abs=5e-4)
    law = wl.gibbs(far_well(1e4))
    assert law.risk == pytest.approx(own.risk, abs=1e-4)
    assert law.free_energy == pytest.approx(own.free_energy, abs=1e-5)


@pytest.mark.slow
def test_the_lower_bound_of_cooling_lies_below_what_is_reached():
    """inf E ≤ the least energy over laws on 81 radii, a quadratic programme; E(ρ_β) falls towards it."""
    reached = least_energy(radial_classes(FAR, 40, two_classes(0.8), points=12), 0.1, np.linspace(0.0, 8.0, 81))
    cold = wl.cooling(far_well(), [100.0, 1000.0, 10000.0])
    assert cold.lowest <= reached + 1e-6
    assert (cold.energy >= cold.lowest).all() and cold.energy[-1] < cold.energy[0]
    assert cold.energy[-1] - reached < 0.1


@pytest.mark.slow
def test_the_decay_of_the_free_energy_of_linear_neurons():
    """v(t) − v_* ~ e^{−4λt}, and F is quadratic around v_*: rate 8λ."""
    ridge = 0.4
    problem = linear(3, ridge, 8.0)
    run = wl.solve(problem, wl.FiniteVolume(200), 6.0, save=61)
    assert wl.decay(problem, run).rate == pytest.approx(8 * ridge, rel=2e-2)
