"""What must not move does not, in every dynamics: frozen blocks to the bit, lengths on the sphere to rounding.

    b   fixed
    w   on the unit sphere, trained while t < 0.1          reduced: Σ_g r_g² = 1
    a   trained from t = 0.1

neither by the force, nor by the ridge, nor by the noise.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.dynamics.rules import rules_of
from widelimit.dynamics.solve import DYNAMICS
from widelimit.solving.progress import silent

N, D, TIMES, STEP = 4, 8, [0.0, 0.1, 0.2], 0.02
CURVED = wl.activations.polynomial([0.2, 1.0, 0.3])
WINDOWS = {"a": wl.schedules.window(0.1), "w": wl.schedules.window(0.0, 0.1)}
METHODS = {
    "SGD": wl.SGD(N, STEP),
    "GD": wl.GD(N, STEP),
    "reduced GD": wl.GD(N, STEP, "reduced"),
    "ParticleFlow": wl.ParticleFlow(N, noise_step=STEP),
    "reduced ParticleFlow": wl.ParticleFlow(N, "reduced", noise_step=STEP),
    "NonlinearFlow": wl.NonlinearFlow(N, points=4, noise_step=STEP),
    "reduced NonlinearFlow": wl.NonlinearFlow(N, "reduced", points=4, noise_step=STEP),
    "MeanField": wl.MeanField(4),
}


def problem(inner="sphere", start=None, **more):
    return wl.Problem(
        wl.data.gaussian_classes(D, 0.6, 3),
        wl.neurons.ridge(CURVED, outer="trained", bias="fixed", inner=inner),
        start or wl.initial.sphere(1.0, a=wl.initial.normal(0.6, 0.3), b=wl.initial.uniform(-0.5, 0.5)),
        ridge=0.1,
        **more,
    )


RUNS = {
    math.inf: ("SGD", "reduced GD", "MeanField"),
    20.0: ("SGD", "GD"),
}


def each():
    """Every dynamics with and without noise; those whose code others share among the slow tests."""
    for beta, quick in RUNS.items():
        for name in METHODS:
            if name != "MeanField" or math.isinf(beta):
                marks = () if name in quick else pytest.mark.slow
                yield pytest.param(name, beta, marks=marks, id=f"{name}, noise" if math.isfinite(beta) else name)


@functools.cache
def neurons(name, beta):
    """θ at the three times, (3, n, D)."""
    method = METHODS[name]
    run = DYNAMICS[type(method)](method, problem(beta=beta, mobility=WINDOWS), 1, None)
    states = [run.state]
    for start, stop in itertools.pairwise(TIMES):
        states.append(run.advance(states[-1], start, stop, silent))
    return np.stack([run.view.theta(state) for state in states])


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "beta"), list(each()))
def test_inner_weights_stay_on_the_sphere_and_frozen_blocks_do_not_move(name, beta):
    at = neurons(name, beta)
    np.testing.assert_allclose(np.sum(at[:, :, 2:] ** 2, axis=2), 1, rtol=0, atol=1e-12)
    assert (at[:, :, 1] == at[0, :, 1]).all(), "b moved"
    assert (at[1, :, 0] == at[0, :, 0]).all(), "a moved too early"
    assert (at[2, :, 2:] == at[1, :, 2:]).all(), "w moved too late"
    assert (at[1, :, 2:] != at[0, :, 2:]).all() and (at[2, :, 0] != at[1, :, 0]).all(), "nothing moved in its window"


@pytest.mark.more
@pytest.mark.parametrize("name", ["MeanField", pytest.param("ParticleFlow", marks=pytest.mark.slow)])
def test_the_projected_flow_loses_energy(name):
    """d/dt [R + λ ∫|θ|²] = −4 ∫ |P M^½ ∇Ψ|² dρ, for the projection P on what may move."""
    p = problem(mobility=WINDOWS)
    land = wl.landscape(p, reduced=name == "MeanField")
    energy = [land.risk(theta) + p.ridge * np.mean(np.sum(theta**2, axis=1)) for theta in neurons(name, math.inf)]
    assert (np.diff(energy) < -1e-3).all()


@pytest.mark.more
@pytest.mark.parametrize("inner", ["free", "sphere"])
def test_noise_has_the_same_law_in_full_and_in_reduced_coordinates(inner):
    """20,000 kicks of one neuron each way; the radii agree by Kolmogorov–Smirnov, alone and as a ratio."""
    p = problem(inner, beta=2.0)
    start = jnp.asarray([[0.5, 0.2, *np.random.default_rng(0).normal(size=D) / 3]])
    full, reduced = rules_of(p, reduced=False), rules_of(p, reduced=True)
    start = full.retract(start)
    lengths = wl.reduce(p, start)
    keys, copies = jax.random.split(jax.random.key(0)), (20_000, 1)
    one = full.retract(full.kick(keys[0], jnp.tile(start, copies), full.rates(0.0), 0.1))
    two = reduced.retract(reduced.kick(keys[1], jnp.tile(lengths, copies), reduced.rates(0.0), 0.1))
    one, two = np.asarray(wl.reduce(p, one)), np.asarray(two)
    assert (one[:, 1] == 0.2).all() and (two[:, 1] == 0.2).all(), "b is fixed"
    for statistic in (lambda t: t[:, 0], lambda t: t[:, 2], lambda t: t[:, 3], lambda t: t[:, 3] / t[:, 2]):
        assert stats.ks_2samp(statistic(one), statistic(two)).pvalue > 1e-4


def test_a_start_off_the_sphere_is_refused():
    rows = np.full((N, D + 2), 1 / math.sqrt(D))
    assert problem(start=wl.initial.array(rows)).neuron.inner == "sphere"
    for start in (
        wl.initial.array(1.01 * rows),
        wl.initial.sphere(2.0, a=1.0, b=0.0),
        wl.initial.gaussian(1.0, a=1.0, b=0.0),
    ):
        with pytest.raises(wl.InputError, match=r"inner weights on the unit sphere must start on it, got .*: .*\.$"):
            problem(start=start)
