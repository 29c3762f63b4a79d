"""Two centred Gaussian classes: what is sampled is what the groups say."""

import math

import jax
import numpy as np
import pytest

from widelimit.errors import InputError
from widelimit.problem.data import gaussian_classes

SAMPLES = 100_000


@pytest.mark.parametrize("d, informative", [(4, None), (5, 2), (4, 4)])
def test_each_class_has_the_covariance_its_groups_state(d, informative):
    law = gaussian_classes(d, 0.6, informative)
    x, y = (np.asarray(v) for v in law.sample(jax.random.key(0), SAMPLES, float))
    assert x.shape == (SAMPLES, d) and set(np.unique(y)) == {-1.0, 1.0}
    assert abs(np.mean(y)) <= 5 / math.sqrt(SAMPLES)
    for c, label in enumerate(law.classes):
        own = x[y == label]
        tau = np.concatenate([np.full(int(g.d), g.tau[c]) for g in law.groups])
        informative_tau = 1 + 0.6 * label
        assert list(tau) == pytest.approx([informative_tau] * (informative or d) + [1.0] * (d - (informative or d)))
        error = np.outer(tau, tau) * np.sqrt((1 + np.eye(d)) / len(own))  # of a covariance, of a variance
        assert np.all(np.abs(own.T @ own / len(own) - np.diag(tau**2)) <= 5 * error)
        assert np.all(np.abs(own.mean(axis=0)) <= 5 * tau / math.sqrt(len(own)))


def test_the_fourth_moment_is_that_of_a_normal_law():
    x, y = gaussian_classes(1, 0.5).sample(jax.random.key(3), SAMPLES, float)
    z = np.asarray(x)[:, 0] / np.where(np.asarray(y) > 0, 1.5, 0.5)
    assert abs(np.mean(z**4) - 3) <= 5 * math.sqrt(96 / SAMPLES)


def test_keys_decide_samples_and_the_dtype_is_obeyed():
    law = gaussian_classes(3, 0.5, 1)
    one, again, other = (law.sample(jax.random.key(k), 50, np.float32) for k in (1, 1, 2))
    assert one[0].dtype == one[1].dtype == np.float32
    np.testing.assert_array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize("d, informative, dimensions, shares", [
    (40, None, [40], [1.0]),
    (40, 40, [40], [1.0]),
    (320, 60, [60, 260], [60 / 320, 260 / 320]),
    (math.inf, None, [math.inf], [1.0]),
    (math.inf, 0.2, [math.inf, math.inf], [0.2, 0.8]),
])  # fmt: skip
def test_groups_split_the_directions(d, informative, dimensions, shares):
    groups = gaussian_classes(d, 0.25, informative).groups
    assert [g.d for g in groups] == dimensions
    assert [g.share for g in groups] == pytest.approx(shares, rel=1e-15)
    assert groups[0].tau == (1.25, 0.75) and all(g.tau == (1.0, 1.0) for g in groups[1:])


def test_labels_and_probabilities_are_those_of_a_fair_coin():
    law = gaussian_classes(3, 0.5)
    assert dict(zip(law.classes, law.probabilities, strict=True)) == {1.0: 0.5, -1.0: 0.5}


def test_infinite_dimension_has_no_samples_and_says_so():
    with pytest.raises(InputError, match="finite dimension"):
        gaussian_classes(math.inf, 0.5).sample(jax.random.key(0), 3, float)


def test_single_precision_samples_are_standard_normal_and_uncorrelated():
    import jax
    from scipy import stats

    from widelimit.problem.data.data_law import normals

    z = np.asarray(normals(jax.random.key(3), (501, 401), "float32"), float).ravel()
    root = np.sqrt(len(z))
    assert abs(z.mean()) < 4 / root and abs(z.var() - 1) < 4 * np.sqrt(2) / root
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 4 / root
    assert stats.kstest(z, "norm").pvalue > 1e-4
