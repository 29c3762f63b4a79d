"""Coefficients of a network: Walsh on the cube, Hermite on Gaussian inputs, by brute force and by quadrature."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

import widelimit as wl
from widelimit.measures import Cloud
from widelimit.observables import coefficient, coefficient_error, target_coefficient

INF = math.inf
SETS = ["1", "z1", "z2", "z1*z2"]
TARGET = "0.5 + z1 - 2*z1*z2"


def problem(data, activation="relu"):
    return wl.Problem(data, wl.neurons.ridge(activation, outer="trained"), wl.initial.gaussian(1.0, a=1.0))


CUBE = problem(wl.data.hypercube(INF, TARGET))


def cloud(case, n=6, seed=0):
    rng = np.random.default_rng(seed)
    kept = case.kept
    theta = np.hstack([rng.normal(size=(n, 1 + kept)), rng.uniform(0.4, 1.2, (n, 1))])
    return Cloud(theta, rng.dirichlet(np.ones(n)), case.reduced_coordinates)


def hinged(m, s):
    """E relu(m + s G)."""
    z = m / s
    return m * 0.5 * (1 + erf(z / math.sqrt(2))) + s * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def seen(rho, z):
    """f(z) = ∫ a E relu(⟨u, z⟩ + r G) dρ."""
    return sum(
        p * a * hinged(float(np.dot(u, z)), r) for p, (a, *u, r) in zip(rho.weights, np.asarray(rho.theta), strict=True)
    )


def character(name, z):
    return math.prod(z[int(part[1]) - 1] for part in name.split("*") if part != "1")


@pytest.mark.parametrize("name", SETS)
def test_walsh_coefficients_are_averages_over_corners(name):
    rho = cloud(CUBE)
    corners = list(itertools.product((1.0, -1.0), repeat=2))
    expected = sum(seen(rho, z) * character(name, z) for z in corners) / 4
    assert coefficient(CUBE, name)(rho) == pytest.approx(expected, abs=1e-13)


def test_coefficients_of_the_target_are_those_it_was_written_with():
    found = [target_coefficient(CUBE, name) for name in SETS]
    np.testing.assert_allclose(found, [0.5, 1.0, 0.0, -2.0], atol=1e-15)
    gauss = problem(wl.data.single_index(20, "3*h1(z) - 0.5*h3(z)", noise=0.7))
    found = [target_coefficient(gauss, f"h{k}(z)") for k in range(5)]
    np.testing.assert_allclose(found, [0, 3, 0, -0.5, 0], atol=1e-11)


def test_squares_add_up_on_the_cube():
    """Parseval: E f² = Σ f̂_S² and R = Σ (ŷ_S − f̂_S)²."""
    rho, land = cloud(CUBE), wl.landscape(CUBE, reduced=True)
    learnt = np.array([coefficient(CUBE, name)(rho) for name in SETS])
    target = np.array([target_coefficient(CUBE, name) for name in SETS])
    p = np.asarray(rho.weights)
    assert np.sum(learnt**2) == pytest.approx(p @ np.asarray(land.U(rho.theta, rho.theta)) @ p, rel=1e-13)
    assert np.sum((target - learnt) ** 2) == pytest.approx(land.risk(rho), rel=1e-13)


@pytest.mark.some(1)
@pytest.mark.parametrize("d", [20, INF])
def test_hermite_coefficients_are_integrals(d):
    """At finite d too: E f(x) g(z) is linear in f, directions among the other coordinates do not matter."""
    case = problem(wl.data.single_index(d, "h2(z)"))
    rho = cloud(case)
    for name, h in (("h1(z)", lambda z: z), ("h2(z)", lambda z: (z * z - 1) / math.sqrt(2))):
        expected = quad(
            lambda z, h=h: seen(rho, [z]) * h(z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi), -12, 12, epsabs=1e-12
        )[0]
        assert coefficient(case, name)(rho) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("u", [0.5, 8.0])
def test_the_error_of_a_coefficient_covers_the_true_one_on_few_nodes(u):
    """E f(z) h_2(z) of a network that bends between eight nodes if u is large."""
    case = problem(wl.data.single_index(INF, "h2(z)", nodes=8))
    rho = Cloud([[1.0, u, 0.1]], [1.0], case.reduced_coordinates)

    def term(z):
        return seen(rho, [z]) * (z * z - 1) / math.sqrt(2) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    expected = sum(quad(term, *ends, epsabs=1e-13)[0] for ends in ((-12, -0.5), (-0.5, 0), (0, 0.5), (0.5, 12)))
    true = abs(coefficient(case, "h2(z)")(rho) - expected)
    assert 1e-6 < true <= coefficient_error(case, "h2(z)")(rho)


@pytest.mark.slow
def test_the_error_of_a_coefficient_has_what_the_rules_of_a_function_lose():
    """u z + rG = S N: E σ(S N) h_2(z) = (u/S)² E σ(S N) h_2(N), by the trapezoidal rule, for a σ that oscillates."""
    case = problem(wl.data.single_index(INF, "h2(z)"), "sin(x)*tanh(x)")
    u, r = 1.0, 300.0
    S, g = math.hypot(u, r), np.linspace(-10, 10, 400_001)
    p = np.exp(-g * g / 2)
    p /= p.sum()
    expected = (u / S) ** 2 * np.sum(p * np.sin(S * g) * np.tanh(S * g) * (g * g - 1)) / math.sqrt(2)
    rho = Cloud([[1.0, u, r]], [1.0], case.reduced_coordinates)
    true = abs(coefficient(case, "h2(z)")(rho) - expected)
    assert 1e-6 < true <= coefficient_error(case, "h2(z)")(rho) < 30 * true


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "r"), [(0.0, 1e-2), (1e-3, 0.1)])
def test_the_error_of_a_coefficient_has_what_three_axes_miss_of_a_steep_neuron(angle, r):
    """E tanh(⟨u, z⟩ + rG) z1 = u_1 E tanh'(S N) (Stein), S² = |u|² + r²: one integral over a layer of width 1/S."""
    case = problem(wl.data.multi_index(INF, 3, "z1*z2*z3"), "tanh")
    size = 100.0
    S, u = math.hypot(size, r), size * np.array([math.cos(angle), math.sin(angle), 0.0])
    slope = quad(lambda t: math.exp(-((t / S) ** 2) / 2) / math.cosh(t) ** 2, -40, 40, epsabs=1e-14)[0]
    rho = Cloud([[1.0, *u, r]], [1.0], case.reduced_coordinates)
    true = abs(coefficient(case, "z1")(rho) - u[0] * slope / S / math.sqrt(2 * math.pi))
    assert 1e-6 < true <= coefficient_error(case, "z1")(rho)


