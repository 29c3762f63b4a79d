"""Reduced landscape: least squares in a feature space.

    R(ρ) = Σ_q p_q (y_q − F_q)²,   F = ∫ Φ dρ ∈ R^Q,   U(θ, θ') = Σ_q p_q Φ_q(θ) Φ_q(θ')

    q = (class c, orders (k_g)),  m = b,  s = √(Σ_g τ²_{g,c} r_g²),  k = Σ_g k_g, every k_g even
    Φ_q(θ) = √(k!/Π k_g! · Π M_{k_g}(d_g)) · Π (τ_{g,c} r_g/s)^{k_g} · a A_k(m, s)
    y_q = y_c for k = 0, else 0

    r_g   radii, the norms of w inside each rotation-invariant group of d_g directions
    M_k   moments of the angle of two random directions, widelimit.potentials.hermite

Orders are kept while k!/Π k_g! · Π M_{k_g}(d_g) · Π (k_g/k)^{k_g}, the largest value of their weight relative to E σ²,
exceeds the tolerance, up to order 60. In few dimensions (or few informative ones) the sum converges slowly; what may be
left, from 1e−6 of E σ² at d = 10 to a tenth at d = 2, is said in a warning. At d = ∞ only k = 0 remains.
A radius below 0 counts as 0, so that mass which reaches a conical minimum at the origin stays there.
Features are never stored for more than ``chunk`` neurons: time and θ are linear in n, everything else is bounded.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.chunks import by_chunks, sum_chunks
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.landscape_base import Landscape, each, length, split_columns
from widelimit.potentials.smoothing import smoothed
from widelimit.problem.activations import Polynomial
from widelimit.problem.data import Group

LARGEST_ORDER = 60
WORTH_A_WARNING = 1e-6


@dataclass(frozen=True)
class FeatureLandscape(Landscape):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, r_1, r_2, … at a cost of O(n Q).

    chunk   neurons whose features are held at one time
    """

    names: tuple[str, ...]
    tolerance: float = 1e-10
    chunk: int = 2048

    @property
    def coordinates(self) -> tuple[str, ...]:
        """a, b (those that exist) and the radii."""
        return self.names

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The multi-orders (k_1, k_2, …) kept, lowest first."""
        activation = self.neuron.activation
        if isinstance(activation, Polynomial):  # A_k = 0 beyond the degree
            return tuple(
                k for k in _all_orders(self.data.groups, activation.degree) if multi_weight(k, self.data.groups)
            )
        return multi_orders(self.data.groups, self.tolerance)

    @cached_property
    def _constants(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights p_q and labels y_q (Q,), and the square roots √(k!/Π k_g! Π M) (orders,)."""
        roots = np.array([math.sqrt(multi_weight(k, self.data.groups)) for k in self.orders])
        first = np.array([float(sum(k) == 0) for k in self.orders])
        p = np.repeat(self.data.probabilities, len(self.orders))
        y = np.outer(self.data.labels, first).ravel()
        return p, y, roots

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        a, b, radii = split_columns(self.neuron, theta)
        tau = jnp.asarray([g.tau for g in self.data.groups])  # (groups, classes)
        parts = jnp.maximum(radii, 0.0)[:, :, None] * tau  # τ r, (n, groups, classes)
        s = parts[:, 0] if len(tau) == 1 else length(parts)
        m = jnp.broadcast_to(b[:, None], s.shape)
        smooth = smoothed(self.neuron.activation, sum(self.orders[-1]), m, s)
        columns = smooth[:, :, jnp.asarray([sum(k) for k in self.orders])] * self._constants[2]
        if len(tau) > 1:
            squares = (parts / jnp.where(s > 0, s, 1.0)[:, None]) ** 2
            columns = columns * _monomials(squares, self.orders)
        return a[:, None] * columns.reshape(theta.shape[0], -1)

    def external(self, theta: Array) -> Array:
        """V(θ) = −Σ_q p_q y_q Φ_q(θ)."""
        p, y, _ = self._constants
        return self._against(theta, -p * y)

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ') = Σ_q p_q Φ_q(θ) Φ_q(θ')."""
        return (self.features(theta) * self._constants[0]) @ self.features(other).T

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q Φ_q(θ) F_q."""
        return self._against(theta, self._constants[0] * self.mean_features(points, weights))

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) Φ_q(θ) + (λ/2)|θ|²."""
        return self._against(theta, self._residual(self.mean_features(points, weights))) + self.penalty(theta)

    @partial(jax.jit, static_argnums=0)
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λθ."""
        residual = self._residual(self.mean_features(points, weights))

        def slope(rows: Array) -> Array:
            return jax.grad(lambda t: jnp.sum(self.features(t) @ residual))(rows)

        return by_chunks(slope, theta, self.chunk) + self.ridge * theta

    @partial(jax.jit, static_argnums=0)
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """The gradient at the particles themselves; the features of few are evaluated once."""
        if len(theta) > self.chunk:
            return self.gradient(theta, theta, weights)
        features, pull = jax.vjp(self.features, theta)
        residual = self._residual(weights @ features)
        return pull(jnp.broadcast_to(residual, features.shape))[0] + self.ridge * theta

    @partial(jax.jit, static_argnums=0)
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ) = Σ_q p_q (y_q − F_q)²."""
        p, y, _ = self._constants
        return each(lambda points: jnp.sum(p * (y - self.mean_features(points, weights)) ** 2), points)

    def mean_features(self, points: Array, weights: Array) -> Array:
        """F = Σ_j weights_j Φ(θ_j), (Q,)."""
        rows = jnp.concatenate([weights[:, None], points], axis=1)
        return sum_chunks(lambda part: part[:, 0] @ self.features(part[:, 1:]), rows, self.chunk)

    def _residual(self, mean: Array) -> Array:
        """p_q (F_q − y_q)."""
        p, y, _ = self._constants
        return jnp.asarray(p) * (mean - y)

    def _against(self, theta: Array, vector: Any) -> Array:
        """Σ_q Φ_q(θ) vector_q, (n,)."""
        return by_chunks(lambda rows: self.features(rows) @ vector, theta, self.chunk)


def _monomials(squares: Array, orders: tuple[tuple[int, ...], ...]) -> Array:
    """Π_g cos_g^{k_g} for every multi-order, (n, classes, orders), from the squared cosines (n, groups, classes)."""
    halves = np.array(orders) // 2  # (orders, groups)
    powers = jnp.stack([squares**j for j in range(halves.max() + 1)], axis=-1)
    product = jnp.ones(())
    for g, half in enumerate(halves.T):
        product = product * powers[:, g][:, :, half]
    return product


def multi_weight(orders: tuple[int, ...], groups: tuple[Group, ...]) -> float:
    """k!/Π k_g! · Π M_{k_g}(d_g)."""
    choose = math.factorial(sum(orders)) / math.prod(math.factorial(k) for k in orders)
    return choose * math.prod(angle_moment(k, g.d) for k, g in zip(orders, groups, strict=True))


def multi_orders(groups: tuple[Group, ...], tolerance: float) -> tuple[tuple[int, ...], ...]:
    """Every multi-order whose weight can exceed the tolerance, lowest total order first."""
    weights = {k: _largest_share(k) * multi_weight(k, groups) for k in _all_orders(groups, LARGEST_ORDER)}
    left = max(weight for k, weight in weights.items() if sum(k) == LARGEST_ORDER)
    if left > max(tolerance, WORTH_A_WARNING):
        warnings.warn(
            f"the sum over Hermite orders converges slowly in so few dimensions: cut at order {LARGEST_ORDER}, where "
            f"terms may still reach {left:.1g} of E σ²; use full coordinates for more digits",
            RuntimeWarning,
            stacklevel=2,
        )
    return tuple(k for k, weight in weights.items() if weight > tolerance)


def _all_orders(groups: tuple[Group, ...], largest: int) -> list[tuple[int, ...]]:
    """Every (k_1, k_2, …) of even orders with a sum of at most ``largest``, lowest sum first."""
    choices = itertools.product(range(0, largest + 1, 2), repeat=len(groups))
    return sorted((k for k in choices if sum(k) <= largest), key=sum)


def _largest_share(orders: tuple[int, ...]) -> float:
    """max Π p_g^{k_g} over p_g ≥ 0, Σ p_g = 1, the squared cosines: attained at p_g = k_g/k."""
    total = sum(orders)
    return math.prod((k / total) ** k for k in orders if k) if total else 1.0
