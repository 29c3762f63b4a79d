"""What flows between the cells of a grid.

    m   masses       (cells, …)   of the cells, in reduced coordinates
    v   volumes      (cells, …)   of the full space: they carry the drift (d_g − 1)/(βr) of a radius
    Ψ   psi          (cells, …)   at the centres, from the features Φ of the cells, evaluated once
    F   free energy  ½ R + Σ m λ v(θ) + β^{-1} Σ m log(m/v)

Between neighbours i, i + 1 of a coordinate with cells of width h flows the mass

    noise   J = 2M/(β h²) [B(x) m_i − B(−x) m_{i+1}],   x = β ΔΨ − Δ log v,   B(x) = x/(eˣ − 1)     Scharfetter–Gummel
    none    J = V⁺ (m_i + s_i/2)/h + V⁻ (m_{i+1} − s_{i+1}/2)/h,   V = −2M ΔΨ/h                    limited upwind

Both conserve mass, keep it ≥ 0 and have −dF/dt = Σ J (μ_i − μ_{i+1}) ≥ 0 with μ = Ψ + β^{-1} log(m/v); with noise J = 0
at the discrete Gibbs law m ∝ v exp(−βΨ) and nowhere else. Nothing flows through the sides of the box, nor at r = 0.
Slopes s by the monotonised central limiter.  References: [sg69], [cc70], [cch15].
"""

from __future__ import annotations

from typing import NamedTuple, cast

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.finite_volume.grid import Grid
from widelimit.errors import require
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.least_squares import LeastSquares
from widelimit.potentials.refinement import AFFORDABLE, ON_CELLS

MOST_FEATURES = 2**28  # numbers held for all cells, 2 GiB


class Terrain(NamedTuple):
    """What stays the same while the masses move.

    beta   inverse temperature, None without noise
    """

    features: Array  # Φ of every cell, (n, Q)
    fit: LeastSquares
    penalty: Array  # λ v(θ), (cells, …)
    log_volumes: Array  # (cells, …)
    widths: Array  # (D,)
    beta: float | None


def terrain_of(land: FeatureLandscape, grid: Grid, beta: float | None) -> Terrain:
    """Features, penalty and volumes of the cells of a grid; the features are accurate at every centre, where that is
    affordable."""
    cells, count = grid.density(np.zeros(grid.shape)), len(land.fit.p)
    good = cells.n * count <= MOST_FEATURES
    require(good, f"a grid must have at most {MOST_FEATURES // count} cells here", cells.n, "use fewer cells")
    theta = jnp.asarray(cells.theta)
    land = cast("FeatureLandscape", land.resolving(theta, ON_CELLS, AFFORDABLE))
    penalty = land.penalty(theta).reshape(grid.shape)
    widths = jnp.asarray([axis.width for axis in grid.axes])
    return Terrain(land.all_features(theta), land.fit, penalty, jnp.asarray(cells.log_volumes), widths, beta)


def mean_features(terrain: Terrain, masses: Array) -> Array:
    """∫ Φ dρ, (Q,)."""
    return masses.ravel() @ terrain.features


def potential(terrain: Terrain, masses: Array) -> Array:
    """Ψ at the centres."""
    psi = terrain.fit.potential(terrain.features, mean_features(terrain, masses))
    return psi.reshape(masses.shape) + terrain.penalty


def free_energy(terrain: Terrain, masses: Array) -> tuple[Array, Array]:
    """F, and the sum of the sizes of its terms, which may cancel: the rounding of F is relative to that sum."""
    energy = terrain.fit.risk(mean_features(terrain, masses)) / 2 + jnp.sum(masses * terrain.penalty)
    if terrain.beta is None:
        return energy, 1 + energy
    some = masses > 0
    logs = jnp.where(some, jnp.log(jnp.where(some, masses, 1.0)) - terrain.log_volumes, 0.0)
    entropies = masses * logs / terrain.beta
    return energy + jnp.sum(entropies), 1 + energy + jnp.sum(jnp.abs(entropies))


def bernoulli(x: Array) -> Array:
    """B(x) = x/(eˣ − 1)."""
    small = jnp.abs(x) < 1e-8
    return jnp.where(small, 1 - x / 2, x / jnp.expm1(jnp.where(small, 1.0, x)))


def exchange(terrain: Terrain, rates: Array, psi: Array, c: int) -> tuple[Array, Array]:
    """Rates at which a cell sends mass to its left and right neighbours along coordinate c, now the last axis."""
    assert terrain.beta is not None
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
