"""Samples to a given overlap: the chain of the overlap against SGD itself, and the powers of d."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.problem.activations import activation
from widelimit.theory.learning.online_sgd import Chain, Draws, Question, first_overlaps, walk
from widelimit.theory.learning.samples_to_overlap import median


def plain_sgd(w, x, y, sigma, slope, step):
    """Projected SGD in full coordinates; the overlap after every sample, and what a chain of overlaps would draw."""
    overlaps, draws = [], []
    for row, label in zip(x, y, strict=True):
        rest = w[1:] / np.linalg.norm(w[1:])
        z, g = row[0], row[1:] @ rest
        draws.append((z, g, row @ row - z**2 - g**2))
        h = w @ row
        w = w + 2 * step * (label - sigma(h)) * slope(h) * row
        w = w / np.linalg.norm(w)
        overlaps.append(w[0])
    return np.array(overlaps), np.array(draws)


def test_the_chain_of_overlaps_is_sgd_path_by_path():
    rng, d, n, step = np.random.default_rng(0), 12, 40, 0.02
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    x, noise = rng.standard_normal((n, d)), 0.3 * rng.standard_normal(n)
    overlaps, draws = plain_sgd(w, x, np.tanh(x[:, 0]) + noise, np.tanh, lambda h: 1 - np.tanh(h) ** 2, step)
    sigma = activation("tanh")
    z, g, q = draws.T[:, :, None]
    m, seen = walk(sigma, sigma, Chain(w[:1], np.zeros(1, int), 0), Draws(z, g, q, noise[:, None]), (step, 2.0))
    assert float(m[0]) == pytest.approx(overlaps[-1], abs=1e-13) and int(seen[0]) == 0
    level = float(np.sort(np.abs(overlaps))[-3]) - 1e-9  # passed on the way
    m, seen = walk(sigma, sigma, Chain(w[:1], np.zeros(1, int), 100), Draws(z, g, q, noise[:, None]), (step, level))
    assert int(seen[0]) == 100 + 1 + int(np.argmax(np.abs(overlaps) >= level))


def test_the_first_overlap_is_that_of_a_uniform_direction():
    """E m² = 1/d, and m > 0; five standard errors."""
    m = first_overlaps(10, 40_000, np.random.default_rng(1))
    error = math.sqrt(np.var(m**2) / len(m))
    assert m.min() > 0 and abs(np.mean(m**2) - 0.1) < 5 * error


def test_the_step_keeps_noise_and_drift_in_proportion():
    """v = E (y − σ(h))² σ'(h)² at m = 0 for h3: 3 E φ² + 3 E h3² h2² = 3 + 93."""
    question = Question(activation("h3(z)"), 0.0, 0.5, 16)
    learner = wl.OnlineSGD()
    assert learner._spread(question) == pytest.approx(96, rel=1e-10)
    assert learner.steps(question, 64) == pytest.approx(0.25 * 3 / 96 * 64**-1.5, rel=1e-9)
    assert wl.OnlineSGD(step=0.5).steps(Question(activation("z"), 0.0, 0.5, 16), 50) == pytest.approx(0.01)


def test_a_median_counts_who_did_not_arrive():
    rows = np.array([[1.0, 2.0, np.inf, np.inf], [1.0, np.inf, np.inf, np.inf]])
    assert median(rows).tolist() == [2.0, np.inf]
    few = wl.OverlapSamples(wl.OnlineSGD(), "z", np.array([2, 4]), rows, 0.5, wl.OnlineSGD().law(activation("z")))
    assert math.isnan(few.exponent.value) and "not reached" in repr(few)


def test_the_fit_is_the_slope_of_medians_and_its_interval_holds_it():
    rng, d = np.random.default_rng(2), np.array([10, 20, 40, 80])
    samples = 5.0 * d[:, None] ** 1.5 * np.exp(0.3 * rng.standard_normal((4, 64)))
    law = wl.FilteredPCA().law(activation("z"))
    found = wl.OverlapSamples(wl.FilteredPCA(), "z", d, samples, 0.5, law)
    value, low, high = found.exponent
    assert low < 1.5 < high and low < value < high and high - low < 0.4
    exact = wl.OverlapSamples(wl.FilteredPCA(), "z", d, 7.0 * d[:, None] * np.log(d)[:, None] * np.ones(16), 0.5, law)
    assert exact.power(1).value == pytest.approx(1, abs=1e-12) and exact.exponent.value > 1.2


