"""One seed is one start, one sequence of samples and one noise, whatever the dynamics, the width and the data."""

import jax
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.rules import rules_of
from widelimit.dynamics.solve import DYNAMICS
from widelimit.solving.progress import silent
from widelimit.solving.streams import stream, streams

LINEAR = wl.activations.polynomial([0.0, 1.0])


def ready(method, problem, seed, replicas=None):
    return DYNAMICS[type(method)](method, problem, seed, replicas)


def problem(delta=0.5, informative=3, **more):
    return wl.Problem(
        wl.data.gaussian_classes(8, delta, informative),
        wl.neurons.ridge(LINEAR, outer="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(0.6, 0.3)),
        ridge=0.3,
        **more,
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("replicas", [None, 3])
def test_all_dynamics_of_one_seed_start_from_the_same_neurons(replicas):
    def start(method):
        run = ready(method, problem(), 7, replicas)
        return np.asarray(run.view.theta(run.state))

    full = start(wl.SGD(5, 0.1))
    assert full.shape == ((5, 9) if replicas is None else (3, 5, 9))
    for method in (wl.GD(5, 0.1), wl.ParticleFlow(5), wl.NonlinearFlow(5, points=4)):
        assert start(method).tobytes() == full.tobytes()
    want = np.stack([wl.reduce(problem(), theta) for theta in full.reshape(-1, 5, 9)]).reshape(*full.shape[:-1], 3)
    for kind in (wl.GD(5, 0.1, "reduced"), wl.ParticleFlow(5, "reduced"), wl.NonlinearFlow(5, "reduced", points=4)):
        np.testing.assert_allclose(start(kind), want, rtol=1e-15)


def test_replicas_have_streams_of_their_own():
    """The keys of many replicas are those of each one, and all differ."""
    keys = np.asarray(jax.random.key_data(streams(7, "noise", 50)))
    assert len({tuple(key) for key in keys}) == 50
    for r in (0, 1, 49):
        np.testing.assert_array_equal(keys[r], jax.random.key_data(stream(7, "noise", r)))


@pytest.mark.some(1)
@pytest.mark.parametrize("reduced", [False, True])
def test_wider_networks_meet_the_noise_of_narrow_ones(reduced):
    rules, width = rules_of(problem(beta=2.0), reduced), 3 if reduced else 9
    theta = np.random.default_rng(0).uniform(0.5, 1.0, (7, width))
    wide, narrow = (np.asarray(rules.kick(stream(0, "noise"), jax.numpy.asarray(rows), rules.rates(0.0), 0.1))
                    for rows in (theta, theta[:4]))  # fmt: skip
    assert (wide[:4] == narrow).all() and (np.abs(wide - theta) > 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [lambda n: wl.GD(n, 0.05, "reduced"), lambda n: wl.ParticleFlow(n, "reduced", noise_step=0.05)],
    ids=["GD", "ParticleFlow"],
)
def test_neither_the_width_nor_the_data_reshuffle_the_noise(method):
    """Linear neurons of random direction feel the ridge and the noise alone, in every data law."""
    ends = []
    for n, delta in ((4, 0.5), (6, 0.3)):
        run = ready(method(n), problem(delta, beta=2.0), 7)
        ends.append(np.asarray(run.advance(run.state, 0.0, 0.5, silent)))
        assert np.abs(ends[-1] - run.state).min() > 1e-4
    np.testing.assert_allclose(ends[1][:4], ends[0], rtol=1e-12)
