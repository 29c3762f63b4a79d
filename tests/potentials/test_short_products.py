"""Products with a short inner side, which XLA may fuse with the sum that follows: the numbers are those of NumPy."""

import numpy as np
import pytest
from scipy.stats import norm

import widelimit as wl

RNG = np.random.default_rng(0)
SCALARS = {"outer": "trained", "bias": "trained"}


@pytest.mark.some(1)
@pytest.mark.parametrize("n", [500, 3000])
@pytest.mark.parametrize("d", [2, 1, 3, 8])
def test_neurons_on_a_data_set_of_few_columns(d, n):
    """⟨w, x⟩, σ and a mean over 3,000 rows, compiled together."""
    x, theta = RNG.normal(size=(3000, d)), RNG.normal(size=(n, 2 + d))
    y, a = np.sin(x[:, 0]), theta[:, 0]
    start = wl.initial.gaussian(1.0, a=1.0, b=0.0)
    land = wl.landscape(wl.Problem(wl.data.empirical(x, y), wl.neurons.ridge("tanh", **SCALARS), start))
    out = np.tanh(x @ theta[:, 2:].T + theta[:, 1])
    residual = (out @ a / n - y) / len(y)
    np.testing.assert_allclose(land.V(theta), -(y @ out) * a / len(y), atol=1e-13)
    np.testing.assert_allclose(land.psi(theta, theta), (residual @ out) * a, atol=1e-13)
    assert land.risk(theta) == pytest.approx(len(y) * float(residual @ residual), rel=1e-12)
    by_w = a[:, None] * (((1 - out**2) * residual[:, None]).T @ x)
    np.testing.assert_allclose(np.asarray(land.grad_psi(theta, theta))[:, 2:], by_w, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("d", [2, 3])
def test_pairs_of_neurons_of_few_directions(d, n):
    """⟨w, w'⟩, the arcsine kernel and a mean over neurons, compiled together."""
    neuron, start = wl.neurons.ridge("erf", outer="trained"), wl.initial.gaussian(1.0, a=1.0)
    land, theta = wl.landscape(wl.Problem(wl.data.gaussian_classes(d, 0.5), neuron, start)), RNG.normal(size=(n, 1 + d))
    a, w, U = theta[:, 0], theta[:, 1:], np.zeros((n, n))
    for scale in (0.5, 1.5):
        gram = scale**2 * (w @ w.T)
        root = np.sqrt(1 + 2 * np.diag(gram))
        U += np.arcsin(2 * gram / np.outer(root, root)) / np.pi * np.outer(a, a)
    np.testing.assert_allclose(land.U(theta, theta), U, atol=1e-12)
    np.testing.assert_allclose(land.psi(theta, theta), U.mean(axis=1) + land.V(theta), atol=1e-12)
    assert land.risk(theta) == pytest.approx(float(1 + 2 * np.mean(land.V(theta)) + U.mean()), abs=1e-9)


@pytest.mark.some(1)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_thousands_of_nodes_of_few_kept_coordinates(k):
    """⟨u, z⟩ + r G, smoothed, and a mean over nodes: E f h_1(z_1) and V of a = 1, erf, against plain nodes."""
    target = "+".join(f"z{i + 1}" for i in range(k)) if k > 1 else "z"
    counts = {1: 2000, 2: 50, 3: 16}[k]
    data = wl.data.multi_index(np.inf, k, f"sin({target})", nodes=counts) if k > 1 else wl.data.single_index(
        np.inf, "sin(z)", nodes=counts
    )  # fmt: skip
    land = wl.landscape(wl.Problem(data, wl.neurons.ridge("erf"), wl.initial.gaussian(1.0)), reduced=True)
    theta = RNG.normal(size=(200, k + 1))
    theta[:, -1] = np.abs(theta[:, -1])
    z, p, y = (np.asarray(part) for part in data.quadrature)
    means = 2 * norm.cdf(np.sqrt(2) * (theta[:, :k] @ z.T) / np.sqrt(1 + 2 * theta[:, -1:] ** 2)) - 1
    same = land.on_nodes(np.arange(len(land.inputs)))  # which is half of them: erf is odd
    np.testing.assert_allclose(same.V(theta), -means @ (p * y), atol=1e-12)
    np.testing.assert_allclose(same.U(theta, theta), (means * p) @ means.T, atol=1e-12)
