"""Rates of the blocks that differ by orders of magnitude: the implicit solver."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl

CURVED = wl.activations.polynomial([0.2, 1.0, 0.3])


def problem(rate):
    return wl.Problem(
        wl.data.gaussian_classes(20, 0.6),
        wl.neurons.ridge(CURVED, outer="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(0.6, 0.3)),
        ridge=0.1,
        mobility={"a": rate},
    )


def end(rate, stiff, t_end=0.3, save=2):
    return wl.solve(problem(rate), wl.MeanField(8, stiff=stiff), t_end, save=save)


@pytest.mark.slow
def test_both_solvers_find_the_same_limit_where_both_can():
    explicit, implicit = (end(1e6, stiff, 0.01) for stiff in (False, True))
    assert explicit.notes == implicit.notes == ""  # neither has changed hands
    assert np.abs(explicit.final.theta - np.asarray(explicit.at(0.0).theta)).max() > 0.1
    np.testing.assert_allclose(implicit.final.theta, explicit.final.theta, rtol=0, atol=1e-5)


def test_a_first_step_that_overflows_is_shortened():
    """The guess of the first step is so long that its error is no number: no step was accepted, for ever."""
    explicit, implicit = (end(1e5, stiff, 0.01).risk[-1] for stiff in (False, True))
    assert explicit == pytest.approx(implicit, abs=1e-7)


@pytest.mark.slow
def test_implicit_steps_that_are_not_worth_their_cost_hand_over_to_explicit_ones():
    explicit, implicit = (end(10.0, stiff, save=4) for stiff in (False, True))
    assert "not stiff enough" in implicit.notes and explicit.notes == ""
    np.testing.assert_allclose(implicit.final.theta, explicit.final.theta, rtol=0, atol=1e-5)


def test_an_outer_weight_a_million_times_as_fast_stays_where_its_force_vanishes():
    run = end(1e6, True)
    land = wl.landscape(problem(1e6), reduced=True)
    slope = np.asarray(land.grad_psi(run.final.theta, run.final))
    assert np.abs(slope[:, 0]).max() < 1e-5 < np.abs(slope[:, 1]).max()


@pytest.mark.slow
def test_replicas_of_a_stiff_flow_go_one_after_the_other():
    method = wl.ParticleFlow(3, "reduced", stiff=True)
    many = wl.solve(problem(100.0), method, 0.1, replicas=2, save=2)
    one = wl.solve(problem(100.0), method, 0.1, save=2)
    np.testing.assert_allclose(many.replica(0).final.theta, one.final.theta, rtol=1e-6, atol=1e-9)


def test_noise_has_no_implicit_scheme():
    noisy = replace(problem(1.0), beta=10.0)
    with pytest.raises(wl.InputError, match=r"needs stiff=False, got .*: drop stiff"):
        wl.solve(noisy, wl.ParticleFlow(3, "reduced", stiff=True), 0.1)


def test_stiff_is_yes_or_no():
    with pytest.raises(wl.InputError, match="stiff must be True or False, or be left out, got 'yes'"):
        wl.MeanField(stiff="yes")


@pytest.mark.slow
def test_an_implicit_solver_moves_neurons_that_meet_themselves_in_all_their_coordinates():
    """∇Ψ differentiated at correlation 1 is no number by automatic differentiation: differences take its place."""
    case = wl.Problem(wl.data.single_index(2, "z"), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0))
    land, theta = wl.landscape(case), jnp.asarray([[1.0, 0.2], [-0.5, 0.7]])
    assert np.isfinite(land.curvature(theta, jnp.full(2, 0.5)).left).all()
    explicit, implicit = (
        wl.solve(case, wl.ParticleFlow(3, stiff=stiff), 0.2, save=2, keep="full").final.theta for stiff in (False, True)
    )
    np.testing.assert_allclose(implicit, explicit, atol=1e-6)
