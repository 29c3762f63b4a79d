"""Spectra of targets, against mpmath, exact expansions, and second routes."""

import itertools
import math
import re

import mpmath
import numpy as np
import pytest

import widelimit as wl
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.theory.learning.ball_polynomials import ball_polynomials
from widelimit.theory.learning.separation import separated
from widelimit.theory.learning.target_variables import indices

# link, its break points, the function in mpmath, its information exponent
LINKS = {
    "relu(z)": ([0], lambda z: z if z > 0 else 0, 1),
    "abs(z)": ([0], abs, 2),
    "sign(z)": ([0], mpmath.sign, 1),
    "step(z)": ([0], lambda z: 1 if z > 0 else 0, 1),
    "z**2*step(z)": ([0], lambda z: z * z if z > 0 else 0, 1),
    "abs(z)**3": ([0], lambda z: abs(z) ** 3, 2),
    "abs(z)*z": ([0], lambda z: abs(z) * z, 1),
    "relu(z - 1)": ([1], lambda z: z - 1 if z > 1 else 0, 1),
    "relu(abs(z) - 1)": ([-1, 1], lambda z: max(abs(z) - 1, 0), 2),
    "max(z, -1)": ([-1], lambda z: max(z, -1), 1),
    "step(abs(z) - 2)": ([-2, 2], lambda z: 1 if abs(z) > 2 else 0, 2),
    "sign(z**3 - 3*z)": ([-mpmath.sqrt(3), 0, mpmath.sqrt(3)], lambda z: mpmath.sign(z**3 - 3 * z), 1),
    "tanh(z)": ([], mpmath.tanh, 1),
    "sigmoid(z)": ([], lambda z: 1 / (1 + mpmath.exp(-z)), 1),
    "softplus(z)": ([], lambda z: mpmath.log1p(mpmath.exp(z)), 1),
    "erf(z)": ([], mpmath.erf, 1),
    "arctan(z)": ([], mpmath.atan, 1),
    "cos(z)": ([], mpmath.cos, 2),
    "sin(z)": ([], mpmath.sin, 1),
    "cos(3*z)": ([], lambda z: mpmath.cos(3 * z), 2),
    "exp(z)": ([], mpmath.exp, 1),
    "exp(-z**2)": ([], lambda z: mpmath.exp(-z * z), 2),
    "z*exp(-z**2)": ([], lambda z: z * mpmath.exp(-z * z), 1),
    "tanh(z)**2": ([], lambda z: mpmath.tanh(z) ** 2, 2),
    "sin(z) - exp(-1/2)*z": ([], lambda z: mpmath.sin(z) - mpmath.exp(-0.5) * z, 3),
    "cos(z) + exp(-1/2)*z**2/2": ([], lambda z: mpmath.cos(z) + mpmath.exp(-0.5) * z * z / 2, 4),
    "log(abs(z))": ([0], lambda z: mpmath.log(abs(z)), 2),
    "sqrt(abs(z))": ([0], lambda z: mpmath.sqrt(abs(z)), 2),
    "He3(z)": ([], lambda z: z**3 - 3 * z, 3),
    "He4(z) + 7": ([], lambda z: z**4 - 6 * z * z + 10, 4),
    "h5(z)": ([], lambda z: (z**5 - 10 * z**3 + 15 * z) / mpmath.sqrt(120), 5),
    "z**3": ([], lambda z: z**3, 1),
}  # fmt: skip


def by_mpmath(breaks, f, k):
    """E f(G) h_k(G), to 1e-12 and better."""
    edges = sorted({-14, -6, -3, 0, 3, 6, 14, *breaks})

    def integrand(z):
        before, now = mpmath.mpf(0), mpmath.mpf(1)
        for j in range(k):
            before, now = now, (z * now - mpmath.sqrt(j) * before) / mpmath.sqrt(j + 1)
        return f(z) * now * mpmath.npdf(z)

    return float(mpmath.quad(integrand, edges))


@pytest.mark.some(4)
@pytest.mark.parametrize("link", LINKS)
def test_information_exponents_of_known_links(link):
    """32 links; the coefficients themselves are compared with mpmath in the slow lane."""
    assert wl.hermite(link).information_exponent == LINKS[link][2]


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_coefficients_and_exponents_agree_with_mpmath(link):
    breaks, f, s = LINKS[link]
    found = wl.hermite(link)
    exact = [by_mpmath(breaks, f, k) for k in range(7)]
    size = math.sqrt(found.norm.value)
    for k, value in enumerate(exact):
        c = found.coefficients.get((k,), (0.0, 0.0))
        assert abs(c[0] - value) <= c[1] + 1e-11 * size
    assert min((k for k in range(1, 7) if abs(exact[k]) > 1e-10 * size), default=math.inf) == s
    norm = float(mpmath.quad(lambda z: f(z) ** 2 * mpmath.npdf(z), sorted({-30, -14, -6, 0, 6, 14, 30, *breaks})))
    assert found.norm.value == pytest.approx(norm, rel=1e-10)


