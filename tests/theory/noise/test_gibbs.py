"""The Gibbs law: a fixed point, a minimum, and where noisy particles settle."""

import math
import re

import numpy as np
import pytest

import widelimit as wl

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
START = wl.initial.gaussian(1.0)


def mean(law, values):
    return float(law.rho.mean(values))


@pytest.mark.parametrize("d", [3, 40])
def test_neurons_that_see_nothing_are_gaussian(d):
    """Linear neurons on centred classes: Ψ = (λ/2)|w|², so w ~ N(0, 1/(βλ)), F = ½ − (d/2β) log(2π/(βλ))."""
    ridge, beta = 0.5, 20.0
    law = wl.gibbs(wl.Problem(wl.data.gaussian_classes(d, 0.5), LINE, START, ridge=ridge, beta=beta))
    assert mean(law, law.rho.column("r") ** 2) == pytest.approx(d / (beta * ridge), rel=1e-12)
    assert law.free_energy == pytest.approx(0.5 - d / (2 * beta) * math.log(2 * math.pi / (beta * ridge)), abs=1e-12)
    assert law.risk == pytest.approx(1.0, abs=1e-12) and 0 < law.gap < 1e-12


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_linear_neurons_with_a_teacher_are_an_ornstein_uhlenbeck_process_at_rest(noise):
    """Ψ = −u + ū u + (λ/2)(u² + r²): u ~ N(1/(1+λ), 1/(βλ)), R = (λ/(1+λ))² + noise²."""
    ridge, beta, d = 0.5, 20.0, 20
    law = wl.gibbs(wl.Problem(wl.data.single_index(d, "He1(z)", noise), LINE, START, ridge=ridge, beta=beta))
    u, r = law.rho.column("u"), law.rho.column("r")
    assert mean(law, u) == pytest.approx(1 / (1 + ridge), abs=1e-12)
    assert mean(law, u**2) - mean(law, u) ** 2 == pytest.approx(1 / (beta * ridge), abs=1e-12)
    assert mean(law, r**2) == pytest.approx((d - 1) / (beta * ridge), rel=1e-12)
    assert law.risk == pytest.approx((ridge / (1 + ridge)) ** 2 + noise**2, abs=1e-12)
    energy = law.risk / 2 + ridge / 2 * mean(law, u**2 + r**2)
    entropy = d / 2 * math.log(2 * math.pi * math.e / (beta * ridge))
    assert law.free_energy == pytest.approx(energy - entropy / beta, abs=1e-12)


def classes(beta=50.0, ridge=0.2, activation="relu"):
    return wl.Problem(wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge(activation), START, ridge=ridge, beta=beta)


@pytest.fixture(scope="module")
def law():
    return wl.gibbs(classes())


def test_the_law_is_the_exponential_of_its_own_field(law):
    """log ρ + βΨ(·; ρ) is constant, with Ψ and R from the landscape."""
    land = wl.landscape(classes(), reduced=True)
    seen = law.rho.weights > 1e-14
    constant = (law.log_density + law.beta * np.asarray(land.psi(law.rho.theta, law.rho)))[seen]
    assert np.ptp(constant) < 1e-9 and law.rho.weights.sum() == pytest.approx(1, abs=1e-13)
    assert land.risk(law.rho) == pytest.approx(law.risk, abs=1e-13) and 0 < law.gap < 1e-12


def test_no_tilt_of_the_law_lowers_the_free_energy(law):
    """F grows like the square of the tilt."""
    land, r = wl.landscape(classes(), reduced=True), law.rho.column("r")

    def free_energy(size):
        weights = law.rho.weights * np.exp(size * np.sin(r))
        total = weights.sum()
        log_density = law.log_density + size * np.sin(r) - math.log(total)
        rho = wl.Cloud(law.rho.theta, weights / total, law.rho.coordinates)
        return land.risk(rho) / 2 + rho.mean(0.1 * r**2 + log_density / law.beta)

    assert free_energy(0.0) == pytest.approx(law.free_energy, abs=1e-12)
    for sign in (1, -1):
        one, two = (free_energy(sign * size) - law.free_energy for size in (0.1, 0.2))
        assert one > 1e-8 and two / one == pytest.approx(4, rel=0.1)


def test_more_nodes_change_nothing(law):
    fine = wl.gibbs(classes(), points=1024)
    assert fine.risk == pytest.approx(law.risk, abs=1e-11) and fine.free_energy == pytest.approx(
        law.free_energy, abs=1e-11
    )


def test_the_density_of_a_coordinate_has_mass_one(law):
    edges, values = law.density("r")
    assert values @ np.diff(edges) == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_noisy_particles_settle_there_and_half_the_noise_would_not():
    """Gradient descent of 4000 noisy neurons for long; bias of order ε and 1/N, spread over times and neurons."""
    problem, law, half = classes(), wl.gibbs(classes()), wl.gibbs(classes(beta=100.0))
    run = wl.solve(problem, wl.GD(4000, 2e-3, "reduced"), 30.0, save=[20.0, 22.5, 25.0, 27.5, 30.0], progress=False)
    r = run.dataset["theta"].sel(coordinate="r").values
    error = r[0].std() / math.sqrt(r[0].size)
    settled, wrong = mean(law, law.rho.column("r")), mean(half, half.rho.column("r"))
    assert r.mean() == pytest.approx(settled, abs=4 * error + 2e-3) and abs(wrong - settled) > 20 * error
    assert run.risk.mean() == pytest.approx(law.risk, rel=0.02) and abs(half.risk / law.risk - 1) > 0.05


BAD = {
    "no noise": lambda: wl.gibbs(classes(beta=math.inf)),
    "no ridge": lambda: wl.gibbs(classes(ridge=0.0)),
    "infinite dimension": lambda: wl.gibbs(
        wl.Problem(wl.data.single_index(math.inf, "z"), LINE, START, ridge=0.1, beta=10.0)
    ),
    "half a point": lambda: wl.gibbs(classes(), points=2.5),
    "not a problem": lambda: wl.gibbs("problem"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        BAD[name]()
    assert re.fullmatch(r".*, got .*: .*\.", str(caught.value))
