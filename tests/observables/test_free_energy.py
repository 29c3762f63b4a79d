"""Entropy, free energy, Fisher information and dissipation: exact for Gaussian laws, and tied by dF/dt = −𝒟."""

import math
import re

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.stats import chi

import widelimit as wl
from widelimit.observables import dissipation, entropy, fisher_information, free_energy

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
CURVED = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))


def blind(d, beta=20.0, ridge=0.5, neuron=LINE):
    """Linear neurons on centred classes: Ψ = (λ/2)|w|²."""
    return wl.Problem(wl.data.gaussian_classes(d, 0.5), neuron, wl.initial.gaussian(1.0), ridge=ridge, beta=beta)


def gaussian_radius(d, s, cells=2000):
    """The law of r = |w|, w ~ N(0, s² I), on cells."""
    edges = np.linspace(0, s * (math.sqrt(d) + 8), cells + 1)
    return wl.Density((edges,), np.diff(chi(d, scale=s).cdf(edges)), ("r",), (float(d),))


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_gaussian_density_has_the_entropy_and_fisher_information_of_the_full_space(d):
    s = 0.7
    rho = gaussian_radius(d, s)
    assert entropy(blind(max(d, 2)))(rho) == pytest.approx(d / 2 * math.log(2 * math.pi * math.e * s**2), abs=2e-4)
    assert fisher_information(blind(max(d, 2)))(rho) == pytest.approx(d / s**2, rel=1e-3)


def test_entropy_of_a_density_in_two_coordinates_is_the_sum_of_its_factors():
    one, two = gaussian_radius(5, 0.7, 300), gaussian_radius(9, 0.4, 200)
    both = wl.Density((*one.edges, *two.edges), np.outer(one.masses, two.masses), ("r_1", "r_2"), (5.0, 9.0))
    assert both.entropy == pytest.approx(one.entropy + two.entropy, abs=1e-12)


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_the_entropy_of_neurons_is_estimated_from_their_neighbours(coordinates):
    d, s, n = 6, 0.7, 4000
    w = s * np.random.default_rng(0).normal(size=(n, d))
    cloud = wl.Cloud(w, np.full(n, 1 / n), tuple(f"w_{i}" for i in range(1, d + 1)))
    if coordinates == "reduced":
        cloud = wl.Cloud(np.linalg.norm(w, axis=1)[:, None], cloud.weights, ("r",))
    exact = d / 2 * math.log(2 * math.pi * math.e * s**2)
    # the spread of −log ρ over the neurons and of the fourth spacing, √(d/2 + 1/4)/√n
    assert entropy(blind(d))(cloud) == pytest.approx(exact, abs=4 * math.sqrt((d / 2 + 0.25) / n))


def test_free_energy_is_energy_minus_entropy_over_beta():
    rho, problem = gaussian_radius(40, 0.3), blind(40)
    energy = 0.5 + 0.25 * 40 * 0.3**2
    assert free_energy(problem)(rho) == pytest.approx(energy - rho.entropy / 20, abs=1e-4)
    assert free_energy(blind(40, beta=math.inf))(rho) == pytest.approx(energy, abs=1e-4)


def test_dissipation_of_a_gaussian_is_exact_and_vanishes_at_the_gibbs_law():
    """∇(Ψ + β⁻¹ log ρ) = (λ − 1/(βs²)) w."""
    d, ridge, beta = 40, 0.5, 20.0
    for s in (0.2, 0.5):
        exact = 2 * (ridge - 1 / (beta * s**2)) ** 2 * d * s**2
        assert dissipation(blind(d))(gaussian_radius(d, s)) == pytest.approx(exact, rel=2e-3)
    law = wl.gibbs(blind(d), on=gaussian_radius(d, 1 / math.sqrt(beta * ridge), 200))
    assert abs(dissipation(blind(d))(law.rho)) < 1e-24


@pytest.fixture(scope="module")
def noisy_run():
    problem = wl.Problem(
        wl.data.gaussian_classes(20, 0.6), CURVED, wl.initial.gaussian(1.0), ridge=0.3, beta=30.0,
        schedule=wl.schedules.exponential(0.5),
    )  # fmt: skip
    observers = {"falls_by": dissipation(problem), "f": free_energy(problem)}
    run = wl.solve(problem, wl.FiniteVolume(100, ((0.0, 4.0),), tolerance=1e-6), 1.0, save=41, observers=observers)
    return problem, run


@pytest.mark.more
def test_the_free_energy_falls_by_the_dissipation(noisy_run):
    """dF/dt = −ξ 𝒟; what is left is the spline through 41 saves and the time step."""
    problem, run = noisy_run
    slope = CubicSpline(run.times, run.dataset["free_energy"].values)(run.times, 1)
    xi = np.array([float(problem.schedule(t)) for t in run.times])
    inside = slice(3, -3)
    assert slope[inside] == pytest.approx(-(xi * run.dataset["falls_by"].values)[inside], rel=2e-3)
    assert np.all(np.diff(run.dataset["f"].values) < 0)


def test_the_driver_records_the_free_energy(noisy_run):
    _, run = noisy_run
    assert run.dataset["f"].values == pytest.approx(run.dataset["free_energy"].values, abs=1e-13)


@pytest.mark.slow
def test_without_noise_the_energy_falls_by_the_mean_square_of_the_field():
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.6), CURVED, wl.initial.gaussian(1.0), ridge=0.1)
    observers = {"falls_by": dissipation(problem), "f": free_energy(problem)}
    for method in (wl.MeanField(64), wl.FiniteVolume(200)):
        data = wl.solve(problem, method, 0.5, save=41, observers=observers).dataset
        slope = CubicSpline(data["time"].values, data["f"].values)(data["time"].values, 1)
        assert slope[4:-4] == pytest.approx(-data["falls_by"].values[4:-4], rel=1e-2)


CLOUD = wl.Cloud(np.ones((3, 1)), np.full(3, 1 / 3), ("r",))
BAD = {
    "fisher of a cloud": lambda: fisher_information(blind(5))(CLOUD),
    "noisy dissipation of a cloud": lambda: dissipation(blind(5))(CLOUD),
    "too few neurons": lambda: entropy(blind(5))(CLOUD),
    "equal neurons": lambda: entropy(blind(5))(wl.Cloud(np.ones((9, 1)), np.full(9, 1 / 9), ("r",))),
    "weighted neurons": lambda: entropy(blind(5))(
        wl.Cloud(np.arange(1.0, 10)[:, None], np.arange(1.0, 10) / 45, ("r",))
    ),
    "not a problem": lambda: free_energy("problem"),
}


@pytest.mark.slow
def test_the_advice_about_points_of_different_weight_gives_an_entropy():
    """MeanField in two random coordinates has weights, the neurons of the other dynamics have none."""
    problem = wl.Problem(wl.data.single_index(5, "z"), LINE, wl.initial.gaussian(1.0))
    measure = entropy(problem)
    with pytest.raises(wl.InputError, match="FiniteVolume, or take the neurons of a ParticleFlow or NonlinearFlow"):
        measure(wl.solve(problem, wl.MeanField(16), 0.01, save=2).at(0.0))
    exact = 5 / 2 * math.log(2 * math.pi * math.e / 5)
    for method in (wl.FiniteVolume(30), wl.ParticleFlow(800, "reduced")):
        found = measure(wl.solve(problem, method, 0.01, save=2).at(0.0))
        assert found == pytest.approx(exact, abs=4 * math.sqrt((5 / 2 + 0.25) / 800))


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        BAD[name]()
    assert re.fullmatch(r".*, got .*: .*\.", str(caught.value))