def test_relu_in_closed_form():
    found = wl.hermite("relu(z)").coefficients
    root = math.sqrt(2 * math.pi)
    exact = {0: 1 / root, 1: 0.5, 2: 1 / (root * math.sqrt(2)), 3: 0.0, 4: -1 / (root * math.sqrt(24))}
    for k, value in exact.items():
        assert abs(found[(k,)].value - value) <= found[(k,)].error <= 1e-13


def test_a_coefficient_below_its_error_counts_as_zero_and_the_sentence_says_so():
    found = wl.hermite("tanh(z)")
    assert all(k[0] % 2 for k in found.nonzero) and len(found.counted_as_zero) >= 5
    assert "within its error of 0 counted as 0" in found.sentence


def test_a_small_coefficient_that_is_real_is_seen():
    assert wl.hermite("He3(z) + 0.0000000001*z").information_exponent == 1
    assert wl.hermite(lambda z: z**3 - 3 * z + 1e-10 * z).information_exponent == 1


def test_any_function_has_the_coefficients_of_the_expression():
    expression = wl.hermite("abs(z - 0.3)")
    function = wl.hermite(lambda z: np.abs(z - 0.3))
    for k, c in expression.coefficients.items():
        assert abs(c.value - function.coefficients[k].value) <= c.error + function.coefficients[k].error


def test_a_polynomial_expanded_exactly_has_the_coefficients_of_its_quadrature():
    exact = wl.hermite("z**7 - 2*z**4 + z")
    found = wl.hermite(lambda z: z**7 - 2 * z**4 + z, order=8)
    for k in range(9):
        value, error = exact.coefficients.get((k,), (0.0, 0.0))
        assert abs(found.coefficients[(k,)].value - value) <= error + found.coefficients[(k,)].error
    assert found.norm.value == pytest.approx(exact.norm.value, rel=1e-12)


def test_parseval_of_a_polynomial_of_many_variables():
    """‖f‖² from the coefficients equals E f² by Monte Carlo within four standard errors."""
    text = "z1*z2**2 - z3**3 + 0.5*z4*z5*z6 + He2(z7)"
    found = wl.hermite(text)
    z = np.random.default_rng(0).standard_normal((200_000, 7))
    y = z[:, 0] * z[:, 1] ** 2 - z[:, 2] ** 3 + 0.5 * z[:, 3] * z[:, 4] * z[:, 5] + z[:, 6] ** 2 - 1
    assert found.complete and found.degree == 3
    assert abs((y**2).mean() - found.norm.value) < 4 * (y**2).std() / math.sqrt(len(y))


def test_a_product_of_functions_of_different_variables_has_products_of_coefficients():
    both, one, other = wl.hermite("tanh(z1)*cos(z2)*z3*z4", order=5), wl.hermite("tanh(z)"), wl.hermite("cos(z)")
    for i, j in itertools.product(range(3), range(3)):
        found = both.coefficients.get((i, j, 1, 1), (0.0, 0.0))[0]
        assert found == pytest.approx(one.coefficients[(i,)].value * other.coefficients[(j,)].value, abs=1e-14)


def test_terms_of_a_separated_expression_add_up_to_it():
    from widelimit.problem.expressions import expression
    from widelimit.problem.host_values import host_values

    f = expression("(z1 - 2*tanh(z2))*(z3 + z1*sin(z4))/4 - -z2*exp(z2)")
    z = np.random.default_rng(0).standard_normal((20, 4))
    total = sum(t.coefficient * math.prod((host_values(b, z) for b in t.blocks), start=1.0) for t in separated(f))
    np.testing.assert_allclose(total, host_values(f, z), atol=1e-13)
    for term in separated(f):
        names = [name for block in term.blocks for name in block.names]
        assert len(names) == len(set(names))


def test_samples_have_the_coefficients_of_the_law_within_four_standard_errors():
    z = np.random.default_rng(1).standard_normal((20_000, 2))
    found = wl.hermite(wl.data.empirical(z, z[:, 0] * z[:, 1] + 0.3 * z[:, 1]), order=2)
    assert set(found.nonzero) == {(0, 1), (1, 1)}
    assert abs(found.coefficients[1, 1].value - 1) < 4 * found.coefficients[1, 1].error < 0.2
    assert found.trusted == 4 and "4 standard errors" in found.sentence


def corners(k):
    return np.array(list(itertools.product((1.0, -1.0), repeat=k)))


