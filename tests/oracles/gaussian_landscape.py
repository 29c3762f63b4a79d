"""The landscape of ridge neurons under Gaussian inputs, from its definition.

    R(ρ) = E y² + 2 ∫ V dρ + ∬ U dρ dρ,   V(θ) = −E y σ*(x; θ),   U(θ, θ') = E σ*(x; θ) σ*(x; θ')
    ∇Ψ(θ; ρ) = E (f(x; ρ) − y) ∇σ*(x; θ),   σ*(x; θ) = a σ(⟨w, x⟩ + b)

Two neurons see x through two directions only: with h = b + s g_1 and h' = b' + s' (c g_1 + q g_2), every mean over x is
a double integral on panels split at the kinks. In reduced coordinates each neuron stands for all its rotations inside
the groups: U and its slopes are averaged over the cosine of the angle of two random directions in R^{d_g}.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from link_terms import label_moments
from normal_panels import hits, normal_rule, panels
from scipy.special import roots_gegenbauer

ANGLES = {1: 20, 2: 10}  # nodes for each angle, by the number of groups


def pair_moments(sigma, one, two, c, q):
    """E σ(h)σ(h'), E σ'(h)σ(h'), E σ'(h)σ(h') g_1 and E σ'(h)σ(h') g_2.

    one, two   (b, s) and (b', s')        c, q   cosine and sine of the angle between the directions
    """
    (b, s), (b2, s2) = one, two
    g, w = normal_rule(np.concatenate([hits(sigma, b, s), hits(sigma, b2, s2 * c, s2 * q)]))
    h, mean = b + s * g, b2 + s2 * c * g
    if s == 0:  # the slope at a kink, met from both sides
        h = h + 1e-300 * g
    g2, w2 = normal_rule(hits(sigma, mean, s2 * q))
    other = sigma.value(mean[:, None] + s2 * q * g2)
    plain, first = (w2 * other).sum(axis=1), (w2 * other * g2).sum(axis=1)
    value, slope = w * sigma.value(h), w * sigma.slope(h)
    return np.array([value @ plain, slope @ plain, (slope * g) @ plain, slope @ first])


def angle_rule(d, points):
    """Cosines of the angle between two random directions of R^d, and their probabilities."""
    if math.isinf(d):
        return np.zeros(1), np.ones(1)
    if d == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if d > 12:
        c, w = roots_gegenbauer(points, d / 2 - 1)
    else:
        angle, w = panels(np.linspace(0, math.pi, 3), 16)
        c, w = np.cos(angle), w * np.sin(angle) ** (d - 2)
    return c, w / w.sum()


@dataclass(frozen=True)
class GaussianLaw:
    """Classes (p, y, τ of every group) of x ~ N(0, diag τ²), or one class and labels φ(z) of the first coordinates."""

    groups: tuple  # d_g
    classes: tuple = ((1.0, 0.0, (1.0,)),)
    link: object = None

    @property
    def k(self):
        return self.link.k if self.link else 0

    @property
    def square(self):
        """R# = E y²."""
        return self.link.square if self.link else sum(p * y * y for p, y, _ in self.classes)


@dataclass(frozen=True)
class GaussianLandscape:
    """V, U, ∇Ψ and R; columns a, b (those that exist), then w or u and the radii."""

    law: GaussianLaw
    sigma: object
    scalars: str = ""  # "", "a", "b" or "ab"
    reduced: bool = True

    def split(self, row):
        """a, b and the inner columns of one neuron."""
        row = np.asarray(row, float)
        a = row[0] if "a" in self.scalars else 1.0
        b = row[len(self.scalars) - 1] if "b" in self.scalars else 0.0
        return a, b, row[len(self.scalars) :]

    def scale(self, taus):
        """The deviation of every inner column in a class."""
        each = [(t,) if self.reduced else (t,) * int(d) for t, d in zip(taus, self.law.groups, strict=True)]
        return np.concatenate([np.ones(self.law.k), *each])

    def external(self, row):
        """V and its gradient in all columns of the row."""
        a, b, w = self.split(row)
        value, by_b, by_w = 0.0, 0.0, np.zeros(len(w))
        if self.law.link:
            u, rest = w[: self.law.k], w[self.law.k :]
            r = float(np.linalg.norm(rest))
            found = label_moments(self.law.link, self.sigma, b, u, r)
            value, by_b, by_w[: self.law.k] = -found[0], -found[1], -found[2]
            by_w[self.law.k :] = -found[3] * (rest / r if r > 0 else 0 * rest)
        else:
            for p, y, taus in self.law.classes:
                scale = self.scale(taus)
                s = float(np.linalg.norm(scale * w))
                t, weights = normal_rule(hits(self.sigma, b, s))
                h = b + s * t if s > 0 else b + 1e-300 * t
                slope = weights * self.sigma.slope(h)
                value -= p * y * weights @ self.sigma.value(h)
                by_b -= p * y * slope.sum()
                by_w -= p * y * (slope @ t) * (scale**2 * w / s if s > 0 else 0 * w)
        return a * value, self._joined(value, a * by_b, a * by_w)

    def _joined(self, by_a, by_b, by_w):
        return np.array([*(x for name, x in (("a", by_a), ("b", by_b)) if name in self.scalars), *by_w])

    def pair(self, row, other):
        """U(θ, θ') and its gradient in θ."""
        (a, b, w), (a2, b2, w2) = self.split(row), self.split(other)
        value, by_b, by_w = 0.0, 0.0, np.zeros(len(w))
        for p, _, taus in self.law.classes:
            scale = self.scale(taus)
            for weight, v, v2 in self._poses(scale * w, scale * w2):
                s, s2, c, q, e, e2 = _frame(v, v2)
                found = pair_moments(self.sigma, (b, s), (b2, s2), c, q)
                push = (found[2] * e + found[3] * e2)[: len(w)]
                value, by_b = value + p * weight * found[0], by_b + p * weight * found[1]
                by_w = by_w + p * weight * scale * push
        return a * a2 * value, a2 * self._joined(value, a * by_b, a * by_w)

    def _poses(self, v, v2):
        """The two weight vectors, the second turned against the first inside every group: (probability, v, v')."""
        if not self.reduced:
            yield 1.0, v, v2
            return
        k, groups = self.law.k, self.law.groups
        rules = [angle_rule(d, ANGLES[len(groups)]) for d in groups]
        for choice in itertools.product(*(range(len(c)) for c, _ in rules)):
            cosines = np.array([rules[g][0][i] for g, i in enumerate(choice)])
            weight = math.prod(rules[g][1][i] for g, i in enumerate(choice))
            aside = v2[k:] * np.sqrt(1 - cosines**2)
            yield weight, np.concatenate([v, 0 * aside]), np.concatenate([v2[:k], v2[k:] * cosines, aside])

    def tables(self, theta):
        """V (n,), U (n, n), and their gradients (n, D) and (n, n, D)."""
        alone = [self.external(row) for row in theta]
        pairs = [[self.pair(row, other) for other in theta] for row in theta]
        return (
            np.array([v for v, _ in alone]), np.array([[u for u, _ in row] for row in pairs]),
            np.array([g for _, g in alone]), np.array([[g for _, g in row] for row in pairs]),
        )  # fmt: skip

    def numbers(self, theta, weights):
        """V, U, ∇Ψ at the points of ρ, and R(ρ)."""
        V, U, slope, pair_slope = self.tables(theta)
        gradient = slope + np.einsum("j,ijD->iD", weights, pair_slope)
        return V, U, gradient, self.law.square + weights @ (2 * V + U @ weights)


def _frame(v, v2):
    """Lengths, cosine and sine of the angle, and two orthonormal directions that span v and v', v first."""
    s, s2 = float(np.linalg.norm(v)), float(np.linalg.norm(v2))
    if s == 0:
        e2 = v2 / s2 if s2 > 0 else 0 * v2
        return s, s2, 0.0, 1.0, 0 * v, e2
    e = v / s
    rest = v2 - (v2 @ e) * e
    off = float(np.linalg.norm(rest))
    if s2 == 0:
        return s, s2, 1.0, 0.0, e, 0 * e
    return s, s2, float(v2 @ e) / s2, off / s2, e, rest / off if off > 0 else 0 * e
