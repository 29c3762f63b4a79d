"""Every data law: its reduced and its full landscape are one expectation, by sampling and by rotation.

Sampling: inputs and directions drawn here by numpy. Rotation: the exact full landscape, integrated over the angle.
"""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.special import erf, roots_jacobi

import widelimit as wl
from widelimit.measures import Cloud

DRAWS = 40_000
START = wl.initial.gaussian(1.0, a=1.0, b=0.0)
SIGMA = {"relu": lambda x: np.maximum(x, 0.0), "erf": erf, "tanh": np.tanh}
NOISE = 0.3


@dataclass(frozen=True)
class Case:
    """A law of the library beside the same law written with numpy: ``draw(rng, n)`` is x (n, d) and y (n,)."""

    data: wl.data.DataLaw
    draw: object
    activation: str = "relu"

    @property
    def problem(self):
        return wl.Problem(self.data, wl.neurons.ridge(self.activation, outer="trained", bias="trained"), START)

    def rows(self, n, seed=0):
        """n neurons in reduced coordinates."""
        rng = np.random.default_rng(seed)
        kept = rng.uniform(-1, 1, (n, self.data.kept))
        radii = rng.uniform(0.5, 1.2, (n, len(self.data.groups)))
        return np.hstack([rng.normal(1.0, 0.4, (n, 1)), rng.normal(0.0, 0.4, (n, 1)), kept, radii])

    def turned(self, row, n, rng):
        """n full neurons with the coordinates of one reduced row, in independent uniform directions."""
        cut = 2 + self.data.kept
        blocks = [np.tile(row[:cut], (n, 1))]
        for r, size in zip(row[cut:], self.sizes, strict=True):
            w = rng.normal(size=(n, size))
            blocks.append(r * w / np.linalg.norm(w, axis=1, keepdims=True))
        return np.hstack(blocks)

    @property
    def sizes(self):
        return [int(g.d) for g in self.data.groups]

    def values(self, theta, x):
        """σ*(x_i; θ_i), row by row, or of one neuron at every row."""
        return theta[:, 0] * SIGMA[self.activation](np.sum(theta[:, 2:] * x, axis=1) + theta[:, 1])


def gaussian_inputs(d, label):
    def draw(rng, n):
        x = rng.normal(size=(n, d))
        return x, label(x) + NOISE * rng.normal(size=n)

    return draw


def ball_inputs(d, label):
    def draw(rng, n):
        x = rng.normal(size=(n, d))
        x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
        return x, label(x) + NOISE * rng.normal(size=n)

    return draw


def cube_inputs(d, label):
    def draw(rng, n):
        x = rng.choice([-1.0, 1.0], size=(n, d))
        return x, label(x) + NOISE * rng.normal(size=n)

    return draw


def class_inputs(d, informative, deviations, labels, weights):
    def draw(rng, n):
        c = rng.choice(len(labels), size=n, p=weights)
        x = rng.normal(size=(n, d))
        x[:, :informative] *= np.array(deviations)[c, None]
        return x, np.array(labels)[c]

    return draw


def one(x):
    return (x[:, 0] ** 2 - 1) + 0.5 * x[:, 0]


def two(x):
    return x[:, 0] + x[:, 0] * x[:, 1]


ONE, TWO = "He2(z) + 0.5*z", "z1 + z1*z2"
THREE = {"deviations": [0.5, 1.0, 1.8], "labels": [1.0, -2.0, 0.5], "weights": [0.5, 0.2, 0.3]}
MANY = wl.data.gaussian_classes(50, informative=25, **THREE)
CASES = {
    "single index, d = 20": Case(wl.data.single_index(20, ONE, NOISE), gaussian_inputs(20, one)),
    "single index, d = 200": Case(wl.data.single_index(200, ONE, NOISE), gaussian_inputs(200, one)),
    "multi index, d = 20": Case(wl.data.multi_index(20, 2, TWO, NOISE), gaussian_inputs(20, two), "erf"),
    "multi index, d = 200": Case(wl.data.multi_index(200, 2, TWO, NOISE), gaussian_inputs(200, two), "erf"),
    "sphere, d = 20": Case(wl.data.sphere(20, TWO, NOISE), ball_inputs(20, two)),
    "sphere, d = 200": Case(wl.data.sphere(200, ONE, NOISE), ball_inputs(200, one), "tanh"),
    "three classes": Case(MANY, class_inputs(50, 25, **THREE)),
}
CUBE = Case(wl.data.hypercube(20, TWO, NOISE), cube_inputs(20, two))


