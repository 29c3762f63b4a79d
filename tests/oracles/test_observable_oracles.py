"""Observables against sorting, linear programmes, exact laws and quadrature."""

import itertools
import math

import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import data_set, radial_classes, two_classes
from link_terms import LINKS, label_moments
from normal_panels import expectation, hermite_values
from scipy.interpolate import CubicSpline
from scipy.stats import chi
from transport import by_plan, by_sorting

import widelimit as wl

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))


def weighted(rng, n, D):
    p = rng.random(n) + 0.1
    names = ("r",) if D == 1 else ("a", "r")
    return wl.Cloud(rng.normal(size=(n, D)), p / p.sum(), names)


@pytest.mark.parametrize("order", [1, 2, 3.5])
def test_distances_on_the_line_by_sorting(order):
    rng = np.random.default_rng(0)
    one, two = weighted(rng, 23, 1), weighted(rng, 31, 1)
    wanted = by_sorting(one.theta[:, 0], one.weights, two.theta[:, 0], two.weights, order)
    assert wl.observables.wasserstein(one, two, p=order) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_distances_in_the_plane_by_a_linear_programme(order):
    rng = np.random.default_rng(1)
    one, two = weighted(rng, 9, 2), weighted(rng, 12, 2)
    wanted = by_plan(one.theta, one.weights, two.theta, two.weights, order)
    assert wl.observables.wasserstein(one, two, p=order) == pytest.approx(wanted, rel=1e-9)


def test_statistics_of_a_cloud():
    rho = weighted(np.random.default_rng(2), 50, 2)
    r, p = rho.theta[:, 1], rho.weights
    order = np.argsort(r)
    ask = wl.observables
    assert ask.moment("r", 3)(rho) == pytest.approx(np.sum(p * r**3), rel=1e-12)
    assert ask.variance("r")(rho) == pytest.approx(np.sum(p * r**2) - np.sum(p * r) ** 2, rel=1e-12)
    assert ask.mass(lambda theta: theta[:, 1] > 0.2)(rho) == pytest.approx(p[r > 0.2].sum(), rel=1e-12)
    below = [r[order][: i + 1].max() for i in range(50) if p[order][: i + 1].sum() >= 0.3]
    assert ask.quantile("r", 0.3)(rho) == below[0]
    density = ask.binned_density(rho, "r", np.array([-1.0, 0.0, 0.5]))
    np.testing.assert_allclose(density, [p[(r >= -1) & (r < 0)].sum(), p[(r >= 0) & (r <= 0.5)].sum() / 0.5])
    other = wl.Cloud(np.add(rho.theta, (0.3, 0.4)), rho.weights, rho.coordinates)
    assert ask.pair_distance(rho, other) == pytest.approx(0.5) == ask.pair_distance(rho, other, norm="mean")


# ---- densities: the normal law on cells of the radius


def normal_on_cells(d, v, cells=2000):
    edges = np.linspace(0.0, math.sqrt(v) * (math.sqrt(d) + 8), cells + 1)
    masses = np.diff(chi(d).cdf(edges / math.sqrt(v)))
    return wl.Density((edges,), masses / masses.sum(), ("r",), (float(d),))


@pytest.mark.parametrize("d", [3, 40])
def test_entropy_free_energy_fisher_information_and_dissipation_of_a_normal_law(d):
    """S = d/2 log(2πe v), I = d/v, F = ½ + λdv/2 − S/β for linear neurons, 𝒟 = 2 d v (λ − 1/(βv))²."""
    v, ridge, beta = 0.3, 0.5, 20.0
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.5), LINE, wl.initial.gaussian(1.0), ridge=ridge, beta=beta)
    rho, ask = normal_on_cells(d, v), wl.observables
    entropy = d / 2 * math.log(2 * math.pi * math.e * v)
    assert ask.entropy(problem)(rho) == pytest.approx(entropy, abs=1e-3)
    assert ask.free_energy(problem)(rho) == pytest.approx(0.5 + ridge * d * v / 2 - entropy / beta, abs=1e-4)
    assert ask.fisher_information(problem)(rho) == pytest.approx(d / v, rel=5e-3)
    assert ask.dissipation(problem)(rho) == pytest.approx(2 * d * v * (ridge - 1 / (beta * v)) ** 2, rel=5e-3)


@pytest.mark.slow
def test_the_entropy_of_a_cloud_is_that_of_its_law():
    d, n, v = 6, 20_000, 0.25
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.5), LINE, wl.initial.gaussian(1.0), ridge=0.5, beta=20.0)
    w = math.sqrt(v) * np.random.default_rng(3).normal(size=(n, d))
    rho = wl.Cloud(np.linalg.norm(w, axis=1)[:, None], np.full(n, 1 / n), ("r",))
    entropy = d / 2 * math.log(2 * math.pi * math.e * v)
    # spread of log ρ over √n, and as much again for the neighbours
    assert wl.observables.entropy(problem)(rho) == pytest.approx(entropy, abs=8 * math.sqrt(d / 2 / n))


# ---- what a network has learnt


