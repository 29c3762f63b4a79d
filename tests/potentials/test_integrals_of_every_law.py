"""Every data law: V and U as nested adaptive integrals, and gradients as slopes.

The integrals are split at the kinks of the activation and know nothing of the nodes of the library.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import widelimit as wl
from widelimit.measures import Cloud

THREE = {"deviations": [0.5, 1.0, 1.8], "labels": [1.0, -2.0, 0.5], "weights": [0.5, 0.2, 0.3]}
ROWS = np.array([[1.3, 0.3, 0.9, 0.7], [0.8, -0.5, -0.6, 1.1]])  # a, b, u, r


def problem(data, activation="relu", **more):
    neuron = wl.neurons.ridge(activation, outer="trained", bias="trained")
    return wl.Problem(data, neuron, wl.initial.gaussian(1.0, a=1.0, b=0.0), **more)


def neurons(n, columns, seed=0):
    """n neurons with a, b, kept coordinates of any sign, and a last column that may be a radius."""
    rng = np.random.default_rng(seed)
    scalars = rng.normal([1.0, 0.0], 0.4, (n, 2))
    return np.hstack([scalars, rng.uniform(-1, 1, (n, columns - 3)), rng.uniform(0.5, 1.2, (n, 1))])


def density(g):
    return math.exp(-g * g / 2) / math.sqrt(2 * math.pi)


def integral(function, low=-12.0, high=12.0, kink=None):
    """∫ function, between the ends and a kink, to about 1e−13."""
    inside = kink is not None and low < kink < high
    ends = [low, kink, high] if inside else [low, high]
    return sum(quad(function, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pairwise(ends))


def hinged(m, s):
    """E relu(m + s G)."""
    return integral(lambda g: max(m + s * g, 0.0) * density(g), kink=-m / s)


LINK = "He2(z) + 0.5*z - 0.2*He3(z)"


def link(z):
    return z * z - 1 + 0.5 * z - 0.2 * (z**3 - 3 * z)


@pytest.mark.some(1)
@pytest.mark.parametrize("d", [20, math.inf])
def test_single_index_V_and_U_are_nested_integrals(d):
    """At finite d only V is one: it knows nothing of the other neurons."""
    case = problem(wl.data.single_index(d, LINK))
    rows = ROWS
    land = wl.landscape(case, reduced=True)
    V = [-a * integral(lambda z: link(z) * hinged(b + u * z, r) * density(z)) for a, b, u, r in rows]  # noqa: B023
    np.testing.assert_allclose(land.V(rows), V, rtol=0, atol=1e-10)
    if math.isinf(d):
        (a, b, u, r), (a2, b2, u2, r2) = rows
        U = a * a2 * integral(lambda z: hinged(b + u * z, r) * hinged(b2 + u2 * z, r2) * density(z))
        assert float(land.U(rows, rows)[0, 1]) == pytest.approx(U, abs=1e-10)


@pytest.mark.more
def test_full_single_index_U_is_a_bivariate_integral_over_the_quadrant():
    case, d = problem(wl.data.single_index(5, LINK)), 5
    theta = np.hstack([[[1.3, 0.3], [0.8, -0.5]], np.random.default_rng(8).normal(size=(2, d)) / 2])
    (a, b, *w), (a2, b2, *w2) = theta
    s, s2 = np.linalg.norm(w), np.linalg.norm(w2)
    c = np.dot(w, w2) / (s * s2)

    def inner(g):  # given the first coordinate g, the second pre-activation is normal
        return (b + s * g) * hinged(b2 + s2 * c * g, s2 * math.sqrt(1 - c * c)) * density(g)

    expected = a * a2 * integral(inner, low=-b / s)
    land = wl.landscape(case)
    assert float(land.U(theta, theta)[0, 1]) == pytest.approx(expected, abs=1e-10)
    V = -a * integral(lambda z: link(z) * hinged(b + w[0] * z, math.hypot(*w[1:])) * density(z))
    assert float(land.V(theta)[0]) == pytest.approx(V, abs=1e-10)


def test_hypercube_V_and_U_are_sums_over_corners():
    case = problem(wl.data.hypercube(math.inf, "z1 + z1*z2 - 2*z1*z2*z3"))
    rows = neurons(2, 6)
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    A = np.array([[a * hinged(b + np.dot(u, z), r) for z in corners] for a, b, *u, r in rows])
    h = np.array([x + x * y - 2 * x * y * z for x, y, z in corners])
    land = wl.landscape(case, reduced=True)
    np.testing.assert_allclose(land.V(rows), -A @ h / 8, rtol=0, atol=1e-11)
    np.testing.assert_allclose(land.U(rows, rows), A @ A.T / 8, rtol=0, atol=1e-11)


def ball_mean(m, s, p, kink=True):
    """E relu(m + s √p T), T a coordinate of the unit sphere in R^p, as an integral over the angle."""
    scale = s * math.sqrt(p)
    edge = math.acos(min(1.0, max(-1.0, -m / scale)))
    mass = math.exp(math.lgamma(p / 2) - math.lgamma((p - 1) / 2)) / math.sqrt(math.pi)
    return integral(lambda t: (m + scale * math.cos(t)) * mass * math.sin(t) ** (p - 2), 0.0, edge)


@pytest.mark.more
def test_sphere_V_and_U_are_nested_integrals_over_angles():
    d, p = 20, 19
    case = problem(wl.data.sphere(d, LINK))
    rows = ROWS
    mass = math.exp(math.lgamma(d / 2) - math.lgamma((d - 1) / 2)) / math.sqrt(math.pi)

    def features(angle):
        z = math.sqrt(d) * math.cos(angle)
        tau = math.sqrt((d - z * z) / p)
        means = [a * ball_mean(b + u * z, tau * r, p) for a, b, u, r in rows]
        return z, means, mass * math.sin(angle) ** (d - 2)

    def over(function):
        return integral(lambda t: function(*features(t)), 0.05, math.pi - 0.05)  # sin^18 < 1e−23 beyond

    land = wl.landscape(case, reduced=True)
    V = [over(lambda z, f, w: -link(z) * f[0] * w), over(lambda z, f, w: -link(z) * f[1] * w)]
    np.testing.assert_allclose(land.V(rows), V, rtol=0, atol=1e-9)
    assert float(land.U(rows, rows)[0, 1]) == pytest.approx(over(lambda z, f, w: f[0] * f[1] * w), abs=1e-9)


def test_several_classes_V_and_U_are_sums_of_integrals():
    case = problem(wl.data.gaussian_classes(math.inf, informative=0.3, **THREE))
    rows = np.array([[1.3, 0.3, 0.9, 0.7], [0.8, -0.5, 0.6, 1.1]])
    A = [[a * hinged(b, math.hypot(t * r, q)) for t in THREE["deviations"]] for a, b, r, q in rows]
    A, p, y = np.array(A), np.array(THREE["weights"]), np.array(THREE["labels"])
    land = wl.landscape(case, reduced=True)
    np.testing.assert_allclose(land.V(rows), -A @ (p * y), rtol=0, atol=1e-11)
    np.testing.assert_allclose(land.U(rows, rows), (A * p) @ A.T, rtol=0, atol=1e-11)


def cubic(x, theta):
    return theta[0] * (theta[1:] @ x) ** 3 + theta[1] ** 2 * x[0]


def custom_problem():
    rng = np.random.default_rng(9)
    table = wl.data.empirical(rng.normal(size=(7, 2)), rng.normal(size=7))
    return wl.Problem(table, wl.neurons.custom(cubic, 3), wl.initial.gaussian(1.0), ridge=0.1)


TWO = "z1 + z1*z2"
SLOPES = {  # the problem, whether reduced, and how many columns θ has
    "single index": (lambda: problem(wl.data.single_index(20, "He2(z)", nodes=16), "erf", ridge=0.1), True, 4),
    "multi index": (lambda: problem(wl.data.multi_index(math.inf, 2, TWO, nodes=8)), True, 5),
    "hypercube": (lambda: problem(wl.data.hypercube(math.inf, TWO)), True, 5),
    "sphere, relu": (lambda: problem(wl.data.sphere(20, TWO, nodes=8)), True, 5),
    "sphere, tanh": (lambda: problem(wl.data.sphere(20, "z", nodes=8), "tanh"), True, 4),
    "three classes": (lambda: problem(wl.data.gaussian_classes(math.inf, **THREE)), True, 3),
    "full single index": (lambda: problem(wl.data.single_index(4, "He2(z)"), "erf", ridge=0.1), False, 6),
    "drawn hypercube": (lambda: problem(wl.data.hypercube(4, TWO, samples=64), "erf"), False, 6),
    "custom neuron": (custom_problem, False, 3),
}
QUICK = ("single index", "hypercube", "sphere, relu", "custom neuron")


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in SLOPES])
def test_gradients_are_slopes_of_psi_in_every_column(name):
    build, reduced, columns = SLOPES[name]
    land, rows = wl.landscape(build(), reduced, tolerance=1e-3 if reduced else 1e-10), neurons(4, columns)
    p, h = np.array([0.1, 0.2, 0.3, 0.4]), 1e-4
    cloud = Cloud(rows, p, land.coordinates)
    gradient = np.asarray(land.grad_psi(rows, cloud))
    steps = [(e, j) for j in range(columns) for e in (-2, -1, 1, 2)]
    shifted = np.concatenate([rows + e * h * np.eye(columns)[j] for e, j in steps])
    at = dict(zip(steps, np.asarray(land.psi(shifted, cloud)).reshape(-1, 4), strict=True))
    for j in range(columns):
        slope = (8 * (at[1, j] - at[-1, j]) - (at[2, j] - at[-2, j])) / (12 * h)  # h⁴ and 1e−15·|Ψ|/h
        np.testing.assert_allclose(gradient[:, j], slope, rtol=0, atol=3e-10 * (1 + np.abs(slope).max()))
    own = land.near(rows, p).self_gradient(rows, p)
    np.testing.assert_allclose(own, gradient, rtol=0, atol=1e-9 * (1 + np.abs(gradient).max()))
