"""What the directions of finitely many neurons cost.

    ρ̄            ρ, every neuron replaced by all its rotations: what reduced coordinates describe
    R(ρ) − R(ρ̄) = E (f(x; ρ) − f(x; ρ̄))² = ½ E (f(x; ρ) − f(x'; ρ))² ≥ 0

    x'   x, turned inside every group by a random rotation of its own: f(x) and f(x') are independent given what the
         groups keep of x, and have the mean f(x; ρ̄)

Σ_i of few neurons exactly, as the difference of two risks; of many by draws of (x, x'), with the standard error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.measures import Cloud
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.pairwise_landscape import PairwiseLandscape
from widelimit.potentials.sample_landscape import neuron_values
from widelimit.problem.neurons import Neuron
from widelimit.problem.problem import Problem

EXACT = 400  # neurons whose pairs are summed
WORK = 2.0**31  # products of draws, neurons and coordinates
DRAWS = (256, 8192)  # fewest and most
SEED = 20_232
CHUNK = 64


class Excess(NamedTuple):
    """R(ρ) − R(ρ̄), how far it may be off (of draws three standard errors), and whether all pairs were summed."""

    value: float
    error: float
    exact: bool


def excess_of(problem: Problem, rho: Cloud, symmetric: float) -> Excess:
    """The excess of a network in full coordinates; ``symmetric`` is R(ρ̄)."""
    land = landscape(problem)
    if rho.n <= EXACT and isinstance(land, PairwiseLandscape):
        return Excess(max(land.risk(rho) - symmetric, 0.0), land.risk_error(rho), True)
    fitting = int(WORK / (2 * rho.n * problem.D))
    m = min(max(fitting, DRAWS[0]), DRAWS[1])
    draw = problem.data.draws(jax.random.key(SEED), m)
    turned = _turned(draw.x, problem.kept, tuple(int(g.d) for g in problem.groups))
    difference = _outputs(problem, rho, draw.x) - _outputs(problem, rho, turned)
    squares = (difference**2 / 2).reshape(len(draw.p), -1)
    p = np.asarray(draw.p)
    spread = math.sqrt(float(p**2 @ squares.var(axis=1, ddof=1) / squares.shape[1]))
    return Excess(float(p @ squares.mean(axis=1)), 3 * spread, False)


def _turned(x: Array, kept: int, widths: tuple[int, ...]) -> Array:
    """x with a new direction inside every group."""
    parts, first = [x[:, :kept]], kept
    for g, width in enumerate(widths):
        own = x[:, first : first + width]
        fresh = jax.random.normal(jax.random.fold_in(jax.random.key(SEED), g + 1), own.shape)
        ratio = jnp.linalg.norm(own, axis=1) / jnp.linalg.norm(fresh, axis=1)
        parts.append(fresh * ratio[:, None])
        first += width
    return jnp.concatenate(parts, axis=1)


def _outputs(problem: Problem, rho: Cloud, x: Array) -> np.ndarray:
    """f(x; ρ), (m,)."""
    theta, weights, neuron = jnp.asarray(rho.theta), jnp.asarray(rho.weights), problem.network.form
    rows = jnp.concatenate([x, jnp.zeros((-len(x) % CHUNK, x.shape[1]))]).reshape(-1, CHUNK, x.shape[1])
    found = _mean_values(neuron, problem.full, theta, weights, rows)
    return np.asarray(found).ravel()[: len(x)]


@jax.jit
def _mean_values(neuron: Neuron, columns: Coordinates, theta: Array, weights: Array, rows: Array) -> Array:
    """∫ σ*(x; θ) ρ(dθ) for several chunks of inputs x, (chunks, CHUNK)."""
    return jax.lax.map(lambda x: neuron_values(neuron, columns, theta, x) @ weights, rows)
