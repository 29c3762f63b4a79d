"""Nodes of the kept coordinates: what they integrate, and how well."""

import itertools
import math

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats

from widelimit.problem.data.kept_rule import counts_of, kept_rule
from widelimit.problem.data.nodes import corners, normal_half, sphere_half, symmetric_rule, tensor
from widelimit.problem.data.target import evaluate, parsed

POINTS = 24


def nodes_of(k, d=math.inf, target=None):
    """The rule of the first k coordinates, for a target that needs no more than the least."""
    target = parsed(target or " + ".join(f"z{i}" for i in range(1, k + 1)))
    return kept_rule(target, d, counts_of(target, k, d, None))


def normal_moment(j):
    """E |G|^j = 2^{j/2} Γ((j+1)/2)/√π."""
    return float(mpmath.mpf(2) ** (mpmath.mpf(j) / 2) * mpmath.gamma(mpmath.mpf(j + 1) / 2) / mpmath.sqrt(mpmath.pi))


def sphere_moment(j, p):
    """E |T|^j = B((j+1)/2, (p−1)/2)/B(1/2, (p−1)/2), T a coordinate of the unit sphere in R^p."""
    with mpmath.workdps(40):
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


@pytest.mark.parametrize("p", [2, 3, 5, 6, 20, 200, 10**8, 10**12])
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
    z, w = nodes_of(k)
    assert z.shape == (len(w), k) and abs(w.sum() - 1) <= 1e-13
    for powers in itertools.product((0, 1, 2, 4), repeat=k):
        exact = math.prod(0.0 if j % 2 else normal_moment(j) for j in powers)
        assert w @ np.prod(z ** np.array(powers), axis=1) == pytest.approx(exact, rel=1e-11, abs=1e-12)


def test_a_tensor_keeps_the_order_of_its_axes():
    z, w = tensor([(np.array([1.0, 2.0]), np.array([0.25, 0.75])), (np.array([5.0]), np.array([1.0]))])
    np.testing.assert_array_equal(z, [[1, 5], [2, 5]])
    np.testing.assert_array_equal(w, [0.25, 0.75])


@pytest.mark.parametrize("k", [4, 6])
def test_scrambled_sobol_points_reach_a_hundredth_in_low_moments(k):
    """8192 random points would have 1.1 % in a mean; here the error of smooth functions is about 1/points."""
    z, w = nodes_of(k)
    assert z.shape == (8192, k) and w.sum() == pytest.approx(1)
    assert np.abs(w @ z).max() <= 4e-3
    assert np.abs(w @ z**2 - 1).max() <= 1e-2
    assert np.abs((w * z.T) @ z - np.eye(k)).max() <= 2e-2


@pytest.mark.parametrize("k", [4, 6])
def test_the_spread_of_independent_sets_is_the_error_of_their_mean(k):
    """E z_1² z_2² … = 1; the mean of 16 sets lies within 4 of its standard errors."""
    z, w = nodes_of(k)
    means = 16 * (w * np.prod(z**2, axis=1)).reshape(16, -1).sum(axis=1)
    assert abs(means.mean() - 1) <= 4 * means.std(ddof=1) / 4
    assert len(np.unique(means)) == 16


@pytest.mark.parametrize("k, d", [(1, 3), (1, 20), (2, 6), (2, 20), (3, 7), (3, 40)])
def test_moments_of_the_first_coordinates_of_the_sphere(k, d):
    z, w = nodes_of(k, d)
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
    z, w = nodes_of(k, d)
    assert z.shape == (len(w), k) and len(w) == 8192
    assert np.abs(w @ z).max() <= 1e-3 and np.abs(w @ z**2 - 1).max() <= 5e-3
    assert np.abs(w @ z**4 - 3 * d / (d + 2)).max() <= 5e-2
    assert w @ (z[:, 0] ** 2 * z[:, 3] ** 2) == pytest.approx(d / (d + 2), abs=2e-2)


@pytest.mark.parametrize("d", [4, 5])
def test_the_smallest_spheres_too(d):
    """d = k + 2 and an even number of dimensions: the density has a root at its ends."""
    z, w = nodes_of(2, d)
    np.testing.assert_allclose(w @ z**2, 1.0, rtol=1e-10)


