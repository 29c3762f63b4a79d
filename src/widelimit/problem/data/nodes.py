"""One-dimensional rules, and nodes without an axis.

    half line     Gauss rule of a law on z > 0, and its mirror image: kinks and jumps at 0 do not hurt;
                  exact for |z|^j and sign(z)|z|^j with j < points
    panels        Gauss–Legendre rules between given cuts, for laws that are cut elsewhere, or many points
    shuffled      independent scramblings of one Sobol sequence: the spread of their means is the error of them all
    corners       z ∈ {±1}^k, all of them

The Gauss rule of the half line comes from the recurrence of its orthogonal polynomials (Stieltjes' procedure on a fine
Gauss–Legendre rule), its nodes from the eigenvalues of the Jacobi matrix (Golub and Welsch).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from widelimit.integrals import panel_rule
from widelimit.on_first_use import OnFirstUse

qmc = OnFirstUse("scipy.stats.qmc")

Rule = tuple[np.ndarray, np.ndarray]  # nodes and weights
HalfLaw = Callable[..., Rule]  # a parameter in (0, 1) → points of the half line, and their density in it

REACH = 14.0  # the half line ends here: φ(14) is 1e-43
SCRAMBLINGS = 16
WIDER = 2.4  # how much wider the law of wide points is, k (t² − 1)
PANEL = 16  # nodes of a panel


@lru_cache(maxsize=16)
def half_line_rule(points: int, law: HalfLaw, *parameters: float) -> Rule:
    """Gauss rule of a law on the half line, its mass normalised to 1: nodes (points,) and weights."""
    v, w = (part.ravel() for part in panel_rule(np.linspace(0.0, 1.0, 65), 64))
    grid, density = law(v, *parameters)
    mass = w * density
    alpha, beta = recurrence(grid, mass / mass.sum(), points)
    jacobi = np.diag(alpha) + np.diag(np.sqrt(beta[1:]), 1) + np.diag(np.sqrt(beta[1:]), -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, vectors[0] ** 2


def recurrence(grid: np.ndarray, mass: np.ndarray, points: int) -> Rule:
    """α_j and β_j, j < points, of the orthonormal polynomials √β_{j+1} p_{j+1} = (z − α_j) p_j − √β_j p_{j−1}."""
    alpha, beta = np.zeros(points), np.zeros(points)
    before, now = np.zeros_like(grid), np.ones_like(grid)
    for j in range(points):
        alpha[j] = mass @ (grid * now * now)
        after = (grid - alpha[j]) * now - (np.sqrt(beta[j]) * before if j else 0.0)
        norm = mass @ (after * after)
        if j + 1 < points:
            beta[j + 1] = norm
        before, now = now, after / np.sqrt(norm)
    return alpha, beta


def normal_half(v: np.ndarray) -> Rule:
    """z = REACH v > 0 for v in (0, 1), and φ(z) up to a factor."""
    z = REACH * v
    return z, np.exp(-0.5 * z * z)


def sphere_half(v: np.ndarray, dimension: float) -> Rule:
    """T = sin α, the first coordinate of a uniform point of the unit sphere, and its law cos^{d−2} α, up to a factor.

    The angle α = v min(π/2, REACH/√(d − 2)) ends where that law does: in many dimensions it is φ(α √(d − 2)).
    """
    free = dimension - 2
    angle = v * (min(np.pi / 2, REACH / math.sqrt(free)) if free > 0 else np.pi / 2)
    t = np.sin(angle)
    return t, np.exp(free / 2 * np.log1p(-t * t))


def symmetric_rule(points: int, law: HalfLaw, *parameters: float) -> Rule:
    """An even number of nodes on the whole line for a symmetric law, and weights that sum to 1."""
    nodes, weights = half_line_rule(points // 2, law, *parameters)
    return np.concatenate([-nodes[::-1], nodes]), np.concatenate([weights[::-1], weights]) / 2


def tensor(axes: list[Rule]) -> Rule:
    """The product of one-dimensional rules: z (Q, k) and weights (Q,)."""
    z = np.stack([g.ravel() for g in np.meshgrid(*(nodes for nodes, _ in axes), indexing="ij")], axis=1)
    weights = np.prod(np.stack([g.ravel() for g in np.meshgrid(*(w for _, w in axes), indexing="ij")]), axis=0)
    return z, weights


def panels(cuts: np.ndarray, density: Callable[[np.ndarray], np.ndarray]) -> Rule:
    """Gauss–Legendre nodes (rows, nodes) between the cuts of every row (rows, m), and weights for a density."""
    nodes, weights = (part.reshape(len(cuts), -1) for part in panel_rule(cuts, PANEL))
    weights = weights * density(nodes)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def sobol_normals(k: int, points: int, seed: int = 0) -> Rule:
    """Scrambled Sobol points of N(0, I_k), (Q, k), with equal weights; Q is the next power of two."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cube = qmc.Sobol(k, rng=np.random.default_rng(seed)).random_base2(max(0, (points - 1).bit_length()))
    return ndtri(np.clip(cube, 1e-15, 1 - 1e-15)), np.full(len(cube), 1 / len(cube))


def wide_normals(k: int, points: int, seed: int = 0) -> Rule:
    """Nodes of N(0, I_k) that reach into its tails: Sobol points of the wider law N(0, t² I), and their weights.

    Weights are ∝ exp(−|z|²/2 + |z|²/(2t²)). What grows with z has its mean from the tails, which points of the law
    itself reach too rarely.
    """
    t = math.sqrt(1 + WIDER / k)
    z = t * sobol_normals(k, points, seed)[0]
    p = np.exp(-(z**2).sum(axis=1) * (1 - 1 / t**2) / 2)
    return z, p / p.sum()


def shuffled_normals(k: int, points: int) -> Rule:
    """SCRAMBLINGS independent sets of wide nodes of N(0, I_k), one after the other, of equal mass."""
    sets = [wide_normals(k, -(-points // SCRAMBLINGS), seed) for seed in range(SCRAMBLINGS)]
    return np.concatenate([z for z, _ in sets]), np.concatenate([p for _, p in sets]) / SCRAMBLINGS


def corners(k: int) -> Rule:
    """The corners of {±1}^k and their equal weights."""
    z = np.array(list(itertools.product((1.0, -1.0), repeat=k))).reshape(-1, k)
    return z, np.full(len(z), 1 / len(z))
