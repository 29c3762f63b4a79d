"""Certificates in several coordinates, against a convex solver of scipy on grids of plain features.

    E_w = ½ Σ_q p_q (y_q − Σ_i w_i Φ_q(θ_i))² + Σ_i w_i c_i,     w ≥ 0, Σ w = 1,     c = λ |θ|²/2

Any weights on any grid bound inf E from above, so that a certificate must not claim more. NNLS has one row for every q,
a heavy one for Σ w = 1, and one that carries the costs: ½ (c·w/M + M)² = ½ M² + c·w + O(M^(−2)).
"""

import itertools
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import FeatureSum, infinite_cube, radial_classes, two_classes
from library_problems import problem_of
from scipy.optimize import nnls

import widelimit as wl

HEAVY = 1e5
RADII, LINE = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.6, 2.5, 4.0, 8.0]), np.linspace(-3, 3, 13)


@dataclass(frozen=True)
class Case:
    """A problem, its features by the plain route, a grid of neurons and some neurons of a network."""

    problem: wl.Problem
    own: object
    grid: np.ndarray
    rows: np.ndarray
    within: dict | None = None

    def energy(self, theta, w):
        """E, or R without a ridge."""
        ridge = float(self.problem.ridge)
        F = w @ self.own.features(theta)[0]
        risk = float(self.own.p @ (self.own.y - F) ** 2)
        return risk / 2 + ridge * float(w @ (theta**2).sum(axis=1)) / 2 if ridge else risk

    def least(self):
        """The best weights on the grid."""
        own, cost = self.own, float(self.problem.ridge) * (self.grid**2).sum(axis=1) / 2
        shifted = np.sqrt(own.p) * (own.features(self.grid)[0] - own.y)
        M = 1e3 * max(cost.max(), 1.0)
        rows = np.vstack([shifted.T, cost / M, np.full(len(cost), HEAVY)])
        w, _ = nnls(rows, np.concatenate([np.zeros(len(own.p)), [-M, HEAVY]]), maxiter=30 * len(cost))
        return w / w.sum()


def product(*axes):
    return np.array(list(itertools.product(*axes)))


def positive(rng, n, signed, radii):
    return np.column_stack([rng.normal(size=(n, signed)), np.abs(rng.normal(size=(n, radii)))])


def cube(rng):
    """(u_1, u_2, r) at d = ∞."""
    a, b = rng.uniform(0.3, 1.0, 2)
    own = infinite_cube(SIGMAS["erf"], 2, lambda z: a * z[:, 0] + b * z[:, 0] * z[:, 1])
    problem = problem_of(wl.data.hypercube(math.inf, f"{a}*z1 + {b}*z1*z2"), "erf")
    return Case(problem, own, product(LINE, LINE, RADII), positive(rng, 4, 2, 1))


def cube_within(rng):
    """(a, u_1, u_2, r) with |a| ≤ A: Ψ is linear in a, so that a = ±A are enough."""
    a, most = rng.uniform(0.3, 1.0), rng.uniform(0.8, 2.0)
    own = infinite_cube(SIGMAS["tanh"], 2, lambda z: a * z[:, 0] * z[:, 1] + 0.5, "a")
    problem = problem_of(wl.data.hypercube(math.inf, f"{a}*z1*z2 + 0.5"), "tanh", "a")
    rows = np.column_stack([rng.uniform(-most, most, 4), positive(rng, 4, 2, 1)])
    return Case(problem, own, product([-most, most], LINE, LINE, RADII), rows, {"a": most})


def single_index(rng):
    """(u, r) at d = ∞, labels at Gauss–Hermite nodes."""
    a, b = rng.uniform(0.3, 1.0, 2)
    z, p = np.polynomial.hermite_e.hermegauss(80)
    own = FeatureSum(SIGMAS["sigmoid"], p / p.sum(), a * z + b * (z**2 - 1), z[:, None], np.ones(80), math.inf)
    data = wl.data.single_index(math.inf, f"{a}*z + {b}*(z**2 - 1)")
    return Case(problem_of(data, "sigmoid"), own, product(np.linspace(-8, 8, 65), RADII), positive(rng, 4, 1, 1))


