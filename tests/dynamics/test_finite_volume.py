"""The limit on a grid: two exact solutions, order 2, mass, sign, falling free energy and the Gibbs law to rounding."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import widelimit as wl

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
START = wl.initial.gaussian(1.0)
MOMENTS = {
    f"{name}{k}": lambda rho, name=name, k=k: rho.mean(rho.column(name) ** k) for name in ("u", "r") for k in (1, 2)
}
OF_RADIUS = {name: MOMENTS[name] for name in ("r1", "r2")}


def classes(activation="relu", scale=1.0, delta=0.8, d=40, **more):
    neuron = LINE if activation == "line" else wl.neurons.ridge(activation)
    return wl.Problem(wl.data.gaussian_classes(d, delta), neuron, wl.initial.gaussian(scale), **more)


def teacher(d=10, link="He1(z)", noise=0.0, **more):
    return wl.Problem(wl.data.single_index(d, link, noise), LINE, START, **more)


def solved(problem, method, t_end, save=2, **more):
    return wl.solve(problem, method, t_end, save=save, progress=False, **more)


def falls_with_order(order, coarse, fine, exact, by=2):
    """Whether the largest error over time falls by ``by**order`` at least."""
    before, after = (np.abs(np.asarray(values) - exact).max() for values in (coarse, fine))
    assert before / after > by**order, f"errors {before:.3g}, {after:.3g}: order {math.log(before / after, by):.3g}"


# Exact solutions


TIMES = np.array([0.0, 0.1, 0.3, 1.0])
RIDGE, BETA, D, NOISE = 0.4, 6.0, 4, 0.3
PLANE = ((-3.2, 4.6), (0.0, 4.8))


def ornstein_uhlenbeck(with_teacher):
    """Linear neurons: u has the mean m with dm/dt = 2(1 − (1+λ)m), every direction the variance s of an OU process.

    R = (1 − m)² + noise², or 1 without a teacher, and F = R/2 + (λ/2)(m² + d s) − (d/2β) log(2πe s).
    """
    m = -np.expm1(-2 * (1 + RIDGE) * TIMES) / (1 + RIDGE) if with_teacher else 0 * TIMES
    decay = np.exp(-4 * RIDGE * TIMES)
    s = decay / D + (1 - decay) / (BETA * RIDGE)
    risk = (1 - m) ** 2 + NOISE**2 if with_teacher else 1 + 0 * TIMES
    energy = risk / 2 + RIDGE / 2 * (m**2 + D * s) - D / (2 * BETA) * np.log(2 * np.pi * np.e * s)
    exact = {"risk": risk, "free_energy": energy, "r2": (D - with_teacher) * s}
    return exact | ({"u1": m, "u2": m**2 + s} if with_teacher else {})


@pytest.mark.more
@pytest.mark.parametrize(
    ("problem", "box", "cells", "observers"),
    [
        (classes("line", delta=0.5, d=D, ridge=RIDGE, beta=BETA), ((0.0, 5.0),), 64, OF_RADIUS),
        pytest.param(teacher(D, noise=NOISE, ridge=RIDGE, beta=BETA), PLANE, 32, MOMENTS, marks=pytest.mark.slow),
    ],
    ids=["radius", "teacher and radius"],
)
def test_linear_neurons_are_an_ornstein_uhlenbeck_process_to_order_two_in_the_cell(problem, box, cells, observers):
    """Error ≈ C h², so that a third of the difference of two grids predicts it, and C is of order 1."""
    exact = ornstein_uhlenbeck(len(box) == 2)
    coarse, fine = (
        solved(problem, wl.FiniteVolume(n, box, tolerance=1e-5), TIMES[-1], TIMES, observers=observers).dataset
        for n in (cells, 2 * cells)
    )
    width = max(high - low for low, high in box) / (2 * cells)
    for name, want in exact.items():
        low, high = coarse[name].values, fine[name].values
        if name == "risk" and len(box) == 1:  # neurons that see nothing: no error at all
            np.testing.assert_allclose(high, want, rtol=0, atol=1e-12)
            continue
        falls_with_order(1.8, low, high, want)
        assert np.abs(high - want).max() < width**2
        assert np.abs(high + (high - low) / 3 - want).max() < 0.25 * np.abs(high - want).max(), name


@pytest.mark.slow
def test_without_noise_linear_neurons_shrink_and_every_cell_has_its_mass():
    """Ψ = (λ/2) r²: r = r_0 exp(−2λt), so the masses are those of the χ law between stretched edges."""
    t, errors = 0.5, []
    for cells in (100, 400):
        run = solved(classes("line", d=D, ridge=RIDGE), wl.FiniteVolume(cells, ((0.0, 4.0),), tolerance=1e-6), t, 3)
        score = run.final.edges[0] * math.exp(2 * RIDGE * t) * math.sqrt(D)
        errors.append(np.abs(run.final.masses - np.diff(stats.chi(D).cdf(score))).sum())
        energy = 0.5 + RIDGE / 2 * np.exp(-4 * RIDGE * run.times)
        np.testing.assert_allclose(run.dataset["free_energy"], energy, rtol=0, atol=(4.0 / cells) ** 2)
    assert errors[0] / errors[1] > 4**1.8


# Without noise: the limit carried by points


SMOOTH = classes("ramp", 0.7, 0.5)  # t = 0.02: the profile has moved by its width and is still smooth
CELLS = (100, 200, 400)


@pytest.fixture(scope="module")
def refined():
    """Three grids, and the limit carried by Gauss nodes."""
    grids = [
        solved(SMOOTH, wl.FiniteVolume(n, ((0.0, 2.0),), tolerance=1e-6), 0.02, 3, observers=OF_RADIUS) for n in CELLS
    ]
    return grids, solved(SMOOTH, wl.MeanField(1200, "gauss", 1e-9, 1e-11), 0.02, 3, observers=OF_RADIUS)


@pytest.mark.slow
def test_without_noise_the_grid_meets_the_points_to_order_two(refined):
    grids, nodes = refined
    for name in ("risk", "r1", "r2"):
        values, want = [grid.dataset[name].values for grid in grids], nodes.dataset[name].values
        assert abs(want[-1] / want[0] - 1) > 0.1
        falls_with_order(1.8, values[0], values[-1], want, by=4)
        np.testing.assert_allclose(values[-1], want, rtol=(2.0 / CELLS[-1]) ** 2 * 2)


@pytest.mark.slow
def test_the_distance_to_the_points_is_a_quarter_of_a_cell(refined):
    """Masses sit at the centres of their cells: W_1 = h/4 and a rest of order h²."""
    grids, nodes = refined
    distances = [wl.observables.wasserstein(grid.final, nodes.final, p=1) for grid in grids]
    assert distances[0] > 1.8 * distances[1] > 1.8**2 * distances[2]
    np.testing.assert_allclose(distances, [2.0 / n / 4 for n in CELLS], rtol=0.1)


# With noise: the Gibbs law


NOISY = classes(ridge=0.2, beta=50.0)
BOX = ((0.0, 4.0),)


@pytest.mark.more
@pytest.mark.parametrize(
    ("problem", "method"),
    [
        (NOISY, wl.FiniteVolume(100, BOX)),
        (teacher(D, noise=NOISE, ridge=RIDGE, beta=BETA), wl.FiniteVolume(32, PLANE)),
    ],
    ids=["radius", "teacher and radius"],
)
def test_noise_leads_to_the_discrete_gibbs_law(problem, method):
    """log(m/v) + βΨ is constant to 1e-10, with Ψ from the landscape."""
    rho = solved(problem, method, 40.0).final
    psi = np.asarray(wl.landscape(problem, reduced=True).psi(rho.theta, rho)).reshape(rho.masses.shape)
    constant = np.log(rho.masses) - rho.log_volumes + problem.beta * psi
    assert np.ptp(constant[rho.masses > 1e-12]) < 1e-10


@pytest.mark.more
def test_the_discrete_gibbs_law_is_the_gibbs_law_up_to_the_square_of_the_cell():
    run, law, width = solved(NOISY, wl.FiniteVolume(100, BOX), 40.0), wl.gibbs(NOISY), 4.0 / 100
    assert run.dataset["free_energy"].values[-1] == pytest.approx(law.free_energy, abs=width**2)
    assert run.risk[-1] == pytest.approx(law.risk, abs=width**2)
    assert run.final.mean(run.final.column("r")) == pytest.approx(law.rho.mean(law.rho.column("r")), abs=width**2)


# Laws of every run


def check_laws(problem, method, t_end):
    run = solved(problem, method, t_end, 5)
    masses = run.dataset["masses"].values.reshape(5, -1)
    assert np.abs(masses.sum(axis=1) - 1).max() < 1e-13 and masses.min() >= 0
    assert np.abs(masses[-1] - masses[0]).sum() > 1e-6
    assert np.diff(run.dataset["free_energy"]).max() <= 1e-12


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(
    activation=st.sampled_from(["relu", "ramp"]),
    delta=st.floats(0.1, 0.9),
    scale=st.floats(0.3, 1.5),
    ridge=st.floats(0.0, 1.0),
    beta=st.sampled_from([5.0, 200.0, math.inf]),  # each is compiled anew
    t_end=st.floats(0.01, 1.0),
)
def test_mass_is_one_and_positive_and_the_free_energy_falls(activation, delta, scale, ridge, beta, t_end):
    problem = classes(activation, scale, delta, ridge=ridge, beta=beta)
    check_laws(problem, wl.FiniteVolume(48, ((0.0, 12.0),)), t_end)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(
    link=st.sampled_from(["He1(z)", "-2*He1(z) + He2(z)", "abs(z) - z/2"]),
    ridge=st.floats(0.0, 1.0),
    beta=st.sampled_from([5.0, math.inf]),
    t_end=st.floats(0.01, 1.0),
)
def test_so_it_is_in_two_coordinates(link, ridge, beta, t_end):
    check_laws(teacher(link=link, ridge=ridge, beta=beta), wl.FiniteVolume(20, ((-9.0, 9.0), (0.0, 9.0))), t_end)


# The sides of the grid


def watched(problem, method, t_end):
    """The densities of a run, each on the grid of its own time."""
    seen = []

    def watch(rho):
        seen.append(rho)
        return 0.0

    run = solved(problem, method, t_end, 5, observers={"watch": watch})
    return run, seen


@pytest.mark.more
@pytest.mark.parametrize(
    ("problem", "cells", "t_end", "axis", "end"),
    [(SMOOTH, 100, 0.05, 0, -1), (teacher(link="-He1(z)"), 24, 0.5, 0, 0)],
    ids=["a radius outwards", "a scalar downwards"],
)
def test_a_grid_grows_by_cells_of_the_same_width(problem, cells, t_end, axis, end):
    """Old edges are among the new ones, and the record shows early masses on the last grid."""
    run, seen = watched(problem, wl.FiniteVolume(cells), t_end)
    first, last = seen[0].edges[axis], seen[-1].edges[axis]
    assert len(last) > len(first) and abs(last[end]) > abs(first[end]) and seen[0].masses.shape[axis] == cells
    np.testing.assert_allclose(np.diff(last), first[1] - first[0], rtol=1e-12)
    offset = int(np.argmin(np.abs(last - first[0])))
    np.testing.assert_allclose(last[offset : offset + len(first)], first, rtol=0, atol=1e-13)
    for rho, kept in zip(seen, map(run.at, run.times), strict=True):
        assert kept.masses.shape == seen[-1].masses.shape and kept.masses.sum() == pytest.approx(1, abs=1e-13)
        for name in rho.coordinates:
            assert kept.mean(kept.column(name)) == pytest.approx(rho.mean(rho.column(name)), abs=1e-13)
    assert seen[-1].masses.take([0, -1], axis=axis)[end].sum() < 1e-12


@pytest.mark.some(1)
@pytest.mark.parametrize("beta", [math.inf, 2000.0])
def test_nothing_flows_through_the_origin(beta):
    """A strong ridge drives E r² to d/(βλ), 0 without noise: all the mass gathers at the end r = 0 of the grid."""
    run = solved(classes("line", ridge=5.0, beta=beta), wl.FiniteVolume(100, ((0.0, 2.0),)), 1.0, 3)
    assert run.final.edges[0][0] == 0 and run.final.masses.sum() == pytest.approx(1, abs=1e-13)
    width, mean = 2.0 / 100, run.final.mean(run.final.column("r") ** 2)
    assert math.sqrt(mean) == pytest.approx(math.sqrt(40 / (beta * 5.0)), abs=width)
    assert run.risk[-1] == pytest.approx(1, abs=1e-12)


def test_a_box_that_holds_back_mass_says_so():
    """Ramp neurons move outwards; a box up to 1.4 covers the start and stops them."""
    with pytest.warns(RuntimeWarning, match=r"the box holds back mass: .* lies in the last cell at r = 1\.4"):
        run = solved(SMOOTH, wl.FiniteVolume(100, ((0.0, 1.4),)), 0.2)
    assert run.final.masses[-1] > 1e-6 and run.final.masses.sum() == pytest.approx(1, abs=1e-13)


# Steps in time


@pytest.mark.more
def test_fixed_steps_with_noise_meet_the_adaptive_ones_with_order_two():
    fine = solved(NOISY, wl.FiniteVolume(100, BOX, tolerance=1e-7), 0.4).final.masses
    errors = [
        np.abs(solved(NOISY, wl.FiniteVolume(100, BOX, step), 0.4).final.masses - fine).sum() for step in (0.02, 0.01)
    ]
    assert 2**1.8 < errors[0] / errors[1] < 2**2.2 and errors[1] < 1e-3


def test_fixed_steps_without_noise_meet_the_adaptive_ones_with_order_two():
    box = ((0.0, 2.0),)
    fine = solved(SMOOTH, wl.FiniteVolume(100, box, tolerance=1e-8), 0.02).final.masses
    errors = [
        np.abs(solved(SMOOTH, wl.FiniteVolume(100, box, 0.02 / n), 0.02).final.masses - fine).sum() for n in (64, 128)
    ]
    assert 2**1.8 < errors[0] / errors[1] < 2**2.3 and errors[1] < 1e-4


@pytest.mark.slow
def test_two_coordinates_that_pull_at_each_other_keep_order_two():
    """Three halvings of the step: differences fall by 4 only if the turns of a and r are symmetric in time."""
    neuron, start = wl.neurons.ridge("relu", outer="trained"), wl.initial.gaussian(1.0, a=wl.initial.normal(1.0, 0.5))
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.8), neuron, start, ridge=0.2, beta=10.0)
    box = ((-5.0, 7.0), (0.0, 5.0))
    a, b, c = (solved(problem, wl.FiniteVolume(16, box, step), 0.4).final.masses for step in (0.02, 0.01, 0.005))
    assert 2**1.8 < np.abs(a - b).sum() / np.abs(b - c).sum() < 2**2.3


def test_a_step_that_would_empty_a_cell_is_refused_and_the_largest_one_named():
    with pytest.raises(wl.InputError, match="so that no cell of the grid is emptied") as caught:
        solved(SMOOTH, wl.FiniteVolume(100, ((0.0, 2.0),), 0.01), 0.02)
    assert re.fullmatch(r".*, got 0\.01: .*\.", str(caught.value))
    largest = float(re.search(r"at most (\S+) here", str(caught.value)).group(1))
    assert 0 < largest < 0.01
    assert solved(SMOOTH, wl.FiniteVolume(100, ((0.0, 2.0),), largest / 2), 0.002).outcome == "done"


def test_a_step_after_which_the_free_energy_would_be_larger_is_refused():
    """Square neurons pull at each other: in a field held for a whole unit of time they overshoot."""
    problem = classes(wl.activations.polynomial([0.0, 0.0, 1.0]), 0.3, ridge=0.1, beta=50.0)
    with pytest.raises(wl.InputError, match="for the free energy to fall") as caught:
        solved(problem, wl.FiniteVolume(48, ((0.0, 12.0),), 1.0), 3.0)
    assert re.fullmatch(r".*, got 1\.0: .*\.", str(caught.value))


@pytest.mark.parametrize("beta", [50.0, math.inf])
def test_ten_thousand_steps_lose_no_mass(beta):
    run = solved(classes(ridge=0.2, beta=beta), wl.FiniteVolume(100, BOX, 1e-4), 1.0)
    assert run.final.masses.sum() == pytest.approx(1, abs=2e-15)


# Schedules and mobility


def test_a_schedule_is_a_clock():
    """ξ = t^(−1/4): what happens by t is what happens by ∫ξ = (4/3) t^(3/4) at constant speed."""
    times = np.array([0.1, 0.5])
    method = wl.FiniteVolume(100, BOX)
    slow = solved(classes(ridge=0.2, beta=50.0, schedule=wl.schedules.power(0.25)), method, times[-1], times)
    plain = solved(NOISY, method, 4 / 3 * times[-1] ** 0.75, 4 / 3 * times**0.75)
    np.testing.assert_allclose(slow.dataset["masses"], plain.dataset["masses"], rtol=0, atol=1e-12)
    assert np.abs(plain.final.masses - plain.at(0.0).masses).sum() > 0.1


@pytest.mark.some(1)
@pytest.mark.parametrize("beta", [50.0, math.inf])
def test_a_rate_that_varies_in_time_is_a_clock_too(beta):
    """ξ m_w = e^(−t/2) e^(−t), followed in time: as its integral at constant speed, to order 2 in the steps."""
    method, t = wl.FiniteVolume(100, BOX, tolerance=1e-6), 0.5
    slowing = {"schedule": wl.schedules.exponential(0.5), "mobility": {"w": wl.schedules.exponential(1.0)}}
    slow = solved(classes(ridge=0.2, beta=beta, **slowing), method, t)
    plain = solved(classes(ridge=0.2, beta=beta), method, -math.expm1(-1.5 * t) / 1.5)
    assert np.abs(slow.final.masses - plain.final.masses).sum() < 1e-5


def test_a_window_that_closes_ends_all_motion():
    problem = classes("ramp", 0.7, 0.5, mobility={"w": wl.schedules.window(0.0, 0.01)})
    run = solved(problem, wl.FiniteVolume(100, ((0.0, 2.0),)), 0.02, [0.0, 0.01, 0.02])
    start, closed, end = run.dataset["masses"].values
    assert np.abs(end - closed).max() < 1e-15 and np.abs(closed - start).sum() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("beta", [math.inf, 20.0])
def test_a_fixed_sign_has_a_slice_of_its_own_and_keeps_its_mass(beta):
    """Half of the neurons with a = 1, half with a = −1: their radii move apart, their masses do not."""
    neuron, start = wl.neurons.ridge("relu", outer="fixed"), wl.initial.gaussian(1.0, a=wl.initial.signs(1.0))
    problem = wl.Problem(wl.data.gaussian_classes(40, 0.8), neuron, start, beta=beta)
    run = solved(problem, wl.FiniteVolume(64, ((-2.0, 2.0), (0.0, 6.0))), 0.3)
    rho = run.final
    assert rho.coordinates == ("a", "r") and rho.masses.shape == (2, 64)
    np.testing.assert_allclose(rho.theta[:: rho.masses.shape[1], 0], [-1.0, 1.0])
    np.testing.assert_allclose(rho.masses.sum(axis=1), 0.5, rtol=0, atol=1e-13)
    r = rho.column("r").reshape(2, -1)
    means = (rho.masses * r).sum(axis=1) / 0.5
    assert means[1] - means[0] > 0.05


# Files


def test_a_density_survives_a_file(tmp_path):
    run = solved(NOISY, wl.FiniteVolume(100, BOX), 0.2, 3)
    again = wl.load(run.save(tmp_path / "run.nc"))
    assert again.is_density and again.outcome == "done"
    np.testing.assert_array_equal(again.dataset["free_energy"], run.dataset["free_energy"])
    for kept, had in ((again.final, run.final), (again.at(0.1), run.at(0.1)), (again.at(0.0), run.at(0.0))):
        assert (
            isinstance(kept, wl.Density) and kept.coordinates == ("r",) and kept.dimensions == had.dimensions == (40,)
        )
        np.testing.assert_array_equal(kept.masses, had.masses)
        np.testing.assert_array_equal(kept.edges[0], had.edges[0])
    assert np.abs(again.at(0.1).masses - again.final.masses).sum() > 1e-3
    assert wl.landscape(NOISY, reduced=True).risk(again.final) == pytest.approx(run.risk[-1], abs=1e-13)


# Bad input


def run_on(method=None, problem=NOISY, **more):
    return solved(problem, method or wl.FiniteVolume(16), 0.1, **more)


BAD = {
    "no temperature": lambda: classes(beta=0.0),
    "a negative temperature": lambda: classes(beta=-1.0),
    "three coordinates": lambda: run_on(problem=wl.Problem(wl.data.multi_index(20, 2, "z1*z2"), LINE, START)),
    "half a cell": lambda: wl.FiniteVolume(cells=2.5),
    "two cells": lambda: wl.FiniteVolume(cells=2),
    "a box without sides": lambda: wl.FiniteVolume(box=()),
    "a box that is a number": lambda: wl.FiniteVolume(box=5.0),
    "two sides for one coordinate": lambda: run_on(wl.FiniteVolume(box=((0.0, 4.0), (0.0, 4.0)))),
    "low above high": lambda: wl.FiniteVolume(box=((4.0, 0.0),)),
    "an endless side": lambda: wl.FiniteVolume(box=((0.0, math.inf),)),
    "a radius below 0": lambda: run_on(wl.FiniteVolume(box=((-1.0, 4.0),))),
    "a box beside the start": lambda: run_on(wl.FiniteVolume(box=((0.0, 1.0),))),
    "a step back": lambda: wl.FiniteVolume(step=-1),
    "no tolerance": lambda: wl.FiniteVolume(tolerance=0.0),
    "weights on the sphere": lambda: run_on(
        problem=wl.Problem(
            wl.data.single_index(20, "z"), wl.neurons.ridge("relu", inner="sphere"), wl.initial.sphere(1.0)
        )
    ),
    "noise in infinite dimension": lambda: run_on(problem=classes(d=math.inf, beta=10.0)),
    "replicas": lambda: run_on(replicas=2),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        BAD[name]()
    assert re.fullmatch(r".*, got .*: .*\.", str(caught.value))


def test_a_box_that_begins_above_the_origin_says_when_it_holds_mass_back_and_only_once():
    problem = wl.Problem(
        wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0), ridge=2.0
    )
    with pytest.warns(RuntimeWarning, match=r"last cell at r = 0\.4") as told:
        wl.solve(problem, wl.FiniteVolume(100, ((0.4, 3.0),)), 1.0, save=5)
    assert len(told) == 1


def test_rounding_of_terms_that_cancel_does_not_stop_a_run():
    """d = 40000: energy and entropy of the order of 1e5 leave a free energy of the order of 1."""
    line = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    problem = wl.Problem(
        wl.data.gaussian_classes(40000, 0.5), line, wl.initial.gaussian(78.0), ridge=2 * math.pi, beta=1.0
    )
    run = wl.solve(problem, wl.FiniteVolume(100, ((74.0, 84.0),)), 2.0, save=2)
    assert float(run.final.mean(run.final.column("r") ** 2)) == pytest.approx(40000 / (2 * math.pi), rel=2e-3)
