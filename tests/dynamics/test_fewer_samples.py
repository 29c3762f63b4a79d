"""A custom neuron on a law descends on draws: what that costs is in the error of its risk."""

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.potentials import landscapes, sample_landscape

D, N, T = 10, 20, 0.25
SCALES = np.array([1.0, *[D**-0.5] * D])
START = wl.initial.array(np.random.default_rng(0).normal(size=(N, 1 + D)) * SCALES, coordinates="full")


def quadratic(x, theta):
    return theta[0] * jnp.dot(theta[1:], x) ** 2


def by_hand(samples):
    law = wl.data.single_index(D, "z**2", samples=samples)
    return wl.Problem(law, wl.neurons.custom(quadratic, 1 + D), START)


EXACT = wl.Problem(wl.data.single_index(D, "z**2"), wl.neurons.ridge("x**2", outer="trained"), START)


def bars(method, samples, seeds=(sample_landscape.DRAW,)):
    """How many bars the risk of the neuron by hand is from that of the ridge neuron: for each draw, at every save."""
    exact, found = wl.solve(EXACT, method, T, save=6), []
    for seed in seeds:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sample_landscape, "DRAW", seed)
            landscapes._cached.cache_clear()  # landscapes of another draw, in the same shape
            drawn = wl.solve(by_hand(samples), method, T, save=6)
            landscapes._cached.cache_clear()
        found.append(np.abs(exact.risk - drawn.risk) / drawn.error)
    return np.array(found)


METHODS = [pytest.param(wl.ParticleFlow(N), id="flow", marks=pytest.mark.slow), pytest.param(wl.GD(N, 0.01), id="GD")]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_bar_covers_the_draws_that_were_descended_on(method):
    assert bars(method, 2048).max() < 3


@pytest.mark.slow
def test_the_bar_is_one_of_the_size_of_the_error():
    """Twelve draws. The bar is |N(0, 3)| + 1 of the reported draw in units of the error: mostly less than two away."""
    found = bars(wl.ParticleFlow(N), 1000, range(100, 124, 2))
    assert np.mean(found < 2) > 0.85 and np.median(found) > 0.1


@pytest.mark.more
def test_a_data_set_is_its_own_law_and_fresh_samples_need_no_twin():
    rows = wl.data.empirical(np.random.default_rng(1).normal(size=(8, D)), np.ones(8))
    exact = wl.Problem(rows, wl.neurons.custom(quadratic, 1 + D), START)
    assert not wl.solve(exact, wl.GD(N, 0.01), 0.02, save=2).error.any()
    fresh = wl.solve(by_hand(512), wl.SGD(N, 1e-4), 2e-4, save=2)
    assert fresh.error[1] == pytest.approx(fresh.error[0], rel=0.2)
