"""Orthonormal polynomials of the first coordinates of a point of the unit sphere in R^d.

    t = (x_1, …, x_k)/√d,  x uniform on |x|² = d:   density ∝ (1 − |t|²)^{(d−k−2)/2} on the unit ball

    P_α(t) = Π_i (1 − |t_{<i}|²)^{α_i/2} p_{α_i}^{(λ_i)}(t_i/√(1 − |t_{<i}|²)) · √(c(λ_i)/c(λ_i⁰))
    λ_i⁰ = (d − i − 1)/2,    λ_i = λ_i⁰ + Σ_{m>i} α_m

    p_n^{(λ)}   Gegenbauer polynomials, orthonormal for the probability density c(λ) (1 − x²)^{λ−1/2}, that of a
                coordinate of the unit sphere in R^{2λ+2}

Those of degree ℓ span what spherical harmonics of degree ℓ have in x_1, …, x_k. Reference: [dx14].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from widelimit.potentials.product_families import Index
from widelimit.spheres import equator_density


@dataclass(frozen=True)
class SphereAxis:
    """The first coordinate z of a uniform point of |x|² = d; see widelimit.theory.learning.axis_integrals."""

    d: int

    @property
    def end(self) -> float:
        """The u of the pole of the sphere."""
        return math.sqrt(self.d) * math.pi / 2

    def z(self, u: np.ndarray) -> np.ndarray:
        """√d sin(u/√d)."""
        return math.sqrt(self.d) * np.sin(u / math.sqrt(self.d))

    def u(self, z: float) -> float:
        """√d arcsin(z/√d)."""
        return math.sqrt(self.d) * math.asin(min(max(z / math.sqrt(self.d), -1.0), 1.0))

    def root(self, u: np.ndarray) -> np.ndarray:
        """The root of the density in u."""
        c = equator_density(self.d) / math.sqrt(self.d)
        with np.errstate(divide="ignore"):  # at the pole
            cosine = np.log1p(-np.minimum(np.sin(u / math.sqrt(self.d)) ** 2, 1.0)) / 2  # its logarithm
        return math.sqrt(c) * (np.exp((self.d - 2) / 2 * cosine) if self.d > 2 else np.ones_like(u))

    def polynomials(self, z: np.ndarray, order: int) -> np.ndarray:
        """p_0, …, p_K."""
        return np.moveaxis(gegenbauer_polynomials(z / math.sqrt(self.d), (self.d - 2) / 2, order), 0, -1)


def ball_polynomials(t: np.ndarray, chosen: list[Index], d: int) -> np.ndarray:
    """The orthonormal polynomials of the first k coordinates t (n, k) of a uniform point of the unit sphere in R^d."""
    n, k = t.shape
    left = np.sqrt(np.maximum(1 - np.concatenate([np.zeros((n, 1)), np.cumsum(t**2, axis=1)], axis=1), 1e-300))
    ratio = np.clip(t / left[:, :k], -1, 1)
    most = max(map(sum, chosen))
    tables: dict[tuple[int, int], np.ndarray] = {}
    result = np.ones((n, len(chosen)))
    for column, index in enumerate(chosen):
        for i in range(k):
            later, plain = sum(index[i + 1 :]), (d - i - 2) / 2
            if (i, later) not in tables:
                tables[i, later] = gegenbauer_polynomials(ratio[:, i], plain + later, most)
            factor = left[:, i] ** index[i] * tables[i, later][index[i]]
            result[:, column] *= factor * math.sqrt(
                equator_density(2 * (plain + later) + 2) / equator_density(2 * plain + 2)
            )
    return result


def gegenbauer_polynomials(x: np.ndarray, lam: float, order: int) -> np.ndarray:
    """p_0, …, p_order, orthonormal for the probability law with density ∝ (1 − x²)^{λ−1/2}, (order + 1, n)."""
    found = [np.ones_like(x), x * math.sqrt(2 * (1 + lam))]
    for n in range(1, order):
        found.append((x * found[n] - _coupling(n, lam) * found[n - 1]) / _coupling(n + 1, lam))
    return np.array(found[: order + 1])


def _coupling(n: int, lam: float) -> float:
    """a_n of x p_n = a_{n+1} p_{n+1} + a_n p_{n−1}."""
    if n == 1:
        return math.sqrt(1 / (2 * (1 + lam)))
    return math.sqrt(n * (n + 2 * lam - 1) / ((n + lam) * (n + lam - 1))) / 2