def each(quick, slow=()):
    """Cases by name, some of them slow."""
    marked = [*quick, *(pytest.param(name, marks=pytest.mark.slow) for name in slow)]
    return pytest.mark.parametrize("name", marked)


@cache
def reduced(case, tolerance=1e-6):
    return wl.landscape(case.problem, reduced=True, tolerance=tolerance)


def within(samples, expected, errors=5, allowance=0.0):
    """Whether a sample mean is within so many standard errors of the expected value."""
    return abs(np.mean(samples) - expected) <= errors * np.std(samples) / math.sqrt(len(samples)) + allowance


@pytest.mark.some(1)
@each(
    ["single index, d = 20", "multi index, d = 20", "sphere, d = 20", "three classes"],
    ["single index, d = 200", "multi index, d = 200", "sphere, d = 200"],
)
def test_reduced_V_and_U_are_means_over_inputs_and_directions(name):
    case = CASES[name]
    rng, rows, land = np.random.default_rng(1), case.rows(2), reduced(case)
    x, y = case.draw(rng, DRAWS)
    here, there = (case.values(case.turned(row, DRAWS, rng), x) for row in rows)
    V, U = np.asarray(land.V(rows)), np.asarray(land.U(rows, rows))
    assert within(-y * here, V[0]) and within(-y * there, V[1]) and within(here * there, U[0, 1])
    assert within(here * case.values(case.turned(rows[0], DRAWS, rng), x), U[0, 0])


@pytest.mark.more
def test_reduced_hypercube_is_the_hypercube_in_many_dimensions():
    """Errors of order 1/d: the normal law of Σ w_i x_i has a relative error in its fourth cumulant of at most 6/d."""
    d, chunk = 4000, 3000
    case = Case(wl.data.hypercube(math.inf, TWO, NOISE), None)
    rows, land = case.rows(2), wl.landscape(case.problem, reduced=True)
    rng, samples = np.random.default_rng(2), []
    for _ in range(3):
        x = rng.integers(0, 2, (chunk, d), dtype=np.int8)
        y = two(2.0 * x[:, :2] - 1) + NOISE * rng.normal(size=chunk)
        values = []
        for a, b, *u, r in rows:
            w = rng.standard_normal((chunk, d - 2), dtype=np.float32)
            inner = np.einsum("nd,nd->n", w, 2 * x[:, 2:] - np.float32(1)) / np.linalg.norm(w, axis=1)
            values.append(a * np.maximum((2.0 * x[:, :2] - 1) @ u + r * inner + b, 0.0))
        samples.append([-y * values[0], values[0] * values[1]])
    V, U = np.concatenate(samples, axis=1)
    assert within(V, float(land.V(rows)[0]), allowance=6 / d)
    assert within(U, float(land.U(rows, rows)[0, 1]), allowance=6 / d)


@each(
    ["single index, d = 20"], ["single index, d = 200", "multi index, d = 20", "multi index, d = 200", "three classes"]
)
def test_full_V_and_U_are_means_over_inputs(name):
    case = CASES[name]
    rng, land = np.random.default_rng(3), wl.landscape(case.problem)
    theta = np.concatenate([case.turned(row, 1, rng) for row in case.rows(2)])
    theta[1, 2:] = 0.8 * theta[1, 2:] + 0.4 * theta[0, 2:]  # far from orthogonal
    x, y = case.draw(rng, DRAWS)
    here, there = (case.values(row[None], x) for row in theta)
    V, U = np.asarray(land.V(theta)), np.asarray(land.U(theta, theta))
    assert within(-y * here, V[0]) and within(-y * there, V[1])
    assert within(here * there, U[0, 1]) and within(here**2, U[0, 0])


