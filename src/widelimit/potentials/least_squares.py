"""Weighted least squares in a feature space: the one form of every landscape, written once.

    F = ∫ Φ dρ ∈ R^Q                                   features, averaged over ρ
    R = Σ_q p_q (y_q − F_q)² + floor                   risk
    v_q = p_q (F_q − y_q)                              residual
    Ψ(θ) = Σ_q v_q Φ_q(θ)                              potential (V + ∫ U dρ)
    D(v) = −Σ_q (v_q y_q + v_q²/(2 p_q)) + floor/2     dual: ½ R ≥ D(v) + Σ_q v_q F_q, equal at the residual v of F

    Φ   features   (n, Q)      p   weights   (Q,)      y   labels   (Q,)
    floor          what no network can remove: the variance of the noise of the labels

Particles, grids, minimising movements, the Gibbs law and certificates hold this object. It works on arrays of NumPy and
of JAX.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.frozen import Frozen

AnyArray = TypeVar("AnyArray", np.ndarray, Array)


class LeastSquares(Frozen, Generic[AnyArray], eq=False):
    """p, y and the floor; see above."""

    p: AnyArray
    y: AnyArray
    floor: float | Array = 0.0

    def residual(self, F: AnyArray) -> AnyArray:
        """v = p (F − y), (Q,)."""
        return self.p * (F - self.y)

    def risk(self, F: AnyArray) -> AnyArray:
        """R(F)."""
        return (self.p * (F - self.y) ** 2).sum() + self.floor

    def potential(self, features: AnyArray, F: AnyArray) -> AnyArray:
        """Σ_q v_q Φ_q, (n,)."""
        return features @ self.residual(F)

    def external(self, features: AnyArray) -> AnyArray:
        """V = −Σ_q p_q y_q Φ_q, (n,)."""
        return -(features @ (self.p * self.y))

    def pair(self, features: AnyArray, others: AnyArray) -> AnyArray:
        """U = Σ_q p_q Φ_q Φ'_q, (n, n')."""
        return (features * self.p) @ others.T

    def dual(self, v: AnyArray) -> float:
        """−Σ_q (v_q y_q + v_q²/(2 p_q)) + floor/2."""
        return float(-(v * self.y + v * v / (2 * self.p)).sum() + self.floor / 2)

    def whitened(self) -> tuple[np.ndarray, LeastSquares[np.ndarray]]:
        """√p, and the same object in the features √p Φ, whose weights are 1."""
        root = np.sqrt(np.asarray(self.p))
        return root, LeastSquares(np.ones_like(root), root * np.asarray(self.y), float(self.floor))


def on_device(p: np.ndarray, y: np.ndarray, floor: float) -> LeastSquares[Array]:
    """The object with arrays of JAX."""
    return LeastSquares(jnp.asarray(p, float), jnp.asarray(y, float), jnp.asarray(floor, float))
