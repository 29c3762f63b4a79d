"""Filtered principal components: the definition, the population matrix, and what a kernel does with the same rows."""

import math

import numpy as np
import pytest

import widelimit as wl


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def test_directions_are_top_eigenvectors_of_the_filtered_covariance():
    x = rows(300, 6)
    y = x[:, 0] * x[:, 1] + 0.1 * x[:, 2]
    found = wl.filtered_pca(x, y, k=2, threshold=0.8)
    M = np.mean([(abs(v) > 0.8) * (np.outer(r, r) - np.eye(6)) for r, v in zip(x, y, strict=True)], axis=0)
    values, vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(found.eigenvalues, values[:-3:-1], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.directions @ vectors[:, :-3:-1]), np.eye(2), atol=1e-9)
    assert found.kept == np.count_nonzero(np.abs(y) > 0.8)


def test_the_largest_eigenvalue_is_that_of_the_population():
    """y = z: E 1{|z| > τ} (z² − 1) = 2 τ φ(τ), up to a few standard errors."""
    x, tau = rows(40_000, 4), 1.5
    found = wl.filtered_pca(x, x[:, 0], threshold=tau)
    expected = 2 * tau * math.exp(-tau * tau / 2) / math.sqrt(2 * math.pi)
    spread = np.std((np.abs(x[:, 0]) > tau) * (x[:, 0] ** 2 - 1)) / math.sqrt(len(x))
    assert abs(found.eigenvalues[0] - expected) < 5 * spread
    assert found.overlap([2.0, 0, 0, 0]) > 0.999


def test_one_row_in_twenty_is_kept_by_default():
    x = rows(1000, 5)
    found = wl.filtered_pca(x, x[:, 0] ** 3)
    assert found.kept == 50 and found.threshold == np.sort(np.abs(x[:, 0]) ** 3)[949]


@pytest.mark.slow
def test_a_kernel_learns_nothing_from_rows_that_show_filtered_pca_the_direction():
    """He_3 at d = 40 from 40 d rows: d ≪ n ≪ d³, kernel regression is left with ‖P_{>1} f*‖² = E y², or more."""
    d, n = 40, 1600
    x, fresh = rows(n, d), rows(500, d, 1)
    y, truth = ((z[:, 0] ** 3 - 3 * z[:, 0]) / math.sqrt(6) for z in (x, fresh))
    assert wl.filtered_pca(x, y).overlap(np.eye(d)[0]) > 0.9
    neuron, start = wl.neurons.ridge("relu", outer="trained"), wl.initial.gaussian(1.0, a=wl.initial.normal(0, 1))
    problem = wl.Problem(wl.data.empirical(x, y), neuron, start)
    risks = [np.mean((truth - wl.kernel_regression(problem, fresh, ridge)) ** 2) for ridge in (1e-3, 1.0)]
    assert min(risks) > 0.8 * np.mean(truth**2)


BAD = {
    "labels of other length": (lambda: wl.filtered_pca(rows(4, 3), np.ones(3)), "y"),
    "more directions than columns": (lambda: wl.filtered_pca(rows(9, 3), np.ones(9), k=4), "at most"),
    "a negative threshold": (lambda: wl.filtered_pca(rows(9, 3), np.ones(9), threshold=-1.0), "threshold"),
    "a truth of zeros": (lambda: wl.filtered_pca(rows(9, 3), np.ones(9)).overlap([0.0, 0, 0]), "not all 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()
