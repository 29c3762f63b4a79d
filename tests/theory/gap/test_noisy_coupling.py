"""All dynamics of a seed on one Brownian path: exactly, and in the orders of their distances."""

import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.dynamics.particle_flow import kicked, step_normals
from widelimit.dynamics.rules import rules_of
from widelimit.solving.flows import HalfKick
from widelimit.solving.streams import stream
from widelimit.theory.gap.limit_method import limit_method
from widelimit.theory.gap.rates import slope

BENT = wl.activations.polynomial([0.1, 1.0, 0.4])


def problem(d=12, **more):
    data, start = wl.data.gaussian_classes(d, 0.8), wl.initial.gaussian(0.8)
    return wl.Problem(data, wl.neurons.ridge(BENT), start, **{"ridge": 0.1, "beta": 50.0, **more})


@pytest.mark.parametrize("substeps", [1, 3])
def test_half_kicks_are_independent_normals_with_the_sum_of_the_step(substeps):
    """Their mean over √(2m) is the g of GD; as numbers they pass for standard normals, uncorrelated."""
    rules, key, start = rules_of(problem(d=3, beta=4.0), False), stream(0, "noise"), np.zeros((4000, 3))
    g = step_normals(5, key, start)
    rest, pieces = np.sqrt(2 * substeps) * g, []
    for i in range(2 * substeps):
        moved, left = kicked(rules, HalfKick(5, i, 2 * substeps - i, 0.0, 0.25), key, start, rest)
        pieces.append(np.asarray(moved).ravel())  # √(4 Δ/β) = ½
        rest = left
    pieces = 2 * np.stack(pieces)
    np.testing.assert_allclose(pieces.sum(axis=0), np.sqrt(2 * substeps) * np.ravel(g), atol=1e-12)
    np.testing.assert_allclose(rest, 0, atol=1e-12)
    assert min(stats.kstest(piece, "norm").pvalue for piece in pieces) > 1e-4
    apart = np.corrcoef(pieces) - np.eye(2 * substeps)
    assert np.abs(apart).max() < 4 / np.sqrt(pieces.shape[1])


