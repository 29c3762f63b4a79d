"""Stochastic gradient descent, one step after the other.

    θ_i ← P( θ_i + 2 s_k M [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ ∇v(θ_i) ] + √(4 s_k M/β) g_i^k )

    P   return to the sphere |w| = 1, if w lives there; else the identity

The plain loop, for what blocks cannot do; the samples are those of the blocks, the normals g_i^k those of GD. Gradients
by automatic differentiation.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.dynamics.rules import Rules
from widelimit.potentials.sample_landscape import neuron_values
from widelimit.problem.neurons import Linearised, Neuron
from widelimit.problem.regularisers import Penalty

Pair = tuple[Array, Array]


def one_step(
    neuron: Neuron | Linearised, rules: Rules, penalty: Penalty, theta: Array, batch: Pair, pace_and_key: Pair
) -> Array:  # fmt: skip
    """θ (n, D) after the batch x (b, d), y (b,) with the pace s_k m of every column (D,) and the key of its noise."""
    pace, key = pace_and_key
    push, _ = pushed(neuron, rules.columns, theta, batch)
    moved = theta + 2 * pace * (push - penalty.gradient(theta))
    if rules.is_noisy:
        moved = rules.kick(key, moved, pace, 1.0)
    return rules.retract(moved.astype(theta.dtype))


def pushed(neuron: Neuron | Linearised, columns: Coordinates, theta: Array, batch: Pair) -> Pair:
    """(1/b) Σ (y − f(x; θ)) ∇σ*(x; θ_i) over a batch, (n, D), and y − f of each of its samples, (b,)."""
    x, y = batch
    out, pull_back = jax.vjp(lambda theta: neuron_values(neuron, columns, theta, x), theta)
    error = y - out.mean(axis=1)
    return pull_back(jnp.broadcast_to(error[:, None] / len(y), out.shape))[0], error
