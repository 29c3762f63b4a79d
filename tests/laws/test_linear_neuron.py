"""The yardstick: a linear neuron, where every dynamics is known in closed form.

    σ*(x; w) = ⟨w, x⟩,     Σ̄ = Σ_c p_c Σ_c = diag(c_j),     m = ∫ w dρ

    V = −E y ⟨w, x⟩ = 0  (centred classes),   U(w, w') = ⟨w, Σ̄ w'⟩,   R = 1 + ⟨m, Σ̄ m⟩,   ∇Ψ(w) = Σ̄ m + λ w

so, with the clock τ = ∫ξ dt, the mean obeys dm/dτ = −2 (Σ̄ + λ) m, every deviation from it dδ/dτ = −2 λ δ, hence

    m(τ) = e^{−2(Σ̄ + λ)τ} m(0),     w_i(τ) = m(τ) + e^{−2λτ} (w_i(0) − m(0)).

One step of SGD with a sample x is linear in m and independent of the past: E m_{k+1} = (1 − 2 s_k (Σ̄ + λ)) E m_k.

The second yardstick has a trained outer weight and no inner dynamics: at b = 0, constant σ, σ* = a, so V = −a E y = 0,
U = a a', and a_i(τ) = ā e^{−2(1 + λ)τ} + e^{−2λτ}(a_i − ā), R = 1 + ā².
"""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics import sgd
from widelimit.solving.progress import silent
from widelimit.solving.streams import stream

IDENTITY = wl.activations.polynomial([0.0, 1.0])
D, N, DELTA, RIDGE = 6, 7, 0.5, 0.3
SOLVER = 1e-7  # rtol 1e-8 per step, a few dozen steps
ROUNDING = 1e-12


def offset_start(d=D, n=N):
    """Neurons with a mean of order one."""
    return np.random.default_rng(1).normal(0.4, 0.7, (n, d))


def covariance(informative, d=D):
    """c_j: the diagonal of Σ̄, ½(1+Δ)² + ½(1−Δ)² = 1 + Δ² on informative directions."""
    return np.where(np.arange(d) < (informative or d), 1 + DELTA**2, 1.0)


def linear(informative=None, ridge=0.0, schedule=None, start=None, d=D):
    return wl.Problem(
        wl.data.gaussian_classes(d, DELTA, informative),
        wl.neurons.ridge(IDENTITY),
        start or wl.initial.array(offset_start()),
        ridge=ridge,
        schedule=schedule or wl.schedules.constant(),
    )


def exact(w, c, ridge, tau):
    m = w.mean(axis=0)
    return np.exp(-2 * (c + ridge) * tau) * m + math.exp(-2 * ridge * tau) * (w - m)


def risk(w, c):
    return 1 + float(w.mean(axis=0) ** 2 @ c)


CASES = pytest.mark.parametrize("informative", [None, 2], ids=["isotropic", "anisotropic"])


@pytest.mark.some(1)
@CASES
def test_potentials_of_a_linear_neuron_are_those_of_the_paper_and_pencil(informative):
    w, c = offset_start(), covariance(informative)
    land = wl.landscape(linear(informative, RIDGE))
    assert np.abs(land.V(w)).max() < ROUNDING
    np.testing.assert_allclose(land.U(w, w), (w * c) @ w.T, rtol=0, atol=ROUNDING * 10)
    np.testing.assert_allclose(land.grad_psi(w, w), c * w.mean(axis=0) + RIDGE * w, rtol=0, atol=ROUNDING * 10)
    assert land.risk(w) == pytest.approx(risk(w, c), abs=ROUNDING * 10)


@pytest.mark.some(1)
@CASES
@pytest.mark.parametrize(
    ("ridge", "schedule", "clock"),
    [
        (0.0, wl.schedules.constant(), lambda t: t),
        (RIDGE, wl.schedules.power(0.25), lambda t: t**0.75 / 0.75),
        (RIDGE, wl.schedules.exponential(0.7), lambda t: (1 - math.exp(-0.7 * t)) / 0.7),
    ],
    ids=["plain", "ridge-power", "ridge-exponential"],
)
def test_particle_flow_follows_the_exact_solution(informative, ridge, schedule, clock):
    w, c = offset_start(), covariance(informative)
    got = wl.solve(linear(informative, ridge, schedule), wl.ParticleFlow(N), 1.5, save=4, keep="full")
    for k, t in enumerate(got.times):
        want = exact(w, c, ridge, clock(t))
        np.testing.assert_allclose(got.dataset["theta"].values[k], want, rtol=0, atol=SOLVER)
        assert got.risk[k] == pytest.approx(risk(want, c), abs=SOLVER)
        assert got.risk[k] == pytest.approx(risk(got.dataset["theta"].values[k], c), abs=ROUNDING * 10)


@pytest.mark.more
@CASES
def test_the_mean_of_sgd_over_samples_is_a_product_of_contractions(informative):
    """E over the data of the mean neuron is Π_k (1 − 2 s_k (Σ̄ + λ)) m_0, exactly, for every step size."""
    w, c, step, steps = offset_start(), covariance(informative), 0.02, 20
    p = linear(informative, RIDGE, wl.schedules.exponential(0.7))
    run = sgd.ready(wl.SGD(N, step), p, 0, 300)
    ends = np.asarray(run.view.theta(run.advance(run.state, 0.0, steps * step, silent))).mean(axis=1)
    sizes = step * np.exp(-0.7 * step * np.arange(steps))
    want = np.prod(1 - 2 * sizes[:, None] * (c + RIDGE), axis=0) * w.mean(axis=0)
    spread = np.std(ends, axis=0, ddof=1) / math.sqrt(len(ends))
    assert (np.abs(np.mean(ends, axis=0) - want) < 4 * spread).all()
    flow = np.exp(-2 * (c + RIDGE) * sizes.sum()) * w.mean(axis=0)
    assert np.abs(flow - want).max() > 1e-3, "the step is too small to tell the product from the flow"
    assert spread.max() < 0.05 * np.abs(w.mean(axis=0) - want).max(), "too few replicas to see the mean move"


