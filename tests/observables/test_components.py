"""Components of a network: two routes to the same number, and Parseval."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.observables import coefficient, target_coefficient
from widelimit.observables.components import components

INF = math.inf


def problem(data, activation, **more):
    scalars = {"outer": "trained", "bias": "trained"}
    start = wl.initial.gaussian(1.0, a=1.0, b=wl.initial.normal())
    return wl.Problem(data, wl.neurons.ridge(activation, **scalars), start, **more)


def cloud(case, n=5, full=False):
    rng = np.random.default_rng(0)
    names = case.coordinates if full else case.reduced_coordinates
    theta = rng.normal(size=(n, len(names)))
    theta[:, -1] = np.abs(theta[:, -1])
    return wl.Cloud(theta, rng.dirichlet(np.ones(n)), names)


TWO = problem(wl.data.multi_index(30, 2, "z1 + 0.5*z1*z2 + h3(z2)"), "erf", alpha=2.0)


@pytest.mark.slow
def test_smoothed_activations_have_the_coefficients_of_the_nodes():
    family, rho = components(TWO, 3), cloud(TWO)
    assert family.names[:4] == ("1", "h1(z1)", "h1(z2)", "h2(z1)") and len(family.names) == 10
    found = family.learnt(rho)
    for name in ("1", "h1(z2)", "h1(z1)*h1(z2)", "h3(z2)"):
        assert found[family.names.index(name)] == pytest.approx(coefficient(TWO, name)(rho), abs=1e-8)


def test_full_and_reduced_coordinates_have_the_same_components():
    family, full = components(TWO, 3), cloud(TWO, full=True)
    reduced = wl.Cloud(np.asarray(wl.reduce(TWO, full.theta)), full.weights, TWO.reduced_coordinates)
    np.testing.assert_allclose(family.learnt(full), family.learnt(reduced), rtol=1e-12, atol=1e-15)


def test_the_components_of_a_polynomial_target_are_exact():
    family = components(TWO)
    seen = {name: y for name, y in zip(family.names, family.target, strict=True) if y}
    assert seen == pytest.approx({"h1(z1)": 1.0, "h1(z1)*h1(z2)": 0.5, "h3(z2)": 1.0}, abs=1e-15)
    plain = problem(wl.data.single_index(INF, "abs(z)"), "erf")
    found = components(plain, 4)
    expected = [target_coefficient(plain, name) for name in ("1", "h1(z)", "h2(z)", "h3(z)", "h4(z)")]
    np.testing.assert_allclose(found.target, expected, atol=1e-14)
    assert found.target[2] == pytest.approx(1 / math.sqrt(math.pi), rel=1e-9)


def test_the_cube_has_its_monomials():
    cube = problem(wl.data.hypercube(INF, "z1 + max(z1, z3)"), "tanh")
    family, rho = components(cube, 2), cloud(cube)
    assert family.names == ("1", "z1", "z2", "z3", "z1*z2", "z1*z3", "z2*z3")
    for name, y, f in zip(family.names, family.target, family.learnt(rho), strict=True):
        assert y == pytest.approx(target_coefficient(cube, name), abs=1e-15)
        assert f == pytest.approx(coefficient(cube, name)(rho), abs=1e-14)
    whole = components(cube)
    risk = float(np.sum((whole.target - whole.learnt(rho)) ** 2))
    assert risk == pytest.approx(wl.landscape(cube, reduced=True).risk(rho), rel=1e-12)


BAD = {
    "classes": (lambda: components(wl.Problem(wl.data.gaussian_classes(9, 0.5), wl.neurons.ridge("erf"),
                                              wl.initial.gaussian(1.0))), "index model"),
    "no order": (lambda: components(TWO, 0), "order"),
    "too many": (lambda: components(TWO, 200), "at most"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()
