"""The risk of kernel regression beforehand: its spectrum, its limits, and the staircase as measured."""

import math

import numpy as np
import pytest
from scipy.special import eval_gegenbauer

import widelimit as wl
from widelimit.theory.lazy.kernel_learning_curve import spectrum

i = wl.initial
POWERS = [0.0, 1.0, 1.0, 1.0]  # as much of degree 1 as of 2 and of 3


def lazy(d, activation="exp(x)", data=None, **more):
    """σ = exp, h ~ N(0, 1/2): K = √e (1 + d c) e^{c/2}, whose degrees fall off fast, so that all are learned."""
    bias = "trained" if activation == "relu" else "absent"
    start = i.gaussian(math.sqrt(0.5), a=i.normal(), b=i.normal() if bias == "trained" else None)
    data = data or wl.data.sphere(d, "z1")
    return wl.Problem(data, wl.neurons.ridge(activation, "trained", bias), start, **more)


def rows(d, count, rng):
    """Inputs on the sphere |x|² = d, and parts of degrees 1, 2, 3, each of norm 1: products of coordinates."""
    x = rng.normal(size=(count, d))
    x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
    pairs, triples = (x[:, : d // k * k].reshape(count, -1, k).prod(axis=2) for k in (2, 3))
    two = pairs.mean(axis=1) * math.sqrt(pairs.shape[1] * (d + 2) / d)
    three = triples.mean(axis=1) * math.sqrt(triples.shape[1] * (d + 2) * (d + 4) / d**2)
    return x, np.stack([x.mean(axis=1) * math.sqrt(d), two, three], axis=1)


def measured(d, n, draws, activation="exp(x)"):
    """Mean risk of kernel regression on n samples over some draws, and its standard error.

    The error is near a combination of the parts; products of two parts, whose means are known, take most of the noise
    of the 4,000 new rows out of its square.
    """
    found = []
    for k in range(draws):
        rng = np.random.default_rng([d, n, k])
        x, parts = rows(d, n, rng)
        z, new = rows(d, 4000, rng)
        problem = lazy(d, activation, wl.data.empirical(x, parts.sum(axis=1)))
        square = (wl.kernel_regression(problem, z) - new.sum(axis=1)) ** 2
        known = [new[:, p] * new[:, q] - (p == q) for p in range(3) for q in range(p, 3)]
        found.append(np.linalg.lstsq(np.stack([np.ones(4000), *known], axis=1), square)[0][0])
    return np.mean(found), np.std(found, ddof=1) / math.sqrt(draws)


@pytest.mark.parametrize("d", [3, 24])
@pytest.mark.parametrize("activation", ["exp(x)", "relu"])
def test_the_spectrum_is_that_of_the_kernel(d, activation):
    """Σ_k λ_k B_k P_k(c) is K at other points than the nodes; B_k counts polynomials."""
    problem = lazy(d, activation)
    of = spectrum(problem, 1e6)
    count = [math.comb(k + d - 1, k) - (math.comb(k + d - 3, k - 2) if k > 1 else 0) for k in range(6)]
    np.testing.assert_allclose(of.multiplicities[:6], count, rtol=1e-14)
    c, a = np.linspace(-0.5, 0.5, 7), (d - 2) / 2
    x2 = math.sqrt(d) * np.stack([c, np.sqrt(1 - c**2), *np.zeros((d - 2, 7))], axis=1)
    k = np.arange(len(of.eigenvalues))[:, None]
    series = (of.eigenvalues * of.multiplicities) @ (eval_gegenbauer(k, a, c) / eval_gegenbauer(k, a, 1.0))
    exact = wl.ntk(problem, math.sqrt(d) * np.eye(d)[:1], x2).matrix[0]
    np.testing.assert_allclose(series, exact, atol=d * (1e-4 if activation == "relu" else 1e-9))  # relu: degrees beyond


def test_a_high_dimension_has_plateaus():
    """B_ℓ ≪ n ≪ B_{ℓ+1}: ‖P_{>ℓ} f*‖², over a decade, up to shares of the order n/B_{ℓ+1} and B_ℓ/n."""
    d = 10_000
    B = [d**k / math.factorial(k) for k in range(5)]
    for level in (1, 2, 3):
        sizes = math.sqrt(B[level] * B[level + 1]) * np.array([0.3, 1.0, 3.0])
        np.testing.assert_allclose(wl.kernel_learning_curve(lazy(d), POWERS, sizes), 3.0 - level, atol=0.12)


def test_what_is_not_learned_and_what_is():
    risk = wl.kernel_learning_curve(lazy(24), POWERS, [1e7], ridge=1e9)[0]
    assert risk == pytest.approx(3.0, rel=1e-4)  # a ridge that lets nothing through
    line = wl.Problem(wl.data.sphere(24, "z1"), wl.neurons.ridge("x"), i.gaussian(1.0))  # K = ⟨x, x'⟩: 24 functions
    np.testing.assert_allclose(wl.kernel_learning_curve(line, POWERS, [24, 48]), [math.inf, 4.0])  # 2/(1 − 24/48)
    np.testing.assert_allclose(wl.kernel_learning_curve(line, POWERS[:2], [12, 48]), [0.5, 0.0], atol=1e-12)
    x, parts = rows(24, 6, np.random.default_rng(0))
    given = wl.Problem(wl.data.empirical(x, parts[:, 0]), lazy(24).neuron, i.array(np.ones((2, 25))))
    with pytest.raises(wl.InputError, match="start that is gaussian or sphere, got array"):
        wl.kernel_learning_curve(given, POWERS, [100])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_regression_by_a_factor_is_that_by_eigenvectors(ridge):
    x, parts = rows(5, 40, np.random.default_rng(1))
    y = parts.sum(axis=1)
    problem = lazy(5, data=wl.data.empirical(x, y))
    z = rows(5, 7, np.random.default_rng(2))[0]
    rank = wl.Problem(problem.data, wl.neurons.ridge("x"), i.gaussian(1.0))  # singular: no factor, least squares
    for one in (problem, rank):
        k = wl.ntk(one, x).matrix
        exact = wl.ntk(one, z, x).matrix @ np.linalg.pinv(k + 40 * ridge * np.eye(40), rcond=1e-14) @ y
        np.testing.assert_allclose(wl.kernel_regression(one, z, ridge), exact, atol=1e-6)


SIZES = [(40, 40), (100, 24), (230, 12), (500, 8), (1000, 4), (2000, 3), (4000, 2), (6500, 2)]


@pytest.mark.slow
def test_the_staircase_is_the_predicted_one():
    """B_1, B_2, B_3 = 24, 299, 2576. They are a factor of ten apart and each step takes as long, so that none is
    flat. The width of h is where the prediction is within 10 % of the first plateau over a factor of two in n, with
    the third reached with 6,500 samples. The sizes 230 and 1000 are where 2 and 1 are predicted."""
    sizes = np.array([n for n, _ in SIZES])
    predicted = wl.kernel_learning_curve(lazy(24), POWERS, sizes)
    found, error = np.array([measured(24, n, draws) for n, draws in SIZES]).T
    assert (np.abs(found / predicted - 1) < 0.03 + 3 * error / predicted).all() and (error < 0.05 * predicted).all()
    at = dict(zip(sizes.tolist(), found, strict=True))
    assert at[230] == pytest.approx(2.0, rel=0.1) and at[1000] == pytest.approx(1.0, rel=0.1) and at[6500] < 0.03


@pytest.mark.slow
def test_a_kernel_with_a_long_tail_is_predicted_too():
    """ReLU with bias: what is beyond the degrees that are seen acts as a ridge, and the third plateau is far away."""
    for n, draws in ((100, 24), (830, 6), (4000, 2)):
        found, error = measured(24, n, draws, "relu")
        assert found == pytest.approx(
            float(wl.kernel_learning_curve(lazy(24, "relu"), POWERS, [n])[0]), rel=0.03, abs=3 * error
        )


@pytest.mark.slow
def test_the_first_plateau_is_flat_where_the_dimension_is_large():
    """d = 200: the risk stays within 6 % of ‖P_{>1} f*‖² = 2 from 3,000 to 6,000 samples."""
    for n in (3000, 6000):
        found, _ = measured(200, n, 2)
        assert found == pytest.approx(float(wl.kernel_learning_curve(lazy(200), POWERS, [n])[0]), rel=0.03)
        assert found == pytest.approx(2.0, rel=0.06)
