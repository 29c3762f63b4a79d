"""Polynomial targets of three and more coordinates: Hermite features are the same landscape as nodes, without nodes."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import roots_jacobi

import widelimit as wl
from widelimit.measures import Cloud
from widelimit.potentials.labels import hermite_coefficients
from widelimit.potentials.polynomial_landscape import PolynomialLandscape
from widelimit.problem.data.target import polynomial_terms

CUBIC = "z1*z2*z3 - 0.5*z2**2 + z1"


def problem(k, link, activation, nodes=None, d=30, bias="trained"):
    neuron = wl.neurons.ridge(activation, outer="trained", bias=bias)
    start = wl.initial.gaussian(1.0, a=1.0, b=None if bias == "absent" else 0.0)
    return wl.Problem(wl.data.multi_index(d, k, link, 0.2, nodes=nodes), neuron, start)


def rows(n, k, bias=True, size=0.4):
    """Neurons with |u| = size and a radius near 1."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(n, k))
    u *= size / np.linalg.norm(u, axis=1, keepdims=True)
    scalars = rng.normal([1.0, 0.0], 0.4, (n, 2))[:, : 1 + bias]
    return np.hstack([scalars, u, rng.uniform(0.8, 1.2, (n, 1))])


@pytest.mark.slow
@pytest.mark.parametrize("activation, bias", [("tanh", "absent"), ("relu", "trained")])
def test_hermite_features_and_nodes_are_one_landscape(activation, bias):
    closed, nodes = (
        wl.landscape(problem(3, CUBIC, activation, points, bias=bias), reduced=True) for points in (None, 16)
    )
    assert isinstance(closed, PolynomialLandscape) and not isinstance(nodes, PolynomialLandscape)
    theta = rows(5, 3, bias == "trained")
    cloud = Cloud(theta, np.full(5, 0.2), closed.coordinates)
    for name in ("V", "U", "psi", "grad_psi"):
        others = {"V": (), "U": (theta,)}.get(name, (cloud,))
        mine, other = (np.asarray(getattr(land, name)(theta, *others)) for land in (closed, nodes))
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-8)
    assert closed.risk(cloud) == pytest.approx(nodes.risk(cloud), abs=1e-8)

    def g(z):
        return z[:, 0] * z[:, 1]

    assert closed.project(cloud, g) == pytest.approx(nodes.project(cloud, g), abs=1e-8)
    assert abs(closed.project(cloud, g) - nodes.project(cloud, g)) <= closed.project_error(
        cloud, g
    ) + nodes.project_error(cloud, g)


def test_coefficients_are_those_of_hermite_polynomials():
    law = wl.data.multi_index(9, 3, "z1**4 - 2*z1**2*z3 + 3*z2")
    expected = {(4, 0, 0): math.sqrt(24), (2, 0, 0): 6 * math.sqrt(2), (0, 0, 0): 3.0,  # z⁴ = He4 + 6 He2 + 3
                (2, 0, 1): -2 * math.sqrt(2), (0, 0, 1): -2.0, (0, 1, 0): 3.0}  # fmt: skip
    found = hermite_coefficients(polynomial_terms(law.target), 3)
    assert found == {alpha: pytest.approx(c, rel=1e-14) for alpha, c in expected.items()}


@pytest.mark.slow
@pytest.mark.parametrize("k", [4, 6])
def test_more_directions_than_a_grid_can_hold(k):
    """V of a square by hand; U as the full one averaged over the angle of the other directions."""
    land = wl.landscape(problem(k, "z1*z2 + z3**2", "x**2", d=40), reduced=True)
    (a, b, *u, r), *_ = theta = rows(2, k)
    mean = u[2] ** 2 * 2 + b * b + np.dot(u, u) + r * r  # E (z3² + z1 z2)(b + ⟨u, z⟩ + r G)²
    assert float(land.V(theta)[0]) == pytest.approx(-a * (mean + 2 * u[0] * u[1]), rel=1e-12)
    case = problem(k, "z1*z2", "erf", d=40)
    closed, full, size = wl.landscape(case, reduced=True), wl.landscape(case), 40 - k
    cosines, weights = roots_jacobi(24, (size - 3) / 2, (size - 3) / 2)
    first, second = np.eye(2, size)
    one = np.hstack([theta[:1, :-1], theta[:1, -1:] * first])
    turned = theta[1, -1] * (cosines[:, None] * first + np.sqrt(1 - cosines[:, None] ** 2) * second)
    samples = np.asarray(full.U(one, np.hstack([np.tile(theta[1, :-1], (24, 1)), turned])))[0]
    assert float(closed.U(theta, theta)[0, 1]) == pytest.approx(weights @ samples / weights.sum(), abs=1e-6)


