"""Where noise leads and how fast: exact for linear neurons, bounds and exponents beyond."""

import math
import re

import numpy as np
import pytest

import widelimit as wl

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
CURVED = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
START = wl.initial.gaussian(1.0)
BOX = ((0.0, 4.0),)


def classes(beta=20.0, neuron=CURVED, ridge=0.3, d=20):
    return wl.Problem(wl.data.gaussian_classes(d, 0.6), neuron, START, ridge=ridge, beta=beta)


def teacher(kept=1, beta=20.0, d=20, ridge=0.5):
    law = wl.data.single_index(d, "z", nodes=8) if kept == 1 else wl.data.multi_index(d, kept, "z1", nodes=4)
    return wl.Problem(law, LINE, START, ridge=ridge, beta=beta)


@pytest.fixture(scope="module")
def settled():
    return wl.solve(classes(), wl.FiniteVolume(100, BOX), 12.0, save=121)


def test_a_grid_comes_to_rest_at_its_own_gibbs_law(settled):
    """Two routes to the same masses: time steps, and Newton's method on the concave dual."""
    law = wl.gibbs(classes(), on=settled.final)
    assert math.isnan(law.error)  # nobody measured that of the grid
    seen = law.rho.masses > 1e-12
    assert (settled.final.masses / law.rho.masses)[seen] == pytest.approx(np.ones(seen.sum()), abs=1e-10)
    assert law.free_energy == pytest.approx(settled.dataset["free_energy"].values[-1], abs=1e-13) and law.gap < 1e-13


def test_the_law_on_cells_tends_to_the_law(settled):
    """At the square of the width of a cell."""
    exact, errors = wl.gibbs(classes()), []
    for cells in (50, 100):
        edges = np.linspace(0.0, 4.0, cells + 1)
        grid = wl.Density((edges,), np.full(cells, 1 / cells), ("r",), (20.0,))
        errors.append(abs(wl.gibbs(classes(), on=grid).free_energy - exact.free_energy))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)


def test_the_free_energy_decays_exponentially(settled):
    found = wl.decay(classes(), settled)
    assert found.rate > 0 and found.misfit < 0.1 and found.fitted.sum() > 10
    assert np.all(np.diff(found.excess) < 1e-13)


def test_the_rate_of_linear_neurons_is_that_of_their_variance():
    """δs ~ e^{−4λτ}, and F is quadratic in it: 8λ."""
    problem = classes(neuron=LINE, ridge=0.5)
    run = wl.solve(problem, wl.FiniteVolume(100, BOX), 8.0, save=161)
    assert wl.decay(problem, run).rate == pytest.approx(8 * 0.5, rel=0.02)


@pytest.mark.slow
def test_what_noise_costs_linear_neurons_is_half_of_D_over_beta():
    """u ~ N(1/(1+λ), 1/(βλ)) and d − 1 blind directions: E − inf E = d/(2β)."""
    cold = wl.cooling(teacher(), [10.0, 100.0, 1000.0, 10000.0])
    assert cold.D == 20 and cold.exponent == pytest.approx(1, abs=1e-3)
    assert cold.excess == pytest.approx(20 / (2 * cold.beta), rel=1e-5)
    assert np.all(cold.certificate >= cold.energy - (0.5 * 0.5 / 1.5) - 1e-12)  # inf E = λ/(2(1 + λ))
    assert cold.lowest <= 0.5 * 0.5 / 1.5 + 1e-12


@pytest.mark.slow
def test_what_noise_costs_is_bounded_by_its_certificates():
    cold = wl.cooling(classes(), [10.0, 100.0, 1000.0])
    assert np.all(cold.excess <= cold.certificate + 1e-12) and np.all(np.diff(cold.excess) < 0)
    assert np.all(cold.certificate <= 0.6 * cold.D / cold.beta)


@pytest.mark.slow
def test_in_three_coordinates_the_law_is_drawn_from():
    """Two kept directions and a radius: R = (λ/(1 + λ))², E|w|² = 1/(1 + λ)² + d/(βλ), here λ = 2."""
    law = wl.gibbs(teacher(kept=2, ridge=2.0), n=100)
    assert law.log_density is None and 0 < law.error < 0.04
    assert law.risk == pytest.approx((2 / 3) ** 2, abs=3 * law.error)
    length = 1 / 9 + 20 / 40
    assert float(law.rho.mean((law.rho.theta**2).sum(axis=1))) == pytest.approx(length, rel=0.02)
    entropy = 10 * math.log(2 * math.pi * math.e / 40)
    assert law.free_energy == pytest.approx((2 / 3) ** 2 / 2 + length - entropy / 20, abs=0.02)


@pytest.mark.slow
def test_where_the_data_allow_no_reduction_the_law_is_drawn_from_in_full_coordinates():
    """Linear neurons on the hypercube: R = (λ/(1 + λ))², up to the bias d/(βN(1 + λ)) of the angles."""
    problem = wl.Problem(wl.data.hypercube(4, "z1", samples=1024), LINE, START, ridge=2.0, beta=20.0)
    law = wl.gibbs(problem, n=50)
    assert law.rho.coordinates == ("w_1", "w_2", "w_3", "w_4")
    assert law.risk == pytest.approx((2 / 3) ** 2, abs=3 * law.error + 0.06)  # 1024 draws stand for the data
    assert float(law.rho.mean(law.rho.column("w_1"))) == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.slow
def test_finite_width_has_a_bias_of_one_over_n():
    """Linear neurons in reduced coordinates: the mean of N neurons has variance 1/(βN(1 + λ))."""
    found = wl.particle_bias(teacher(beta=2.0), [4, 16], replicas=400, t_end=5.0, step=0.05)
    exact = 1 / (2.0 * 1.5 * found.n)
    assert np.all(np.abs(found.bias - exact) < 4 * found.error + 0.02 * exact)
    assert found.exponent == pytest.approx(-1, abs=0.3)


BAD = {
    "decay of particles": lambda: wl.decay(classes(), wl.solve(classes(), wl.GD(4, 0.1, "reduced"), 0.2, save=2)),
    "decay too short": lambda: wl.decay(
        classes(), wl.solve(classes(), wl.FiniteVolume(100, BOX), 0.1, save=3)
    ),
    "one beta": lambda: wl.cooling(classes(), [10.0]),
    "beta 0": lambda: wl.cooling(classes(), [0.0, 10.0]),
    "decreasing beta": lambda: wl.cooling(classes(), [10.0, 1.0]),
    "cooling three coordinates": lambda: wl.cooling(teacher(kept=2), [1.0, 10.0]),
    "cells of another problem": lambda: wl.gibbs(
        teacher(), on=wl.Density((np.linspace(0, 1, 5),), np.full(4, 0.25), ("r",), (20.0,))
    ),
    "points in three coordinates": lambda: wl.gibbs(teacher(kept=2), points=64),
    "one width": lambda: wl.particle_bias(classes(), [10]),
    "one replica": lambda: wl.particle_bias(classes(), [10, 20], replicas=1),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        BAD[name]()
    assert re.fullmatch(r".*, got .*: .*\.", str(caught.value))
