import math

import jax
import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.solving.placement import initial_points


def cloud_of(values, weights=None):
    values = np.asarray(values, float)
    weights = np.full(len(values), 1 / len(values)) if weights is None else np.asarray(weights)
    return wl.Cloud(values[:, None], weights, ("r",))


def test_moments_are_weighted_sums():
    cloud = cloud_of([1.0, 2.0, 4.0], [0.5, 0.25, 0.25])
    assert wl.observables.moment("r")(cloud) == 2.0
    assert wl.observables.moment("r", 2)(cloud) == 0.5 + 1.0 + 4.0
    assert wl.observables.summary(cloud)["r"] == (2.0, np.sqrt(1.5))


def test_binned_density_integrates_to_the_mass_inside():
    cloud = cloud_of((np.arange(100) + 0.5) / 100)
    edges = np.linspace(0, 0.5, 6)
    assert np.sum(wl.observables.binned_density(cloud, "r", edges) * np.diff(edges)) == pytest.approx(0.5)


def test_smooth_density_of_the_initial_points_is_the_chi_density():
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(0.8))
    theta, weights = initial_points(problem, 4000, "quantile")
    edges = np.linspace(0.5, 1.1, 61)
    middle = (edges[1:] + edges[:-1]) / 2
    exact = stats.chi(40, scale=0.8 / np.sqrt(40)).pdf(middle)
    found = wl.observables.smooth_density(wl.Cloud(np.asarray(theta), np.asarray(weights), ("r",)), "r", edges)
    # mass resolution 1/4000 on bins of width 0.01
    np.testing.assert_allclose(found, exact, atol=1 / 4000 / 0.01)


def test_the_risk_observer_is_the_landscape():
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge("sin"), wl.initial.gaussian(0.8))
    landscape = wl.landscape(problem, reduced=True)
    assert wl.observables.risk(landscape)(cloud_of([0.3, 0.9])) == landscape.risk(np.array([[0.3], [0.9]]))


def test_the_risk_of_a_problem_takes_full_neurons_or_a_reduced_measure():
    problem = wl.Problem(wl.data.gaussian_classes(6, 0.5), wl.neurons.ridge("sin"), wl.initial.gaussian(0.8))
    theta = np.eye(6)[:2]
    assert wl.observables.risk(problem, theta) == wl.landscape(problem).risk(theta)
    assert wl.observables.risk(problem, cloud_of([0.3])) == wl.landscape(problem, reduced=True).risk([[0.3]])
    with pytest.raises(wl.InputError, match="6"):
        wl.observables.risk(problem, [[0.3]])


def test_an_unknown_coordinate_is_refused_with_the_known_ones():
    with pytest.raises(wl.InputError, match="known are r"):
        wl.observables.moment("a")(cloud_of([1.0]))


@pytest.mark.slow
def test_the_risk_on_fresh_data_is_the_population_risk_within_its_error():
    problem = wl.Problem(wl.data.gaussian_classes(6, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    theta = np.random.default_rng(0).normal(size=(5, 6))
    x, y = problem.data.sample(jax.random.key(1), 20_000, float)
    found = wl.observables.test_risk(problem, theta, x, y)
    assert abs(found.risk - wl.landscape(problem).risk(theta)) < 4 * found.error
    one = np.vectorize(math.erf)(np.asarray(x) @ theta.T).mean(axis=1)
    assert found.risk == pytest.approx(np.mean((np.asarray(y) - one) ** 2), rel=1e-12)
    with pytest.raises(wl.InputError, match="test data must have d = 6 columns, got 2"):
        wl.observables.test_risk(problem, theta, np.ones((3, 2)), np.ones(3))
