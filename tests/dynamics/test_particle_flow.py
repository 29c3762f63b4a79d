"""Particle flow: what the equation implies without knowing its solution.

dθ_i/dt = −2 ξ M ∇Ψ_λ(θ_i; ρ),   M = 0 on fixed columns
d/dt [R(ρ) + λ ∫|θ|² dρ] = 2 ∫ ⟨∇Ψ_λ, θ̇⟩ dρ = −4 ξ ∫ |M ∇Ψ_λ|² dρ       (2Ψ_λ is the first variation)
"""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.solving.placement import initial_points
from widelimit.solving.streams import stream

CURVED = wl.activations.polynomial([0.2, 1.0, 0.3])  # compiles in a third of the time of the ramp
SOLVER = 1e-6  # a hundred steps at the default rtol


def problem(outer="absent", bias="absent", ridge=0.0, schedule=None, d=20, start=None, sigma="ramp"):
    a = None if outer == "absent" else wl.initial.normal(0.6, 0.3)
    b = None if bias == "absent" else wl.initial.uniform(-0.5, 0.5)
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.6),
        wl.neurons.ridge(sigma, outer=outer, bias=bias),
        start or wl.initial.gaussian(0.8, a=a, b=b),
        ridge=ridge,
        schedule=schedule or wl.schedules.constant(),
    )


@pytest.fixture(scope="module")
def nodes():
    """Gauss–Legendre nodes and weights on [0, 1]: an integral over time to 1e-10 from 16 save times."""
    x, w = np.polynomial.legendre.leggauss(16)
    return (x + 1) / 2, w / 2