@pytest.mark.some(1)
@CASES
def test_deviations_from_the_mean_shrink_under_sgd_by_the_ridge_alone(informative):
    """Every neuron gets the same push from a sample: w_i − m is multiplied by Π_k (1 − 2 s_k λ), sample by sample."""
    w, step, steps = offset_start(), 0.02, 20
    p = linear(informative, RIDGE, wl.schedules.exponential(0.7))
    run = sgd.ready(wl.SGD(N, step), p, 3, None)
    end = np.asarray(run.view.theta(run.advance(run.state, 0.0, steps * step, silent)))
    shrink = np.prod(1 - 2 * RIDGE * step * np.exp(-0.7 * step * np.arange(steps)))
    assert shrink < 0.9
    np.testing.assert_allclose(end - end.mean(axis=0), shrink * (w - w.mean(axis=0)), rtol=0, atol=ROUNDING)


@pytest.mark.slow
def test_sgd_with_a_huge_batch_follows_the_exact_solution():
    """The mean over a batch of (x xᵀ − Σ̄) m has variance at most κ |m|²/batch per coordinate, κ ≤ 3 (1 + Δ)⁴,
    so after K steps the mean neuron is within 2 ε √(K κ/batch) |m_0| (one standard deviation) of the product."""
    w, c, step, batch, steps = offset_start(), covariance(None), 5e-3, 4000, 100
    m = w.mean(axis=0)
    got = wl.solve(linear(ridge=RIDGE), wl.SGD(N, step, batch), steps * step, save=3, keep="full")
    want = (1 - 2 * step * (c + RIDGE)) ** steps * m
    noise = 2 * step * math.sqrt(steps * 3 * (1 + DELTA) ** 4 / batch) * np.linalg.norm(m)
    end = got.dataset["theta"].values[-1]
    assert np.abs(end.mean(axis=0) - want).max() < 4 * noise < 0.2 * np.abs(m - want).max()
    assert got.risk[-1] == pytest.approx(risk(end, c), abs=ROUNDING * 10)


@pytest.mark.some(1)
@CASES
@pytest.mark.parametrize("schedule", [wl.schedules.constant(), wl.schedules.power(0.25)], ids=["constant", "power"])
def test_the_limit_from_a_rotation_invariant_start_has_mean_zero_and_only_the_ridge_acts(informative, schedule):
    """m = 0 in the limit, so R = 1 for ever and every radius is r(0) e^{−2λτ}. At finite d too: that is what the even
    Hermite orders encode (k = 1 does not appear in the average over rotations)."""
    p = linear(informative and 60, RIDGE, schedule, wl.initial.gaussian(0.8), d=120)
    got = wl.solve(p, wl.MeanField(16), 1.0, save=3)
    np.testing.assert_allclose(got.risk, 1.0, rtol=0, atol=ROUNDING)
    radii = got.dataset["theta"].values
    for k, t in enumerate(got.times):
        shrink = math.exp(-2 * RIDGE * schedule.integral(t))
        np.testing.assert_allclose(radii[k], shrink * radii[0], rtol=SOLVER, atol=0)


def test_without_ridge_the_limit_of_a_linear_neuron_stands_still():
    p = linear(start=wl.initial.sphere(0.8), d=60)
    got = wl.solve(p, wl.MeanField(16), 1.0, save=2)
    np.testing.assert_allclose(got.risk, 1.0, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(got.final.theta, 0.8, rtol=0, atol=ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", [wl.ParticleFlow(5), wl.MeanField(5), wl.ParticleFlow(5, "reduced")], ids=str)
def test_outer_weights_of_constant_neurons_follow_their_own_exact_solution(method):
    """σ = 1: σ* = a, R = 1 + ā². w feels the ridge alone."""
    a = np.array([1.5, -0.5, 0.25, 2.0, 0.75])
    full = isinstance(method, wl.ParticleFlow) and method.coordinates == "full"
    start = np.column_stack([a, np.ones((5, 40 if full else 1))])
    p = wl.Problem(
        wl.data.gaussian_classes(40, DELTA),
        wl.neurons.ridge(wl.activations.polynomial([1.0]), outer="trained"),
        wl.initial.array(start),
        ridge=RIDGE,
    )
    got = wl.solve(p, method, 0.8, save=3, keep="full" if full else "reduced")
    for k, t in enumerate(got.times):
        want = a.mean() * math.exp(-2 * (1 + RIDGE) * t) + math.exp(-2 * RIDGE * t) * (a - a.mean())
        theta = got.dataset["theta"].values[k]
        np.testing.assert_allclose(theta[:, 0], want, rtol=0, atol=SOLVER)
        np.testing.assert_allclose(theta[:, 1:], math.exp(-2 * RIDGE * t), rtol=0, atol=SOLVER)
        assert got.risk[k] == pytest.approx(1 + want.mean() ** 2, abs=SOLVER)


def test_the_streams_of_this_file_differ_between_replicas():
    """The average over replicas above would be empty if they saw the same data."""
    x = [np.asarray(linear().data.sample(stream(0, "data", r), 2, float)[0]) for r in (0, 1)]
    assert np.abs(x[0] - x[1]).min() > 0
