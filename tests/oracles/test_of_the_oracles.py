"""The oracles share no code with the library, and each has a second route of its own."""

import ast
import math
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import radial_classes, sphere_smoothed, two_classes
from gaussian_landscape import GaussianLandscape, GaussianLaw, pair_moments
from link_terms import LINKS, label_moments
from normal_panels import expectation

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.py"))
PLAIN = {"numpy", "scipy", "mpmath", *sys.stdlib_module_names}


def speaks_to_the_library(path):
    return path.stem.startswith("test_") or path.stem in ("library_problems", "random_problems")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_oracles_import_neither_the_library_nor_jax():
    own = {path.stem for path in FILES if not speaks_to_the_library(path)}
    assert len(own) >= 8
    for path in FILES:
        if path.stem in own:
            assert {name.split(".")[0] for name in imported(path)} <= PLAIN | own, path.name


def test_tests_ask_the_public_package_alone():
    for path in filter(speaks_to_the_library, FILES):
        assert {name for name in imported(path) if name.split(".")[0] == "widelimit"} <= {"widelimit"}, path.name


@pytest.mark.parametrize("name", ["relu", "tanh", "ramp", "gelu"])
def test_panels_agree_with_mpmath(name):
    """E σ(m + sG) to 25 digits, between the kinks."""
    sigma, m, s = SIGMAS[name], 0.3, 2.5
    with mpmath.workdps(25):
        ends = [-12, *sorted((t - m) / s for t in {*sigma.kinks, -1.0, 1.0}), 12]
        exact = mpmath.quad(lambda x: float(sigma.value(np.array(m + s * float(x)))) * mpmath.npdf(x), ends)
    found = expectation(lambda x: sigma.value(m + s * x), [(t - m) / s for t in (*sigma.kinks, *sigma.marks)])
    assert found == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("text", list(LINKS))
def test_moments_of_labels_agree_with_monte_carlo(text):
    link, sigma, rng = LINKS[text], SIGMAS["tanh"], np.random.default_rng(3)
    b, u, r = 0.4, rng.normal(size=link.k), 0.7
    value, by_b, by_u, by_r = label_moments(link, sigma, b, u, r)
    z, g = rng.normal(size=(2**17, link.k)), rng.normal(size=2**17)
    y, h = link(z), b + z @ u + r * g
    push = y * sigma.slope(h)
    rows = np.column_stack([y * sigma.value(h), push, push[:, None] * z, push * g])
    assert (np.abs(rows.mean(0) - [value, by_b, *by_u, by_r]) < 5 * rows.std(0) / math.sqrt(len(z))).all()


def test_squares_of_labels_are_those_of_tables():
    """E He_8² = 8!, E |z|² = 1, P(z > 1) = 0.1587, E tanh²(5z) by mpmath."""
    with mpmath.workdps(20):
        steep = mpmath.quad(lambda x: mpmath.tanh(5 * x) ** 2 * mpmath.npdf(x), [-12, -1, 0, 1, 12])
        above = mpmath.ncdf(-1)
    known = {
        "He8(z1)*z2*z3": 40320,
        "sign(z1)*abs(z2)": 1,
        "step(z-1)": above,
        "tanh(5*z1)*z2*z3": steep,
        "z1 + z1*z2": 2,
    }
    for text, square in known.items():
        assert LINKS[text].square == pytest.approx(float(square), rel=1e-12)


def test_pairs_of_neurons_agree_with_monte_carlo():
    sigma, rng = SIGMAS["softplus"], np.random.default_rng(5)
    g, g2 = rng.normal(size=(2, 2**17))
    h, h2 = 0.3 + 1.2 * g, -0.5 + 0.8 * (0.6 * g + 0.8 * g2)
    rows = np.stack([sigma.value(h) * sigma.value(h2), *(sigma.slope(h) * sigma.value(h2) * x for x in (1.0, g, g2))])
    found = pair_moments(sigma, (0.3, 1.2), (-0.5, 0.8), 0.6, 0.8)
    assert (np.abs(rows.mean(1) - found) < 5 * rows.std(1) / math.sqrt(len(g))).all()


def test_a_gradient_of_the_oracle_is_the_slope_of_its_values():
    law = GaussianLaw((3,), link=LINKS["z1 + z1*z2"])
    land, rng, h = GaussianLandscape(law, SIGMAS["relu"], "ab", reduced=False), np.random.default_rng(1), 1e-5
    row, other = rng.normal(size=(2, 7))
    for j, step in enumerate(h * np.eye(7)):
        slope = (land.external(row + step)[0] - land.external(row - step)[0]) / (2 * h)
        assert land.external(row)[1][j] == pytest.approx(slope, abs=1e-8)
        slope = (land.pair(row + step, other)[0] - land.pair(row - step, other)[0]) / (2 * h)
        assert land.pair(row, other)[1][j] == pytest.approx(slope, abs=1e-8)


def test_angles_of_two_neurons_and_lengths_of_the_input_are_two_routes_to_one_number():
    classes = two_classes(0.6)
    law = GaussianLaw((20,), tuple((p, y, (tau,)) for p, y, tau in classes))
    theta, weights = np.array([[0.7, 0.2, 0.9], [-1.1, -0.3, 0.4]]), np.array([0.4, 0.6])
    one = GaussianLandscape(law, SIGMAS["tanh"], "ab").numbers(theta, weights)
    two = radial_classes(SIGMAS["tanh"], 20, classes, "ab").numbers(theta, weights)
    for x, y in zip(one, two, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)


def test_a_random_direction_is_normal_in_high_dimension():
    d, sigma = 10**6, SIGMAS["gelu"]
    on_sphere, normal = (
        sphere_smoothed(sigma, dim, 0.3, r)[0] for dim, r in ((d, 0.8 * math.sqrt(d)), (math.inf, 0.8))
    )
    assert on_sphere == pytest.approx(float(normal), abs=3 / d)