@pytest.mark.parametrize("text", ["z1 + z1*z2 - 0.5*z1**2*z3", "max(z1, z2 + z3)", "abs(z1 + z2*z3)", "z1**2"])
def test_walsh_coefficients_are_the_means_over_all_corners(text):
    from widelimit.problem.expressions import expression
    from widelimit.problem.host_values import host_values

    found, f = wl.walsh(text), expression(text)
    z = corners(len(found.names))
    y = host_values(f, z)
    for s in itertools.product((0, 1), repeat=len(found.names)):
        mean = (y * np.prod(z ** np.array(s), axis=1)).mean()
        value, error = found.coefficients.get(s, (0.0, 0.0))
        assert abs(value - mean) <= error + 1e-15
    assert found.norm.value == pytest.approx((y**2).mean())


def test_samples_on_the_cube():
    z = np.sign(np.random.default_rng(2).standard_normal((5000, 3)))
    found = wl.walsh(wl.data.empirical(z, z[:, 0] * z[:, 2]))
    assert set(found.nonzero) == {(1, 0, 1)}


@pytest.mark.parametrize("text, k", [("z**4 - z**3 + z", 1), ("z1*z2 + z1**3 + 2", 2), ("z1*z2*z3 + z1**2*z3", 3)])
def test_norms_on_the_sphere_by_harmonic_projection_and_by_gegenbauer_polynomials(text, k):
    from widelimit.problem.expressions import expression
    from widelimit.problem.host_values import host_values

    f = expression(text)
    exact = wl.gegenbauer(text, d=7)
    by_rule = wl.gegenbauer(lambda z: host_values(f, z.reshape(-1, k)), d=7, order=5, k=k)
    for ell, norm in enumerate(exact.degree_norms):
        assert by_rule.degree_norms[ell].value == pytest.approx(norm.value, abs=1e-12)
    assert by_rule.norm.value == pytest.approx(exact.norm.value, rel=1e-12)
    assert by_rule.beyond(exact.degree).value < 1e-12


def test_polynomials_of_the_ball_are_orthonormal():
    chosen = list(indices(2, 4))
    g = np.random.default_rng(0).standard_normal((60_000, 6))
    t = (g / np.linalg.norm(g, axis=1)[:, None])[:, :2]
    p = ball_polynomials(t, chosen, 6)
    assert np.abs(p.T @ p / len(p) - np.eye(len(chosen))).max() < 0.12  # a few standard errors of fourth moments


def test_the_sphere_tends_to_the_gaussian():
    sphere, gauss = wl.gegenbauer("tanh(z) + z**2", d=4000), wl.hermite("tanh(z) + z**2")
    for ell in range(5):
        assert sphere.degree_norms[ell].value == pytest.approx(gauss.degree_norms[ell].value, rel=0.01, abs=1e-6)


def test_hermite_coefficients_are_the_smoothed_activation_at_the_origin():
    """A second route inside the library: A_k(0, 1) of tanh."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    direct = (w / math.sqrt(2 * math.pi) * np.tanh(x)) @ orthonormal_hermite(x, 7)
    found = wl.hermite("tanh(z)")
    for k in range(8):
        assert found.coefficients[(k,)].value == pytest.approx(direct[k], abs=1e-8)


BAD = {
    "exp(z**2/4)": "square integrable",
    "exp(z**2)": "square integrable",
    "1/z": "square integrable",
    "tan(z)": "square integrable",
    "log(z)": "square integrable",
    "3": "needs a variable",
    "z21 + 1": "z1 to z20",
    "z +": "^",
}


@pytest.mark.parametrize("text", [*BAD, pytest.param("exp(z1*z2)", marks=pytest.mark.slow)])
def test_bad_targets_are_refused_in_one_sentence(text):
    with pytest.raises(wl.InputError, match=re.escape(BAD.get(text, "square integrable"))):
        wl.hermite(text)


def test_more_than_twenty_variables_are_refused():
    with pytest.raises(wl.InputError, match="at most 20 variables"):
        wl.walsh(lambda z: z[:, 0], k=21)


@pytest.mark.parametrize(
    "found", [lambda: wl.walsh("z1**2"), lambda: wl.hermite("0*z + 2"), lambda: wl.hermite("z - z")]
)
def test_a_constant_has_an_infinite_exponent_and_the_sentence_says_so(found):
    assert found().is_constant and math.isinf(found().information_exponent)
    assert "constant" in found().sentence and "infinite" in found().sentence


@pytest.mark.parametrize(
    "text, first",
    [("z + 100*exp(-((z - 0.7)/0.0001)**2)", 1.003874), ("100*step(0.0001 - abs(z - 0.7))", 0.7 * 0.00624508)],
)
def test_what_is_narrow_has_its_coefficients(text, first):
    """c_1 = E z f: the law of z hardly changes across the feature, φ(0.7) = 0.312254."""
    found = wl.hermite(text, order=2)
    assert found.coefficients[(1,)].value == pytest.approx(first, rel=1e-5)