@pytest.mark.parametrize("g", ["h1(z)", "h3(z)"])
def test_hermite_coefficients(g):
    """E f h_k(z): label moments with h_k for the label; and those of the target by 1-D panels."""
    k = int(g[1])
    problem = wl.Problem(wl.data.single_index(20, "tanh(2*z)"), wl.neurons.ridge("relu", outer="trained"),
                         wl.initial.gaussian(1.0, a=1.0))  # fmt: skip
    rows, p = np.array([[1.2, 0.8, 0.5], [-0.6, -0.4, 1.1]]), np.array([0.3, 0.7])
    he = np.polynomial.HermiteE.basis(k).convert(kind=np.polynomial.Polynomial).coef / math.sqrt(math.factorial(k))
    basis = type(LINKS["z"])(g, 1, ((1.0, {0: list(he)}),))
    wanted = sum(
        w * a * label_moments(basis, SIGMAS["relu"], 0.0, [u], r)[0] for w, (a, u, r) in zip(p, rows, strict=True)
    )
    rho = wl.Cloud(rows, p, ("a", "u", "r"))
    assert wl.observables.coefficient(problem, g)(rho) == pytest.approx(wanted, abs=1e-9)
    target = expectation(lambda x: np.tanh(2 * x) * hermite_values(k, x)[..., k], (-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4))
    assert wl.observables.target_coefficient(problem, g) == pytest.approx(target, abs=1e-7)


# ---- equations of motion


@pytest.mark.slow
def test_the_residual_of_the_weak_form():
    """∫χ dρ at the saves less the spline integral of −2 ∫χ' ∂Ψ dρ, for the flow and for a flow that is not one."""
    problem = wl.Problem(wl.data.gaussian_classes(math.inf, 0.6), wl.neurons.ridge("gelu"),
                         wl.initial.array([[0.5], [1.0], [2.0]], coordinates="reduced"))  # fmt: skip
    run = wl.solve(problem, wl.MeanField(rtol=1e-10, atol=1e-12), 1.0, save=21)
    own, p = radial_classes(SIGMAS["gelu"], math.inf, two_classes(0.6)), np.full(3, 1 / 3)
    clouds = [run.at(t).theta for t in run.times]
    found = wl.observables.weak_residual(problem, run, lambda theta: theta[0] ** 3)
    assert np.abs(found).max() < 1e-6
    wrong = wl.Problem(wl.data.gaussian_classes(math.inf, 0.3), wl.neurons.ridge("gelu"), problem.initial)
    found = wl.observables.weak_residual(wrong, run, lambda theta: theta[0] ** 3)
    own = radial_classes(SIGMAS["gelu"], math.inf, two_classes(0.3))
    means = np.array([p @ x[:, 0] ** 3 for x in clouds])
    changes = np.array([p @ (3 * x[:, 0] ** 2 * -2 * own.gradient(x, p)[:, 0]) for x in clouds])
    spline = CubicSpline(run.times, changes).antiderivative()
    np.testing.assert_allclose(found, np.diff(means) - np.diff(spline(run.times)), atol=1e-8)
    assert np.abs(found).max() > 1e-3


@pytest.mark.slow
def test_fluctuations_over_replicas():
    """N times the variance over replicas, from the neurons themselves."""
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(1.0))
    run = wl.solve(problem, wl.ParticleFlow(20, "reduced"), 0.3, save=3, replicas=8)
    found = wl.observables.fluctuations(run, {"m": wl.observables.moment("r")})
    r = run.dataset["theta"].values[..., 0]
    wanted = 20 * r.mean(axis=2).var(axis=0, ddof=1)
    np.testing.assert_allclose(found["n_var"].sel(statistic="m").values, wanted, rtol=1e-10)
    assert not np.allclose(r[0], r[1])


# ---- five dynamics on one coupling


@pytest.mark.slow
def test_the_parts_of_the_gap():
    """From the saved neurons alone: risks by own sums, distances row by row, W_2 by sorting."""
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(1.5))
    gap = wl.compare(problem, n=12, step=0.02, t_end=0.2, save=3, points=64)
    runs = gap.solutions
    limit = runs["PDE"].at(0.2)
    own = radial_classes(SIGMAS["gelu"], 20, two_classes(0.6), points=16)
    risk = {"PDE": own.risk(limit.theta, limit.weights)}
    assert risk["PDE"] == pytest.approx(runs["PDE"].risk[-1], abs=1e-9)
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(200_000) < 0.5, 1.0, -1.0)
    x = (1 + 0.6 * sign)[:, None] * rng.normal(size=(200_000, 20))
    sample = data_set(SIGMAS["gelu"], x, sign)
    finals = {name: runs[name].final.theta for name in ("ND", "PD", "GD", "SGD")}
    for name, theta in finals.items():
        square = (sample.features(theta)[0].mean(axis=0) - sign) ** 2
        risk[name] = float(runs[name].risk[-1])
        assert abs(risk[name] - square.mean()) < 4.5 * square.std() / math.sqrt(len(square))
    chain = ["PDE", "ND", "PD", "GD", "SGD"]
    for one, two in itertools.pairwise(chain):
        part = f"{one}–{two}"
        assert gap.gap(part)[-1] == pytest.approx(risk[one] - risk[two], abs=1e-10)
        if one != "PDE":
            lengths = np.linalg.norm(finals[one] - finals[two], axis=1)
            assert gap.gap(part, "distance")[-1] == pytest.approx(lengths.mean(), rel=1e-10)
            assert gap.gap(part, "max_distance")[-1] == pytest.approx(lengths.max(), rel=1e-10)
    assert gap.gap("total")[-1] == pytest.approx(sum(gap.gap(p)[-1] for p in gap.parts[:-1]), abs=1e-12)
    far = by_sorting(
        np.linalg.norm(finals["SGD"], axis=1), np.full(12, 1 / 12), limit.theta[:, 0], np.asarray(limit.weights), 2
    )
    assert float(gap.dataset["w2"].sel(dynamics="SGD").values[-1]) == pytest.approx(far, rel=1e-8)
