"""Minimising movements: the energy falls for every step, the error is of order one, and the limits agree."""

import itertools
import math
import re

import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.jko import points
from widelimit.dynamics.jko.points import ENOUGH
from widelimit.dynamics.jko.quantiles import QuantileStep
from widelimit.observables import free_energy, wasserstein

LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
CURVED = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
START = wl.initial.gaussian(1.0)


def classes(neuron=CURVED, beta=math.inf, ridge=0.3, d=20, **more):
    return wl.Problem(wl.data.gaussian_classes(d, 0.6), neuron, START, ridge=ridge, beta=beta, **more)


def teacher(beta, d=20):
    return wl.Problem(wl.data.single_index(d, "z", nodes=8), LINE, START, ridge=0.5, beta=beta)


def orders(errors):
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


@pytest.mark.parametrize("d", [None, 1.0, 2.0, 3.0, 40.0])
def test_slopes_of_a_quantile_step_are_those_of_its_value(d):
    """Gradient and Hessian against central differences."""
    rng = np.random.default_rng(0)
    start = np.sort(rng.uniform(0.3, 1.5, 9))
    weights = rng.dirichlet(np.ones(8))
    step = QuantileStep(wl.landscape(classes(), reduced=True), 20.0, d, weights, start, 0.1)
    edges, h = start + rng.uniform(0, 0.5) * np.diff(start).min() * rng.uniform(-0.4, 0.4, 9), 1e-6
    gradient, band, features = step.slopes(edges)
    hessian = np.diag(band[0]) + np.diag(band[1, :-1], 1) + np.diag(band[1, :-1], -1)
    hessian += (features * step.land.fit.p) @ features.T
    moves = h * np.eye(9)
    assert gradient == pytest.approx(
        [(step.value(edges + m) - step.value(edges - m)) / (2 * h) for m in moves], abs=1e-6
    )
    numeric = np.array([(step.slopes(edges + m)[0] - step.slopes(edges - m)[0]) / (2 * h) for m in moves])
    assert hessian == pytest.approx(numeric, abs=1e-6 * np.abs(hessian).max())


def test_a_quantile_step_of_an_ornstein_uhlenbeck_process_is_exact():
    """From N(0, s² I) in a field λ|w|²/2 the step minimises over Gaussians: (λ + 1/η) s' − s/η = 1/(β s')."""
    d, beta, ridge, step = 20, 20.0, 0.5, 0.2
    run = wl.solve(classes(LINE, beta, ridge, d), wl.JKO(step), 5 * step, save=6)
    s, exact = 1 / math.sqrt(d), []
    for _ in range(6):
        exact.append(d * s**2)
        eta = 2 * step
        s = (s / eta + math.sqrt((s / eta) ** 2 + 4 * (ridge + 1 / eta) / beta)) / (2 * (ridge + 1 / eta))
    measured = [float(run.at(t).mean(run.at(t).column("r") ** 2)) for t in run.times]
    assert measured == pytest.approx(exact, rel=1e-3)


def test_a_point_step_of_linear_neurons_is_implicit_euler():
    """u' (1 + η λ) = u − η (ū' − 1): the mean moves to (ū + η)/(1 + η(1 + λ))."""
    problem, step = teacher(math.inf), 0.5
    run = wl.solve(problem, wl.JKO(step, 16), 3 * step, save=4)
    means = [float(run.at(t).mean(run.at(t).column("u"))) for t in run.times]
    eta, mean = 2 * step, means[0]
    for measured in means[1:]:
        mean = (mean + eta) / (1 + eta * 1.5)
        assert measured == pytest.approx(mean, abs=1e-9)
    assert run.final.column("r") == pytest.approx(run.at(0.0).column("r") / (1 + eta * 0.5) ** 3, rel=1e-8)


def test_a_point_step_meets_its_condition_where_its_energy_is_known_to_rounding_only():
    """θ' − θ + η ∇Ψ(θ'; ρ') = 0, to ENOUGH: the last steps of Newton's method lower F by less than its rounding."""
    ramp = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
    case = wl.Problem(wl.data.gaussian_classes(40, 0.8), ramp, wl.initial.gaussian(0.8), ridge=1e-3)
    step, land = 0.1, wl.landscape(case, reduced=True)
    run = wl.solve(case, wl.JKO(step, cells=100), 10 * step, save=11)
    for before, after in itertools.pairwise(map(run.at, run.times)):
        move = after.theta - before.theta
        defect = move + 2 * step * np.asarray(land.grad_psi(after.theta, after))
        assert math.sqrt(float(after.weights @ (defect**2).sum(axis=1))) <= ENOUGH * (1 + np.abs(move).max())


