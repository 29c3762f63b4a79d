"""The laws of section 6 of the theory, seen in data on two isotropic Gaussian classes. Some minutes each."""

import pytest

import widelimit as wl

pytestmark = pytest.mark.slow


def classes(d=40):
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.8), wl.neurons.ridge(wl.activations.ramp()), wl.initial.gaussian(0.8)
    )


def agrees(fit, exponent):
    """Within a 95 % interval narrower than 0.15."""
    value, low, high = fit
    return low <= exponent <= high and high - low < 0.15 and low <= value <= high


def test_tracers_and_neurons_part_like_one_over_root_n():
    fit = wl.rates(classes(), "n", [25, 50, 100, 200], t_end=0.25, replicas=16, chain=("ND", "PD"))
    assert agrees(fit.exponent("ND–PD", "distance"), -0.5), fit


def test_the_risk_and_w2_of_draws_from_the_limit_scatter_like_one_over_root_n():
    """Before the mass splits: after that W_2 has another exponent."""
    fit = wl.rates(
        classes(), "n", [50, 200, 800], t_end=0.05, replicas=64, coordinates="reduced", chain=("PDE", "ND"), points=6000
    )
    assert agrees(fit.exponent("PDE–ND", "risk spread"), -0.5), fit
    assert agrees(fit.exponent("PDE–ND", "W2"), -0.5), fit


def test_near_an_optimum_the_gap_of_the_risk_is_of_second_order():
    """Ψ is nearly constant on the support at t = 10 (R = 0.0019): spread and bias fall like 1/N, no longer 1/√N."""
    trained = wl.Problem(
        wl.data.gaussian_classes(40, 0.8),
        wl.neurons.ridge("ramp", outer="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(1.0, 0.5)),
    )
    fit = wl.rates(
        trained, "n", [25, 50, 100, 200, 400], t_end=10.0, replicas=64, coordinates="reduced", chain=("PDE", "ND"),
        points=2000,
    )  # fmt: skip
    for quantity in ("risk spread", "risk bias"):
        _, low, high = fit.exponent("PDE–ND", quantity)
        assert low <= -1 <= high < -0.8, fit


def test_euler_steps_are_of_order_one():
    fit = wl.rates(classes(), "step", [5e-4, 1e-3, 2e-3, 4e-3], n=50, t_end=0.25, replicas=16, chain=("PD", "GD"))
    assert agrees(fit.exponent("PD–GD", "distance"), 1.0), fit
    assert agrees(fit.exponent("PD–GD", "risk bias"), 1.0), fit


def test_samples_instead_of_the_mean_cost_the_root_of_the_step():
    fit = wl.rates(classes(), "step", [1e-5, 2e-5, 4e-5, 8e-5], n=50, t_end=0.05, replicas=16, chain=("GD", "SGD"))
    assert agrees(fit.exponent("GD–SGD", "distance"), 0.5), fit


def test_enough_width_does_not_grow_with_d_but_a_small_enough_step_shrinks_like_one_over_d():
    """At fixed N, ND–PD does not grow from d = 20 to 320; at fixed ε, GD–SGD grows like √(ε d)."""
    width = wl.rates(classes(), "d", [20, 80, 320], n=100, t_end=0.1, replicas=8, chain=("ND", "PD"))
    assert abs(width.exponent("ND–PD", "distance")[0]) < 0.1, width
    assert abs(width.exponent("ND–PD", "max distance")[0]) < 0.1, width
    size = wl.rates(classes(), "d", [20, 80, 320], n=50, step=5e-5, t_end=0.05, replicas=8, chain=("GD", "SGD"))
    value, low, high = size.exponent("GD–SGD", "distance")
    assert value == pytest.approx(0.5, abs=0.05) and high - low < 0.15, size
