"""The yardstick with noise: a linear neuron under ridge, noise, schedule and mobility, scheme by scheme.

    ∇Ψ(w) = c m + λ w,    c = E x_1² = 1 + Δ²,    m = mean of the n neurons      (isotropic classes, V = 0)

The mean m feels the rate 2(c + λ), every deviation w_i − m the rate 2λ, and each coordinate of each neuron the noise
4/β on the clock s = ∫ ξ m_w dt. One step, with x = rate·s:

    GD, SGD   w ← (1 − x) w + √(4s/β) g                        s = ε ξ(kε) m_w(kε)
    flows     w ← A (w + √(2s/β) g) + √(2s/β) g'               s = m_w((k + ½)ε) ∫ξ dt,  A = 1 − x + x²/2

so the variance of a coordinate is v ← A² (v + before) + after; that of m is v/n. The limit has m = 0: tracers feel 2λ
only, and r = |w| = |Π A w_0 + √v g| has r²/v noncentral χ² with d degrees of freedom, in reduced coordinates too.
Averages over replicas must lie within 4 standard errors.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.dynamics.block_runs import InBlock
from widelimit.dynamics.solve import DYNAMICS
from widelimit.solving.progress import silent

N, D, DELTA, RIDGE, BETA, STEP, STEPS, BATCH, REPLICAS = 4, 9, 0.5, 0.3, 2.0, 0.1, 7, 2, 600
C, DECAY, SLOWING = 1 + DELTA**2, 0.7, 0.5
PROBLEM = wl.Problem(
    wl.data.gaussian_classes(D, DELTA),
    wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0])),
    wl.initial.array(np.random.default_rng(1).normal(0.4, 0.7, (N, D))),
    ridge=RIDGE,
    beta=BETA,
    schedule=wl.schedules.exponential(DECAY),
    mobility={"w": wl.schedules.exponential(SLOWING)},
)
METHODS = {
    "SGD": wl.SGD(N, STEP, BATCH),
    "GD": wl.GD(N, STEP),
    "ParticleFlow": wl.ParticleFlow(N, noise_step=STEP),
    "NonlinearFlow": wl.NonlinearFlow(N, points=4, noise_step=STEP),
    "reduced GD": wl.GD(N, STEP, "reduced"),
    "reduced ParticleFlow": wl.ParticleFlow(N, "reduced", noise_step=STEP),
    "reduced NonlinearFlow": wl.NonlinearFlow(N, "reduced", points=4, noise_step=STEP),
}
FULL, REDUCED = list(METHODS)[:4], list(METHODS)[4:]


@functools.cache
def start_and_end(name):
    """The neurons before and after, (R, n, D); and the end of a second start that meets the same data and noise."""
    run = DYNAMICS[type(METHODS[name])](METHODS[name], PROBLEM, 3, REPLICAS)
    theta = run.view.theta(run.state)

    def end(theta):
        states = {"SGD": InBlock(theta, theta, theta), "NonlinearFlow": (run.state[0], theta)}
        state = states.get(name.split()[-1], theta)
        return np.asarray(run.view.theta(run.advance(state, 0.0, STEPS * STEP, silent)))

    return np.asarray(theta), end(theta), end(theta[:, ::-1] * 1.5)


def second(theta):
    return theta[:, ::-1] * 1.5


@pytest.fixture(scope="module", params=FULL)
def full(request):
    return request.param


def amplification_and_spread(name, rate):
    """Π A, and the variance v of one coordinate of a neuron that feels this rate."""
    t = STEP * np.arange(STEPS)
    if "GD" in name:
        x = rate * STEP * np.exp(-DECAY * t - SLOWING * t)
        factors, before, after = 1 - x, 0 * x, 4 * x / rate / BETA
    else:
        clock = (np.exp(-DECAY * t) - np.exp(-DECAY * (t + STEP))) / DECAY
        x = rate * clock * np.exp(-SLOWING * (t + STEP / 2))
        factors, before = 1 - x + x**2 / 2, 2 * x / rate / BETA
        after = before
    v = 0.0
    for a, b, c in zip(factors, before, after, strict=True):
        v = a**2 * (v + b) + c
    return np.prod(factors), v


def rate_of_the_mean(name):
    return 2 * RIDGE if "NonlinearFlow" in name else 2 * (C + RIDGE)


def split(w):
    m = w.mean(axis=1, keepdims=True)
    return m, w - m


@pytest.mark.more
def test_two_starts_under_one_noise_differ_by_the_amplification_of_the_scheme(full):
    start, one, two = start_and_end(full)
    (m, deviations), (m_end, deviations_end) = split(second(start) - start), split(two - one)
    shrink, _ = amplification_and_spread(full, 2 * RIDGE)
    np.testing.assert_allclose(deviations_end, shrink * deviations, rtol=0, atol=1e-12)
    if full != "SGD":
        shrink, _ = amplification_and_spread(full, rate_of_the_mean(full))
        np.testing.assert_allclose(m_end, shrink * m, rtol=0, atol=1e-12)


@pytest.mark.more
def test_the_mean_neuron_averages_to_the_noiseless_one(full):
    """For SGD as well: E (y − ⟨m, x⟩) x = −c m."""
    start, end, _ = start_and_end(full)
    shrink, _ = amplification_and_spread(full, rate_of_the_mean(full))
    m = end.mean(axis=1)
    error = m.mean(axis=0) - shrink * start[0].mean(axis=0)
    assert (np.abs(error) < 4 * m.std(axis=0, ddof=1) / math.sqrt(REPLICAS)).all()


@pytest.mark.some(2)
def test_noise_adds_up_to_the_variance_of_the_scheme(full):
    """A mean of k squares of normal numbers of variance v has standard deviation v √(2/k)."""
    _start, end, _ = start_and_end(full)
    m, deviations = (after - after.mean(axis=0) for after in split(end))
    _, v = amplification_and_spread(full, 2 * RIDGE)
    count = (REPLICAS - 1) * (N - 1) * D
    assert np.sum(deviations**2) / count == pytest.approx(v, abs=4 * v * math.sqrt(2 / count))
    if full != "SGD":
        _, v = amplification_and_spread(full, rate_of_the_mean(full))
        count = (REPLICAS - 1) * D
        assert np.sum(m**2) / count == pytest.approx(v / N, abs=4 * v / N * math.sqrt(2 / count))


def test_the_mean_neuron_of_sgd_has_the_second_moment_of_multiplicative_noise():
    """|m|² of m ← (1 − 2sλ) m + 2s (1/b) Σ (y − ⟨m, x⟩) x + √(4s/βn) g, with x = τ z, z ~ N(0, I), τ = 1 ± Δ:

    E (y − ⟨m, x⟩)² |x|² = d E τ² + (d + 2) E τ⁴ |m|²          (the odd term vanishes in each class)
    E |(1/b) Σ ·|² = that/b + (1 − 1/b) c² |m|²
    """
    start, end, _ = start_and_end("SGD")
    fourth = ((1 + DELTA) ** 4 + (1 - DELTA) ** 4) / 2
    want = np.sum(start[0].mean(axis=0) ** 2)
    for t in STEP * np.arange(STEPS):
        s = STEP * math.exp(-(DECAY + SLOWING) * t)
        push = (D * C + (D + 2) * fourth * want) / BATCH + (1 - 1 / BATCH) * C**2 * want
        keep = 1 - 2 * s * RIDGE
        want = keep**2 * want - 4 * s * keep * C * want + 4 * s**2 * push + 4 * s * D / (BETA * N)
    squares = np.sum(end.mean(axis=1) ** 2, axis=1)
    assert squares.mean() == pytest.approx(want, abs=4 * squares.std(ddof=1) / math.sqrt(REPLICAS))


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(REDUCED[0], marks=SLOW), REDUCED[1], pytest.param(REDUCED[2], marks=SLOW)]
)
def test_lengths_have_a_noncentral_chi_law_in_reduced_coordinates(name):
    """One neuron for each replica and row, all independent: uniform after their distribution function."""
    start, end, _ = start_and_end(name)
    shrink, v = amplification_and_spread(name, 2 * RIDGE)
    before, after = (np.sum(theta**2, axis=2) for theta in (start, end))
    assert after.mean() == pytest.approx(
        shrink**2 * before.mean() + v * D, abs=4 * np.std(after - shrink**2 * before) / math.sqrt(after.size)
    )
    levels = stats.ncx2(D, shrink**2 * before / v).cdf(after / v)
    assert stats.kstest(levels.ravel(), "uniform").pvalue > 1e-4


@pytest.mark.more
def test_particles_and_tracers_of_one_seed_meet_the_same_noise():
    """Their deviations from the mean feel no interaction, and are the same."""
    particles, tracers = (split(start_and_end(name)[1])[1] for name in ("ParticleFlow", "NonlinearFlow"))
    np.testing.assert_allclose(particles, tracers, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_particles_and_tracers_of_one_seed_are_the_same_without_interaction():
    """Linear neurons of random direction do not see each other."""
    particles, tracers = (start_and_end(f"reduced {name}")[1] for name in ("ParticleFlow", "NonlinearFlow"))
    np.testing.assert_allclose(particles, tracers, rtol=0, atol=1e-12)