@pytest.mark.more
@pytest.mark.parametrize("case", [CUBE, CASES["sphere, d = 20"]], ids=["hypercube", "sphere"])
def test_full_V_and_U_without_a_formula_come_from_a_fair_draw(case):
    """Both sides are means of samples: 4096 of the library, more of ours."""
    rng, land = np.random.default_rng(4), wl.landscape(case.problem)
    theta = np.concatenate([case.turned(row, 1, rng) for row in case.rows(2)])
    x, y = case.draw(rng, DRAWS)
    here, there = (case.values(row[None], x) for row in theta)
    for samples, found in ((-y * here, land.V(theta)[0]), (here * there, land.U(theta, theta)[0, 1])):
        assert abs(np.mean(samples) - found) <= 5 * np.std(samples) * math.sqrt(1 / DRAWS + 1 / 4096)
    own, squares = land.risk(theta), (y - (here + there) / 2) ** 2
    assert 0 < land.risk_error(theta) <= np.std(squares) / 64  # √4096, less what is exact in the draw
    assert abs(own - squares.mean()) <= 5 * math.hypot(land.risk_error(theta), np.std(squares) / math.sqrt(DRAWS))


@pytest.mark.some(1)
@each(
    ["single index, d = 20", "multi index, d = 20"], ["single index, d = 200", "multi index, d = 200", "three classes"]
)
def test_reduced_U_is_the_full_one_averaged_over_rotations(name):
    """No error bar: the cosine in every group has density ∝ (1 − c²)^{(d − 3)/2}, a Gauss–Jacobi weight."""
    case = CASES[name]
    rows, cut = case.rows(2), 2 + case.data.kept
    rules = [roots_jacobi(24, (size - 3) / 2, (size - 3) / 2) for size in case.sizes]
    cosines = np.stack([c.ravel() for c in np.meshgrid(*(c for c, _ in rules))], axis=1)
    weights = np.prod(np.stack([w.ravel() for w in np.meshgrid(*(w / w.sum() for _, w in rules))]), axis=0)
    fixed, turned = [rows[:1, :cut]], [np.tile(rows[1, :cut], (len(weights), 1))]
    for r, r2, c, size in zip(rows[0, cut:], rows[1, cut:], cosines.T[:, :, None], case.sizes, strict=True):
        first, second = np.eye(2, size)
        fixed.append(r * first[None])
        turned.append(r2 * (c * first + np.sqrt(1 - c**2) * second))
    full, closed = wl.landscape(case.problem), reduced(case)
    samples = np.asarray(full.U(np.hstack(fixed), np.hstack(turned)))[0]
    assert float(closed.U(rows, rows)[0, 1]) == pytest.approx(
        weights @ samples, abs=1e-6
    )  # the tolerance of U, E σ² ≤ 1
    assert weights @ np.abs(samples - weights @ samples) > 1e-3
    V = np.asarray(full.V(np.hstack(turned)[:4]))
    np.testing.assert_allclose(V, np.full(4, closed.V(rows)[1]), rtol=1e-12, atol=1e-13)


@pytest.mark.more
@each(["multi index, d = 20"], ["single index, d = 20", "three classes"])
def test_full_risk_is_the_quadratic_form_of_V_and_U(name):
    case = CASES[name]
    rng, land = np.random.default_rng(6), wl.landscape(case.problem)
    theta = np.concatenate([case.turned(row, 1, rng) for row in case.rows(9)])
    p = rng.dirichlet(np.ones(9))
    _, weights, y = case.data.quadrature
    moment = weights @ y**2 + case.data.noise**2
    quadratic = moment + 2 * p @ np.asarray(land.V(theta)) + p @ np.asarray(land.U(theta, theta)) @ p
    assert land.risk(Cloud(theta, p, land.coordinates)) == pytest.approx(quadratic, abs=1e-10)


@pytest.mark.more
@each(["multi index, d = 20"], ["single index, d = 20", "sphere, d = 20"])
def test_noise_of_the_labels_adds_its_variance_to_the_risk(name):
    case = CASES[name]
    quiet = replace(case, data=replace(case.data, noise=0.0))
    rng, rows = np.random.default_rng(7), case.rows(3)
    assert reduced(case).risk(rows) - reduced(quiet).risk(rows) == pytest.approx(NOISE**2, rel=1e-12)
    theta = np.concatenate([case.turned(row, 1, rng) for row in rows])
    full = wl.landscape(case.problem).risk(theta)
    x, y = case.draw(rng, DRAWS)
    squares = (y - np.mean([case.values(row[None], x) for row in theta], axis=0)) ** 2
    error = wl.landscape(case.problem).risk_error(theta)
    assert within(squares, full, allowance=5 * error)
