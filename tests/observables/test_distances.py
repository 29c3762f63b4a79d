"""W_p is the metric of optimal transport, exactly; neurons that belong together are compared pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import widelimit as wl
from widelimit.observables import distances, pair_distance, wasserstein

ROOT_OF_ROUNDING = 1e-6  # W_2 is the root of a sum that is known to rounding


def cloud_of(theta, weights=None, names=None):
    theta = np.asarray(theta, float)
    theta = theta[:, None] if theta.ndim == 1 else theta
    weights = np.full(len(theta), 1 / len(theta)) if weights is None else np.asarray(weights, float)
    return wl.Cloud(theta, weights, names or ("r", "a", "b")[: theta.shape[1]])


def quantiles(n, mean=0.0, std=1.0):
    return mean + std * norm.ppf((np.arange(n) + 0.5) / n)


@pytest.mark.parametrize(("mean", "std"), [(1.3, 1.0), (0.0, 2.5), (-0.7, 0.4)])
def test_shifted_and_scaled_gaussians_have_the_distance_of_bures(mean, std):
    """W_2² = (m − m')² + (s − s')²; mid-quantiles leave out the variance inside their cells, about log(n)/n."""
    found = wasserstein(cloud_of(quantiles(3000)), cloud_of(quantiles(2000, mean, std)))
    assert found == pytest.approx(np.hypot(mean, std - 1), rel=5e-3)
    same = quantiles(2000)
    exact = np.sqrt(np.mean((mean + (std - 1) * same) ** 2))
    assert wasserstein(cloud_of(same), cloud_of(mean + std * same)) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_a_shift_costs_its_length(dimension, p):
    rng = np.random.default_rng(0)
    theta, shift = rng.normal(size=(40, dimension)), rng.normal(size=dimension)
    weights = rng.dirichlet(np.ones(40))
    found = wasserstein(cloud_of(theta, weights), cloud_of(theta + shift, weights), p)
    assert found == pytest.approx(np.linalg.norm(shift), rel=1e-12)


def test_a_dilation_moves_every_point_along_its_own_ray():
    theta = np.random.default_rng(1).normal(size=(60, 2))
    exact = 0.7 * np.sqrt(np.mean(np.sum(theta**2, axis=1)))
    assert wasserstein(cloud_of(theta), cloud_of(1.7 * theta)) == pytest.approx(exact, rel=1e-12)
    assert wasserstein(cloud_of(1e-9 * theta), cloud_of(1.7e-9 * theta)) == pytest.approx(1e-9 * exact, rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_cloud_in_single_precision_is_as_far_as_the_one_it_was_rounded_from(dimension):
    """Its weights miss 1 by the rounding of their sum, and each of them by its own: W_1 by that times the size."""
    rng = np.random.default_rng(3)
    theta, other, weights = (
        rng.normal(size=(60, dimension)),
        rng.normal(size=(20, dimension)),
        rng.dirichlet(np.ones(60)),
    )
    single = wl.Cloud(theta.astype(np.float32), weights.astype(np.float32), ("r", "a")[:dimension])
    assert abs(np.asarray(single.weights, float).sum() - 1) > 1e-9
    exact = wasserstein(cloud_of(theta, weights), cloud_of(other), p=1)
    rounding = np.finfo(np.float32).eps * np.abs(np.concatenate([theta, other])).max() * 4
    assert wasserstein(single, cloud_of(other), p=1) == pytest.approx(exact, abs=rounding)


@pytest.mark.parametrize("dimension, n", [(1, 30), (1, 3000), (2, 30)])
def test_a_weight_is_a_repetition(dimension, n):
    """The levels k/n of the two are summed differently, and the root of their rounding must not show."""
    rng = np.random.default_rng(2)
    theta, other, times = rng.normal(size=(n, dimension)), rng.normal(size=(20, dimension)), rng.integers(1, 9, n)
    weighted, repeated = cloud_of(theta, times / times.sum()), cloud_of(np.repeat(theta, times, axis=0))
    assert wasserstein(weighted, repeated) < 1e-12
    assert wasserstein(weighted, cloud_of(other)) == pytest.approx(wasserstein(repeated, cloud_of(other)), rel=1e-12)


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
def test_on_the_line_the_quantiles_and_the_simplex_agree(p):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=50), rng.gamma(2.0, size=70)
    weights, others = rng.dirichlet(np.full(50, 0.1)), rng.dirichlet(np.full(70, 0.1))  # some weights are tiny
    line = wasserstein(cloud_of(x, weights), cloud_of(y, others), p)
    plane = [cloud_of(np.stack([v, 0 * v], axis=1), w) for v, w in ((x, weights), (y, others))]
    assert wasserstein(*plane, p) == pytest.approx(line, rel=1e-10)


def test_rows_in_another_order_are_the_same_measure():
    rng = np.random.default_rng(4)
    values = np.round(rng.normal(size=5000), 1)
    weights = rng.dirichlet(np.ones(5000))
    order = rng.permutation(5000)
    assert wasserstein(cloud_of(values, weights), cloud_of(values[order], weights[order])) < 1e-12


COORDINATE = st.integers(-16, 16).map(lambda k: k / 8)


@st.composite
def clouds(draw, dimension):
    n = draw(st.integers(1, 6))
    theta = draw(st.lists(st.tuples(*[COORDINATE] * dimension), min_size=n, max_size=n))
    times = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
    return cloud_of(np.array(theta), np.array(times) / sum(times))


@pytest.mark.parametrize("dimension", [1, 2])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), p=st.sampled_from([1, 2, 3]))
def test_a_distance_is_a_metric(dimension, data, p):
    one, two, three = (data.draw(clouds(dimension)) for _ in range(3))
    assert wasserstein(one, one, p) == 0
    there = wasserstein(one, two, p)
    assert there == pytest.approx(wasserstein(two, one, p), rel=1e-9, abs=ROOT_OF_ROUNDING)
    assert there <= wasserstein(one, three, p) + wasserstein(three, two, p) + 1e-4  # a cube root of rounding
    assert there >= wasserstein(one, two, 1) - ROOT_OF_ROUNDING
    means = [c.mean(c.theta) for c in (one, two)]
    assert there >= np.linalg.norm(means[0] - means[1]) - ROOT_OF_ROUNDING


def test_a_subset_of_the_coordinates_is_compared_alone():
    theta = np.random.default_rng(5).normal(size=(20, 2))
    one, two = cloud_of(theta), cloud_of(theta + np.array([3.0, 4.0]))
    assert wasserstein(one, two, coordinates="r") == pytest.approx(3.0)
    assert wasserstein(one, two, coordinates=["a"]) == pytest.approx(4.0)
    assert wasserstein(one, two, coordinates=("a", "r")) == pytest.approx(5.0)
    assert pair_distance(one, two, coordinates="a") == pytest.approx(4.0)


def test_pair_distance_follows_the_rows_and_wasserstein_does_not():
    theta = np.array([[0.0, 0.0], [3.0, 4.0]])
    one, swapped = cloud_of(theta), cloud_of(theta[::-1])
    assert wasserstein(one, swapped) == 0
    assert pair_distance(one, swapped) == pair_distance(one, swapped, "mean") == 5.0
    weights = [0.25, 0.75]
    moved = cloud_of(theta + np.array([[0.0, 0.0], [0.0, 2.0]]), weights)
    assert pair_distance(cloud_of(theta, weights), moved, "max") == 2.0
    assert pair_distance(cloud_of(theta, weights), moved, "mean") == 1.5


def test_a_plan_that_is_not_found_is_said_with_advice(monkeypatch, recwarn):
    monkeypatch.setattr(distances, "PIVOTS", 1)
    theta = np.random.default_rng(6).normal(size=(30, 2))
    with pytest.raises(wl.InputError, match=r"not found in 1e\+00 pivots.*thin the clouds"):
        wasserstein(cloud_of(theta), cloud_of(theta[::-1] ** 2))
    assert not recwarn.list


POINT, PLANE = cloud_of([1.0, 2.0]), cloud_of([[1.0, 2.0]])
LARGE = cloud_of(np.zeros((6400, 2)))
REFUSED = {
    "p below 1": (lambda: wasserstein(POINT, POINT, 0.5), "number of at least 1"),
    "infinite p": (lambda: wasserstein(POINT, POINT, np.inf), "number of at least 1"),
    "other coordinates": (lambda: wasserstein(POINT, PLANE), "coordinates r, got 'r, a'"),
    "unknown coordinate": (lambda: wasserstein(POINT, PLANE, coordinates="b"), "unknown coordinate 'b'"),
    "repeated coordinate": (lambda: wasserstein(PLANE, PLANE, coordinates=("r", "r")), "named once"),
    "no coordinate": (lambda: wasserstein(PLANE, PLANE, coordinates=()), "at least one coordinate"),
    "an array": (lambda: wasserstein(np.zeros(3), POINT), "wl.Cloud or a wl.Density"),
    "nan": (lambda: wasserstein(POINT, cloud_of([1.0, np.nan])), "finite points"),
    "no points": (lambda: wasserstein(POINT, wl.Cloud(np.empty((0, 1)), np.empty(0), ("r",))), "sum to 1"),
    "half the mass": (lambda: wasserstein(POINT, cloud_of([1.0], [0.5])), "sum to 1, got 'a sum of 0.5'"),
    "negative mass": (lambda: wasserstein(POINT, cloud_of([1.0, 2.0], [1.5, -0.5])), ">= 0"),
    "too many pairs": (lambda: wasserstein(LARGE, LARGE), "n·m <= 4e\\+07"),
    "pairs of two sizes": (lambda: pair_distance(POINT, cloud_of([1.0])), "equally many"),
    "pairs of other weights": (lambda: pair_distance(POINT, cloud_of([1.0, 2.0], [0.3, 0.7])), "same weights"),
    "unknown norm": (lambda: pair_distance(POINT, POINT, "maxi"), "did you mean 'max'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(wl.InputError, match=sentence) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 300
