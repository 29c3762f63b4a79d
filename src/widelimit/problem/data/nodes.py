"""Nodes and weights for expectations over the kept coordinates z ∈ R^k.

    z ~ N(0, I_k)   k ≤ 3: tensor of a rule for each axis; beyond: Sobol points, error about 1/points
    axis            two Gauss rules, one for z > 0 and its mirror image: kinks and jumps of a link at 0 do not hurt;
                    exact for |z|^j and sign(z)|z|^j with j < points
    corners         z ∈ {±1}^k, all of them

The Gauss rule of the half line comes from the recurrence of its orthogonal polynomials (Stieltjes' procedure on a fine
Gauss–Legendre rule), its nodes from the eigenvalues of the Jacobi matrix (Golub and Welsch).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

Rule = tuple[np.ndarray, np.ndarray]  # nodes and weights
HalfLaw = Callable[..., Rule]  # a parameter in (0, 1) → points of the half line, and their density in it

PER_AXIS = {1: 64, 2: 32, 3: 12}
SOBOL = 4096
REACH = 14.0  # the half line ends here: φ(14) is 1e-43


@lru_cache(maxsize=16)
def half_line_rule(points: int, law: HalfLaw, *parameters: float) -> Rule:
    """Gauss rule of a law on the half line, its mass normalised to 1: nodes (points,) and weights."""
    panels = 64
    x, w = np.polynomial.legendre.leggauss(64)
    v = ((np.arange(panels)[:, None] + (x + 1) / 2) / panels).ravel()
    grid, density = law(v, *parameters)
    mass = np.tile(w, panels) * density
    mass = mass / mass.sum()
    alpha, beta = np.zeros(points), np.zeros(points)
    before, now = np.zeros_like(grid), np.ones_like(grid)
    for j in range(points):
        alpha[j] = mass @ (grid * now * now)
        after = (grid - alpha[j]) * now - (np.sqrt(beta[j]) * before if j else 0.0)
        norm = mass @ (after * after)
        if j + 1 < points:
            beta[j + 1] = norm
        before, now = now, after / np.sqrt(norm)
    jacobi = np.diag(alpha) + np.diag(np.sqrt(beta[1:]), 1) + np.diag(np.sqrt(beta[1:]), -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, vectors[0] ** 2


def normal_half(v: np.ndarray) -> Rule:
    """z = REACH v > 0 for v in (0, 1), and φ(z) up to a factor."""
    z = REACH * v
    return z, np.exp(-0.5 * z * z)


def sphere_half(v: np.ndarray, dimension: float) -> Rule:
    """T = sin(πv/2), the first coordinate of a uniform point of the unit sphere, and its law in the angle."""
    angle = np.pi / 2 * v
    return np.sin(angle), np.cos(angle) ** (dimension - 2)


def symmetric_rule(points: int, law: HalfLaw, *parameters: float) -> Rule:
    """An even number of nodes on the whole line for a symmetric law, and weights that sum to 1."""
    nodes, weights = half_line_rule(points // 2, law, *parameters)
    return np.concatenate([-nodes[::-1], nodes]), np.concatenate([weights[::-1], weights]) / 2


def tensor(axes: list[Rule]) -> Rule:
    """The product of one-dimensional rules: z (Q, k) and weights (Q,)."""
    z = np.stack([g.ravel() for g in np.meshgrid(*(nodes for nodes, _ in axes), indexing="ij")], axis=1)
    weights = np.prod(np.stack([g.ravel() for g in np.meshgrid(*(w for _, w in axes), indexing="ij")]), axis=0)
    return z, weights


def normal_nodes(k: int, points: int | None = None) -> Rule:
    """Nodes z (Q, k) and weights of N(0, I_k); ``points`` for each axis, or in all for k > 3."""
    if k <= max(PER_AXIS):
        return tensor([symmetric_rule(points or PER_AXIS[k], normal_half)] * k)
    return sobol_normals(k, points or SOBOL)


def sobol_normals(k: int, points: int) -> Rule:
    """Scrambled Sobol points of N(0, I_k), (Q, k), with equal weights; Q is the next power of two."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cube = qmc.Sobol(k, rng=np.random.default_rng(0)).random_base2(max(0, (points - 1).bit_length()))
    return ndtri(np.clip(cube, 1e-15, 1 - 1e-15)), np.full(len(cube), 1 / len(cube))


def corners(k: int) -> Rule:
    """The corners of {±1}^k and their equal weights."""
    z = np.array(list(itertools.product((1.0, -1.0), repeat=k))).reshape(-1, k)
    return z, np.full(len(z), 1 / len(z))
