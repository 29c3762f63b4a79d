"""Landscapes of Gaussian inputs against double integrals, in full and in reduced coordinates."""

import math

import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import normal_smoothed, radial_classes, two_classes
from gaussian_landscape import GaussianLandscape, GaussianLaw
from library_problems import (
    assert_as_stated,
    assert_numbers,
    cloud_of,
    index_model,
    numbers_of,
    problem_of,
    random_full,
    random_rows,
)
from link_terms import LINKS

import widelimit as wl

WEIGHTS = np.array([0.2, 0.3, 0.5])


def classes(delta, *rest):
    return tuple((p, y, (tau, *rest)) for p, y, tau in two_classes(delta))


# ---- Gaussian classes


@pytest.mark.some(1)
@pytest.mark.parametrize("d", [pytest.param(20, marks=pytest.mark.slow), 40, math.inf])
def test_isotropic_classes_in_reduced_coordinates(d):
    theta = random_rows(np.random.default_rng(0), 3, "ab", 0, 1)
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.6), "tanh", "ab"), reduced=True)
    wanted = radial_classes(SIGMAS["tanh"], d, two_classes(0.6), "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-9)


def test_the_risk_of_isotropic_classes_by_hand():
    """R = ½ (1 − ∫ q((1+Δ) r) dρ)² + ½ (1 + ∫ q((1−Δ) r) dρ)², q(r) = E σ(rG)."""
    r, delta = np.array([0.2, 0.9, 2.5]), 0.8
    land = wl.landscape(problem_of(wl.data.gaussian_classes(math.inf, delta), "ramp"), reduced=True)
    wide, narrow = (WEIGHTS @ normal_smoothed(SIGMAS["ramp"], 0 * r, tau * r)[0] for tau in (1 + delta, 1 - delta))
    risk = land.risk(cloud_of(land, r[:, None], WEIGHTS))
    assert risk == pytest.approx((1 - wide) ** 2 / 2 + (1 + narrow) ** 2 / 2, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "erf"])
@pytest.mark.parametrize(("d", "informative"), [(60, 25), (40, 20)])
def test_anisotropic_classes_in_reduced_coordinates(name, d, informative):
    theta = random_rows(np.random.default_rng(1), 2, "a", 0, 2)
    law = GaussianLaw((informative, d - informative), classes(0.6, 1.0))
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.6, informative), name, "a"), reduced=True)
    wanted = GaussianLandscape(law, SIGMAS[name], "a").numbers(theta, WEIGHTS[:2] / 0.5)
    assert_numbers(numbers_of(land, theta, WEIGHTS[:2] / 0.5), wanted, 1e-8)


@pytest.mark.slow
def test_anisotropic_classes_in_infinite_dimension():
    theta = random_rows(np.random.default_rng(2), 3, "ab", 0, 2)
    law = GaussianLaw((math.inf, math.inf), classes(0.6, 1.0))
    land = wl.landscape(problem_of(wl.data.gaussian_classes(math.inf, 0.6, 0.25), "silu", "ab"), reduced=True)
    wanted = GaussianLandscape(law, SIGMAS["silu"], "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("informative", [None, 2])
@pytest.mark.parametrize("name", ["relu", "softplus", "x/(1 + x**2)"])
def test_classes_in_full_coordinates(name, informative):
    theta, d = random_full(np.random.default_rng(3), 3, "ab", 5), 5
    law = GaussianLaw((d,), classes(0.6)) if informative is None else GaussianLaw((2, 3), classes(0.6, 1.0))
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.6, informative), name, "ab"))
    wanted = GaussianLandscape(law, SIGMAS[name], "ab", reduced=False).numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-9)


NEARLY = [("tanh", 5.0), ("tanh", 1e-9), ("silu", 5.0), ("tanh(3*x) + max(x, 0)", 1.0), ("x/(1 + x**2)", 3.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length"), NEARLY)
def test_nearly_parallel_neurons_in_full_coordinates(name, length):
    """The same direction, its opposite, and one beside it; one neuron of another length apart."""
    rng, d = np.random.default_rng(11), 3
    theta = random_full(rng, 5, "ab", d)
    theta[:4, 2:] = length * theta[0, 2:] / np.linalg.norm(theta[0, 2:]) * np.array([1.0, 1.01, -1.0, 1.0])[:, None]
    theta[3, 2:] *= 1 + 1e-3 * rng.random(d)
    weights = np.array([0.1, 0.2, 0.2, 0.2, 0.3])
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.6), name, "ab"))
    law = GaussianLaw((d,), classes(0.6))
    wanted = GaussianLandscape(law, SIGMAS[name], "ab", reduced=False).numbers(theta, weights)
    assert_numbers(numbers_of(land, theta, weights), wanted, 1e-11)


