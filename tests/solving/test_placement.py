"""Points on ρ_0: their moments are those of the law."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.solving.moment_weights import highest_order
from widelimit.solving.placement import initial_points, random_coordinates

KAPPA = 0.7
NORMAL, UNIFORM = wl.initial.normal(0.5, 2.0), wl.initial.uniform(0.0, 3.0)


def kept(d):
    return stats.norm(0, KAPPA / math.sqrt(d)).moment


def radius(directions, d):
    """E χⁿ = 2^{n/2} Γ((d + n)/2)/Γ(d/2)."""
    unit = KAPPA / math.sqrt(d)
    return lambda n: (
        (unit * math.sqrt(2)) ** n * math.exp(math.lgamma((directions + n) / 2) - math.lgamma(directions / 2))
    )


def start(data, outer="absent", bias="absent", **laws):
    return wl.Problem(data, wl.neurons.ridge("relu", outer=outer, bias=bias), wl.initial.gaussian(KAPPA, **laws))


def scalars(data):
    return start(data, "trained", "trained", a=NORMAL, b=UNIFORM)


A, B = stats.norm(0.5, 2).moment, stats.uniform(0, 3).moment
STARTS = {  # problem, points asked for, order, moments of every coordinate
    "r": (start(wl.data.gaussian_classes(40, 0.5)), 400, 8, (radius(40, 40),)),
    "r in two dimensions, few points": (start(wl.data.gaussian_classes(2, 0.5)), 54, 8, (radius(2, 2),)),
    "a alone": (start(wl.data.gaussian_classes(math.inf, 0.5), "trained", a=NORMAL), 400, 8, (A, KAPPA.__pow__)),
    "b alone": (start(wl.data.gaussian_classes(math.inf, 0.5), bias="trained", b=UNIFORM), 60, 8, (B, KAPPA.__pow__)),
    "two radii": (start(wl.data.gaussian_classes(40, 0.5, 15)), 400, 8, (radius(15, 40), radius(25, 40))),
    "u and r": (start(wl.data.single_index(320, "He2(z)")), 400, 8, (kept(320), radius(319, 320))),
    "a, b and r": (scalars(wl.data.gaussian_classes(40, 0.5)), 400, 8, (A, B, radius(40, 40))),
    "a, b, u and r": (scalars(wl.data.single_index(40, "He2(z)")), 400, 5, (A, B, kept(40), radius(39, 40))),
    "four, more points": (scalars(wl.data.single_index(40, "He2(z)")), 2000, 8, (A, B, kept(40), radius(39, 40))),
}


@pytest.mark.parametrize("name", STARTS)
def test_all_moments_up_to_the_order_are_those_of_the_law(name):
    """To rounding, relative to the mean of the absolute value: E |Π θ_i^{n_i}| ≤ √E Π θ_i^{2 n_i}."""
    problem, points, order, moments = STARTS[name]
    theta, weights = (np.asarray(x) for x in initial_points(problem, points, "quantile"))
    random = int(np.sum(np.ptp(theta, axis=0) > 0))
    assert len(theta) == (points if random == 1 else 2 ** math.ceil(math.log2(points))) and (weights >= 0).all()
    assert highest_order(len(theta), random) == order
    moments = [cache(f) for f in moments]
    for orders in itertools.product(range(order + 1), repeat=len(moments)):
        if sum(orders) <= order:
            wanted, square = (math.prod(f(s * n) for f, n in zip(moments, orders, strict=True)) for s in (1, 2))
            found = weights @ np.prod(theta**orders, axis=1)
            assert found == pytest.approx(wanted, abs=1e-10 * math.sqrt(square)), orders


@pytest.mark.parametrize("points", [60, 400])
@pytest.mark.parametrize("d", [2, 40])
def test_gauss_nodes_of_one_coordinate_have_the_moments_of_the_law(d, points):
    theta, weights = (np.asarray(x) for x in initial_points(start(wl.data.gaussian_classes(d, 0.5)), points, "gauss"))
    exact = radius(d, d)
    for n in range(1, 9):
        assert weights @ theta[:, 0] ** n == pytest.approx(exact(n), rel=1e-8)


def test_atoms_share_the_points_and_keep_the_moments():
    laws = {"a": wl.initial.signs(1.5), "b": NORMAL}
    problem = start(wl.data.gaussian_classes(40, 0.5), "trained", "trained", **laws)
    theta, weights = (np.asarray(x) for x in initial_points(problem, 400, "quantile"))
    assert len(theta) == 512 and weights @ theta[:, 0] == pytest.approx(0, abs=1e-14)
    found = weights @ (theta[:, 0] ** 2 * theta[:, 1] ** 3 * theta[:, 2] ** 2)
    assert found == pytest.approx(1.5**2 * A(3) * KAPPA**2, rel=1e-11)


def signed(count):
    """A custom neuron with as many independent signs."""
    neuron = wl.neurons.custom(lambda x, theta: theta[0] * x[0], D=count)
    return wl.Problem(wl.data.gaussian_classes(3, 0.5), neuron, wl.initial.blocks([count], [wl.initial.signs()]))


def test_every_combination_of_signs_has_a_point_and_too_many_are_refused():
    theta, weights = (np.asarray(x) for x in initial_points(signed(10), 4, "quantile"))
    assert len(np.unique(theta, axis=0)) == len(theta) == 2**10
    np.testing.assert_array_equal(weights, 2.0**-10)
    with pytest.raises(wl.InputError, match=r"at most 16384 combinations of signs here, got 1073741824: use a Parti"):
        wl.solve(signed(30), wl.MeanField(), 1.0)


def test_the_weights_do_not_know_the_scale_of_the_start():
    """Polynomials of κ θ are polynomials of θ."""
    data = wl.data.gaussian_classes(40, 0.5, 15)
    small, large = (
        initial_points(wl.Problem(data, wl.neurons.ridge("relu"), wl.initial.gaussian(kappa)), 400, "quantile")[1]
        for kappa in (0.1, 10.0)
    )
    np.testing.assert_allclose(small, large, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("points", [1, 2, 7])
def test_few_points_carry_the_whole_mass(points):
    theta, weights = initial_points(scalars(wl.data.single_index(40, "He2(z)")), points, "quantile")
    assert len(theta) >= points and float(weights.sum()) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("data", [wl.data.gaussian_classes(40, 0.5), wl.data.gaussian_classes(40, 0.5, 15)])
def test_equal_weights_are_there_where_they_are_asked_for(data):
    theta, weights = initial_points(start(data), 256, "equal")
    np.testing.assert_array_equal(weights, 1 / 256)
    assert float(np.mean(np.sum(np.asarray(theta) ** 2, axis=1))) == pytest.approx(KAPPA**2, rel=1e-2)


def test_a_paired_start_has_the_random_numbers_of_its_law():
    start = wl.initial.gaussian(1.0, a=wl.initial.normal(0.5, 1.0))  # not even: the limit of pairs has both signs of it
    neuron, law = wl.neurons.ridge("tanh", "trained"), wl.data.single_index(8, "z")
    plain, paired = (wl.Problem(law, neuron, initial) for initial in (start, wl.initial.paired(start)))
    assert random_coordinates(paired) == random_coordinates(plain) == 3
    theta, weights = map(np.asarray, initial_points(paired, 16, "quantile"))
    assert weights @ theta[:, 0] == pytest.approx(0.0, abs=1e-12)
