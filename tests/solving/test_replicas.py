"""Replicas: R independent runs in one go, the first of which is the run without replicas."""

import math
import re
import time

import jax
import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.dynamics import sgd
from widelimit.solving import replicas
from widelimit.solving.progress import silent

CURVED = wl.activations.polynomial([0.2, 1.0, 0.3])
R, N, D, T, STEP = 3, 4, 6, 0.1, 0.01


def problem(beta=20.0, **more):
    return wl.Problem(
        wl.data.gaussian_classes(D, 0.6),
        wl.neurons.ridge(CURVED, outer="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(0.6, 0.3)),
        beta=beta,
        **more,
    )


def solve(p, method, replicas):
    observers = {"a": wl.observables.moment("a", 1), "all": lambda rho: rho.theta}
    return wl.solve(p, method, T, seed=5, replicas=replicas, save=3, observers=observers)


@pytest.fixture(scope="module")
def many():
    return solve(problem(), wl.SGD(N, STEP), R)


@pytest.fixture(scope="module")
def single():
    return solve(problem(), wl.SGD(N, STEP), None)


def same_first_and_different_others(many, single):
    got = many.dataset["final"].values
    np.testing.assert_allclose(got[0], single.dataset["final"].values, rtol=1e-9, atol=1e-12)
    assert (got[0] != got[1]).all() and (got[1] != got[2]).all() and (got[0] != got[2]).all()


@pytest.mark.more
def test_the_first_replica_of_sgd_is_the_run_without_and_the_others_differ(many, single):
    same_first_and_different_others(many, single)
    xr.testing.assert_allclose(many.replica(0).dataset, single.dataset, rtol=1e-9)


TIGHT = {"rtol": 1e-11, "atol": 1e-13}  # tracers of all replicas share their steps: as close as the solver is
OTHERS = {
    "reduced GD": (wl.GD(N, STEP, "reduced"), 20.0),
    "reduced ParticleFlow": (wl.ParticleFlow(N, "reduced"), np.inf),
    "NonlinearFlow": (wl.NonlinearFlow(N, "reduced", points=4, **TIGHT), np.inf),
    "GD": (wl.GD(N, STEP), 20.0),
    "ParticleFlow, noise": (wl.ParticleFlow(N, noise_step=STEP), 20.0),
    "NonlinearFlow, noise": (wl.NonlinearFlow(N, points=4, noise_step=STEP), 20.0),
}
QUICK = ("reduced GD", "NonlinearFlow")
CASES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in OTHERS]


@pytest.mark.more
@pytest.mark.parametrize("name", CASES)
def test_the_first_replica_of_every_dynamics_is_the_run_without_and_the_others_differ(name):
    method, beta = OTHERS[name]
    same_first_and_different_others(*(solve(problem(beta), method, replicas) for replicas in (R, None)))


@pytest.mark.more
def test_the_dimension_of_the_replicas_comes_first(many):
    sizes = {"replica": R, "time": 3, "neuron": N, "coordinate": 2}
    assert many.replicas == R and many.risk.shape == (R, 3)
    assert dict(many.dataset["theta"].sizes) == sizes and many.dataset["theta"].dims == tuple(sizes)
    assert many.dataset["final"].dims == ("replica", "neuron", "final_coordinate")
    assert many.dataset["weights"].dims == ("neuron",) and f"{R} replicas" in repr(many)


@pytest.mark.more
def test_observers_see_one_replica_at_a_time(many):
    theta = many.dataset["theta"].values
    assert many.dataset["a"].dims == ("replica", "time")
    np.testing.assert_allclose(many.dataset["a"], theta[..., 0].mean(axis=2), rtol=1e-14)
    np.testing.assert_array_equal(many.dataset["all"], theta)


@pytest.mark.more
def test_replicas_survive_the_disk(many, tmp_path):
    again = wl.load(many.save(tmp_path / "many.nc"))
    xr.testing.assert_identical(again.dataset, many.dataset)
    assert again.replicas == R


def test_a_measure_belongs_to_one_replica(many):
    one = many.replica(1)
    assert one.replicas is None and one.final.n == N and one.at(T).coordinates == ("a", "r")
    np.testing.assert_array_equal(one.final.theta, many.dataset["final"].values[1])
    np.testing.assert_array_equal(many.replica(-1).risk, many.risk[2])
    for ask in (lambda: many.final, lambda: many.at(0.0)):
        with pytest.raises(wl.InputError, match=r"one replica, got .*replica\(0\)\.$"):
            ask()


BAD = {
    "replicas of the limit": lambda many: wl.solve(problem(np.inf), wl.MeanField(4), T, replicas=2),
    "no replicas": lambda many: wl.solve(problem(), wl.SGD(N, STEP), T, replicas=0),
    "half a replica": lambda many: wl.solve(problem(), wl.SGD(N, STEP), T, replicas=2.5),
    "a replica of a single run": lambda many: many.replica(0).replica(0),
    "a replica too far": lambda many: many.replica(R),
    "a replica by name": lambda many: many.replica("last"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_of_replicas_is_answered_in_one_sentence(name, many):
    with pytest.raises(wl.InputError) as caught:
        BAD[name](many)
    assert re.fullmatch(r".*replica.*, got .*: .*\.", str(caught.value))


@pytest.mark.speed
def test_sixteen_replicas_cost_less_than_eight_runs():
    p = wl.Problem(wl.data.gaussian_classes(40, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.4))

    runs = {count: sgd.ready(wl.SGD(200, 1e-4), p, 0, count) for count in (16, None)}
    best = dict.fromkeys(runs, math.inf)
    for _ in range(20):  # in turn, so that both have quiet moments
        for count, run in runs.items():
            began = time.perf_counter()
            jax.block_until_ready(run.advance(run.state, 0.0, 0.3, silent))
            best[count] = min(best[count], time.perf_counter() - began)
    assert best[16] < 8 * best[None]


@pytest.mark.slow
def test_replicas_of_many_neurons_go_apart_and_have_the_bits_of_single_runs(monkeypatch):
    problem = wl.Problem(wl.data.gaussian_classes(8, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    one = wl.solve(problem, wl.GD(6, 0.01), 0.05, save=2)
    together = wl.solve(problem, wl.GD(6, 0.01), 0.05, save=2, replicas=3)
    monkeypatch.setattr(replicas, "MANY", 6)
    apart = wl.solve(problem, wl.GD(6, 0.01), 0.05, save=2, replicas=3)
    np.testing.assert_array_equal(apart.dataset["final"][0], one.dataset["final"])
    np.testing.assert_allclose(apart.dataset["final"], together.dataset["final"], rtol=1e-13)
