"""Landscapes that are least squares in a feature space.

    R(ρ) = Σ_q p_q (y_q − F_q)² + noise²,   F = ∫ Φ dρ ∈ R^Q
    V(θ) = −Σ_q p_q y_q Φ_q(θ),   U(θ, θ') = Σ_q p_q Φ_q(θ) Φ_q(θ')
    ∇Ψ(θ; ρ) = Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λθ

    Φ   features   (n, Q)
    p   weights    (Q,)      y   targets   (Q,)

The field of N neurons is the vector F: everything costs O(n Q). Features are never stored for more than ``chunk``
neurons: time and θ are linear in n, everything else is bounded.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.chunks import by_chunks, sum_chunks
from widelimit.potentials.landscape_base import Landscape, each

FEATURES_HELD = 2**23  # numbers, 64 MiB: many features leave fewer neurons to a chunk


@dataclass(frozen=True)
class LeastSquares(Landscape):
    """V, U, Ψ, ∇Ψ, R from features, at a cost of O(n Q).

    chunk   neurons whose features are held at one time, fewer if there are very many features
    """

    names: tuple[str, ...]
    chunk: int = 2048

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ."""
        return self.names

    @property
    @abstractmethod
    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """p and y, (Q,) each."""

    @abstractmethod
    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q); traceable."""

    @property
    @abstractmethod
    def inputs(self) -> np.ndarray:
        """The values of the kept coordinates at which f is known, (J, k): the first feature of every node."""

    @property
    def floor(self) -> float:
        """What no network can remove: the variance of the noise of the labels."""
        return self.data.noise**2

    @property
    def held(self) -> int:
        """Neurons whose features are held at one time."""
        return max(1, min(self.chunk, FEATURES_HELD // len(self.targets[0])))

    def external(self, theta: Array) -> Array:
        """V(θ) = −Σ_q p_q y_q Φ_q(θ)."""
        p, y = self.targets
        return self._against(theta, -p * y)

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ') = Σ_q p_q Φ_q(θ) Φ_q(θ')."""
        return (self.features(theta) * self.targets[0]) @ self.features(other).T

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q Φ_q(θ) F_q."""
        return self._against(theta, self.targets[0] * self.mean_features(points, weights))

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) Φ_q(θ) + (λ/2)|θ|²."""
        return self._against(theta, self._residual(self.mean_features(points, weights))) + self.penalty(theta)

    @partial(jax.jit, static_argnums=0)
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λθ."""
        residual = self._residual(self.mean_features(points, weights))

        def slope(rows: Array) -> Array:
            return jax.grad(lambda t: jnp.sum(self.features(t) @ residual))(rows)

        return by_chunks(slope, theta, self.held) + self.ridge * theta

    @partial(jax.jit, static_argnums=0)
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """The gradient at the particles themselves; the features of few are evaluated once."""
        if len(theta) > self.held:
            return self.gradient(theta, theta, weights)
        features, pull = jax.vjp(self.features, theta)
        residual = self._residual(weights @ features)
        return pull(jnp.broadcast_to(residual, features.shape))[0] + self.ridge * theta

    @partial(jax.jit, static_argnums=0)
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ) = Σ_q p_q (y_q − F_q)² + noise²."""
        p, y = self.targets

        def one(points: Array) -> Array:
            return jnp.sum(p * (y - self.mean_features(points, weights)) ** 2) + self.floor

        return each(one, points)

    @partial(jax.jit, static_argnums=0)
    def mean_features(self, points: Array, weights: Array) -> Array:
        """F = Σ_j weights_j Φ(θ_j), (Q,)."""
        rows = jnp.concatenate([weights[:, None], points], axis=1)
        return sum_chunks(lambda part: part[:, 0] @ self.features(part[:, 1:]), rows, self.held)

    def project(self, rho: Any, basis: Callable[[np.ndarray], np.ndarray]) -> float:
        """E f(x; ρ) g(z), with g a function of the kept coordinates z (J, k)."""
        nodes, step = self.inputs, len(self.targets[0]) // len(self.inputs)
        values = np.asarray(self.mean_features(*self._measure(rho)))[::step]
        return float(np.sum(self.targets[0][::step] * values * basis(nodes)))

    def _residual(self, mean: Array) -> Array:
        """p_q (F_q − y_q)."""
        p, y = self.targets
        return jnp.asarray(p) * (mean - y)

    def _against(self, theta: Array, vector: Any) -> Array:
        """Σ_q Φ_q(θ) vector_q, (n,)."""
        return by_chunks(lambda rows: self.features(rows) @ vector, theta, self.held)