CASES = {
    "plain": (problem(), 0.0),
    "all trained, ridge, decay": (problem("trained", "trained", 0.2, wl.schedules.exponential(0.5), sigma=CURVED), 0.5),
    "a fixed, b trained, ridge": (problem("fixed", "trained", 0.2, sigma=CURVED), 0.0),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def solved(request, nodes):
    p, rate = request.param
    return p, rate, wl.solve(p, wl.ParticleFlow(12), 1.0, save=[0.0, *nodes[0], 1.0], keep="full")


def energy(p, theta, risk):
    return risk + p.ridge * np.mean(np.sum(theta**2, axis=-1), axis=-1)


def moving(p):
    fixed = [name for name, moves in zip(p.neuron.scalars, p.neuron.trained, strict=True) if not moves]
    return np.array([name not in fixed for name in p.coordinates])


@pytest.mark.more
def test_energy_decreases_monotonically(solved):
    p, _, got = solved
    values = energy(p, got.dataset["theta"].values, got.risk)
    assert (np.diff(values) < 0).all()
    assert values[0] - values[-1] > 0.05


@pytest.mark.slow
def test_energy_is_lost_at_the_rate_of_the_squared_gradient(solved, nodes):
    p, rate, got = solved
    theta, land = got.dataset["theta"].values, wl.landscape(p)
    loss = [4 * math.exp(-rate * t) * np.mean(np.sum(np.asarray(land.grad_psi(th, th))[:, moving(p)] ** 2, axis=1))
            for t, th in zip(got.times[1:-1], theta[1:-1], strict=True)]  # fmt: skip
    values = energy(p, theta, got.risk)
    assert values[0] - values[-1] == pytest.approx(float(nodes[1] @ loss), abs=SOLVER)


@pytest.mark.some(1)
def test_fixed_columns_do_not_move_at_all(solved):
    p, _, got = solved
    theta, moves = got.dataset["theta"].values, moving(p)
    assert (theta[-1][:, ~moves] == theta[0][:, ~moves]).all()
    assert (theta[-1][:, moves] != theta[0][:, moves]).all()


@pytest.mark.some(1)
def test_the_flow_starts_where_sgd_starts(solved):
    p, _, got = solved
    np.testing.assert_array_equal(got.dataset["theta"].values[0], p.sample_initial(stream(0, "initial"), 12))


@pytest.mark.slow
def test_reduced_flow_of_the_quantile_points_is_the_mean_field_method():
    p = problem(d=60)
    points, _ = initial_points(p, 50, "equal")
    flow = wl.solve(problem(d=60, start=wl.initial.array(points)), wl.ParticleFlow(50, "reduced"), 1.0, save=5)
    limit = wl.solve(p, wl.MeanField(50, "equal"), 1.0, save=5)
    np.testing.assert_allclose(flow.risk, limit.risk, rtol=1e-12)
    np.testing.assert_allclose(flow.final.theta, limit.final.theta, rtol=1e-12)


@pytest.mark.slow
def test_the_reduced_flow_starts_from_the_lengths_of_the_full_one():
    p = problem("trained", d=60)
    full, reduced = (wl.solve(p, wl.ParticleFlow(5, c), 1e-3, seed=2, save=[0.0]) for c in ("full", "reduced"))
    np.testing.assert_allclose(full.dataset["theta"][0], reduced.dataset["theta"][0], rtol=1e-14)


@pytest.mark.slow
def test_the_flow_of_many_neurons_approaches_the_limit():
    """Gap of the risk is of order 1/N (self-interaction) plus fluctuations of order N^{-1/2}: 16 times the neurons,
    averaged over three starts, must bring it down at least threefold."""
    p = problem(d=60)
    limit = wl.solve(p, wl.MeanField(200), 0.5, save=[0.5]).risk[-1]
    gap = {
        n: np.mean([abs(wl.solve(p, wl.ParticleFlow(n, rtol=1e-5, atol=1e-7), 0.5, seed=s, save=[0.5]).risk[-1] - limit)
                    for s in range(3)])
        for n in (12, 192)
    }  # fmt: skip
    assert gap[192] < gap[12] / 3
    assert gap[192] < 0.1 * limit


@pytest.mark.parametrize(
    ("schedule", "clock"),
    [
        (wl.schedules.power(0.25), lambda t: t**0.75 / 0.75),
        (wl.schedules.exponential(1.3), lambda t: (1 - math.exp(-1.3 * t)) / 1.3),
        (lambda t: 1 / (1 + t), lambda t: math.log1p(t)),
        (lambda t: jnp.where(t < 0.5, 2.0, 0.25), lambda t: 2 * min(t, 0.5) + 0.25 * max(t - 0.5, 0)),
    ],
    ids=["power", "exponential", "callable", "jump"],
)
def test_a_schedule_only_changes_the_clock(schedule, clock):
    times = [0.3, 1.0, 2.0]
    method = wl.MeanField(20)
    scheduled = wl.solve(problem(schedule=schedule, d=60), method, 2.0, save=times)
    plain = wl.solve(problem(d=60), method, clock(2.0), save=[clock(t) for t in times])
    np.testing.assert_allclose(scheduled.risk, plain.risk, rtol=SOLVER)
    np.testing.assert_allclose(scheduled.dataset["theta"], plain.dataset["theta"], rtol=SOLVER, atol=SOLVER)


def test_tightening_the_solver_changes_the_risk_by_no_more_than_the_looser_tolerance_allows():
    p = problem(d=60)
    risk = {r: wl.solve(p, wl.MeanField(20, rtol=r, atol=r / 100), 2.0, save=3).risk[-1] for r in (1e-3, 1e-6, 1e-11)}
    loose, tight = (abs(risk[r] - risk[1e-11]) for r in (1e-3, 1e-6))
    assert tight < 1e-4 * risk[1e-11]
    assert loose < 0.1 * risk[1e-11]
    assert tight < loose, "the tolerance has no effect"


@pytest.mark.slow
def test_neurons_with_no_output_feel_the_ridge_alone():
    """a = 0 and fixed: V = U = 0, so w(t) = e^{−2λτ} w(0) and b(t) = e^{−2λτ} b(0), and R = 1."""
    start = np.random.default_rng(0).normal(size=(4, 22))
    start[:, 0] = 0.0
    p = problem("fixed", "trained", 0.7, wl.schedules.power(0.5), start=wl.initial.array(start), sigma=CURVED)
    got = wl.solve(p, wl.ParticleFlow(4), 1.0, save=3, keep="full")
    np.testing.assert_allclose(got.risk, 1.0, rtol=0, atol=1e-14)
    for t, theta in zip(got.times, got.dataset["theta"].values, strict=True):
        np.testing.assert_allclose(theta, math.exp(-2 * 0.7 * 2 * math.sqrt(t)) * start, rtol=SOLVER)