@pytest.mark.slow
def test_the_chain_has_the_law_of_sgd():
    """Mean overlaps of `SGD` with one neuron on the sphere; four standard errors of both."""
    d, step, n, replicas = 30, 0.004, 512, 400
    problem = wl.Problem(
        wl.data.single_index(d, "h2(z)"), wl.neurons.ridge("h2(x)", inner="sphere"), wl.initial.sphere(1.0)
    )
    networks = wl.solve(problem, wl.SGD(1, step), n * step, save=2, replicas=replicas)
    full = np.abs(networks.dataset["theta"].values[:, -1, 0, 0])
    rng, sigma = np.random.default_rng(3), activation("h2(z)")
    shape = (n, 4 * replicas)
    draws = Draws(rng.standard_normal(shape), rng.standard_normal(shape), rng.chisquare(d - 2, shape), np.zeros((n, 1)))
    start = Chain(first_overlaps(d, shape[1], rng), np.zeros(shape[1], int), 0)
    chain = np.abs(np.asarray(walk(sigma, sigma, start, draws, (step, 2.0))[0]))
    error = math.hypot(*(one.std() / math.sqrt(len(one)) for one in (full, chain)))
    assert full.mean() > 0.3  # from 1/√30 = 0.18: something was learnt
    assert abs(full.mean() - chain.mean()) < 4 * error


# Settings that follow from theory, with ε = ϱ (s c_s/v) d^{−max(1, s/2)}. In √d m the drift, the pull back and the
# noise of a step have no d to first order, the rest is O(1/d): at d ≥ 20 less than (1/20)/log 8 = 0.03 in a power over
# three octaves. At s = 3 the flow takes a time ∝ 1/m_0 − 1/m + artanh m from m_0 = |G|/√d to the level m: exactly ∝ √d
# at the level where artanh m = 1/m; at 0.5 the last two are −1.5, which at d = 16 is a quarter of √d/|G| and raises the
# power. The median of 1/m_0 has a relative standard error of 1.17/√replicas: the power one of 0.05 for 256 replicas.
LEVEL = 0.8336
POWERS = {
    "h1(z)": ([64, 128, 256, 512, 1024], 1.0, 0),
    "h2(z)": ([64, 128, 256, 512, 1024], 1.0, 1),
    "h3(z)": ([20, 40, 80, 160], 2.0, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("link", POWERS)
def test_online_sgd_needs_samples_by_its_information_exponent(link):
    dimensions, power, logarithms = POWERS[link]
    found = wl.samples_to_overlap(wl.OnlineSGD(), link, dimensions, replicas=256, level=LEVEL, seed=2026)
    assert found.theory == (power, logarithms)
    value, low, high = found.power(logarithms)
    assert abs(value - power) < 0.25 and power - 0.25 < low < high < power + 0.25


@pytest.mark.slow
def test_filtered_pca_is_linear_where_online_sgd_is_not():
    """Information exponent 3."""
    pca = wl.samples_to_overlap(wl.FilteredPCA(), "h3(z)", [64, 128, 256, 512], replicas=16, level=0.7)
    assert pca.theory.power == 1 and abs(pca.exponent.value - 1) < 0.2
    sgd = wl.samples_to_overlap(wl.OnlineSGD(), "h3(z)", [16, 32, 64], replicas=64, level=0.7)
    assert sgd.exponent.low > pca.exponent.high
    assert sgd.median[-1] > 100 * pca.median[0]  # both at d = 64


def test_a_learner_meets_bad_links_with_a_sentence():
    away = wl.OnlineSGD(activation="-h2(z)")
    with pytest.raises(wl.InputError, match="must reach the level"):
        wl.samples_to_overlap(away, "h2(z)", [8, 16, 32], replicas=16)
    with pytest.raises(wl.InputError, match="share an order"):
        wl.samples_to_overlap(wl.OnlineSGD(activation="h3(z)"), "h2(z)", [8, 16, 32], replicas=16)


BAD = {
    "no learner": (lambda: wl.samples_to_overlap("SGD", "z", [8, 16, 32]), "learner"),
    "two dimensions": (lambda: wl.samples_to_overlap(wl.OnlineSGD(), "z", [8, 16]), "three or more"),
    "a broken dimension": (lambda: wl.samples_to_overlap(wl.OnlineSGD(), "z", [8, 16, 32.5]), "whole"),
    "a level of one": (lambda: wl.samples_to_overlap(wl.OnlineSGD(), "z", [8, 16, 32], level=1.0), "level"),
    "few replicas": (lambda: wl.samples_to_overlap(wl.OnlineSGD(), "z", [8, 16, 32], replicas=3), "replicas"),
    "no step": (lambda: wl.OnlineSGD(step=0.0), "step"),
    "everything kept": (lambda: wl.FilteredPCA(share=1.0), "share"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()


def test_noise_of_the_labels_asks_for_smaller_steps_and_more_samples():
    """v = E y² E σ'² + E σ² σ'² = 2 + noise² for a line."""
    question = Question(activation("z"), 2.0, 0.5, 16)
    assert wl.OnlineSGD()._spread(question) == pytest.approx(6, rel=1e-10)
    quiet, loud = (
        wl.samples_to_overlap(wl.OnlineSGD(), "z", [8, 16, 32], replicas=16, noise=noise).median[-1]
        for noise in (0.0, 2.0)
    )
    assert 1.5 * quiet < loud < 6 * quiet