@pytest.mark.more
def test_a_full_cloud_has_the_coefficients_of_its_reduction():
    case = problem(wl.data.single_index(20, "h2(z)"))
    w = np.random.default_rng(1).normal(size=(5, 21))
    full = Cloud(w, np.full(5, 0.2), case.coordinates)
    reduced = Cloud(np.asarray(wl.reduce(case, w)), np.full(5, 0.2), case.reduced_coordinates)
    assert coefficient(case, "h2(z)")(full) == pytest.approx(coefficient(case, "h2(z)")(reduced), rel=1e-13)


def test_a_full_cloud_on_the_cube_is_seen_through_normal_noise():
    """Exact for linear neurons at every d; others as at d = ∞."""
    case = problem(wl.data.hypercube(6, TARGET), wl.activations.polynomial([0.0, 1.0]))
    theta = np.random.default_rng(2).normal(size=(4, 7))
    full = Cloud(theta, np.full(4, 0.25), case.coordinates)
    for j, name in ((1, "z1"), (2, "z2")):
        assert coefficient(case, name)(full) == pytest.approx(np.mean(theta[:, 0] * theta[:, j]), rel=1e-13)


def test_functions_will_do_in_place_of_expressions():
    rho = cloud(CUBE)
    by_name, by_function = coefficient(CUBE, "z1*z2"), coefficient(CUBE, lambda z: z[..., 0] * z[..., 1])
    assert by_name(rho) == pytest.approx(by_function(rho), rel=1e-15)


def test_a_data_set_has_coefficients_over_its_rows():
    rng = np.random.default_rng(3)
    data = wl.data.empirical(rng.normal(size=(9, 2)), rng.normal(size=9))
    case = problem(data, "tanh")
    theta = rng.normal(size=(4, 3))
    f = np.mean(theta[:, 0] * np.tanh(data.x @ theta[:, 1:].T), axis=1)
    found = coefficient(case, "z1*z2")(Cloud(theta, np.full(4, 0.25), case.coordinates))
    assert found == pytest.approx(np.mean(f * data.x[:, 0] * data.x[:, 1]), rel=1e-13)


BAD = {
    "coefficients of classes": (lambda: coefficient(problem(wl.data.gaussian_classes(9, 0.5)), "z1"), "kept"),
    "a target of classes": (lambda: target_coefficient(problem(wl.data.gaussian_classes(9, 0.5)), "z1"), "kept"),
    "too many variables": (lambda: coefficient(CUBE, "z3"), "z1 to z2"),
    "a number": (lambda: coefficient(CUBE, 3.0), "expression or a function"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"^[^\n]*{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()
