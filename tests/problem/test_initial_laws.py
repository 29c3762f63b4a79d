"""Initial laws: the reduced factors are the full law seen through its radii.

Integrals against a factor use Gauss–Hermite nodes in its normal score, exactly as a solver would.
"""

import math

import jax
import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.problem import initial
from widelimit.problem.data import gaussian_classes
from widelimit.solving.placement import initial_points

SAMPLES = 100_000
SCORES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def integral(factor, function):
    """∫ function d(factor), for a function of the columns."""
    if factor.atoms is not None:
        return sum(p * np.asarray(function(np.array(row))) for row, p in factor.atoms)
    return WEIGHTS @ np.stack([function(row) for row in factor.curve(SCORES[:, None])])


def radii(law, data, n=SAMPLES):
    """Sampled radii, (n, groups)."""
    w = np.asarray(law.inner(jax.random.key(0), n, int(data.d)))
    cuts = np.cumsum([int(g.d) for g in data.groups])[:-1]
    return np.stack([np.linalg.norm(x, axis=1) for x in np.split(w, cuts, axis=1)], axis=1)


DATA = [gaussian_classes(7, 0.5), gaussian_classes(10, 0.5, 3)]
LAWS = [initial.gaussian(0.8), initial.sphere(1.3)]


@pytest.mark.parametrize("data", DATA, ids=["one group", "two groups"])
@pytest.mark.parametrize("law", LAWS, ids=["gaussian", "sphere"])
def test_reduced_radii_have_the_moments_of_sampled_ones(law, data):
    sampled = radii(law, data)
    factors = law.reduced(data.d, 0, data.groups)
    assert sum(f.columns for f in factors) == len(data.groups)
    for power in (1, 2, 4):
        closed = np.concatenate([np.atleast_1d(integral(f, lambda row, k=power: row**k)) for f in factors])
        error = np.std(sampled**power, axis=0) / math.sqrt(SAMPLES)
        assert np.all(np.abs(closed - np.mean(sampled**power, axis=0)) <= 4 * error + 1e-9)


@pytest.mark.parametrize("law, size", [(LAWS[0], 0.8), (LAWS[1], 1.3)], ids=["gaussian", "sphere"])
def test_the_mean_square_of_each_radius_is_its_share(law, size):
    data = DATA[1]
    factors = law.reduced(data.d, 0, data.groups)
    squares = np.concatenate([np.atleast_1d(integral(f, lambda row: row**2)) for f in factors])
    np.testing.assert_allclose(squares, [size**2 * g.share for g in data.groups], rtol=1e-7)


def test_gaussian_radii_are_independent_and_spherical_ones_tied():
    for law, tied in zip(LAWS, (False, True), strict=True):
        r = radii(law, DATA[1]) ** 2
        correlation = np.corrcoef(r.T)[0, 1]
        assert correlation == pytest.approx(-1, abs=1e-9) if tied else abs(correlation) <= 5 / math.sqrt(SAMPLES)
        assert len(law.reduced(DATA[1].d, 0, DATA[1].groups)) == (1 if tied else 2)


def test_spherical_radii_lie_on_the_sphere_far_into_both_tails():
    (factor,) = LAWS[1].reduced(DATA[1].d, 0, DATA[1].groups)
    rows = factor.curve(np.linspace(-8, 8, 41)[:, None])
    np.testing.assert_allclose(np.sum(rows**2, axis=1), 1.3**2, rtol=1e-13)
    assert np.all(rows > 0) and np.all(np.diff(rows[:, 0]) > 0)


def test_sampled_spherical_weights_have_the_stated_length():
    w = np.asarray(LAWS[1].inner(jax.random.key(1), 500, 6))
    np.testing.assert_allclose(np.linalg.norm(w, axis=1), 1.3, rtol=1e-14)
    assert np.all(np.abs(w.mean(axis=0)) <= 5 * 1.3 / math.sqrt(6 * 500))


@pytest.mark.parametrize("d", [1, 7, 400])
def test_the_curve_of_a_gaussian_radius_is_the_chi_quantile(d):
    (factor,) = initial.gaussian(0.8).reduced(d, 0, gaussian_classes(d, 0.5).groups)
    x = np.linspace(-7, 7, 29)
    r = factor.curve(x[:, None])[:, 0] * math.sqrt(d) / 0.8
    low = x <= 0  # compare probabilities in the tail where they are small
    np.testing.assert_allclose(stats.chi.cdf(r[low], d), stats.norm.cdf(x[low]), rtol=1e-9)
    np.testing.assert_allclose(stats.chi.sf(r[~low], d), stats.norm.sf(x[~low]), rtol=1e-9)


