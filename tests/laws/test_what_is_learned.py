"""Which targets are learnt in a time of order one: the information exponent, and the staircase."""

import math

import numpy as np
import pytest

import widelimit as wl

pytestmark = pytest.mark.slow

BOTH = {"a": wl.initial.normal(0.0, 1.0), "b": wl.initial.normal(0.0, 1.0)}


def problem(data, activation):
    return wl.Problem(
        data, wl.neurons.ridge(activation, outer="trained", bias="trained"), wl.initial.gaussian(1.0, **BOTH)
    )


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_sgd_follows_the_limit_down_a_link_of_information_exponent_one(activation):
    """Within the spread of eight networks, and the fluctuations of order 1/N they add to the risk."""
    p = problem(wl.data.single_index(100, "He1(z)"), activation)
    limit = wl.solve(p, wl.MeanField(256), 2.0, save=5)
    networks = wl.solve(p, wl.SGD(400, 1e-4), 2.0, save=5, replicas=8)
    spread = networks.risk.std(axis=0, ddof=1)
    assert np.all(np.abs(networks.risk.mean(axis=0) - limit.risk) < 2 * spread + 2 / 400)
    assert limit.risk[-1] < 0.2 and networks.risk[:, -1].max() < 0.2


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_both_stay_on_the_plateau_of_a_link_of_information_exponent_three(activation):
    p = problem(wl.data.single_index(100, "He3(z)"), activation)
    limit = wl.solve(p, wl.MeanField(256), 2.0, save=5)
    networks = wl.solve(p, wl.SGD(400, 1e-4), 2.0, save=5, replicas=4)
    assert np.all(np.abs(limit.risk / 6 - 1) < 0.01) and np.all(np.abs(networks.risk / 6 - 1) < 0.01)


def test_a_link_of_information_exponent_two_leaves_its_saddle_slowly():
    """The start has u of order 1/√d, and u = 0 is a fixed point: most of the risk is still there at t = 1."""
    p = problem(wl.data.single_index(100, "He2(z)"), "relu")
    limit = wl.solve(p, wl.MeanField(256), 4.0, save=5)
    assert limit.risk[1] / 2 > 0.9 and limit.risk[-1] / 2 < 0.4
    still = wl.solve(problem(wl.data.single_index(math.inf, "He2(z)"), "relu"), wl.MeanField(256), 4.0, save=5)
    assert np.all(np.abs(still.risk / 2 - 1) < 1e-3)


def coefficients(p):
    names = {"one": "z1", "two": "z1*z2", "three": "z1*z2*z3"}
    return {name: wl.observables.coefficient(p, basis) for name, basis in names.items()}


@pytest.mark.parametrize(("d", "method"), [(math.inf, wl.MeanField(512)), (100, wl.SGD(400, 2e-3))])
def test_a_staircase_is_learnt_step_by_step_and_its_last_step_alone_is_not(d, method):
    stairs = problem(wl.data.hypercube(d, "z1 + z1*z2 + z1*z2*z3"), "tanh")
    learnt = wl.solve(stairs, method, 20.0, save=11, observers=coefficients(stairs))
    half = [np.argmax(learnt.dataset[name].values > 0.4) for name in ("one", "two", "three")]
    assert learnt.risk[-1] < 0.1 * learnt.risk[0]
    assert 0 < half[0] <= half[1] <= half[2]
    assert all(learnt.dataset[name].values[-1] > 0.7 for name in ("one", "two", "three"))
    top = problem(wl.data.hypercube(d, "z1*z2*z3"), "tanh")
    flat = wl.solve(top, method, 20.0, save=11, observers=coefficients(top))
    assert np.all(np.abs(flat.risk - 1) < 0.05)
    assert np.all(np.abs(flat.dataset["three"].values) < 0.02)
