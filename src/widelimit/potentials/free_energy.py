"""The free energy.

F(ρ) = ½ R(ρ) + (λ/2) ∫|θ|² dρ + β^{-1} ∫ ρ log ρ
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from widelimit.measures import Density, Measure
from widelimit.potentials.landscape_base import Landscape


def energy_of(land: Landscape, rho: Measure) -> float:
    """½ R(ρ) + (λ/2) ∫|θ|² dρ."""
    return land.risk(rho) / 2 + float(rho.mean(land.penalty(jnp.asarray(rho.theta, float))))


def free_energy_of(land: Landscape, rho: Density, beta: float) -> float:
    """F(ρ); without noise the energy alone."""
    return energy_of(land, rho) - (rho.entropy / beta if math.isfinite(beta) else 0.0)
