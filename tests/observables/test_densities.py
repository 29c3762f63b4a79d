"""Every observable reads a density: as the cloud of its centres, or better."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit import observables as ob

LINE = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
D = 20


def problem(beta=20.0):
    return wl.Problem(wl.data.single_index(D, "z", nodes=8), LINE, wl.initial.gaussian(1.0), ridge=0.5, beta=beta)


@pytest.fixture(scope="module")
def rho():
    u, r = np.linspace(-1.0, 1.5, 11), np.linspace(0.0, 2.0, 13)
    masses = np.random.default_rng(0).dirichlet(np.ones(120)).reshape(10, 12)
    return wl.Density((u, r), masses, ("u", "r"), (None, D - 1.0))


@pytest.fixture(scope="module")
def cloud(rho):
    return wl.Cloud(rho.theta, rho.weights, rho.coordinates)


LAND = wl.landscape(problem(), reduced=True)
READ_ALIKE = {
    "risk": ob.risk(LAND),
    "moment": ob.moment("u", 3),
    "summary": lambda rho: [x for pair in ob.summary(rho).values() for x in pair],
    "average": ob.average(lambda theta: np.cos(theta)),
    "mass": ob.mass(lambda theta: theta[:, 0] > 0.2),
    "variance": ob.variance("r"),
    "quantile": ob.quantile("u", [0.1, 0.5]),
    "coefficient": ob.coefficient(problem(), "h2(z)"),
    "psi": lambda rho: LAND.psi([[0.3, 0.4]], rho),
    "field": lambda rho: LAND.grad_psi([[0.3, 0.4]], rho),
    "energy": ob.free_energy(problem(math.inf)),
    "dissipation without noise": ob.dissipation(problem(math.inf)),
}


@pytest.mark.parametrize("name", READ_ALIKE)
def test_a_density_is_read_as_the_cloud_of_its_centres(name, rho, cloud):
    observe = READ_ALIKE[name]
    np.testing.assert_allclose(observe(rho), observe(cloud), rtol=1e-13, atol=1e-15)


def test_a_density_is_at_no_distance_from_its_centres(rho, cloud):
    assert ob.wasserstein(rho, cloud) == pytest.approx(0, abs=1e-12)
    assert ob.pair_distance(rho, cloud) == 0.0


@pytest.mark.parametrize("show", [ob.binned_density, ob.smooth_density])
def test_bins_share_out_the_mass_of_a_cell_evenly(show, rho):
    """On its own edges a marginal is itself; on others mass is kept and no bin is empty."""
    edges, values = rho.marginal("r")
    np.testing.assert_allclose(show(rho, "r", edges), values, rtol=1e-12)
    fine = np.linspace(0, 2, 101)
    assert show(rho, "r", fine) @ np.diff(fine) == pytest.approx(1, abs=1e-12) and show(rho, "r", fine).min() > 0


@pytest.mark.slow
def test_a_solution_on_a_grid_satisfies_the_weak_form():
    """Up to the square of the width of a cell."""
    stated = wl.Problem(wl.data.gaussian_classes(D, 0.6), LINE, wl.initial.gaussian(1.0), ridge=0.3, beta=30.0)
    sizes = []
    for cells in (50, 100):
        run = wl.solve(stated, wl.FiniteVolume(cells, ((0.0, 4.0),), tolerance=1e-6), 0.5, save=21)
        sizes.append(np.abs(ob.weak_residual(stated, run, lambda theta: theta[0] ** 2)).sum())
    assert math.log2(sizes[0] / sizes[1]) > 1.5 and sizes[1] < 0.01


@pytest.mark.slow
def test_noisy_neurons_and_the_grid_have_one_free_energy():
    """Estimated from 2000 neurons: the spread of log ρ over them, √(d/2)/β/√n, and the bias 1/N."""
    stated = wl.Problem(wl.data.gaussian_classes(D, 0.6), LINE, wl.initial.gaussian(1.0), ridge=0.3, beta=30.0)
    grid = wl.solve(stated, wl.FiniteVolume(100, ((0.0, 4.0),)), 1.0, save=3).dataset["free_energy"].values
    run = wl.solve(stated, wl.GD(2000, 5e-3, "reduced"), 1.0, save=3, observers={"f": ob.free_energy(stated)})
    found = run.dataset["f"].values
    assert found == pytest.approx(grid, abs=6 * math.sqrt(D / 2 / 2000) / 30 + 5e-3) and found[2] < found[0]


BAD = {
    "masses of another shape": lambda: wl.Density((np.arange(4.0),), np.ones(4) / 4, ("r",), (3.0,)),
    "a coordinate too many": lambda: wl.Density((np.arange(4.0),), np.ones(3) / 3, ("u", "r"), (None, 3.0)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_density_of_the_wrong_shape_is_refused(name):
    with pytest.raises(wl.InputError, match=r"masses must have shape|one for each of u, r"):
        BAD[name]()
