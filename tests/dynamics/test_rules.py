"""Rates of the blocks: half of them, one after the other, and what cannot be."""

import numpy as np
import pytest

import widelimit as wl


def problem(**more):
    initial = wl.initial.sphere(1.0, a=wl.initial.normal(1.0, 0.2))
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.0, 0.5, 0.5]), outer="trained")
    return wl.Problem(wl.data.gaussian_classes(12, 0.8, informative=6), neuron, initial, **more)


@pytest.mark.more
def test_half_the_rate_is_half_the_time():
    """Where w alone moves, dw/dt = −2 m ∇Ψ is autonomous: m = ½ at time t is m = 1 at time t/2, step by step in GD."""

    def final(rate, method, t):
        return wl.solve(problem(mobility={"a": 0.0, "w": rate}), method, t, save=2).final.theta

    limit = wl.MeanField(4, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(final(0.5, limit, 0.6), final(1.0, limit, 0.3), rtol=0, atol=1e-9)
    slow, fast = (wl.GD(4, step, "reduced") for step in (0.02, 0.01))
    np.testing.assert_allclose(final(0.5, slow, 0.6), final(1.0, fast, 0.3), rtol=0, atol=1e-13)


@pytest.mark.more
def test_layer_wise_training_is_one_run_after_the_other():
    windows = {"w": wl.schedules.window(0.0, 0.1), "a": wl.schedules.window(0.1)}
    limit = wl.ParticleFlow(4, "reduced")
    both = wl.solve(problem(mobility=windows), limit, 0.2, save=2).final.theta
    first = wl.solve(problem(mobility={"a": 0.0}), limit, 0.1, save=2).final.theta
    second = wl.Problem(problem().data, problem().neuron, wl.initial.array(first), mobility={"w": 0.0})
    np.testing.assert_allclose(both, wl.solve(second, limit, 0.1, save=2).final.theta, rtol=0, atol=1e-8)
    assert np.abs(both - first).max() > 1e-3


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wl.solve(problem(), wl.MeanField(4), 0.1, replicas=2), "has no replicas"),
        (lambda: wl.solve(problem(), wl.GD(5, 1e-3), 0.1, replicas=0), "replicas must be"),
        (lambda: wl.solve(problem(beta=3.0), wl.MeanField(4, stiff=True), 0.1), "needs stiff=False"),
        (lambda: wl.solve(problem(mobility={"a": wl.schedules.exponential(1.0)}, schedule=wl.schedules.power(0.25)),
                          wl.MeanField(4), 0.1), "finite at t = 0"),
        (lambda: wl.solve(wl.Problem(wl.data.gaussian_classes(float("inf"), 0.5), wl.neurons.ridge("relu"),
                                     wl.initial.gaussian(1.0), beta=2.0), wl.GD(3, 0.1, "reduced"), 1.0), "finite d"),
    ],
)  # fmt: skip
def test_misuse_is_answered_in_one_sentence(call, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        call()