@pytest.mark.slow
def test_what_the_orders_leave_out_is_within_the_stated_error():
    """Neurons mostly outside of the kept coordinates; E erf erf = (2/π) E arcsin(2 ⟨w, w'⟩/√((1+2s²)(1+2s'²)))."""
    land = wl.landscape(problem(6, "z1*z2", "erf", d=12, bias="absent"), reduced=True)
    theta = np.random.default_rng(1).normal(size=(6, 8))
    theta[:, 0], theta[:, -1] = 1.0, [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
    u, r, s = theta[:, 1:-1], theta[:, -1], np.linalg.norm(theta[:, 1:], axis=1)
    cosines, weights = roots_jacobi(200, 1.5, 1.5)  # d − κ = 6
    inner = (u @ u.T)[..., None] + np.outer(r, r)[..., None] * cosines
    size = np.sqrt(np.outer(1 + 2 * s**2, 1 + 2 * s**2))[..., None]
    exact = 2 / math.pi * np.arcsin(2 * inner / size) @ weights / weights.sum()
    true = np.abs(np.asarray(land.U(theta, theta)) - exact)
    stated = np.asarray(land.errors(Cloud(theta, np.full(6, 1 / 6), land.coordinates)).U)
    assert (true <= stated + 1e-14).all() and true.max() > 1e-4
    assert np.median(stated / true) < 30


@pytest.mark.some(1)
@pytest.mark.parametrize("link, nodes", [("sign(z1)*z2*z3", None), ("z1**9*z2**9*z3", None), ("z1*z2*z3", 4)])
def test_other_targets_and_chosen_nodes_stay_on_nodes(link, nodes):
    assert not isinstance(wl.landscape(problem(3, link, "relu", nodes), reduced=True), PolynomialLandscape)


@pytest.mark.slow
def test_the_order_is_that_of_the_docstring():
    """Features run over α with |α| = 0, 1, … and then over j."""
    land = wl.landscape(problem(3, CUBIC, "tanh"), reduced=True)
    count = sum(math.comb(t + 2, 2) * len(j) for t, j in enumerate(land.series.orders))
    assert count == len(land.fit.p) and all(b - a == 2 for j in land.series.orders for a, b in itertools.pairwise(j))


def arcsine(theta):
    """U/(a a'), and the slopes of ∫U dρ of θ in its own field, (n, D), for erf neurons in d = ∞:
    U = (2/π) a a' atan2(C, √D),  C = 2⟨u, u'⟩,  m = 1 + 2r²,  D = m m' + 2|u|² m' + 2|u'|² m + 4|u × u'|²."""
    a, u, r = theta[:, 0], theta[:, 1:4], theta[:, 4]
    m, square = 1 + 2 * r**2, (u**2).sum(axis=1)
    crossed = np.cross(u[:, None], u[None])
    root = np.sqrt(np.multiply.outer(m, m) + 2 * np.add.outer(square / m, square / m) * np.outer(m, m)
                   + 4 * (crossed**2).sum(axis=2))  # fmt: skip
    C = 2 * u @ u.T
    by_a = 2 / math.pi * np.arctan2(C, root) @ (a / len(a))
    # atan2(C, √D)' = (√D C' − C D'/(2√D))/(C² + D), and C² + D = q q', q = 1 + 2|u|² + 2r²
    q, load = m + 2 * square, 2 / math.pi * np.outer(a, a) / len(a)
    D_u = 4 * u[:, None] * m[None, :, None] + 8 * (square[None, :, None] * u[:, None] - (C / 2)[..., None] * u[None])
    D_r = 4 * r[:, None] * (m + 2 * square)[None]
    by_u = (root[..., None] * 2 * u[None] - (C / (2 * root))[..., None] * D_u) / np.outer(q, q)[..., None]
    by_r = -C / (2 * root) * D_r / np.outer(q, q)
    return np.column_stack([by_a, (load[..., None] * by_u).sum(axis=1), (load * by_r).sum(axis=1)])


@pytest.mark.more
@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_steep_neurons_are_within_their_error_whatever_their_outer_weight(seed):
    """V = −2 a u_1/√(π q) of y = z1 + (terms of even degree that an odd σ does not see)."""
    neuron, start = wl.neurons.ridge("erf", outer="trained"), wl.initial.gaussian(1.0, a=1.0)
    law = wl.data.multi_index(math.inf, 3, "z1 + z2*z3")
    land = wl.landscape(wl.Problem(law, neuron, start), reduced=True)
    assert isinstance(land, PolynomialLandscape)
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(8):
        size, a = 10 ** rng.uniform(-0.5, 2), 10 ** rng.uniform(-3, 1, (4, 1))
        theta = np.hstack([a, size * rng.normal(size=(4, 3)), size * 10 ** rng.uniform(-3, 0, (4, 1))])
        a, w = theta[:, 0], theta[:, 1:]
        q = 1 + 2 * (w**2).sum(axis=1)
        own = -2 / math.sqrt(math.pi) * np.column_stack([w[:, 0] / np.sqrt(q), (a / np.sqrt(q))[:, None] * np.eye(4)[0]
                                                         - 2 * (a * w[:, 0] / q**1.5)[:, None] * w])  # fmt: skip
        off = np.abs(np.asarray(land.grad_psi(theta, theta)) - own - arcsine(theta))
        stated = land.errors(theta).gradient
        assert (off <= stated + 1e-11).all()
        ratios.append((stated / np.maximum(off, 1e-300))[off > 1e-9])
    assert np.median(np.concatenate(ratios)) < 30
