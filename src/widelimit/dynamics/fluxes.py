"""What flows between the cells of a grid.

    m   masses       (cells, …)   of the cells, in reduced coordinates
    v   volumes      (cells, …)   of the full space: they carry the drift (d_g − 1)/(βr) of a radius
    Ψ   psi          (cells, …)   at the centres, from the features Φ of the cells, evaluated once
    F   free energy  ½ R + Σ m (λ/2)|θ|² + β^{-1} Σ m log(m/v)

Between neighbours i, i + 1 of a coordinate with cells of width h flows the mass

    noise   J = 2M/(β h²) [B(x) m_i − B(−x) m_{i+1}],   x = β ΔΨ − Δ log v,   B(x) = x/(eˣ − 1)     Scharfetter–Gummel
    none    J = V⁺ (m_i + s_i/2)/h + V⁻ (m_{i+1} − s_{i+1}/2)/h,   V = −2M ΔΨ/h                    limited upwind

Both conserve mass, keep it ≥ 0 and have −dF/dt = Σ J (μ_i − μ_{i+1}) ≥ 0 with μ = Ψ + β^{-1} log(m/v); with noise J = 0
at the discrete Gibbs law m ∝ v exp(−βΨ) and nowhere else. Nothing flows through the sides of the box, nor at r = 0.
Slopes s by the monotonised central limiter.  References: [sg69], [cc70], [cch15].
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.grid import Grid
from widelimit.errors import require
from widelimit.potentials.chunks import by_chunks
from widelimit.potentials.least_squares import LeastSquares

MOST_FEATURES = 2**28  # numbers held for all cells, 2 GiB


class Terrain(NamedTuple):
    """What stays the same while the masses move."""

    features: Array  # Φ of every cell, (n, Q)
    p: Array  # (Q,)
    y: Array  # (Q,)
    penalty: Array  # (λ/2)|θ|², (cells, …)
    log_volumes: Array  # (cells, …)
    widths: Array  # (D,)
    beta: Array


def terrain_of(land: LeastSquares, grid: Grid, beta: float) -> Terrain:
    """Features, penalty and volumes of the cells of a grid."""
    p, y = land.targets
    cells = grid.density(np.zeros(grid.shape))
    good = cells.n * len(p) <= MOST_FEATURES
    require(good, f"a grid must have at most {MOST_FEATURES // len(p)} cells here", cells.n, "use fewer cells")
    theta = jnp.asarray(cells.theta)
    features = _features(land, theta)
    penalty = land.penalty(theta).reshape(grid.shape)
    widths = jnp.asarray([axis.width for axis in grid.axes])
    return Terrain(features, jnp.asarray(p), jnp.asarray(y), penalty, jnp.asarray(cells.log_volumes), widths,
                   jnp.asarray(beta))  # fmt: skip


@partial(jax.jit, static_argnums=0)
def _features(land: LeastSquares, theta: Array) -> Array:
    return by_chunks(land.features, theta, land.held)


def misfit(terrain: Terrain, masses: Array) -> Array:
    """F − y, (Q,)."""
    return masses.ravel() @ terrain.features - terrain.y


def potential(terrain: Terrain, masses: Array) -> Array:
    """Ψ at the centres."""
    return (terrain.features @ (terrain.p * misfit(terrain, masses))).reshape(masses.shape) + terrain.penalty


def free_energy(terrain: Terrain, noisy: bool, masses: Array) -> Array:
    """F up to the constant noise²/2 of the labels."""
    energy = 0.5 * jnp.sum(terrain.p * misfit(terrain, masses) ** 2) + jnp.sum(masses * terrain.penalty)
    if not noisy:
        return energy
    return energy + jnp.sum(masses * _logs(terrain, masses)) / terrain.beta


def energy_terms(terrain: Terrain, noisy: bool, masses: Array) -> Array:
    """Sizes of the terms of F, which may cancel, added up: its rounding is a fraction of this."""
    size = 1 + 0.5 * jnp.sum(terrain.p * misfit(terrain, masses) ** 2) + jnp.sum(masses * terrain.penalty)
    return size + (jnp.sum(masses * jnp.abs(_logs(terrain, masses))) / terrain.beta if noisy else 0.0)


def _logs(terrain: Terrain, masses: Array) -> Array:
    """log(m/v), 0 where there is no mass."""
    some = masses > 0
    return jnp.where(some, jnp.log(jnp.where(some, masses, 1.0)) - terrain.log_volumes, 0.0)


def bernoulli(x: Array) -> Array:
    """B(x) = x/(eˣ − 1)."""
    small = jnp.abs(x) < 1e-8
    return jnp.where(small, 1 - x / 2, x / jnp.expm1(jnp.where(small, 1.0, x)))


def exchange(terrain: Terrain, rates: Array, psi: Array, c: int) -> tuple[Array, Array]:
    """Rates at which a cell sends mass to its left and right neighbours along coordinate c, now the last axis."""
    x = jnp.diff(jnp.moveaxis(terrain.beta * psi - terrain.log_volumes, c, -1), axis=-1)
    scale = 2 * rates[c] / (terrain.beta * terrain.widths[c] ** 2)
    ends = [(0, 0)] * (psi.ndim - 1)
    return jnp.pad(scale * bernoulli(-x), [*ends, (1, 0)]), jnp.pad(scale * bernoulli(x), [*ends, (0, 1)])


def velocities(terrain: Terrain, rates: Array, psi: Array) -> list[Array]:
    """−2 M ΔΨ/h at the faces inside, for every coordinate."""
    return [-2 * rates[c] * jnp.diff(psi, axis=c) / terrain.widths[c] for c in range(psi.ndim)]


def upwind_change(terrain: Terrain, rates: Array, masses: Array) -> Array:
    """dm/dt by limited upwind fluxes."""
    change = jnp.zeros_like(masses)
    for c, v in enumerate(velocities(terrain, rates, potential(terrain, masses))):
        m, v = jnp.moveaxis(masses, c, -1), jnp.moveaxis(v, c, -1)
        half = _slopes(m) / 2
        flux = (jnp.maximum(v, 0) * (m + half)[..., :-1] + jnp.minimum(v, 0) * (m - half)[..., 1:]) / terrain.widths[c]
        ends = [(0, 0)] * (m.ndim - 1)
        change = change - jnp.moveaxis(jnp.diff(jnp.pad(flux, [*ends, (1, 1)]), axis=-1), -1, c)
    return change


def _slopes(m: Array) -> Array:
    """Monotonised central slopes along the last axis; 0 in the outermost cells."""
    back, ahead = jnp.diff(m)[..., :-1], jnp.diff(m)[..., 1:]
    size = jnp.minimum(jnp.minimum(2 * jnp.abs(back), 2 * jnp.abs(ahead)), jnp.abs(back + ahead) / 2)
    inner = jnp.where(back * ahead > 0, jnp.sign(back) * size, 0.0)
    return jnp.pad(inner, [(0, 0)] * (m.ndim - 1) + [(1, 1)])