@pytest.mark.parametrize("law, size", [(LAWS[0], 0.8), (LAWS[1], 1.3)], ids=["gaussian", "sphere"])
def test_radii_are_certain_in_infinite_dimension(law, size):
    groups = gaussian_classes(math.inf, 0.5, 0.2).groups
    rows = [row for f in law.reduced(math.inf, 0, groups) for row, p in f.atoms if p == 1.0]
    assert np.concatenate(rows) == pytest.approx([size * math.sqrt(0.2), size * math.sqrt(0.8)], rel=1e-14)


@pytest.mark.parametrize("law, mean, variance, fourth", [
    (initial.constant(1.7), 1.7, 0.0, 1.7**4),
    (initial.signs(2.0), 0.0, 4.0, 16.0),
    (initial.normal(0.5, 2.0), 0.5, 4.0, 0.5**4 + 6 * 0.25 * 4 + 3 * 16),
    (initial.uniform(-1.0, 3.0), 1.0, 16 / 12, (3**5 + 1) / 20),
], ids=["constant", "signs", "normal", "uniform"])  # fmt: skip
def test_scalar_laws_have_their_moments_both_sampled_and_as_factors(law, mean, variance, fourth):
    x = np.asarray(law.sample(jax.random.key(2), SAMPLES))
    for power, exact in ((1, mean), (2, variance + mean**2), (4, fourth)):
        assert integral(law.factor(), lambda row, k=power: row[0] ** k) == pytest.approx(exact, rel=1e-8, abs=1e-12)
        assert abs(np.mean(x**power) - exact) <= 5 * np.std(x**power) / math.sqrt(SAMPLES) + 1e-12


def problem(start, d=5, **roles):
    return wl.Problem(wl.data.gaussian_classes(d, 0.5), wl.neurons.ridge("relu", **roles), start)


def test_sampled_neurons_have_the_columns_they_name():
    case = problem(initial.gaussian(0.5, a=2.0, b=initial.signs(3.0)), outer="trained", bias="fixed")
    theta = np.asarray(case.sample_initial(jax.random.key(0), 4000))
    assert case.coordinates == ("a", "b", "w_1", "w_2", "w_3", "w_4", "w_5") and theta.shape == (4000, case.D)
    assert np.all(theta[:, 0] == 2.0) and set(np.unique(theta[:, 1])) == {-3.0, 3.0}
    variance = 0.25 / 5
    assert np.all(np.abs(theta[:, 2:].var(axis=0) - variance) <= 5 * variance * math.sqrt(2 / 4000))


def test_an_explicit_start_is_copied_and_cannot_change():
    rows = np.ones((3, 5))
    start = initial.array(rows)
    rows[0] = 7.0
    np.testing.assert_array_equal(problem(start).sample_initial(jax.random.key(0), 3), np.ones((3, 5)))
    with pytest.raises(ValueError, match="read-only"):
        start.theta[0] = 1.0


def test_blocks_of_a_custom_neuron_start_from_their_own_laws():
    """θ = (θ_1, θ_2..4, θ_5): ±2, N(0, κ²/3) and a number; drawn, and placed with the moments of the law."""
    start = wl.initial.blocks([1, 3, 1], [wl.initial.signs(2.0), wl.initial.gaussian(1.5), 0.25])
    neuron = wl.neurons.custom(lambda x, theta: theta[0] * (theta[1:4] @ x) + theta[4], 5)
    case = wl.Problem(wl.data.single_index(3, "z"), neuron, start)
    rows = np.asarray(case.sample_initial(jax.random.key(0), 4000))
    assert np.all(np.abs(rows[:, 0]) == 2.0) and np.all(rows[:, 4] == 0.25)
    np.testing.assert_allclose((rows[:, 1:4] ** 2).mean(axis=0), 0.75, atol=5 * 0.75 * np.sqrt(2 / 4000))
    theta, weights = map(np.asarray, initial_points(case, 256, "quantile"))
    np.testing.assert_allclose(weights @ theta**2, [4.0, 0.75, 0.75, 0.75, 0.0625], rtol=0.05)
    assert repr(start) == "blocks(sizes=(1, 3, 1), laws=(signs(size=2.0), gaussian(scale=1.5), constant(value=0.25)))"


def test_blocks_must_be_those_of_the_neuron():
    start = wl.initial.blocks([1, 2], [1.0, wl.initial.normal()])
    for neuron in (wl.neurons.custom(lambda x, theta: theta[0], 4), wl.neurons.ridge("erf")):
        with pytest.raises(wl.InputError, match="as many columns as θ of a custom neuron"):
            wl.Problem(wl.data.single_index(3, "z"), neuron, start)
    with pytest.raises(wl.InputError, match="one for each block"):
        wl.initial.blocks([1, 2], [1.0])