JUMPS = {  # E y², from the normal law and symmetry
    "step(z - 1)": (1, 0.15865525393145705),
    "sign(z1 + z2)": (2, 1.0),
    "step(z1 + z2 - 1)": (2, 0.5 * math.erfc(0.5)),
    "step(z1*z2)": (2, 0.5),
    "step(z2 - z1**2)": (2, float(mpmath.quad(lambda x: mpmath.npdf(x) * mpmath.ncdf(-(x**2)), [-8, 0, 8]))),
    "abs(z1 - 0.3)*sign(z2)": (2, 1.09),
    "sign(z1 + z2 + z3)": (3, 1.0),
    "max(z1 + z2, z3)": (3, 1.5),
    "step(z1 - 0.5)*z2*z3": (3, 0.3085375387259869),
    "He8(z1)*z2*z3": (3, 40320.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", JUMPS)
def test_a_rule_is_cut_where_the_target_jumps_or_bends(target):
    k, exact = JUMPS[target]
    z, w = nodes_of(k, target=target)
    assert w.sum() == pytest.approx(1, abs=1e-13) and np.all(w >= 0)
    assert w @ np.asarray(evaluate(parsed(target), z)) ** 2 == pytest.approx(exact, rel=1e-9)


def test_a_function_of_one_coordinate_is_cut_too():
    target = parsed(lambda z: jnp.where(z > 0.7, jnp.cos(z), 0.1))
    z, w = kept_rule(target, math.inf, counts_of(target, 1, math.inf, None))
    exact = mpmath.quad(lambda x: mpmath.cos(x) * mpmath.npdf(x), [0.7, 3, 9]) + 0.1 * mpmath.ncdf(0.7)
    assert w @ np.asarray(evaluate(target, z)) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.more
def test_jumps_on_the_sphere():
    """P(z > 1) of the first coordinate, and P(z_1 − z_2 > −0.3) = P(√2 T' > −0.3) by its rotation."""
    tail = stats.beta((20 - 1) / 2, 1 / 2)
    z, w = nodes_of(1, 20, "step(z - 1)")
    assert w @ (z[:, 0] > 1) == pytest.approx(tail.cdf(1 - 1 / 20) / 2, abs=1e-12)
    z, w = nodes_of(2, 20, "step(z1 - z2 + 0.3)")
    assert w @ (z[:, 0] - z[:, 1] > -0.3) == pytest.approx(1 - tail.cdf(1 - 0.09 / 40) / 2, abs=1e-9)


def test_a_steep_target_has_points_on_its_own_axis_alone():
    """E tanh²(5 z) by mpmath; the other two axes keep the points they start with."""
    target = parsed("tanh(5*z1)*z2*z3")
    counts = counts_of(target, 3, math.inf, None)
    assert counts[0] > 12 and counts[1:] == (12, 12)
    z, w = kept_rule(target, math.inf, counts)
    exact = mpmath.quad(lambda x: mpmath.tanh(5 * x) ** 2 * mpmath.npdf(x), [-9, -1, 0, 1, 9])
    assert w @ np.asarray(evaluate(target, z)) ** 2 == pytest.approx(float(exact), rel=1e-4)


@pytest.mark.parametrize("nodes", [16, 64, 66, 96, 126, 128, 130, 200])
def test_any_even_number_of_nodes_is_a_rule(nodes):
    """E (|z| − z)² = 2, exact from eight points on each side of the kink."""
    target = parsed("abs(z) - z")
    z, w = kept_rule(target, math.inf, counts_of(target, 1, math.inf, nodes))
    assert w.sum() == pytest.approx(1, abs=1e-14)
    assert w @ np.asarray(evaluate(target, z)) ** 2 == pytest.approx(2, abs=1e-13)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_corners_are_all_of_them_once(k):
    z, w = corners(k)
    assert len({tuple(row) for row in z}) == 2**k == len(z) and set(np.unique(z)) == {-1.0, 1.0}
    np.testing.assert_array_equal(w, 2.0**-k)
    for one, other in itertools.combinations(itertools.product((0, 1), repeat=k), 2):  # characters are orthonormal
        assert w @ (np.prod(z**one, axis=1) * np.prod(z**other, axis=1)) == 0


@pytest.mark.parametrize(
    "height, place, width", [(10, 0.1, 5e-3), (10, 0.1, 2e-3), (1, 0.1, 2e-2), (100, 1.37, 1e-4), (100, 0.7, 1e-3)]
)
def test_a_narrow_bump_is_seen_wherever_it_is(height, place, width):
    """y = h exp(−((z − c)/w)²): E y^n = h^n √(2π v) N(c; 0, 1 + v), v = w²/2n."""
    target = parsed(f"{height}*exp(-((z-{place})/{width})**2)")
    z, p = kept_rule(target, math.inf, counts_of(target, 1, math.inf, None))
    for n, v in ((1, width**2 / 2), (2, width**2 / 4)):
        exact = height**n * math.sqrt(2 * math.pi * v) * stats.norm.pdf(place, 0, math.sqrt(1 + v))
        assert p @ np.asarray(evaluate(target, z)) ** n == pytest.approx(exact, rel=1e-10)


def test_a_window_narrower_than_the_grid_of_kinks_is_seen():
    target = parsed("30*step(0.001 - abs(z - 0.7))")
    z, p = kept_rule(target, math.inf, counts_of(target, 1, math.inf, None))
    exact = 900 * (stats.norm.cdf(0.701) - stats.norm.cdf(0.699))
    assert p @ np.asarray(evaluate(target, z)) ** 2 == pytest.approx(exact, rel=1e-9)


def test_a_small_disc_takes_as_many_points_as_there_are():
    """E y² is 0 on any rule that does not meet the disc, whatever its size: random points do."""
    assert counts_of(parsed("step(0.0025 - (z1 - 0.3)**2 - (z2 - 0.2)**2)"), 2, math.inf, None)[0] == 256