@pytest.fixture(scope="module")
def free():
    """No force but noise: ∇Ψ = 0 where the labels and all other neurons vanish, so that every path is its noise."""
    nothing = wl.Problem(
        wl.data.empirical(np.zeros((2, 3)), np.zeros(2)), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0), beta=4.0
    )
    return {
        name: wl.solve(nothing, method, 0.25, save=2, keep="full").final.theta
        for name, method in {
            "GD": wl.GD(4, 0.1), "SGD": wl.SGD(4, 0.1, stepwise=True), "PD": wl.ParticleFlow(4, noise_step=0.1),
            "PD in substeps": wl.ParticleFlow(4, noise_step=0.1, substeps=3),
            "ND": wl.NonlinearFlow(4, points=4, noise_step=0.1),
        }.items()
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SGD", "PD", "PD in substeps", "ND"])
def test_without_a_force_all_dynamics_end_at_the_same_neurons(free, name):
    """Two whole steps and half of a third."""
    np.testing.assert_allclose(free[name], free["GD"], rtol=0, atol=1e-13)


def test_the_limit_with_noise_is_on_a_grid_where_one_holds_it():
    assert isinstance(limit_method(problem(), None, 0.01), wl.FiniteVolume)
    trained = wl.Problem(
        wl.data.single_index(5, "z"), wl.neurons.ridge("tanh", "trained"), wl.initial.gaussian(1.0, a=1.0), beta=10.0
    )
    assert limit_method(trained, 64, 0.01) == wl.MeanField(64, noise_step=0.01, substeps=4)


@pytest.mark.slow
def test_points_with_noise_agree_with_the_grid_within_their_error():
    limit = wl.solve(problem(), wl.FiniteVolume(), 0.2, save=3)
    carried = wl.solve(problem(), wl.MeanField(1000, noise_step=0.02), 0.2, save=3)
    assert (carried.error[1:] > 0).all()
    far = np.abs(carried.risk - limit.risk)[1:]
    assert (far < carried.error[1:] + 4 * limit.risk[0] / np.sqrt(1000)).all() and far.max() < 0.05 * limit.risk[0]


@pytest.mark.slow
def test_the_five_dynamics_with_noise_are_compared():
    result = wl.compare(problem(), n=20, step=0.02, t_end=0.1, save=3, points=500)
    gaps = result.dataset["risk_gap"]
    np.testing.assert_allclose(gaps.values[:-1].sum(axis=0), gaps.sel(part="total").values, atol=1e-14)
    far = result.dataset["distance"].isel(time=-1)
    assert float(far.sel(part="PD–GD")) < 0.1 * float(far.sel(part="GD–SGD"))
    assert (result.dataset["w2"].sel(dynamics="ND").values > 0).all()
    assert (result.dataset["risk_gap_error"].sel(part="total").values >= 0).all()


def agrees(fit, exponent, width):
    value, low, high = fit
    return low - 0.03 <= exponent <= high + 0.03 and high - low < width and abs(value - exponent) < width / 2


@pytest.mark.slow
def test_tracers_and_neurons_part_like_one_over_root_n():
    fit = wl.rates(problem(), "n", [25, 50, 100], step=0.02, t_end=0.1, replicas=16, chain=("ND", "PD"))
    assert agrees(fit.exponent("ND–PD", "distance"), -0.5, 0.2), fit


@pytest.mark.slow
def test_euler_has_order_one_for_additive_noise():
    fit = wl.rates(problem(), "step", [0.005, 0.01, 0.02], n=40, t_end=0.2, replicas=16, chain=("PD", "GD"))
    assert agrees(fit.exponent("PD–GD", "distance"), 1.0, 0.2), fit


@pytest.mark.slow
def test_samples_cost_the_root_of_the_step():
    fit = wl.rates(problem(), "step", [1e-4, 2e-4, 4e-4], n=40, t_end=0.04, replicas=16, chain=("GD", "SGD"))
    assert agrees(fit.exponent("GD–SGD", "distance"), 0.5, 0.35), fit


# Noise adds 4 t d/β to |w|², here below a tenth of its start 0.64: to first order the exponents are those without it.
DIMENSIONS = [10, 20, 40]


@pytest.mark.slow
def test_with_noise_too_the_dimension_costs_no_neurons():
    fit = wl.rates(problem(beta=400.0), "d", DIMENSIONS, n=40, step=0.02, t_end=0.1, replicas=16, chain=("ND", "PD"))
    assert agrees(fit.exponent("ND–PD", "distance"), 0.0, 0.3), fit


def sample_force(d, n=40, draws=2000, networks=20):
    """√E|F − EF|², F = (y − f) σ'(⟨w, x⟩) x: what a sample adds to a neuron at the start, by draws."""
    rng, found = np.random.default_rng(d), []
    for _ in range(networks):
        w, y = rng.normal(0, 0.8 / np.sqrt(d), (n, d)), rng.choice([1.0, -1.0], draws)
        x = rng.normal(size=(draws, d)) * (1 + 0.8 * y)[:, None]
        h = x @ w.T
        g = (y - (0.1 + h + 0.4 * h**2).mean(axis=1))[:, None] * (1 + 0.8 * h)
        square = (g**2).T @ (x**2).sum(axis=1) / draws - ((g.T @ x / draws) ** 2).sum(axis=1)
        found.append(np.sqrt(square).mean())
    return np.sqrt(np.mean(np.square(found)))


@pytest.mark.slow
def test_with_noise_too_samples_cost_what_the_force_of_a_sample_says():
    """The root of d is the law of large d; at d = 10 … 40 the high moments of |x|² flatten it, in the force as well."""
    fit = wl.rates(problem(beta=400.0), "d", DIMENSIONS, n=40, step=4e-4, t_end=0.04, replicas=16, chain=("GD", "SGD"))
    foretold = float(slope(DIMENSIONS, np.array([sample_force(d) for d in DIMENSIONS])))
    value, low, high = fit.exponent("GD–SGD", "distance")
    assert low - 0.1 < foretold < high + 0.1 and abs(value - foretold) < 0.2 and foretold < 0.3, (fit, foretold)
    assert slope([320, 640], np.array([sample_force(d, networks=4) for d in (320, 640)])) > 0.4


@pytest.mark.slow
def test_on_independent_paths_the_distances_do_not_fall():
    """The same measurements with noise of their own: a flow on another grid of noise, SGD in blocks."""
    p, steps, t_end = problem(), [0.005, 0.01, 0.02], 0.2
    flow = {step: _apart(p, wl.ParticleFlow(40, noise_step=0.7 * step), wl.GD(40, step), t_end) for step in steps}
    assert abs(float(slope(steps, np.array([*flow.values()])))) < 0.1
    steps, t_end = [1e-4, 2e-4, 4e-4], 0.04
    blocks = {step: _apart(p, wl.GD(40, step), wl.SGD(40, step), t_end) for step in steps}
    assert float(slope(steps, np.array([*blocks.values()]))) < 0.25


def _apart(p, one, two, t_end):
    """Mean distance of the neurons at the end."""
    ends = [wl.solve(p, m, t_end, save=2, replicas=16).dataset["final"].values for m in (one, two)]
    return float(np.linalg.norm(ends[0] - ends[1], axis=-1).mean())
