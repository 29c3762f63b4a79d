"""SGD and the tracers of the limit, step by step on one clock: what the terms of the proof are summed from.

    θ_i^{k+1} = θ_i^k + 2 s_k M F_i(θ^k; z_{k+1})                           SGD on the samples of its seed
    dθ̄_i/dt   = 2 ξ M G(θ̄_i; ρ_t),    G = −∇Ψ                               tracers, and the points that carry ρ_t

    over a step [kε, (k+1)ε], each (n, D):
    drift       ∫ 2 M |ξ(s) G(θ̄^s; ρ_s) − ξ_k G(θ̄^k; ρ_k)| ds              a number for each neuron, (n,)
    apart       2 s_k M [G(θ^k; ρ_k) − G(θ̄^k; ρ_k)]
    martingale  2 s_k M [F(θ^k; z_{k+1}) − G(θ^k; ρ^N_k)]
    sampling    2 s_k M [G(θ^k; ρ^N_k) − G(θ^k; ρ_k)],                     ρ^N_k = (1/N) Σ_i δ(θ_i^k)

Scheme: two Runge–Kutta steps of order 4 of length ε/2, stable wherever SGD is; the drift by Simpson's rule on them. The
samples are those that `wl.solve` gives SGD with the same seed, one step after the other instead of in blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.block_runs import Keys
from widelimit.dynamics.nonlinear_flow import Passive, State
from widelimit.dynamics.sgd import Iteration
from widelimit.dynamics.stepwise import one_step
from widelimit.frozen import Frozen
from widelimit.potentials.landscape import Landscape
from widelimit.solving.clock import Chunk

NODES, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)  # of the Runge–Kutta step


class Sums(NamedTuple):
    """What has been summed up to a step.

    drift, apart          (n,)     ∫ and Σ of lengths: E_1 and E_2
    martingale, sampling  (n, D)   Σ of vectors: the parts of E_3
    growth                         Σ 2 s_k L_k, L_k the largest |M(G(θ_i) − G(θ̄_i))|/|θ_i − θ̄_i| over the neurons
    """

    drift: Array
    apart: Array
    martingale: Array
    sampling: Array
    growth: Array


class Both(NamedTuple):
    """SGD, the points of the limit with the tracers, and the sums."""

    theta: Array
    state: State
    sums: Sums


def started(theta: Array, points: Array) -> Both:
    """Tracers where the neurons start."""
    n, none = len(theta), jnp.zeros(len(theta))
    return Both(theta, (points, theta), Sums(none, none, jnp.zeros((n, theta.shape[1])), jnp.zeros_like(theta),
                                              jnp.zeros(())))  # fmt: skip


class CoupledSteps(Frozen, eq=False):
    """What stays the same from step to step.

    sgd    its samples and its step
    flow   the tracers in the field of the limit, with the schedule as a function of time
    land   in full coordinates, on which the neurons meet
    """

    sgd: Iteration
    flow: Passive
    land: Landscape

    @jax.jit
    def advance(self, both: Both, keys: Keys, chunk: Chunk) -> Both:
        """All of it through the steps of a chunk."""
        steps = self.sgd.layout.steps

        def block(index: Array, both: Both) -> Both:
            start, drawn = index * steps, self.sgd.drawn(keys, index, both.theta.dtype)

            def step(k: Array, both: Both) -> Both:
                x, y = (jax.lax.dynamic_slice_in_dim(part, k - start, 1) for part in (drawn.x, drawn.y))
                return self.step(k, (x, y), drawn.paces[k - start], both)

            first, last = jnp.maximum(chunk.first, start), jnp.minimum(chunk.last, start + steps)
            return jax.lax.fori_loop(first, last, step, both)

        return jax.lax.fori_loop(chunk.first // steps, -(-chunk.last // steps), block, both)

    def step(self, k: Array, batch: tuple[Array, Array], pace: Array, both: Both) -> Both:
        """One step of SGD beside the tracers, with s_k m of every block of parameters."""
        theta, (points, tracers), sums = both
        sgd, rules, eps, n = self.sgd, self.flow.rules, self.sgd.steps.step, len(both.theta)
        paces, t, key = rules.columnwise(pace), k * eps, jax.random.key(0)
        moved = one_step(sgd.neuron, sgd.rules, sgd.penalty, theta, batch, (paces, key))
        pulled = -2 * paces * self.flow.gradient(jnp.concatenate([theta, tracers]), points)  # 2 s_k M G(·; ρ_k)
        here, there = pulled[:n], pulled[n:]
        among = -2 * paces * self.land.self_gradient(theta, jnp.full(n, 1 / n))

        def half(state: State, t: Array) -> tuple[State, Array]:
            state = runge_kutta(self.flow, t, state, eps / 2)
            return state, self.flow.velocity(t + eps / 2, state)[1]

        whole, speeds = jax.lax.scan(half, (points, tracers), t + eps / 2 * jnp.arange(2))
        off = jnp.linalg.norm(speeds - there / eps, axis=2)  # in the middle and at the end of the step, (2, n)
        lengths, gap = jnp.linalg.norm(here - there, axis=1), jnp.linalg.norm(theta - tracers, axis=1)
        ratio = jnp.max(jnp.where(gap > 0, lengths / jnp.where(gap > 0, gap, 1.0), 0.0))
        sums = Sums(
            sums.drift + eps / 6 * (4 * off[0] + off[1]), sums.apart + lengths,
            sums.martingale + (moved - theta) - among, sums.sampling + among - here, sums.growth + ratio,
        )  # fmt: skip
        return Both(moved, whole, sums)


def runge_kutta(flow: Passive, t: Array, state: State, h: float) -> State:
    """The classical step of order 4, one stage after the other."""

    def ahead(slope: State, by: Array | float) -> State:
        return jax.tree.map(lambda y, v: y + by * v, state, slope)

    def stage(carry: tuple[State, State], at: tuple[Array, Array]) -> tuple[tuple[State, State], None]:
        (slope, total), (node, weight) = carry, at
        slope = flow.velocity(t + node * h, ahead(slope, node * h))
        return (slope, jax.tree.map(lambda sum_, v: sum_ + weight * v, total, slope)), None

    none = jax.tree.map(jnp.zeros_like, state)
    (_, mean), _ = jax.lax.scan(stage, (none, none), (jnp.asarray(NODES), jnp.asarray(WEIGHTS)))
    return flow.inside(ahead(mean, h), state)
