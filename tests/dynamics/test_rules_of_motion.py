"""Rates, frozen blocks, the sphere and replicas: the same rules in every dynamics."""

import numpy as np
import pytest

import widelimit as wl

METHODS = {
    "SGD": wl.SGD(5, 1e-3),
    "GD": wl.GD(5, 1e-3),
    "GD, reduced": wl.GD(5, 1e-3, "reduced"),
    "ParticleFlow": wl.ParticleFlow(5, noise_step=5e-3),
    "NonlinearFlow": wl.NonlinearFlow(5, points=16, noise_step=5e-3),
    "MeanField": wl.MeanField(16),
}
NOISY = {name: method for name, method in METHODS.items() if name != "MeanField"}


def problem(inner="free", **more):
    initial = wl.initial.sphere(1.0, a=wl.initial.normal(1.0, 0.2))
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.0, 0.5, 0.5]), outer="trained", inner=inner)
    return wl.Problem(wl.data.gaussian_classes(12, 0.8, informative=6), neuron, initial, **more)


def inner(solution):
    return np.linalg.norm(solution.dataset["theta"].values[..., 1:], axis=-1)


@pytest.mark.parametrize("name", METHODS)
def test_the_sphere_is_kept_and_a_frozen_block_does_not_move(name):
    """|w| = 1 to 1e-12 while w moves along the sphere; a, with rate 0, is the same to the bit."""
    p = problem("sphere", mobility={"a": 0.0})
    theta = wl.solve(p, METHODS[name], 0.02, save=3).dataset["theta"].values
    assert np.abs(np.linalg.norm(theta[..., 1:], axis=-1) - 1).max() < 1e-12
    assert np.abs(theta[-1, :, 1:] - theta[0, :, 1:]).max() > 1e-4
    assert (theta[..., 0] == theta[0, :, 0]).all()


@pytest.mark.parametrize("name", NOISY)
def test_noise_keeps_the_sphere_too_and_moves_what_is_not_frozen(name):
    p = problem("sphere", beta=20.0, mobility={"a": wl.schedules.window(0.01)})
    solution = wl.solve(p, METHODS[name], 0.02, save=3)
    assert np.abs(inner(solution) - 1).max() < 1e-12
    a = solution.dataset["theta"].values[..., 0]
    assert (a[1] == a[0]).all() and (a[2] != a[1]).all()


def test_the_flow_along_the_sphere_lowers_the_risk():
    risk = wl.solve(problem("sphere"), wl.ParticleFlow(5, noise_step=5e-3), 0.02, save=3).risk
    assert (np.diff(risk) < 0).all()


def test_half_the_rate_is_half_the_time_in_the_linear_case():
    """Linear neurons, a absent: dw/dt = −2 m ∇Ψ is autonomous, so m = ½ at time t is m = 1 at time t/2."""
    linear = lambda **more: wl.Problem(  # noqa: E731
        wl.data.gaussian_classes(5, 0.5), wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0])),
        wl.initial.gaussian(1.0), ridge=0.2, **more,
    )  # fmt: skip
    flow = wl.ParticleFlow(4, rtol=1e-11, atol=1e-13)
    half = wl.solve(linear(mobility={"w": 0.5}), flow, 0.6, save=2).final.theta
    whole = wl.solve(linear(), flow, 0.3, save=2).final.theta
    np.testing.assert_allclose(half, whole, atol=1e-9)
    slow = wl.solve(linear(mobility={"w": 0.5}), wl.GD(4, 0.02), 0.6, save=2).final.theta
    fast = wl.solve(linear(), wl.GD(4, 0.01), 0.3, save=2).final.theta
    np.testing.assert_allclose(slow, fast, atol=1e-13)


def test_layer_wise_training_is_one_run_after_the_other():
    windows = {"w": wl.schedules.window(0.0, 0.01), "a": wl.schedules.window(0.01)}
    flow = wl.ParticleFlow(5, noise_step=5e-3)
    both = wl.solve(problem(mobility=windows), flow, 0.02, save=2).final.theta
    first = wl.solve(problem(mobility={"a": 0.0}), flow, 0.01, save=2).final.theta
    second = wl.Problem(problem().data, problem().neuron, wl.initial.array(first), mobility={"w": 0.0})
    np.testing.assert_allclose(both, wl.solve(second, flow, 0.01, save=2).final.theta, atol=1e-8)
    assert np.abs(both - first).max() > 1e-4


@pytest.mark.parametrize("name", ["SGD", "GD, reduced", "NonlinearFlow"])
def test_replicas_stand_on_a_dimension_of_their_own_and_the_first_is_the_single_run(name, tmp_path):
    p, observers = problem(beta=50.0), {"m": wl.observables.moment("r_1")}
    single = wl.solve(p, METHODS[name], 0.02, save=3, observers=observers)
    many = wl.solve(p, METHODS[name], 0.02, save=3, observers=observers, replicas=3)
    assert many.dataset["theta"].dims == ("replica", "time", "neuron", "coordinate") and many.replicas == 3
    np.testing.assert_allclose(many.risk[0], single.risk, rtol=1e-8)
    np.testing.assert_allclose(many.replica(0).final.theta, single.final.theta, atol=1e-8)
    assert many.dataset["m"].dims == ("replica", "time")
    assert len(set(many.risk[:, -1])) == 3
    np.testing.assert_array_equal(wl.load(many.save(tmp_path / "many.nc")).risk, many.risk)
    with pytest.raises(wl.InputError, match="one replica"):
        _ = many.final


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wl.solve(problem(), wl.MeanField(4), 0.1, replicas=2), "has no replicas"),
        (lambda: wl.solve(problem(), METHODS["GD"], 0.1, replicas=0), "replicas must be"),
        (lambda: wl.solve(problem(beta=3.0), wl.MeanField(4), 0.1), "needs beta = inf"),
        (lambda: problem(mobility={"a": -1.0}), "must be >= 0"),
        (lambda: problem(mobility={"c": 1.0}), "unknown block 'c'"),
        (lambda: problem(mobility={"b": 0.5}), "which the neuron does not have"),
        (lambda: problem(mobility={"a": wl.schedules.power(0.25)}), "finite at t = 0"),
        (lambda: wl.schedules.window(2.0, 1.0), "0 <= start < stop"),
        (lambda: wl.neurons.ridge("relu", inner="ball"), "domain of the inner weights"),
        (lambda: wl.Problem(wl.data.gaussian_classes(3, 0.5), wl.neurons.ridge("relu", inner="sphere"),
                            wl.initial.gaussian(1.0)), "must start on it"),
        (lambda: wl.solve(wl.Problem(wl.data.gaussian_classes(float("inf"), 0.5), wl.neurons.ridge("relu"),
                                     wl.initial.gaussian(1.0), beta=2.0), wl.GD(3, 0.1, "reduced"), 1.0), "finite d"),
    ],
)  # fmt: skip
def test_misuse_is_answered_in_one_sentence(call, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        call()


def test_a_diverging_step_of_gd_is_an_outcome_with_advice():
    p = wl.Problem(wl.data.gaussian_classes(5, 0.5), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0), ridge=30.0)
    solution = wl.solve(p, wl.GD(3, 0.1), 40.0, save=21, replicas=2, throw=False)
    assert solution.outcome == "diverged" and "try step=0.025" in solution.advice
    assert np.isfinite(solution.risk).all() and 1 <= len(solution.times) < 21
