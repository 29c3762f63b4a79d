"""What the noise of SGD's samples adds to |w|²: against a case that is solved exactly, and against runs."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.sgd import iteration
from widelimit.dynamics.step_noise import ALLOWED, grown
from widelimit.potentials.landscapes import landscape
from widelimit.solving.protocol import view_neurons
from widelimit.solving.recorder import OfNeurons, Saves

CLASSES = wl.Problem(wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.8))


def mean_square(solution: wl.Solution) -> float:
    """E |w|² at the end."""
    return float(np.mean(np.sum(solution.final.theta**2, axis=-1)))


@pytest.mark.parametrize(("batch", "rate"), [(1, 1.0), (4, 1.0), (1, 3.0)])
def test_the_growth_of_linear_neurons_that_see_noise_alone(batch: int, rate: float) -> None:
    """y = τ g and w = 0: a step is 2 ε m τ g x, so that E|w|² grows by 4 ε m² τ² d t/b."""
    d, tau, step, t = 30, 0.7, 1e-3, 2.0
    problem = wl.Problem(
        wl.data.single_index(d, "0*z", noise=tau), wl.neurons.ridge("x"), wl.initial.gaussian(1.0),
        mobility={'w': rate},
    )  # fmt: skip
    book = OfNeurons(view_neurons(landscape(problem), np.full(5, 0.2)), Saves(problem, "full", {}))
    for at in (0.0, t):
        book.put(at, np.zeros((5, d)), np.array(tau**2), np.array(0.0))
    added, _ = grown(problem, iteration(problem, wl.SGD(5, step, batch)), jax.random.key(3), book)
    exact = 4 * step * rate**2 * tau**2 * d * t / batch
    assert added == pytest.approx(exact, rel=4 * np.sqrt(2 / (64 * d)) + 2 / 64)  # Var |x|²/E² = 2/d; the mean of 64


def test_the_growth_is_that_between_a_large_step_and_a_small_one() -> None:
    large, small = (wl.solve(CLASSES, wl.SGD(100, step), 2.0, seed=1, save=21) for step in (1e-3, 1e-3 / 16))
    measured = mean_square(large) - mean_square(small)
    said = float(large.advice.split("adds about ")[1].split()[0])
    assert measured / 2 < said < 2 * measured
    assert "step 0.001 is stable but large for d = 40" in large.advice
    assert not small.advice


def test_the_step_that_is_advised_is_small_enough() -> None:
    """What a step adds is proportional to it: the advised one adds what is allowed."""
    advice = wl.solve(CLASSES, wl.SGD(100, 1e-3), 2.0, seed=1, save=21).advice
    step = float(advice.split("; step=")[1].split()[0])
    assert step < 1e-3
    assert not wl.solve(CLASSES, wl.SGD(100, step), 2.0, seed=1, save=21).advice
    assert f"{ALLOWED:.0%}" in advice


def test_a_pilot_says_it_before_the_run() -> None:
    assert "large for d = 40" in wl.estimate(CLASSES, wl.SGD(100, 1e-3), 2.0, save=21).advice
    assert not wl.estimate(CLASSES, wl.SGD(100, 1e-3 / 16), 2.0, save=21).advice
    assert not wl.estimate(CLASSES, wl.MeanField(64), 1.0).advice


def test_neurons_on_the_sphere_turn() -> None:
    scalars = wl.initial.normal(0, 1)
    problem = wl.Problem(
        wl.data.single_index(100, "He2(z)"), wl.neurons.ridge("relu", outer="trained", inner="sphere"),
        wl.initial.sphere(1.0, a=scalars),
    )  # fmt: skip
    assert "turns w by about" in wl.solve(problem, wl.SGD(50, 1e-3), 1.0, save=5).advice
