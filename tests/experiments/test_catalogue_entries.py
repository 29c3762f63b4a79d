"""CI reproduces every quick form; a wrong factor anywhere makes it fail."""

from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl
from widelimit.experiments.catalogue import (
    barron_line,
    convexity,
    free_energy_decay,
)

pytestmark = pytest.mark.slow


def failed(name):
    """The claims that a quick form does not reproduce."""
    verdicts = wl.catalogue.reproduce(name, quick=True).verdicts
    return {claim for claim, word in verdicts.items() if word == "not reproduced"}


def test_noise_of_the_wrong_strength_is_noticed(monkeypatch):
    """√(2s/β) instead of 2√(s/β): half the diffusion, 2β."""

    def weak(problem, *arguments, **options):
        return wl.solve(replace(problem, beta=2 * problem.beta), *arguments, **options)

    monkeypatch.setattr(free_energy_decay, "solve", weak)
    monkeypatch.setattr(free_energy_decay, "decay", lambda problem, run: wl.decay(run.problem, run))
    assert "gibbs" in failed("noise-free-energy")


def test_a_clock_that_runs_twice_as_fast_is_noticed(monkeypatch):
    """dt → 2dt in the noisy flow."""

    def fast(problem, *arguments, **options):
        return wl.solve(replace(problem, schedule=wl.schedules.constant(2.0)), *arguments, **options)

    monkeypatch.setattr(free_energy_decay, "solve", fast)
    assert "rate" in failed("noise-free-energy")


def test_a_wrong_sign_of_psi_is_noticed(monkeypatch):
    class Turned:
        def __init__(self, land):
            self.land = land

        def psi(self, theta, rho):
            return -self.land.psi(theta, rho)

    monkeypatch.setattr(convexity, "landscape", lambda *a, **k: Turned(wl.landscape(*a, **k)))
    assert failed("convexity-two-geometries") == {"slope"}


def test_outer_weights_that_are_twice_too_large_are_noticed(monkeypatch):
    """2a instead of a: the mean is 2f − f(0), so that the risk does not fall to zero."""

    def doubled(barron, widths, draws):
        found = wl.approximation(barron, widths, draws)
        bias = np.mean(found.risks[:, :1]) * 10  # about E (f − f(0))²
        return replace(found, risks=4 * found.risks + bias)

    monkeypatch.setattr(barron_line, "approximation", doubled)
    assert "rate" in failed("barron-line")