def classes_with_bias(rng):
    """(b, r) at finite d, a ridge, and a kink."""
    d, delta = 12, rng.uniform(0.3, 0.9)
    own = radial_classes(SIGMAS["ramp"], d, two_classes(delta), "b", points=40)
    problem = problem_of(wl.data.gaussian_classes(d, delta), "ramp", "b", ridge=float(rng.uniform(0.01, 0.1)))
    grid = product(np.linspace(-4, 4, 41), np.linspace(0, 5, 41))
    return Case(problem, own, grid, positive(rng, 4, 1, 1))


def classes_with_ridge(rng):
    """(a, b, r) at d = ∞, a ridge."""
    delta = rng.uniform(0.3, 0.9)
    own = radial_classes(SIGMAS["tanh"], math.inf, two_classes(delta), "ab")
    problem = problem_of(wl.data.gaussian_classes(math.inf, delta), "tanh", "ab", ridge=float(rng.uniform(0.01, 0.1)))
    return Case(problem, own, product(LINE, LINE, np.linspace(0, 4, 13)), positive(rng, 4, 2, 1))


def anisotropic(rng):
    """(r_1, r_2) at finite d, σ = c_0 + x + c_2 x²: f = c_0 + c_2 Σ_g q_g |x_g|²/d_g, q = ∫ r² dρ; |w| ≤ W.

    |x_g|² = τ² χ²: nodes that have the moments of both groups.
    """
    d, s, delta, W = 14, 4, rng.uniform(0.3, 0.9), rng.uniform(0.5, 2.0)
    c = np.array([rng.normal(), 1.0, rng.uniform(0.2, 1.0)])
    chi = {k: chi_square(k) for k in (s, d - s)}
    nodes = [(x, y, px * py / 2, label, tau) for label, tau in ((1.0, 1 + delta), (-1.0, 1 - delta))
             for (x, px), (y, py) in itertools.product(*(zip(*chi[k], strict=True) for k in (s, d - s)))]  # fmt: skip
    x, y, p, labels, tau = np.array(nodes).T
    squares = np.stack([tau**2 * x / s, y / (d - s)])
    own = SimpleNamespace(p=p, y=labels, features=lambda theta: (c[0] + c[2] * theta**2 @ squares, None))
    sigma = wl.activations.polynomial([float(value) for value in c])
    problem = problem_of(wl.data.gaussian_classes(d, delta, informative=s), sigma)
    angles = np.linspace(0, math.pi / 2, 33)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    grid = np.concatenate([t * W * ring for t in np.linspace(0, 1, 12)])
    rows = np.abs(rng.normal(size=(4, 2)))
    return Case(problem, own, grid, W * rows / np.linalg.norm(rows, axis=1).max(), {"w": W})


def chi_square(k):
    """Two nodes with the moments of χ² of k degrees up to the third."""
    skew = math.sqrt(8 / k)
    roots = np.roots([1.0, -skew, -1.0])
    weights = np.linalg.solve(np.vander(roots, 2, increasing=True).T, [1.0, 0.0])
    return k + math.sqrt(2 * k) * roots, weights


KINDS = (cube, cube_within, single_index, classes_with_bias, classes_with_ridge, anisotropic)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_certificate_bounds_what_a_grid_reaches(kind):
    """Four random problems of each kind; at the best weights of the grid the gap is a fraction of a random one."""
    rng = np.random.default_rng(17)
    for i in range(4):
        case = kind(rng)
        found = wl.certificate(case.problem, case.rows, within=case.within, points=512)
        w = case.least()
        least, size = case.energy(case.grid, w), 1e-7 + found.error
        assert not found.rigorous and len(found.coordinates) >= 2
        assert found.value == pytest.approx(case.energy(case.rows, np.full(4, 0.25)), abs=size)
        assert found.lower <= least + size and 0 <= found.gap <= found.value + size
        if i == 0:
            on = w > 1e-9
            best = wl.Cloud(case.grid[on], w[on] / w[on].sum(), found.coordinates)
            near = wl.certificate(case.problem, best, within=case.within, points=512)
            assert near.gap < 0.3 * found.gap, (near, found)
