"""Nodes of the kept coordinates: what they integrate, and how well."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from widelimit.problem.data.nodes import corners, normal_half, normal_nodes, sphere_half, symmetric_rule, tensor
from widelimit.problem.data.sphere import sphere_nodes

POINTS = 24


def normal_moment(j):
    """E |G|^j = 2^{j/2} Γ((j+1)/2)/√π."""
    return float(mpmath.mpf(2) ** (mpmath.mpf(j) / 2) * mpmath.gamma(mpmath.mpf(j + 1) / 2) / mpmath.sqrt(mpmath.pi))


def sphere_moment(j, p):
    """E |T|^j = B((j+1)/2, (p−1)/2)/B(1/2, (p−1)/2), T a coordinate of the unit sphere in R^p."""
    half = mpmath.mpf(p - 1) / 2
    return float(mpmath.beta(mpmath.mpf(j + 1) / 2, half) / mpmath.beta(mpmath.mpf(1) / 2, half))


@pytest.mark.parametrize("j", range(POINTS))
def test_powers_of_a_normal_number_and_of_its_modulus_are_exact(j):
    z, w = symmetric_rule(POINTS, normal_half)
    size = normal_moment(j)
    assert len(z) == POINTS and np.all(w > 0) and abs(w.sum() - 1) <= 1e-14
    assert w @ np.abs(z) ** j == pytest.approx(size, rel=1e-11)
    assert abs(w @ (np.sign(z) * np.abs(z) ** j)) <= 1e-13 * size
    assert w @ z**j == pytest.approx(size if j % 2 == 0 else 0.0, rel=1e-11, abs=1e-13 * size)


@pytest.mark.parametrize("p", [3, 5, 6, 20, 200])
def test_powers_of_a_coordinate_of_the_sphere_are_exact(p):
    t, w = symmetric_rule(POINTS, sphere_half, p)
    for j in range(POINTS):
        assert w @ np.abs(t) ** j == pytest.approx(sphere_moment(j, p), rel=1e-11)


@pytest.mark.parametrize("points", [2, 16, 64, 128])
def test_a_rule_with_many_points_is_still_exact_and_positive(points):
    z, w = symmetric_rule(points, normal_half)
    assert np.all(w > 0) and np.all(np.diff(z) > 0)
    for j in range(min(points, 30)):
        assert w @ np.abs(z) ** j == pytest.approx(normal_moment(j), rel=1e-10)


def test_a_kink_and_a_jump_at_zero_do_not_hurt():
    """E sign(G) sin(G) and E |sin G| restricted to analytic halves: E sign(G) tanh(G) by mpmath."""
    z, w = symmetric_rule(128, normal_half)
    exact = 2 * mpmath.quad(lambda x: mpmath.tanh(x) * mpmath.npdf(x), [0, 1, 3, 8, 14])
    assert w @ (np.sign(z) * np.tanh(z)) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_tensor_of_rules_integrates_products(k):
    z, w = normal_nodes(k)
    assert z.shape == (len(w), k) and abs(w.sum() - 1) <= 1e-13
    for powers in itertools.product((0, 1, 2, 4), repeat=k):
        exact = math.prod(0.0 if j % 2 else normal_moment(j) for j in powers)
        assert w @ np.prod(z ** np.array(powers), axis=1) == pytest.approx(exact, rel=1e-11, abs=1e-12)


def test_a_tensor_keeps_the_order_of_its_axes():
    z, w = tensor([(np.array([1.0, 2.0]), np.array([0.25, 0.75])), (np.array([5.0]), np.array([1.0]))])
    np.testing.assert_array_equal(z, [[1, 5], [2, 5]])
    np.testing.assert_array_equal(w, [0.25, 0.75])


@pytest.mark.parametrize("k", [4, 6])
def test_scrambled_sobol_points_reach_a_thousandth_in_low_moments(k):
    """4096 random points would have 1.6 % in a mean; here the error of smooth functions is about 1/points."""
    z, w = normal_nodes(k)
    assert z.shape == (4096, k) and np.all(w == 1 / 4096)
    assert np.abs(z.mean(axis=0)).max() <= 1e-3
    assert np.abs((z**2).mean(axis=0) - 1).max() <= 5e-3
    assert np.abs(z.T @ z / 4096 - np.eye(k)).max() <= 2e-2
    assert len(normal_nodes(k, 1000)[1]) == 1024  # the next power of two


@pytest.mark.parametrize("k, d", [(1, 3), (1, 20), (2, 6), (2, 20), (3, 7), (3, 40)])
def test_moments_of_the_first_coordinates_of_the_sphere(k, d):
    z, w = sphere_nodes(k, d, None)
    assert abs(w.sum() - 1) <= 1e-13 and np.all((z**2).sum(axis=1) < d)
    for j in range(k):
        assert w @ z[:, j] == pytest.approx(0, abs=1e-13)
        assert w @ z[:, j] ** 2 == pytest.approx(1, rel=1e-11)
        assert w @ z[:, j] ** 4 == pytest.approx(3 * d / (d + 2), rel=1e-11)
        for i in range(j):
            assert w @ (z[:, i] ** 2 * z[:, j] ** 2) == pytest.approx(d / (d + 2), rel=1e-11)
            assert w @ (z[:, i] * z[:, j]) == pytest.approx(0, abs=1e-13)


def test_coordinates_of_the_sphere_from_sobol_points():
    k, d = 4, 12
    z, w = sphere_nodes(k, d, None)
    assert z.shape == (len(w), k) and len(w) == 4096
    assert np.abs(w @ z).max() <= 1e-3 and np.abs(w @ z**2 - 1).max() <= 5e-3
    assert np.abs(w @ z**4 - 3 * d / (d + 2)).max() <= 5e-2
    assert w @ (z[:, 0] ** 2 * z[:, 3] ** 2) == pytest.approx(d / (d + 2), abs=2e-2)


@pytest.mark.parametrize("d", [4, 5])
def test_the_smallest_spheres_too(d):
    """d = k + 2 and an even number of dimensions: the density has a root at its ends."""
    z, w = sphere_nodes(2, d, None)
    np.testing.assert_allclose(w @ z**2, 1.0, rtol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_corners_are_all_of_them_once(k):
    z, w = corners(k)
    assert len({tuple(row) for row in z}) == 2**k == len(z) and set(np.unique(z)) == {-1.0, 1.0}
    np.testing.assert_array_equal(w, 2.0**-k)
    for one, other in itertools.combinations(itertools.product((0, 1), repeat=k), 2):  # characters are orthonormal
        assert w @ (np.prod(z**one, axis=1) * np.prod(z**other, axis=1)) == 0
