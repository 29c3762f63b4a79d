"""Stochastic gradient descent, one step after the other.

    θ_i ← P( θ_i + 2 s_k M [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ θ_i ] + √(4 s_k M/β) g_i^k )

    P   return to the sphere |w| = 1, where that is asked

The plain loop, for what blocks cannot do; the samples are those of the blocks. Gradients by automatic differentiation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.potentials.samples import neuron_values

if TYPE_CHECKING:
    from widelimit.dynamics.sgd import Iteration


def step_by_step(
    fixed: Iteration, scalars: Array, w: Array, x: Array, y: Array, paces: Array, key: Array
) -> tuple[Array, Array]:
    """Move the neurons through the samples x (B, d), y (B,) with the paces s_k m (steps, blocks)."""
    rules, batch = fixed.rules, fixed.layout.batch
    widths = jnp.asarray(rules.columns)

    def step(k: Array, theta: Array) -> Array:
        inputs, labels = (jax.lax.dynamic_slice_in_dim(part, k * batch, batch) for part in (x, y))
        out, pull_back = jax.vjp(lambda theta: neuron_values(fixed.neuron, theta, inputs), theta)
        error = (labels - out.mean(axis=1)) / batch
        (push,) = pull_back(jnp.broadcast_to(error[:, None], out.shape))
        pace = jnp.repeat(paces[k], widths, total_repeat_length=theta.shape[1])
        moved = theta + 2 * pace * (push - fixed.ridge * theta)
        if rules.is_noisy:
            moved = rules.kick(jax.random.fold_in(key, k), moved, pace, 1.0)
        return rules.retract(moved)

    theta = jax.lax.fori_loop(0, len(paces), step, jnp.concatenate([scalars, w], axis=1))
    return theta[:, : rules.scalars], theta[:, rules.scalars :]
