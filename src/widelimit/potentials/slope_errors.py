"""How fast a risk strays because the slopes that neurons follow are not exact.

    δR' = Σ_i p_i ⟨4 M |∇Ψ(θ_i)|, |δ∇Ψ(θ_i)|⟩        per unit of the clock ∫ξ dt

to first order: v = −2 M ∇Ψ is off by 2 M δ∇Ψ, and R changes by 2 p_i ⟨∇Ψ(θ_i), δθ_i⟩ with the place of a neuron.
It is 0 where the landscape is as accurate as whoever moves on it asks.

    δ∇Ψ   the distance to another landscape, or the spread of independent sets of random nodes, and what no comparison
          shows: widelimit.potentials.beyond_rules and thin_layers, and the orders that are left out
"""

from __future__ import annotations

import math

import numpy as np
from jax import Array

from widelimit.potentials.beyond_rules import Lost, lost_slopes
from widelimit.potentials.feature_landscape import FeatureLandscape, compiled_left_out
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscape_values import compiled_probe, disagreement
from widelimit.potentials.refinement import SAFETY


def straying(land: Landscape, points: Array, weights: Array, rates: np.ndarray, allowed: float) -> np.ndarray:
    """δR' on the landscape that moves neurons (n, D), a number; or of every replica (R, n, D), (R,).

    rates     of the columns, (D,)
    allowed   error of V and U, relative to √(R# U) and U, up to which a landscape is good enough
    """
    if not isinstance(land, FeatureLandscape):  # pairs have a certificate of their own, samples a twin
        return np.zeros(points.shape[:-2])
    every = np.pad(rates, (0, points.shape[-1] - len(rates)))  # what a neuron remembers does not move
    clouds = [points] if points.ndim == 2 else list(points)  # an array that was compared before is not compared again
    return np.reshape([_of_cloud(land, cloud, weights, every, allowed) for cloud in clouds], points.shape[:-2])


def _of_cloud(land: FeatureLandscape, points: Array, weights: Array, rates: np.ndarray, allowed: float) -> float:
    lost = land.lost(points)
    hidden = max(lost.slopes.max(), lost.own_slopes.max()) > allowed
    compared = land.refinement.matters and land.other is not None
    seen = land.sets > 1 or (compared and land.refinement.once(disagreement, land, points) > allowed)
    if not (hidden or seen or land.order is not None):
        return 0.0
    slope = np.asarray(land.self_gradient(points, weights))
    off = _seen(land, slope, points, weights) if seen else np.zeros_like(slope)
    if hidden:
        off = off + _hidden(land, slope, lost, points, weights)[:, None]
    if land.order is not None:
        pairs = np.asarray(compiled_left_out(land, points))
        off = off + land.left_out_of_slopes(pairs, points, weights)
    return float(np.asarray(weights) @ (np.abs(slope) * off) @ (4 * rates))


def _seen(land: FeatureLandscape, slope: np.ndarray, points: Array, weights: Array) -> np.ndarray:
    """What a comparison shows of the slopes, (n, D)."""
    if land.sets > 1:
        parts = [np.asarray(land.on_nodes(nodes).self_gradient(points, weights)) for nodes in land.nodes_of_sets]
        return np.std(parts, axis=0, ddof=1) / math.sqrt(land.sets)
    assert land.other is not None
    return SAFETY * np.abs(slope - np.asarray(land.other.self_gradient(points, weights)))


def _hidden(land: Landscape, slope: np.ndarray, lost: Lost, points: Array, weights: Array) -> np.ndarray:
    """What no comparison shows, (n,)."""
    size, square = np.asarray(compiled_probe(land, points))[:, 1], float(land.risk_of(points, 0 * weights))
    root = math.sqrt(abs(square))
    return lost_slopes(lost, float(np.abs(slope).max()), size, np.asarray(weights), root)
