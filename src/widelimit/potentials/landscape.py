"""What every landscape offers, whatever its coordinates.

R(ρ) = R# + 2 ∫ V dρ + ∬ U dρ dρ
Ψ(θ; ρ) = V(θ) + ∫ U(θ, θ') ρ(dθ') + λ v(θ)
E(ρ) = ½ R(ρ) + λ ∫ v dρ,   F(ρ) = E(ρ) + β^{-1} ∫ ρ log ρ

θ   theta   (n, D)   one row per neuron, columns named by ``coordinates``
ρ   rho              a Cloud or a Density in the same coordinates, or an array (n', D) of equally weighted neurons
v   penalty          λ v, |θ|² λ/2 by default

A landscape is data: compiled functions take it as an argument, so that other numbers in it cost nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from widelimit.errors import require, shortened
from widelimit.frozen import Frozen
from widelimit.measures import Density, Measure
from widelimit.problem.regularisers import Penalty

Rho = Measure | ArrayLike
Found = TypeVar("Found")
Move = Callable[["Landscape", Array], Array]


class Landscape(Frozen, ABC, eq=False):
    """V, U, Ψ, ∇Ψ and R of one data law and one neuron."""

    penalty: Penalty

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ."""
        return self.penalty.columns.names

    @abstractmethod
    def external(self, theta: Array) -> Array:
        """V(θ), (n,); traceable."""

    @abstractmethod
    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ'), (n, n'); traceable."""

    @abstractmethod
    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """∫ U(θ, θ') ρ(dθ'), (n,); traceable."""

    @abstractmethod
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ) for points (n, D), or of every replica (R, n, D), and weights (n,)."""

    def V(self, theta: ArrayLike) -> Array:
        """V(θ) = −E y σ*(x; θ), (n,)."""
        return _external(self, self.rows(theta))

    def U(self, theta: ArrayLike, other: ArrayLike) -> Array:
        """U(θ, θ') = E σ*(x; θ) σ*(x; θ'), (n, n')."""
        return _pair(self, self.rows(theta), self.rows(other))

    def psi(self, theta: ArrayLike, rho: Rho) -> Array:
        """Ψ(θ; ρ), half the first variation of the risk, with the regulariser, (n,)."""
        return _psi(self, self.rows(theta), *self.measure(rho))

    def grad_psi(self, theta: ArrayLike, rho: Rho) -> Array:
        """∇_θ Ψ(θ; ρ), (n, D)."""
        return self.gradient(self.rows(theta), *self.measure(rho))

    def risk(self, rho: Rho) -> float:
        """R(ρ), without the regulariser."""
        return float(self.risk_of(*self.measure(rho)))

    def energy(self, rho: Rho) -> float:
        """E(ρ) = ½ R(ρ) + λ ∫ v dρ."""
        points, weights = self.measure(rho)
        return float(self.risk_of(points, weights) / 2 + weights @ self.penalty(points))

    def free_energy(self, rho: Density, beta: float) -> float:
        """F(ρ); without noise the energy alone."""
        return self.energy(rho) - (rho.entropy / beta if math.isfinite(beta) else 0.0)

    def risk_error(self, rho: Rho) -> float:
        """Standard error of R(ρ): 0 unless the risk is estimated from a draw."""
        return float(self.risk_error_of(*self.measure(rho)))

    def risk_error_of(self, points: Array, weights: Array) -> Array:
        """Standard error of R(ρ) for points (n, D), or of every replica (R, n, D)."""
        return jnp.zeros(points.shape[:-2])

    def reporting(self, key: Array) -> Self:
        """The landscape that estimates its risk from the draws of a key; itself where the risk needs no draw."""
        return self

    @jax.jit
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """∇Ψ at every row of theta in the field of Σ_j weights_j δ(points_j), (n, D)."""
        return jax.grad(lambda t: jnp.sum(self.psi_of(t, points, weights)))(theta)

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every particle of ρ = Σ_j weights_j δ(θ_j) in the field of that same ρ, (n, D)."""
        return self.gradient(theta, theta, weights)

    def carry(self, theta: Array, weights: Array, move: Move) -> Array:
        """θ after ``move(landscape, θ)``, on a cheaper landscape where one is accurate enough.

        A landscape with cheaper versions of itself must certify the chosen one at the start and at the end of the move;
        here there is none, and the landscape itself is used.

        theta   (n, D), or (R, n, D) with replicas, the worst of which decides; values, not traced arrays
        """
        return move(self, theta)

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Ψ, traceable."""
        return self.external(theta) + self.mean_pair(theta, points, weights) + self.penalty(theta)

    def energy_of(self, points: Array, weights: Array) -> Array:
        """E for points and weights, as the flow descends it: its slope is Ψ. Traceable where `risk_of` is."""
        return self.risk_of(points, weights) / 2 + weights @ self.penalty(points)

    def rows(self, theta: ArrayLike) -> Array:
        """θ as an array (n, D), checked."""
        rows = jnp.asarray(np.asarray(theta, float))
        rows = rows[None] if rows.ndim == 1 else rows
        require(
            rows.ndim == 2 and rows.shape[1] == len(self.coordinates),
            f"theta must have shape (n, {len(self.coordinates)}), columns {shortened(self.coordinates)}",
            rows.shape,
            "check whether the landscape is the full or the reduced one",
        )
        return rows

    def measure(self, rho: Rho) -> tuple[Array, Array]:
        """The points and weights of ρ, checked."""
        if isinstance(rho, Measure):
            same = tuple(rho.coordinates) == self.coordinates
            require(same, f"ρ must have the coordinates {shortened(self.coordinates)}", shortened(rho.coordinates),
                    "check whether the landscape is the full or the reduced one")  # fmt: skip
            return self.rows(rho.theta), jnp.asarray(rho.weights, float)
        rows = self.rows(rho)
        return rows, jnp.full(rows.shape[0], 1 / rows.shape[0])


@jax.jit
def _external(landscape: Landscape, theta: Array) -> Array:
    return landscape.external(theta)


@jax.jit
def _pair(landscape: Landscape, theta: Array, other: Array) -> Array:
    return landscape.pair(theta, other)


@jax.jit
def _psi(landscape: Landscape, theta: Array, points: Array, weights: Array) -> Array:
    return landscape.psi_of(theta, points, weights)


def each(function: Callable[[Array], Found], points: Array) -> Found:
    """``function`` of one cloud (n, D), or of each of several (R, n, D); traceable."""
    return function(points) if points.ndim == 2 else jax.lax.map(function, points)
