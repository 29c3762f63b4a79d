"""Tangent kernels of infinitely many neurons that start from a Gaussian law.

    K = m_a E σ(h) σ(h') + E a² (m_b + m_w ⟨x, x'⟩) E σ'(h) σ'(h'),      h = ⟨w, x⟩ + b,   w ~ N(0, κ²/d I)

    x, x'  x, x2  (n, d), (n', d)   inputs         m       mean of b
    K      (n, n')                                 s, s'   deviations of h and h'
    θ      angle (n, n')                           between (κx/√d, std b) and (κx'/√d, std b): corr(h, h') = cos θ

With b normal or constant (h, h') is bivariate normal: E σ(h) σ(h') is the pairwise kernel of
widelimit.potentials.pair_kernels, and E σ'(h) σ'(h') = ∂_corr E σ(h) σ(h')/(s s') (Price's theorem), both for every
correlation from −1 to 1. Another law of b is a mean over its atoms, or over Gauss nodes between the kinks of σ. For
σ(x) = l x + δ x_+ without a mean

    E σ(h) σ(h') = s s' [(l² + lδ) cos θ + δ² (sin θ + (π − θ) cos θ)/2π],      E σ'(h) σ'(h') = l² + lδ + δ² (π − θ)/2π

from the angle itself, whose digits corr would lose near 1: θ = 2 atan(|u − u'|/|u + u'|) for unit vectors u, u' that
are nearly parallel. Such a σ has the length of w as a factor, so that w uniform on the sphere |w| = κ has the same K.
If w is kept there, ⟨x, x'⟩ − ⟨w, x⟩⟨w, x'⟩ takes the place of ⟨x, x'⟩, and as h σ'(h) = σ(h) this subtracts
m_w E a² E σ(h) σ(h').

Accuracy: 1e−11. For a σ with other kinks E σ'(h) σ'(h') of two inputs that differ, but by less than 1e−5 of their
length, is right to 1e−8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from widelimit.integrals import panel_rule
from widelimit.potentials.beyond_rules import kernels_reach
from widelimit.potentials.normal import FAR
from widelimit.potentials.pair_kernels import POINT, Pair, kernel
from widelimit.problem.activations import Activation, General, Hinges, Polynomial
from widelimit.problem.initial import ScalarLaw
from widelimit.problem.neurons import Ridge
from widelimit.problem.scalar_starts import Curve, Normal

PAIRS = 1 << 18  # of inputs at a time
TILE = 1024  # rows of a matrix at a time
NEARLY = 1e-4  # 1 − |corr| below which angles are taken from differences of vectors


class BlockRates(NamedTuple):
    """m_a, m_b, m_w, 0 for what is not trained."""

    a: float
    b: float
    w: float


class Inputs(NamedTuple):
    """x (n, d), x' (n', d), and whether they are the same."""

    x: np.ndarray
    x2: np.ndarray
    same: bool


class Levels(NamedTuple):
    """A scalar of a neuron: one of some values, with their weights, plus a centred normal number of a variance."""

    values: np.ndarray
    weights: np.ndarray
    variance: float


class Angles(NamedTuple):
    """Deviations s (n,) and s' (n',) of h and h', and the angles θ (n, n')."""

    s: np.ndarray
    s2: np.ndarray
    angle: np.ndarray


class Means(NamedTuple):
    """What is averaged over: the neuron, κ, and the law of a."""

    neuron: Ridge
    scale: float
    a: ScalarLaw | None

    @property
    def how(self) -> str:
        """Whether the pairwise kernel of σ is a formula."""
        return "closed form" if math.isinf(self.reach) else "quadrature"

    @property
    def reach(self) -> float:
        """The largest deviation of h for which that kernel is right: where it is no formula, that of its rules."""
        return kernels_reach(self.neuron.sigma.pair_form)

    def reaches(self, inputs: Inputs, b: ScalarLaw | None) -> bool:
        """Whether no deviation is larger."""
        longest = max(float(np.linalg.norm(x, axis=1).max()) for x in (inputs.x, inputs.x2))
        spread = math.sqrt(levels_of(b, 0.0).variance)
        return math.hypot(self.scale * longest / math.sqrt(inputs.x.shape[1]), spread) < self.reach

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where σ bends."""
        sigma = self.neuron.sigma.pair_form
        return tuple(sigma.knots) if isinstance(sigma, Hinges) else sigma.bends if isinstance(sigma, General) else ()

    def over(self, inputs: Inputs, rates: BlockRates, b: Levels) -> np.ndarray:
        """K for a law of b, some rows at a time."""
        rows = min(max(PAIRS // len(inputs.x2), 1), len(inputs.x))
        found = np.empty((len(inputs.x), len(inputs.x2)))
        for start in range(0, len(found), rows):
            some = slice(start, start + rows)
            found[some] = self._rows(inputs._replace(x=inputs.x[some]), rates, b, rows)
        return mirrored(found) if inputs.same else found

    def _rows(self, inputs: Inputs, rates: BlockRates, b: Levels, rows: int) -> np.ndarray:
        """The same for few rows, which are repeated until there are as many as always."""
        x, a = np.resize(inputs.x, (rows, inputs.x.shape[1])), levels_of(self.a, 1.0)
        square = float(a.weights @ a.values**2 + a.variance)
        slopes = square * (rates.b + rates.w * (x @ inputs.x2.T))
        values = rates.a - (square * rates.w if self.neuron.inner == "sphere" else 0.0)
        at, sigma, total = self._angles(x, inputs.x2, b.variance), self.neuron.sigma.pair_form, np.zeros_like(slopes)
        for m, p in zip(b.values, b.weights, strict=True):
            value, slope = _means(sigma, at, float(m))
            total += p * (values * value + slopes * slope)
        return total[: len(inputs.x)]

    def _angles(self, x: np.ndarray, x2: np.ndarray, variance: float) -> Angles:
        """Those of (κx/√d, std b), right to rounding near 0 and π too; the origin is normal to all but itself."""
        size, last = self.scale / math.sqrt(x.shape[1]), math.sqrt(variance)
        seen = [np.column_stack([size * rows, np.full(len(rows), last)]) for rows in (x, x2)]
        s, s2 = (np.linalg.norm(rows, axis=1) for rows in seen)
        u, u2 = (rows / np.where(long > 0, long, 1.0)[:, None] for rows, long in zip(seen, (s, s2), strict=True))
        corr = np.clip(u @ u2.T, -1.0, 1.0)
        angle, some = np.arccos(corr), max(PAIRS // u.shape[1], 1)
        near = np.argwhere(np.abs(corr) > 1 - NEARLY)
        for i, j in (near[k : k + some].T for k in range(0, len(near), some)):
            angle[i, j] = 2 * np.arctan2(*(np.linalg.norm(u[i] + sign * u2[j], axis=1) for sign in (-1, 1)))
        angle[np.ix_(s == 0, s2 == 0)] = 0.0
        return Angles(s, s2, angle)


def mirrored(matrix: np.ndarray) -> np.ndarray:
    """The matrix itself with its upper triangle in the place of the lower one, some rows at a time."""
    for start in range(0, len(matrix), TILE):
        end = start + TILE
        corner = matrix[start:end, start:end]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        matrix[end:, start:end] = matrix[start:end, end:].T
    return matrix


def _means(sigma: Activation, at: Angles, m: float) -> tuple[np.ndarray, np.ndarray]:
    """E σ(h) σ(h') and E σ'(h) σ'(h') for h and h' of mean m."""
    s, s2, angle = at
    bend, corr = bend_of(sigma) if m == 0 else None, np.cos(angle)
    if bend is None:
        pair = Pair(*map(jnp.asarray, (np.full(len(s), m), s, np.full(len(s2), m), s2, corr)))
        value, slope = _from_kernel(sigma, pair)
        return np.asarray(value), np.asarray(slope)
    beyond, straight = (math.pi - angle) / (2 * math.pi), bend.line * (bend.line + bend.jump)
    arc = straight * corr + bend.jump**2 * (np.sin(angle) / (2 * math.pi) + beyond * corr)
    return s[:, None] * s2 * arc, straight + bend.jump**2 * beyond


@jax.jit
def _from_kernel(sigma: Activation, at: Pair) -> tuple[Array, Array]:
    """The same from the pairwise kernel and its slope in the correlation; a deviation of 0 is a tiny one."""
    at = at._replace(s=jnp.maximum(at.s, POINT), s2=jnp.maximum(at.s2, POINT))
    value, change = jax.jvp(lambda c: kernel(sigma, at._replace(corr=c)), (at.corr,), (jnp.ones_like(at.corr),))
    return value, change / (at.s[:, None] * at.s2)


class Bend(NamedTuple):
    """σ(x) = l x + δ x_+, which scales with its argument."""

    line: float
    jump: float


def bend_of(sigma: Activation) -> Bend | None:
    """l and δ where σ is such a function."""
    if isinstance(sigma, Polynomial):
        constant, line, *rest = (*sigma.coefficients, 0.0)
        return Bend(line, 0.0) if constant == 0 and not any(rest) else None
    if isinstance(sigma, Hinges) and tuple(sigma.knots) == (0.0,) and sigma.intercept == 0:
        return Bend(sigma.slope, sigma.jumps[0])
    return None


def levels_of(law: ScalarLaw | None, absent: float, nodes: int = 2, kinks: Sequence[float] = ()) -> Levels:
    """Where a scalar starts; a law with another density than the normal one as Gauss nodes between kinks."""
    if law is None or isinstance(law, Normal):
        centre, variance = (absent, 0.0) if law is None else (law.mean, law.std**2)
        return Levels(np.array([centre]), np.ones(1), variance)
    factor = law.factor()
    if factor.atoms is not None:
        return Levels(np.array([v for (v,), _ in factor.atoms]), np.array([p for _, p in factor.atoms]), 0.0)
    assert factor.curve is not None
    edges = np.unique([0.0, *(_share_below(t, factor.curve) for t in kinks), 1.0])
    levels, weights = (part.ravel() for part in panel_rule(edges, nodes))
    return Levels(factor.curve(ndtri(levels)[:, None])[:, 0], weights, 0.0)


def _share_below(t: float, curve: Curve) -> float:
    """The probability of a value below t, for the quantiles of a law at normal scores."""

    def above(score: float) -> float:
        return float(curve(np.array([[score]]))[0, 0]) - t

    if above(-FAR) >= 0 or above(FAR) <= 0:
        return 0.0 if above(-FAR) >= 0 else 1.0
    return float(ndtr(brentq(above, -FAR, FAR, xtol=1e-15)))


def is_exact(law: ScalarLaw | None) -> bool:
    """Whether the levels of a law are the law itself."""
    return law is None or isinstance(law, Normal) or law.factor().atoms is not None
