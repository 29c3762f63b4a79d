"""Landscapes that are least squares in a feature space.

    R(ρ) = Σ_q p_q (y_q − F_q)² + floor,   F = ∫ Φ dρ ∈ R^Q                     widelimit.potentials.least_squares
    ∇Ψ(θ; ρ) = Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λ ∇v(θ)

    Φ   features   (n, Q)

The field of N neurons is the vector F: everything costs O(n Q). Features are never stored for more than ``chunk``
neurons: time and θ are linear in n, everything else is bounded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.frozen import static
from widelimit.potentials.chunks import by_chunks, sum_chunks
from widelimit.potentials.landscape import Landscape, Rho, each
from widelimit.potentials.least_squares import LeastSquares

FEATURES_HELD = 2**23  # numbers, 64 MiB: many features leave fewer neurons to a chunk


class FeatureLandscape(Landscape, eq=False):
    """V, U, Ψ, ∇Ψ, R from features, at a cost of O(n Q).

    fit      p, y and the floor
    inputs   values of the kept coordinates at which f is known, (J, k): the first feature of every node
    chunk    neurons whose features are held at one time, fewer if there are very many features
    """

    fit: LeastSquares[Array]
    inputs: Array
    chunk: int = static(default=2048, kw_only=True)

    @abstractmethod
    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q); traceable."""

    @property
    def held(self) -> int:
        """Neurons whose features are held at one time."""
        return max(1, min(self.chunk, FEATURES_HELD // len(self.fit.p)))

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        return by_chunks(lambda rows: self.fit.external(self.features(rows)), theta, self.held)

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        return self.fit.pair(self.features(theta), self.features(other))

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q Φ_q(θ) F_q."""
        F = self.mean_features(points, weights)
        return by_chunks(lambda rows: self.features(rows) @ (self.fit.p * F), theta, self.held)

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) Φ_q(θ) + λ v(θ)."""
        F = self.mean_features(points, weights)
        return by_chunks(lambda rows: self.fit.potential(self.features(rows), F), theta, self.held) + self.penalty(
            theta
        )

    @jax.jit
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λ ∇v(θ)."""
        residual = self.fit.residual(self.mean_features(points, weights))

        def slope(rows: Array) -> Array:
            return jax.grad(lambda t: jnp.sum(self.features(t) @ residual))(rows)

        return by_chunks(slope, theta, self.held) + self.penalty.gradient(theta)

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """The gradient at the particles themselves; the features of few are evaluated once."""
        if len(theta) > self.held:
            return self.gradient(theta, theta, weights)
        features, pull = jax.vjp(self.features, theta)
        residual = self.fit.residual(weights @ features)
        return pull(jnp.broadcast_to(residual, features.shape))[0] + self.penalty.gradient(theta)

    @jax.jit
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ)."""
        return each(lambda points: self.fit.risk(self.mean_features(points, weights)), points)

    @jax.jit
    def mean_features(self, points: Array, weights: Array) -> Array:
        """F = Σ_j weights_j Φ(θ_j), (Q,)."""
        rows = jnp.concatenate([weights[:, None], points], axis=1)
        return sum_chunks(lambda part: part[:, 0] @ self.features(part[:, 1:]), rows, self.held)

    @jax.jit
    def all_features(self, theta: Array) -> Array:
        """Φ of many rows, (n, Q)."""
        return by_chunks(self.features, theta, self.held)

    def project(self, rho: Rho, basis: Callable[[np.ndarray], np.ndarray]) -> float:
        """E f(x; ρ) g(z), with g a function of the kept coordinates z (J, k)."""
        nodes, p = np.asarray(self.inputs), np.asarray(self.fit.p)
        step = len(p) // len(nodes)
        values = np.asarray(self.mean_features(*self.measure(rho)))[::step]
        return float(np.sum(p[::step] * values * basis(nodes)))