def test_radii_rest_at_the_origin_as_they_do_in_the_flow():
    """ReLU falls towards w = 0 where a is on the wrong side; the points of the flow stay there, too."""
    relu, start = wl.neurons.ridge("relu", outer="trained"), wl.initial.gaussian(0.8, a=wl.initial.normal(0, 1))
    case = wl.Problem(wl.data.gaussian_classes(20, 0.8), relu, start, ridge=0.01)
    fine, coarse = (wl.solve(case, wl.JKO(step, cells=60), 1.0, save=2) for step in (0.0125, 0.025))
    flow = wl.solve(case, wl.MeanField(60, placement="quantile"), 1.0, save=2)
    rests = flow.final.column("r") == 0
    np.testing.assert_array_equal(fine.final.column("r") == 0, rests)
    assert 3 <= rests.sum() < 30 and not fine.advice and not fine.dataset.attrs["notes"]
    gap = fine.risk[-1] - flow.risk[-1]
    assert coarse.risk[-1] - flow.risk[-1] == pytest.approx(2 * gap, rel=0.1) and abs(gap) < 0.01


def test_a_step_whose_minimum_was_not_found_is_told():
    """So long a step has many valleys with kinks between them."""
    ramp = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
    case = wl.Problem(wl.data.single_index(20, "z+He2(z)", nodes=16), ramp, wl.initial.gaussian(0.8), ridge=0.01)
    run = wl.solve(case, wl.JKO(30.0, cells=60), 30.0, save=2)
    assert run.advice.startswith("no minimum was found in one step") and "try a smaller step" in run.advice
    assert run.dataset.attrs["notes"] == "no minimum was found in the step to t = 30"


def test_unsolved_steps_of_the_run_that_tells_the_error_are_told(monkeypatch):
    """That is the run of half the step, η = 0.1, which goes along."""
    move = points.moved

    def moved(movement):
        return move(movement)._replace(found=float(movement.eta.max()) > 0.15)

    monkeypatch.setattr(points, "moved", moved)
    alone, checked = (wl.solve(classes(), wl.JKO(0.1, cells=20, check=check), 0.1, save=2) for check in (False, True))
    assert not alone.advice and checked.advice.startswith("no minimum was found in 2 steps")


@pytest.fixture(scope="module")
def references():
    return {
        math.inf: wl.solve(classes(), wl.MeanField(128), 0.5, save=2),
        20.0: wl.solve(classes(beta=20.0), wl.FiniteVolume(400, ((0.0, 4.0),), tolerance=1e-6), 0.5, save=2),
    }


@pytest.mark.slow
@pytest.mark.parametrize("beta", [pytest.param(math.inf, marks=pytest.mark.slow), 20.0])
def test_the_error_is_of_order_one_in_the_step(beta, references):
    """Differences of neighbouring steps halve, and the extrapolated end is that of the other limit."""
    runs = [wl.solve(classes(beta=beta), wl.JKO(step, 128), 0.5, save=2) for step in (0.1, 0.05, 0.025)]
    pairs = list(itertools.pairwise(runs))
    assert orders([abs(a.risk[-1] - b.risk[-1]) for a, b in pairs])[0] == pytest.approx(1, abs=0.2)
    assert orders([wasserstein(a.final, b.final, p=1) for a, b in pairs])[0] == pytest.approx(1, abs=0.2)
    assert 2 * runs[2].risk[-1] - runs[1].risk[-1] == pytest.approx(references[beta].risk[-1], abs=1e-3)


@pytest.mark.some(2)
@pytest.mark.parametrize("beta", [math.inf, 20.0])
@pytest.mark.parametrize("step", [0.01, 1.0, pytest.param(100.0, marks=pytest.mark.slow)])
def test_every_step_lowers_the_energy(beta, step):
    problem = classes(beta=beta)
    watch = {} if math.isfinite(beta) else {"f": free_energy(problem)}
    data = wl.solve(problem, wl.JKO(step, 32), 6 * step, save=7, observers=watch).dataset
    values = data["f" if watch else "free_energy"].values
    assert np.all(np.diff(values) <= 1e-12) and values[-1] < values[0]


def test_large_steps_end_at_the_gibbs_law():
    problem = classes(beta=20.0)
    law, run = wl.gibbs(problem), wl.solve(problem, wl.JKO(5.0, 400), 50.0, save=2)
    assert run.risk[-1] == pytest.approx(law.risk, rel=2e-4)
    assert run.dataset["free_energy"].values[-1] == pytest.approx(law.free_energy, abs=1e-4)