@pytest.mark.slow
def test_three_classes_with_their_own_deviations_labels_and_weights():
    theta = random_rows(np.random.default_rng(4), 3, "ab", 0, 1)
    data = wl.data.gaussian_classes(30, deviations=[0.5, 1.0, 2.0], labels=[0.3, -1.0, 2.0], weights=[1.0, 2.0, 5.0])
    own = ((1 / 8, 0.3, 0.5), (2 / 8, -1.0, 1.0), (5 / 8, 2.0, 2.0))
    land = wl.landscape(problem_of(data, "gelu", "ab"), reduced=True)
    wanted = radial_classes(SIGMAS["gelu"], 30, own, "ab").numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-9)


@pytest.mark.parametrize("d", [3, 50])
def test_moments_of_the_angle_between_random_directions(d):
    """σ = x²: E (wx)²(w'x)² = τ⁴ (r²r'² + 2 ⟨w,w'⟩²), and E cos² = 1/d; σ = x⁴ has E cos⁴ = 3/(d(d + 2)) too."""
    r = np.array([[0.7], [1.9]])
    cos2, cos4, fourth = 1 / d, 3 / (d * (d + 2)), (1.5**4 + 0.5**4) / 2
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.5), "x**2"), reduced=True)
    np.testing.assert_allclose(np.asarray(land.U(r, r)), fourth * (1 + 2 * cos2) * (r * r.T) ** 2, rtol=1e-12)
    land = wl.landscape(problem_of(wl.data.gaussian_classes(d, 0.5), "x**4"), reduced=True)
    eighth = (1.5**8 + 0.5**8) / 2
    wanted = eighth * (9 + 72 * cos2 + 24 * cos4) * (r * r.T) ** 4
    np.testing.assert_allclose(np.asarray(land.U(r, r)), wanted, rtol=1e-12)


# ---- index models

REDUCED = [
    ("He1(z) - 0.5*He3(z)", 12, "tanh", 1e-8), ("z", 30, "relu", 1e-8), ("sign(z)", 20, "erf", 1e-8),
    ("abs(z)", 20, "relu", 1e-8), ("cos(z)", 15, "sigmoid", 1e-8), ("z1*z2", 20, "tanh", 1e-5),
    ("z1 + z1*z2", 20, "gelu", 1e-5), ("sign(z1)*abs(z2)", 20, "erf", 1e-5),
    ("z1 + z1*z2 + z1*z2*z3", 24, "relu", 2e-3),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "d", "name", "tolerance"), REDUCED)
def test_index_models_in_reduced_coordinates(text, d, name, tolerance):
    """The tolerances are those of grids of 64, 32² nodes and of Hermite features of three coordinates."""
    link = LINKS[text]
    theta = random_rows(np.random.default_rng(5), 2, "ab", link.k, 1)
    land = wl.landscape(problem_of(index_model(d, link), name, "ab"), reduced=True)
    weights = np.array([0.4, 0.6])
    wanted = GaussianLandscape(GaussianLaw((d - link.k,), link=link), SIGMAS[name], "ab").numbers(theta, weights)
    assert_numbers(numbers_of(land, theta, weights), wanted, tolerance)


@pytest.mark.slow
def test_hermite_features_of_long_neurons_are_as_right_as_they_say():
    """Neurons almost wholly in the kept coordinates, |u| above 1: the series ends too early for more digits."""
    link, weights = LINKS["z1*z2*z3"], np.array([0.4, 0.6])
    theta = random_rows(np.random.default_rng(5), 2, "ab", 3, 1)
    land = wl.landscape(problem_of(index_model(24, link), "tanh", "ab"), reduced=True)
    wanted = GaussianLandscape(GaussianLaw((21,), link=link), SIGMAS["tanh"], "ab").numbers(theta, weights)
    assert_as_stated(land, theta, weights, wanted, 2e-3)
    found = numbers_of(land, theta, weights)
    for i in (0, 1, 3):  # all but the slopes
        np.testing.assert_allclose(found[i], wanted[i], rtol=0, atol=1e-4 * np.abs(wanted[i]).max())


