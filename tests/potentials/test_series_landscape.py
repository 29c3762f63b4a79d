"""Three and more kept coordinates in finite dimension: neurons move on nodes of the first order and a series."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_jacobi

import widelimit as wl
from widelimit.measures import Cloud
from widelimit.potentials.series_landscape import SeriesLandscape

TARGET = "tanh(z1)*z2 + z3"


def land_of(k=3, activation="erf", nodes=None, d=12, target=TARGET):
    neuron = wl.neurons.ridge(activation, outer="trained")
    law = wl.data.multi_index(d, k, target, nodes=nodes)
    return wl.landscape(wl.Problem(law, neuron, wl.initial.gaussian(1.0, a=1.0)), reduced=True)


def rows(k, radii, seed=0):
    """Neurons with |u| near 1 and given radii."""
    theta = np.random.default_rng(seed).normal(size=(len(radii), k + 2))
    theta[:, 1:-1] /= np.linalg.norm(theta[:, 1:-1], axis=1, keepdims=True)
    theta[:, -1] = radii
    return jnp.asarray(theta)


def arcsine(theta, d):
    """U of erf: (2/π) a a' E arcsin(2 ⟨w, w'⟩/√((1 + 2s²)(1 + 2s'²))) over the angle of the other d − k directions."""
    theta = np.asarray(theta)
    a, u, r, s = theta[:, 0], theta[:, 1:-1], theta[:, -1], np.linalg.norm(theta[:, 1:], axis=1)
    power = (d - u.shape[1] - 3) / 2
    cosines, weights = roots_jacobi(200, power, power)
    inner = (u @ u.T)[..., None] + np.outer(r, r)[..., None] * cosines
    size = np.sqrt(np.outer(1 + 2 * s**2, 1 + 2 * s**2))[..., None]
    return 2 / math.pi * np.outer(a, a) * (np.arcsin(2 * inner / size) @ weights / weights.sum())


@pytest.mark.more
@pytest.mark.parametrize("k", [3, 4])
def test_u_is_the_arcsine_kernel_within_the_stated_error(k):
    theta = rows(k, [0.2, 0.5, 1.0, 2.0, 4.0])
    land = land_of(k).in_motion(theta)
    assert isinstance(land, SeriesLandscape)
    off = np.abs(np.asarray(land.pair(theta, theta)) - arcsine(theta, 12))
    stated = land.errors_at(theta, jnp.full(5, 0.2)).U
    assert (off <= stated).mean() >= (1.0 if k == 3 else 0.9)  # of random nodes an error is one deviation
    assert off.max() < (1e-4 if k == 3 else 1e-2)
    first = np.asarray(land.nodes.pair(theta, theta))  # without the series
    assert np.abs(first - arcsine(theta, 12)).max() > 10 * off.max()


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_neurons_move_on_the_landscape_of_the_nodes_within_the_stated_error(activation):
    theta, weights = rows(3, [0.3, 0.6, 1.0, 2.0], 1), jnp.full(4, 0.25)
    public = land_of(activation=activation)
    moving = public.in_motion(theta)
    assert isinstance(moving, SeriesLandscape) and 20 * moving.size < public.size
    cloud = Cloud(np.asarray(theta), np.asarray(weights), public.coordinates)
    mine, others = moving.errors_at(theta, weights), public.errors(cloud)
    V, U = np.asarray(moving.external(theta)), np.asarray(moving.pair(theta, theta))
    assert (np.abs(V - public.V(theta)) <= mine.V + others.V).all()
    assert (np.abs(U - public.U(theta, theta)) <= mine.U + others.U).all()
    slopes = np.asarray(moving.gradient(theta, theta, weights))
    assert (np.abs(slopes - public.grad_psi(theta, cloud)) <= mine.gradient + others.gradient).all()
    risk = float(moving.risk_of(theta, weights))
    assert abs(risk - public.risk(cloud)) <= float(public.moving_risk_error(theta, weights)) + public.risk_error(cloud)
    assert mine.risk < 1e-4


def test_nodes_that_were_chosen_few_orders_and_few_coordinates_have_no_series():
    theta = rows(3, [1.0])
    for land in (land_of(nodes=8), land_of(d=math.inf), land_of(d=10**9)):
        assert not isinstance(land.in_motion(theta), SeriesLandscape)
    assert not isinstance(land_of(2, target="tanh(z1)*z2").in_motion(rows(2, [1.0])), SeriesLandscape)


@pytest.mark.slow
def test_a_limit_with_three_coordinates_is_that_of_many_neurons():
    """`MeanField` beside gradient descent in full coordinates, whose kernel knows neither nodes nor orders."""
    neuron, start = wl.neurons.ridge("erf"), wl.initial.gaussian(1.0)
    problem = wl.Problem(wl.data.multi_index(12, 3, TARGET), neuron, start)
    limit = wl.solve(problem, wl.MeanField(64), t_end=0.2, save=3)
    full = wl.solve(problem, wl.ParticleFlow(200), t_end=0.2, save=3, seed=1, replicas=8)
    error = full.risk.std(axis=0, ddof=1) / math.sqrt(8) + full.risk[:, 0].mean() / 200  # E R_N − R ~ 1/N
    assert (np.abs(limit.risk - full.risk.mean(axis=0)) < 4 * error).all()
    assert limit.risk[0] - limit.risk[-1] > 10 * error.max()
