"""A deliberately wrong factor makes an entry of the catalogue fail."""

from dataclasses import replace

import pytest
from test_catalogue_entries import failed

import widelimit as wl
from widelimit.experiments.catalogue.catalogue_entry import Asked
from widelimit.experiments.catalogue.claims import NOT_REPRODUCED, verdict
from widelimit.experiments.catalogue.lazy import kernel_staircase, phase_diagram, scale_laws
from widelimit.experiments.catalogue.learning import filtered_components, layer_growth
from widelimit.experiments.catalogue.limit import continuity, particle_bias

pytestmark = pytest.mark.slow


def test_noise_of_half_the_strength_has_half_the_bias(monkeypatch):
    """√(2s/β) instead of 2√(s/β): that is 2β."""

    def weak(problem, *arguments, **options):
        return wl.particle_bias(replace(problem, beta=2 * problem.beta), *arguments, **options)

    monkeypatch.setattr(particle_bias, "particle_bias", weak)
    assert "factor" in failed("noise-particle-bias")


def test_a_relative_scale_with_one_slope_is_noticed(monkeypatch):
    """‖f − f*‖ ‖D²f‖/‖Df‖ instead of ‖Df‖²."""

    def wrong(*arguments, **options):
        found = wl.relative_scale(*arguments, **options)
        return replace(found, kappa=found.kappa * found.slope)

    monkeypatch.setattr(scale_laws, "relative_scale", wrong)
    assert "homogeneous" in failed("cob19-relative-scale")


def test_a_solution_on_twice_the_clock_does_not_solve_the_equation(monkeypatch):
    def fast(problem, *arguments, **options):
        return wl.solve(replace(problem, schedule=wl.schedules.constant(2.0)), *arguments, **options)

    monkeypatch.setattr(continuity, "solve", fast)
    assert failed("weak-form") == {"order", "other"}


def test_a_target_of_twice_the_power_is_noticed(monkeypatch):
    """2‖P_k f*‖² instead of ‖P_k f*‖²."""

    def doubled(problem, powers, sizes):
        return 2 * wl.kernel_learning_curve(problem, powers, sizes)

    monkeypatch.setattr(kernel_staircase, "kernel_learning_curve", doubled)
    assert {"curve", "step 1", "step 2"} <= failed("gmmm21-staircase")


def test_a_staircase_with_another_step_grows_otherwise(monkeypatch):
    """z2 z3 instead of z1 z2 z3: du_3/dt ~ u_2, so that u_3 ~ t³."""

    def other(problem, *arguments, **options):
        data = wl.data.hypercube(float("inf"), "z1 + z1*z2 + z2*z3")
        return wl.solve(replace(problem, data=data), *arguments, **options)

    monkeypatch.setattr(layer_growth, "solve", other)
    assert failed("abam22-growth") == {"u_3"}


def test_online_sgd_in_place_of_filtered_components_needs_more(monkeypatch):
    """d² at an information exponent of 3."""
    monkeypatch.setattr(filtered_components, "FilteredPCA", wl.OnlineSGD)
    monkeypatch.setattr(filtered_components, "EXPONENTS", (3,))
    entry = filtered_components.FILTERED_COMPONENTS
    claim = next(claim for claim in entry.claims if claim.name == "s3")
    outcome = entry.measure(Asked({**entry.values(quick=True), "replicas": 64, "d": (32.0, 64.0, 128.0)}))
    assert verdict(claim, outcome.measurements["s3"], False) == NOT_REPRODUCED


def test_a_scale_that_is_squared_moves_the_phases(monkeypatch):
    """α² instead of α: m^{2(1−γ)}."""

    def squared(*arguments, alpha, **options):
        return wl.Problem(*arguments, alpha=alpha**2, **options)

    monkeypatch.setattr(phase_diagram, "Problem", squared)
    assert "lazy" in failed("lxm21-phases")