def test_edges_of_a_radius_may_rest_at_the_origin():
    """One hidden direction: |w| of a Gaussian has its largest density at 0."""
    problem = wl.Problem(
        wl.data.gaussian_classes(1, 0.5), LINE, wl.initial.gaussian(1.0), ridge=1.0, beta=30.0
    )  # fmt: skip
    run = wl.solve(problem, wl.JKO(0.5, 200), 10.0, save=2)
    r = run.final.column("r")
    assert run.dataset["edges_r"].values.min() >= 0
    assert float(run.final.mean(r**2)) == pytest.approx(1 / 30, rel=1e-2)
    assert float(run.final.mean(r)) == pytest.approx(math.sqrt(2 / math.pi / 30), rel=1e-2)


@pytest.mark.slow
def test_without_noise_finite_volumes_points_and_jko_agree(references):
    """W_1 between the three limits falls with refinement."""
    problem, exact = classes(), references[math.inf].final
    distances = []
    for k in (1, 2, 4):
        grid = wl.solve(problem, wl.FiniteVolume(50 * k, ((0.0, 3.0),)), 0.5, save=2).final
        jko = wl.solve(problem, wl.JKO(0.05 / k, 128), 0.5, save=2).final
        distances.append([wasserstein(a, b, p=1) for a, b in ((grid, exact), (jko, exact), (grid, jko))])
    ratios = np.array(distances[:-1]) / np.array(distances[1:])
    assert np.all(ratios > 1.7) and np.max(distances[-1]) < 0.01


@pytest.mark.slow
def test_entropic_steps_follow_an_ornstein_uhlenbeck_process_to_order_one():
    """They keep mass and lower the free energy on the way."""
    d, ridge, beta, t = 20, 0.5, 20.0, 0.8
    mean = (1 - math.exp(-2 * (1 + ridge) * t)) / (1 + ridge)
    spread = math.exp(-4 * ridge * t) / d + (1 - math.exp(-4 * ridge * t)) / (beta * ridge)
    runs = [wl.solve(teacher(beta, d), wl.JKO(step, 26), t, save=3) for step in (0.4, 0.2)]
    for run in runs:
        masses = run.dataset["masses"].values
        assert masses.min() >= 0 and masses.sum(axis=(1, 2)) == pytest.approx(np.ones(3), abs=1e-13)
        assert np.all(np.diff(run.dataset["free_energy"].values) < 0)
    finals = [run.final for run in runs]
    assert abs(orders([abs(float(f.mean(f.column("u"))) - mean) for f in finals])[0] - 1) < 0.4
    across = [abs(float(f.mean(f.column("r") ** 2)) - (d - 1) * spread) for f in finals]
    assert across[1] < across[0] and across[1] < 0.1


@pytest.mark.slow
def test_the_clock_of_a_schedule_is_that_of_the_steps():
    """ξ = 2: one step of ε does what two steps' worth of time do."""
    fast = wl.solve(classes(schedule=wl.schedules.constant(2.0)), wl.JKO(0.05, 32), 0.5, save=2)
    slow = wl.solve(classes(), wl.JKO(0.1, 32), 1.0, save=2)
    assert fast.final.theta == pytest.approx(slow.final.theta, abs=1e-9)


BAD = {
    "no step": lambda: wl.JKO(0.0),
    "half a cell": lambda: wl.JKO(0.1, 2.5),
    "two cells": lambda: wl.JKO(0.1, 2),
    "replicas": lambda: wl.solve(classes(), wl.JKO(0.1), 1.0, replicas=2),
    "blur below a cell": lambda: wl.solve(teacher(20.0), wl.JKO(1e-4, 24), 1.0),
    "three coordinates with noise": lambda: wl.solve(
        wl.Problem(wl.data.multi_index(20, 2, "z1", nodes=2), LINE, START, ridge=0.5, beta=20.0), wl.JKO(0.1), 1.0
    ),
    "atoms with noise": lambda: wl.solve(
        wl.Problem(wl.data.gaussian_classes(20, 0.5), LINE, wl.initial.sphere(1.0), ridge=0.5, beta=20.0),
        wl.JKO(0.1),
        1.0,
    ),
    "infinite dimension with noise": lambda: wl.solve(
        wl.Problem(wl.data.gaussian_classes(math.inf, 0.5), LINE, START, ridge=0.5, beta=20.0), wl.JKO(0.1), 1.0
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    with pytest.raises(wl.InputError) as caught:
        BAD[name]()
    assert re.fullmatch(r".*, got .*: .*\.", str(caught.value))
