"""V, U, Ψ of a landscape by compiled functions, all of them at once, and how far two landscapes are apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.refinement import Errors

if TYPE_CHECKING:
    from widelimit.measures import Density
    from widelimit.potentials.landscape import Landscape


@jax.jit
def compiled_external(landscape: Landscape, theta: Array) -> Array:
    """V(θ)."""
    return landscape.external(theta)


@jax.jit
def compiled_pair(landscape: Landscape, theta: Array, other: Array) -> Array:
    """U(θ, θ')."""
    return landscape.pair(theta, other)


@jax.jit
def compiled_psi(landscape: Landscape, theta: Array, points: Array, weights: Array) -> Array:
    """Ψ(θ; ρ)."""
    return landscape.psi_of(theta, points, weights)


@jax.jit
def compiled_energy(landscape: Landscape, risk: Array, points: Array, weights: Array) -> Array:
    """E(ρ), whose risk is known."""
    return risk / 2 + weights @ landscape.penalty(points)


@jax.jit
def compiled_probe(landscape: Landscape, theta: Array) -> Array:
    """V(θ)/√R# and √U(θ, θ), (n, 2)."""
    return landscape.probe(theta)


@jax.jit
def disagreement(land: Landscape, finer: Landscape, theta: Array) -> Array:
    """The largest difference of two probes, relative to √U."""
    one, other = (version.probe(theta.reshape(-1, theta.shape[-1])) for version in (land, finer))
    return jnp.max(jnp.abs(one - other) / jnp.where(other[:, 1:] > 0, other[:, 1:], 1.0))


def all_of(land: Landscape, points: Array, weights: Array) -> Errors:
    """V, U, ∇Ψ and R themselves."""
    V, U = compiled_external(land, points), compiled_pair(land, points, points)
    risk = float(land.risk_of(points, weights))
    return Errors(np.asarray(V), np.asarray(U), np.asarray(land.gradient(points, points, weights)), risk)


def with_entropy(energy: float, rho: Density, beta: float) -> float:
    """F(ρ) = E(ρ) + β^{-1} ∫ ρ log ρ; without noise the energy alone."""
    return energy - (rho.entropy / beta if math.isfinite(beta) else 0.0)
