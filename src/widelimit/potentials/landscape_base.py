"""What every landscape offers, whatever its coordinates.

R(ρ) = R# + 2 ∫ V dρ + ∬ U dρ dρ
Ψ(θ; ρ) = V(θ) + ∫ U(θ, θ') ρ(dθ') + (λ/2)|θ|²

θ   theta   (n, D)   one row per neuron, columns named by ``coordinates``
ρ   rho              a Cloud or a Density in the same coordinates, or an array (n', D) of equally weighted neurons
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import require
from widelimit.measures import Measure
from widelimit.problem.law import DataLaw
from widelimit.problem.neurons import Neuron


@dataclass(frozen=True)
class Landscape(ABC):
    """V, U, Ψ, ∇Ψ and R of one data law and one neuron."""

    data: DataLaw
    neuron: Neuron
    ridge: float

    @property
    @abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ."""

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

    def V(self, theta: Any) -> Array:
        """V(θ) = −E y σ*(x; θ), (n,)."""
        return _external(self, self._rows(theta))

    def U(self, theta: Any, other: Any) -> Array:
        """U(θ, θ') = E σ*(x; θ) σ*(x; θ'), (n, n')."""
        return _pair(self, self._rows(theta), self._rows(other))

    def psi(self, theta: Any, rho: Any) -> Array:
        """Ψ(θ; ρ), half the first variation of the risk, with the ridge, (n,)."""
        return _psi(self, self._rows(theta), *self._measure(rho))

    def grad_psi(self, theta: Any, rho: Any) -> Array:
        """∇_θ Ψ(θ; ρ), (n, D)."""
        return self.gradient(self._rows(theta), *self._measure(rho))

    def risk(self, rho: Any) -> float:
        """R(ρ), without the ridge."""
        return float(self.risk_of(*self._measure(rho)))

    def risk_error(self, rho: Any) -> float:
        """Standard error of R(ρ): 0 unless the risk is estimated from a draw."""
        return 0.0

    @partial(jax.jit, static_argnums=0)
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """∇Ψ at every row of theta in the field of Σ_j weights_j δ(points_j), (n, D)."""
        return jax.grad(lambda t: jnp.sum(self.psi_of(t, points, weights)))(theta)

    @partial(jax.jit, static_argnums=0)
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every particle of ρ = Σ_j weights_j δ(θ_j) in the field of that same ρ, (n, D)."""
        return self.gradient(theta, theta, weights)

    def near(self, theta: Array, weights: Array) -> Landscape:
        """A landscape whose `self_gradient` agrees with this one around θ and may be cheaper.

        theta   (n, D), or (R, n, D): replicas, the worst of which decides; values, not traced
        """
        return self

    def holds(self, theta: Array, weights: Array) -> bool:
        """Whether a landscape that `near` returned is still certified at θ; shapes as there."""
        return True

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Ψ, traceable."""
        return self.external(theta) + self.mean_pair(theta, points, weights) + self.penalty(theta)

    def penalty(self, theta: Array) -> Array:
        """(λ/2)|θ|², (n,)."""
        return 0.5 * self.ridge * jnp.sum(theta**2, axis=1)

    def _rows(self, theta: Any) -> Array:
        rows = jnp.asarray(np.asarray(theta, float))
        rows = rows[None] if rows.ndim == 1 else rows
        require(
            rows.ndim == 2 and rows.shape[1] == len(self.coordinates),
            f"theta must have shape (n, {len(self.coordinates)}), columns {_short(self.coordinates)}",
            rows.shape,
            "check whether the landscape is the full or the reduced one",
        )
        return rows

    def _measure(self, rho: Any) -> tuple[Array, Array]:
        if isinstance(rho, Measure):
            return self._rows(rho.theta), jnp.asarray(rho.weights, float)
        rows = self._rows(rho)
        return rows, jnp.full(rows.shape[0], 1 / rows.shape[0])


def _short(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])} … {names[-1]}"


@partial(jax.jit, static_argnums=0)
def _external(landscape: Landscape, theta: Array) -> Array:
    return landscape.external(theta)


@partial(jax.jit, static_argnums=0)
def _pair(landscape: Landscape, theta: Array, other: Array) -> Array:
    return landscape.pair(theta, other)


@partial(jax.jit, static_argnums=0)
def _psi(landscape: Landscape, theta: Array, points: Array, weights: Array) -> Array:
    return landscape.psi_of(theta, points, weights)


def each(function: Callable[[Array], Any], points: Array) -> Any:
    """``function`` of one cloud (n, D), or of each of several (R, n, D); traceable."""
    return function(points) if points.ndim == 2 else jax.lax.map(function, points)


def length(x: Array) -> Array:
    """|x| over the second axis, with derivative 0 at the origin."""
    square = jnp.sum(x * x, axis=1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def split_columns(neuron: Neuron, theta: Array) -> tuple[Array, Array, Array]:
    """a (n,), b (n,) with 1 and 0 where absent, and the remaining columns (w, or the radii)."""
    columns = dict(zip(neuron.scalars, theta.T[: len(neuron.scalars)], strict=True))
    a = columns.get("a", jnp.ones(theta.shape[0], theta.dtype))
    b = columns.get("b", jnp.zeros(theta.shape[0], theta.dtype))
    return a, b, theta[:, len(neuron.scalars) :]
