"""Neurons that are thin (r ≪ |u|) and kinked need more nodes than others: every dynamics takes them."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.finite_volume.fluxes import terrain_of
from widelimit.dynamics.finite_volume.grid import initial_grid
from widelimit.potentials.refinement import ON_CELLS

START = np.array([[1.0, 0.3, 1.0, 0.002], [1.0, 0.2, 0.5, 0.01], [1.0, 0.1, -0.3, 0.001]])
NEURON = wl.neurons.ridge("relu", outer="trained", bias="trained")
THIN = wl.Problem(wl.data.single_index(math.inf, "z**2 + z"), NEURON, wl.initial.array(START, coordinates="reduced"))


@pytest.mark.more
def test_tracers_that_start_at_the_points_stay_with_them():
    """On the landscape of ordinary neurons tracers were 8e−4 away."""
    run = wl.solve(THIN, wl.NonlinearFlow(3, "reduced", points=3), 0.1, save=2)
    limit = wl.solve(THIN, wl.MeanField(3, check=False), 0.1, save=2)
    np.testing.assert_allclose(run.final.theta, limit.final.theta, rtol=0, atol=1e-9)
    assert np.abs(limit.final.theta - START).max() > 0.1


@pytest.mark.more
def test_a_minimising_movement_ends_where_the_slope_says():
    """θ' = θ − η ∇Ψ(θ'; ρ') with η = 2 dt and the slope of the public landscape."""
    end = wl.solve(THIN, wl.JKO(0.01), 0.01, save=2).final
    slope = wl.landscape(THIN, reduced=True).grad_psi(end.theta, end)
    np.testing.assert_allclose(end.theta, START - 0.02 * np.asarray(slope), rtol=0, atol=1e-9)


@pytest.mark.more
def test_the_weak_form_sees_thin_neurons():
    """3e−5 on the landscape of ordinary neurons; what is left is what slopes of thin neurons are known to."""
    limit = wl.solve(THIN, wl.MeanField(3, check=False), 0.2, save=21)
    residual = wl.observables.weak_residual(THIN, limit, lambda theta: theta[2] ** 2)
    assert np.abs(residual).max() < 1e-5


@pytest.mark.more
def test_cells_at_the_axis_have_the_features_of_thin_neurons():
    """V at all centres, 1.3e−3 off on the landscape of ordinary neurons."""
    law, start = wl.data.single_index(math.inf, "tanh(z)"), wl.initial.gaussian(1.0)
    problem = wl.Problem(law, wl.neurons.ridge("ramp"), start)
    land, (grid, masses) = wl.landscape(problem, reduced=True), initial_grid(problem, 16, None)
    terrain, theta = terrain_of(land, grid, None), grid.density(masses).theta
    V = np.asarray(terrain.fit.external(terrain.features))
    np.testing.assert_allclose(V, land.V(theta), rtol=0, atol=20 * ON_CELLS)  # √U is below 10