FULL = [
    ("z", "relu"),
    ("He1(z) - 0.5*He3(z)", "tanh"),
    ("sign(z)", "ramp"),
    ("z1*z2", "softplus"),
    ("z1*z2*z3", "relu"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name"), FULL)
def test_index_models_in_full_coordinates(text, name):
    link, d = LINKS[text], 6
    theta = random_full(np.random.default_rng(6), 3, "ab", d)
    land = wl.landscape(problem_of(index_model(d, link), name, "ab"))
    law = GaussianLaw((d - link.k,), link=link)
    wanted = GaussianLandscape(law, SIGMAS[name], "ab", reduced=False).numbers(theta, WEIGHTS)
    assert_numbers(numbers_of(land, theta, WEIGHTS), wanted, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name"), [("z", "relu"), ("z1*z2", "erf")])
def test_full_landscapes_averaged_over_rotations_are_the_reduced_ones(text, name):
    """U and V of clouds turned independently inside the group of directions: Monte Carlo over the turns."""
    link, d, rng, turns = LINKS[text], 30, np.random.default_rng(8), 4000
    problem = problem_of(index_model(d, link), name, "b")
    full, reduced = wl.landscape(problem), wl.landscape(problem, reduced=True)
    theta = random_rows(rng, 2, "b", link.k, 1)
    one, two = (np.repeat(row[None], turns, axis=0) for row in theta)
    spread = [rng.normal(size=(turns, d - link.k)) for _ in range(2)]
    rows = [np.column_stack([x[:, :-1], x[:, -1:] * s / np.linalg.norm(s, axis=1, keepdims=True)])
            for x, s in zip((one, two), spread, strict=True)]  # fmt: skip
    np.testing.assert_allclose(np.asarray(wl.reduce(problem, rows[0])), one, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(full.V(rows[0][:5])), np.asarray(reduced.V(one[:5])), rtol=1e-6)
    pairs = np.asarray(full.U(rows[0][:64], rows[1]))
    error = pairs.mean(axis=1).std(ddof=1) / 8 + pairs.mean(axis=0).std(ddof=1) / math.sqrt(turns)
    assert abs(pairs.mean() - float(reduced.U(theta[:1], theta[1:])[0, 0])) < 4 * error + 1e-12


# ---- labels that jump, or depend on many coordinates

SQUARES = {"step(z-1)": 0.1587, "sign(z1+z2)": 1.0, "tanh(5*z1)*z2*z3": 0.843, "z1*z2*z3*z4": 1.0,
           "He8(z1)*z2*z3": 40320.0, "z1*z2*z3*z4*z5*z6": 1.0}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "text", [*list(SQUARES)[:2], *(pytest.param(text, marks=pytest.mark.slow) for text in list(SQUARES)[2:])]
)
def test_the_risk_of_a_silent_network_is_the_square_of_the_labels(text):
    link = LINKS[text]
    assert link.square == pytest.approx(SQUARES[text], rel=1e-3)
    land = wl.landscape(problem_of(index_model(20, link), "tanh", "a"), reduced=True)
    silent = np.array([[0.0, *(0.3,) * link.k, 0.5]])
    assert land.risk(cloud_of(land, silent)) == pytest.approx(link.square, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("reduced", [True, False])
@pytest.mark.parametrize("text", list(SQUARES))
def test_the_field_of_labels_that_jump_or_depend_on_many_coordinates(text, reduced):
    """V, and the gradient with nothing but the labels in the field."""
    link, d, rng = LINKS[text], 30 if reduced else 10, np.random.default_rng(9)
    rows = random_rows(rng, 3, "a", link.k, 1) if reduced else random_full(rng, 3, "a", d)
    law = GaussianLaw((d - link.k,), link=link)
    own = [GaussianLandscape(law, SIGMAS["tanh"], "a", reduced).external(row) for row in rows]
    land = wl.landscape(problem_of(index_model(d, link), "tanh", "a"), reduced=reduced)
    scale = math.sqrt(link.square)
    np.testing.assert_allclose(np.asarray(land.V(rows)), [v for v, _ in own], rtol=0, atol=1e-4 * scale)
    silent = np.concatenate([[0.0], rows[0, 1:]])[None]
    found = np.asarray(land.grad_psi(rows, cloud_of(land, silent)))
    np.testing.assert_allclose(found, [g for _, g in own], rtol=0, atol=1e-3 * scale)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["z1*z2", pytest.param("sign(z1)*abs(z2)", marks=pytest.mark.slow)])
def test_a_long_neuron_along_the_labels(text):
    """ReLU with |u| = 3 and r = 0.1: the kink is sharp on the scale of the kept coordinates."""
    link, angle = LINKS[text], 0.7
    row = np.array([3 * math.cos(angle), 3 * math.sin(angle), 0.1])
    law = GaussianLaw((math.inf,), link=link)
    exact = GaussianLandscape(law, SIGMAS["relu"]).external(row)[0]
    land = wl.landscape(problem_of(index_model(math.inf, link), "relu"), reduced=True)
    stated = land.errors(row).V[0]
    assert abs(float(land.V(row)[0]) - exact) <= stated < 1e-3


# ---- the origin


@pytest.mark.slow
def test_a_neuron_at_the_origin_moves_as_the_others_push():
    """One step of GD: Δw = −2 ε E (f − y) σ'(b) x with the mean over x by double integrals."""
    theta = np.array([[1.0, 0, 0, 0], [0.5, 2, 1, 0], [-0.3, 1.9, 1.1, 0.1]])
    problem = wl.Problem(wl.data.single_index(3, "z"), wl.neurons.ridge("relu", bias="fixed"),
                         wl.initial.array(theta, coordinates="full"))  # fmt: skip
    run = wl.solve(problem, wl.GD(3, 0.1), 0.1, save=2, keep="full")
    own = GaussianLandscape(GaussianLaw((2,), link=LINKS["z"]), SIGMAS["relu"], "b", reduced=False)
    gradient = own.numbers(theta, np.full(3, 1 / 3))[2][:, 1:]
    moved = run.final.theta[:, 1:] - theta[:, 1:]
    np.testing.assert_allclose(moved, -0.2 * gradient, atol=1e-10)
    np.testing.assert_allclose(moved[0], [0.065, -0.072, -0.003], atol=5e-4)


def test_the_slope_at_radius_zero_is_one_sided():
    """For r ↓ 0 the mean of |x| grows like r τ √(2/π): dΨ/dr = Σ p_c (f_c − y_c) τ_c √(2/π)."""
    land = wl.landscape(problem_of(wl.data.gaussian_classes(math.inf, 0.5), "abs(x)"), reduced=True)
    unit, other = math.sqrt(2 / math.pi), 0.7
    wanted = sum(0.5 * (tau * other * unit - y) * tau * unit for y, tau in ((1.0, 1.5), (-1.0, 0.5)))
    found = np.asarray(land.grad_psi([[0.0], [1e-8]], [[other]]))[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "tanh", "ramp", "x/(1 + x**2)"])
def test_neurons_without_a_radius(name):
    """r = 0: everything the kept coordinates say, and nothing else; in full coordinates w = 0 has a value too."""
    link, weights = LINKS["z"], np.array([0.5, 0.5])
    rows = np.array([[0.8, 0.3, 1.1, 0.0], [-0.4, 0.2, -0.5, 0.0]])
    wanted = GaussianLandscape(GaussianLaw((19,), link=link), SIGMAS[name], "ab").numbers(rows, weights)
    land = wl.landscape(problem_of(index_model(20, link), name, "ab"), reduced=True)
    assert_as_stated(land, rows, weights, wanted, 0.1)  # nothing smooths a kink here
    full = wl.landscape(problem_of(index_model(3, link), name, "ab"))
    rows = np.array([[0.8, 0.3, 0.0, 0.0, 0.0], [-0.4, 0.2, -0.5, 0.3, 0.0]])
    wanted = GaussianLandscape(GaussianLaw((2,), link=link), SIGMAS[name], "ab", reduced=False).numbers(rows, weights)
    assert_numbers(numbers_of(full, rows, weights), wanted, 1e-8)


# ---- neurons that are long along z and thin across it


def erf_slopes(theta, angles=64):
    """∂Ψ/∂u and ∂Ψ/∂r of σ = erf, y = z, d = 3, equal weights, by hand; the angle between two r is uniform.

    V = −2u/√(π A),   U = mean_φ (2/π) arcsin s,   s = 2 (u u' + r r' cos φ)/√(A A'),   A = 1 + 2u² + 2r²
    """
    c = np.cos(2 * np.pi * (np.arange(angles) + 0.5) / angles)
    found = []
    for u, r in theta:
        A = 1 + 2 * u**2 + 2 * r**2
        slopes = np.array([-2 / np.sqrt(np.pi * A) * (1 - 2 * u**2 / A), 4 * u * r / np.sqrt(np.pi) / A**1.5])
        for v, q in theta:
            B = 1 + 2 * v**2 + 2 * q**2
            s = 2 * (u * v + r * q * c) / np.sqrt(A * B)
            by_s = 2 / np.pi / np.sqrt(1 - s**2)
            by_u, by_r = 2 * v / np.sqrt(A * B) - 2 * u * s / A, 2 * q * c / np.sqrt(A * B) - 2 * r * s / A
            slopes += np.array([np.mean(by_s * by_u), np.mean(by_s * by_r)]) / len(theta)
        found.append(slopes)
    return np.array(found)


@pytest.mark.parametrize("r", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("u", [3.0, 100.0])
def test_slopes_of_thin_neurons_are_as_right_as_they_say(u, r):
    theta = np.array([[u, r], [-u / 3, 2 * r]])
    land = wl.landscape(problem_of(wl.data.single_index(3, "z"), "erf"), reduced=True)
    off, stated = np.abs(land.grad_psi(theta, theta) - erf_slopes(theta)), land.errors(theta).gradient
    assert (off <= stated).all() and (stated < 1e-11).all()
