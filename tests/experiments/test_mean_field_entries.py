"""Entries of the mean-field theory fail where a factor is wrong; settings are smaller than those of the quick forms."""

from dataclasses import replace

import jax.numpy as jnp
import pytest

import widelimit as wl
from widelimit.experiments.catalogue.catalogue_entry import Asked
from widelimit.experiments.catalogue.claims import NOT_REPRODUCED
from widelimit.experiments.catalogue.mean_field import (
    anisotropic_relu,
    deconvolution,
    feature_learning,
    kernel_limit,
    noise_to_gibbs,
    radial_density,
    three_atoms,
)
from widelimit.experiments.catalogue.reproduction import Reproduction

pytestmark = pytest.mark.slow


def failed(entry, **values):
    """The claims that are not reproduced with some settings of the quick form changed."""
    outcome = entry.measure(Asked({**entry.values(quick=True), **values}))
    return {name for name, word in Reproduction(entry, True, outcome, 0.0).verdicts.items() if word == NOT_REPRODUCED}


def sgd_on(change):
    """`solve` that trains networks on another problem than the limit."""

    def changed(problem, method, *arguments, **options):
        return wl.solve(change(problem) if isinstance(method, wl.SGD) else problem, method, *arguments, **options)

    return changed


def twice_as_fast(problem):
    return replace(problem, schedule=wl.schedules.constant(2.0))


def test_a_clock_that_runs_twice_as_fast_is_seen_in_the_radii(monkeypatch):
    monkeypatch.setattr(radial_density, "solve", sgd_on(twice_as_fast))
    assert "density" in failed(radial_density.RADIAL_DENSITY, N=200, times=(0.01, 0.5))


def test_a_constant_schedule_instead_of_a_falling_one_is_seen_in_the_means(monkeypatch):
    monkeypatch.setattr(anisotropic_relu, "solve", sgd_on(twice_as_fast))
    assert "risk" in failed(anisotropic_relu.ANISOTROPIC_RELU, N=100, t_end=0.3)


def test_noise_of_half_the_variance_is_seen_in_the_law_it_ends_at(monkeypatch):
    """√(2s/β) instead of √(4s/β): the Gibbs law of 2β."""
    monkeypatch.setattr(noise_to_gibbs, "solve", sgd_on(lambda problem: replace(problem, beta=2 * problem.beta)))
    assert "square" in failed(noise_to_gibbs.NOISE_TO_GIBBS, N=100, betas=(100.0, 1000.0))


def test_a_wrong_sign_of_psi_is_seen_in_the_steps_of_three_atoms(monkeypatch):
    class Turned:
        def __init__(self, land):
            self.land = land
            self.risk = land.risk

        def grad_psi(self, theta, rho):
            return -self.land.grad_psi(theta, rho)

    monkeypatch.setattr(three_atoms, "landscape", lambda *a, **k: Turned(wl.landscape(*a, **k)))
    assert failed(three_atoms.THREE_ATOMS, samples=256, t_end=0.1) == {"samples", "repulsion", "descent"}


def test_a_mobility_of_one_over_alpha_instead_of_its_square_is_seen_in_the_kernel_limit(monkeypatch):
    def quick(problem, *arguments, **options):
        rate = float(problem.alpha)
        return wl.linearise(replace(problem, mobility={"a": rate, "w": rate}), *arguments, **options)

    monkeypatch.setattr(kernel_limit, "linearise", quick)
    assert "w2" in failed(kernel_limit.KERNEL_LIMIT, N=16, t_end=0.2)


def test_a_network_without_its_scale_moves_as_far_as_the_other(monkeypatch):
    def unscaled(problem, *arguments, **options):
        return wl.solve(replace(problem, alpha=1.0), *arguments, **options)

    monkeypatch.setattr(feature_learning, "solve", unscaled)
    assert "moves" in failed(feature_learning.FEATURE_LEARNING, N=16)


def test_a_filter_without_its_phase_is_noticed(monkeypatch):
    """cos(kp) in place of cos(kp − φ): the odd part of the spikes cannot be fitted, by no run."""
    monkeypatch.setattr(deconvolution, "spike", lambda x, theta: theta[0] * x[2] * jnp.cos(x[0] * theta[1]))
    assert "enough" in failed(deconvolution.DECONVOLUTION, targets=8)
