"""Stochastic gradient descent, in exact blocks.

    θ_i ← θ_i + 2 s_k M [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ θ_i ] + √(4 s_k M/β) g_i^k
    s_k = ε ξ(kε),    M = diag(m_a, m_b, m_w) at time kε

    w   W (n, d)   a (n,)   b (n,)          neurons
    X   (B, d)     Y (B,)                   the samples of a block, drawn from the block's own key, never stored
    S = X Wᵀ       G = X Xᵀ                 pre-activations with the weights before the block, Gram matrix

Over a block, w only moves in the span of its samples. With the decay D_k = Π_{l<k} (1 − 2 s_l m_w λ) of the ridge,

    h_k = D_k S_k + Σ_{l<k} (D_k/D_{l+1}) G_{kl} C_l + b,      C_k = (2 s_k m_w/b)(y_k − f_k) a σ'(h_k)
    W ← D_B W + Σ_l (D_B/D_{l+1}) C_l ⊗ x_l

Two matrix products for each block (S, and Cᵀ X) replace two matrix–vector products for each sample; the
iterates are those of the plain loop up to rounding. The triangular sum is itself blocked: inside a sub-block one row at
a time, between sub-blocks by a matrix product. A block cut by a save time runs twice, the other steps' s_k set to 0.
Noise is added block by block, exactly in law (widelimit.dynamics.block_noise); where w is kept on the sphere a block
goes step by step (widelimit.dynamics.stepwise).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.block_noise import block_noise, decays
from widelimit.dynamics.methods import SGD
from widelimit.dynamics.motion import Motion, motion
from widelimit.dynamics.run import Run, Tick, chunks, in_groups, initial_neurons, per_replica, prepare, whole_steps
from widelimit.dynamics.stepwise import step_by_step
from widelimit.dynamics.streams import streams
from widelimit.potentials.landscape_base import split_columns
from widelimit.potentials.landscapes import landscape
from widelimit.problem.law import DataLaw
from widelimit.problem.neurons import Custom, Neuron, Ridge
from widelimit.problem.schedules import Schedule, step_sizes
from widelimit.problem.statement import Problem

BLOCK_ROWS = 128
SUB_ROWS = 16
WORK_PER_CALL = 2e10  # multiplications between two looks at the clock


@dataclass(frozen=True)
class Layout:
    """How one block is cut: ``subs`` sub-blocks of ``units`` batches of ``batch`` samples."""

    batch: int
    units: int
    subs: int

    @property
    def steps(self) -> int:
        """Steps in a block."""
        return self.units * self.subs

    @property
    def sub_rows(self) -> int:
        """Samples in a sub-block."""
        return self.units * self.batch


@dataclass(frozen=True)
class Iteration:
    """All that stays the same from block to block; ``stepwise`` forgoes the blocks."""

    data: DataLaw
    neuron: Neuron
    ridge: float
    schedule: Schedule
    step: float
    rules: Motion
    layout: Layout
    stepwise: bool = False


def iteration(problem: Problem, method: SGD) -> Iteration:
    """SGD on a problem."""
    rules = motion(problem, reduced=False)
    layout = layout_for(method.batch, int(problem.data.d) // 2 if rules.is_noisy else BLOCK_ROWS)
    is_smooth = problem.data.mixture is not None or problem.data.on_ball  # no two samples are parallel
    stepwise = rules.on_sphere or isinstance(problem.neuron, Custom) or (rules.is_noisy and not is_smooth)
    return Iteration(
        problem.data, problem.neuron, problem.ridge, problem.schedule, method.step, rules, layout, stepwise
    )


def layout_for(batch: int, rows: int | None = None) -> Layout:
    """Blocks of about BLOCK_ROWS samples, at most ``rows``, in sub-blocks of about SUB_ROWS, whole batches each."""
    most = min(BLOCK_ROWS, BLOCK_ROWS if rows is None else rows)
    units = max(1, min(SUB_ROWS, most) // batch)
    return Layout(batch, units, max(1, most // (units * batch)))


@prepare.register
def _(method: SGD, problem: Problem, seed: int, replicas: int | None = None) -> Run:
    theta = initial_neurons(problem, seed, method.n, False, replicas).astype(method.dtype)
    fixed = iteration(problem, method)
    keys = streams(seed, "data", replicas), streams(seed, "noise", replicas)

    def steps(replicas: int | None, *stacked: Array, first: int, last: int) -> Array:
        return sgd_steps(fixed, replicas, *stacked, first, last)

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        span = chunk_steps(fixed.layout, theta)
        for first, last in chunks(round(start / method.step), round(stop / method.step), span):
            theta = in_groups(partial(steps, first=first, last=last), replicas, theta, *keys)
            if not bool(jnp.isfinite(theta).all()):
                return theta
            tick(last * method.step)
        return theta

    weights = jnp.full(method.n, 1 / method.n)
    advice = f"the step {method.step:g} is too large: try step={method.step / 4:.2g} or less"
    return Run(theta, weights, landscape(problem), advance, whole_steps(method.step), advice)


def chunk_steps(layout: Layout, theta: Array) -> int:
    """A whole number of blocks that takes about a second."""
    work = 2 * theta.size * layout.batch * layout.steps
    return layout.steps * max(1, int(WORK_PER_CALL / work))


@partial(jax.jit, static_argnums=(0, 1))
def sgd_steps(
    fixed: Iteration, replicas: int | None, theta: Array, data_keys: Array, noise_keys: Array, first: Array, last: Array
) -> Array:
    """The iterate after steps first, …, last − 1; the memory used does not depend on how many they are."""
    return per_replica(partial(_steps, fixed, first, last), replicas)(theta, data_keys, noise_keys)


def _steps(fixed: Iteration, first: Array, last: Array, theta: Array, data_key: Array, noise_key: Array) -> Array:
    steps = fixed.layout.steps
    block = step_by_step if fixed.stepwise else one_block
    scalars = theta[:, : len(fixed.neuron.scalars)]
    _, _, w = split_columns(fixed.neuron, theta)

    def body(index: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        k = index * steps + jnp.arange(steps)
        x, y = fixed.data.block(data_key, index, steps * fixed.layout.batch, theta.dtype)
        begin = jnp.maximum(first - index * steps, 0)  # a block that runs twice has fresh noise each time
        own = jax.random.fold_in(jax.random.fold_in(noise_key, index), begin)
        return block(fixed, *state, x, y, _paces(fixed, k, (k >= first) & (k < last)).astype(theta.dtype), own)

    scalars, w = jax.lax.fori_loop(first // steps, -(-last // steps), body, (scalars, w))
    return jnp.concatenate([scalars, w], axis=1)


def _paces(fixed: Iteration, k: Array, inside: Array) -> Array:
    """s_k m of every block of parameters (steps, blocks), 0 for the steps that are not taken."""
    sizes = jnp.where(inside, step_sizes(fixed.schedule, fixed.step, k), 0.0)
    rates = [jnp.broadcast_to(fixed.rules.mobility.at(b, k * fixed.step), k.shape) for b in fixed.rules.blocks]
    return sizes[:, None] * jnp.stack(rates, axis=1)


def one_block(
    fixed: Iteration, scalars: Array, w: Array, x: Array, y: Array, paces: Array, key: Array
) -> tuple[Array, Array]:
    """Move the neurons through the samples x (B, d), y (B,) with the paces s_k m (steps, blocks)."""
    lay, s, gram = fixed.layout, x @ w.T, x @ x.T
    noise, decay = None, decays(1 - 2 * fixed.ridge * paces[:, -1]) if fixed.ridge or fixed.rules.is_noisy else None
    if decay is not None and fixed.rules.is_noisy:
        moves = jnp.any(paces > 0, axis=1)
        noise = block_noise(key, x, gram, decay, 4 / fixed.rules.beta * paces[:, -1], moves, len(w))
    if decay is not None and fixed.ridge:
        within, before = (jnp.repeat(part, lay.batch, axis=0) for part in (decay.within, decay.before))
        s, gram = before[:, None] * s, jnp.repeat(within, lay.batch, axis=1) * gram
    s = s if noise is None else s + noise.felt
    scalars, coefficients = _triangle(fixed, scalars, s, gram, y, paces, _scalar_noise(fixed, key, paces, len(w)))
    if decay is not None and fixed.ridge:
        coefficients = jnp.repeat(decay.left, lay.batch)[:, None] * coefficients
        w = decay.before[-1] * decay.shrink[-1] * w
    if noise is None:
        return scalars, w + coefficients.T @ x
    return scalars, w + noise.fresh + (coefficients + noise.along).T @ x


def _scalar_noise(fixed: Iteration, key: Array, paces: Array, n: int) -> Array | None:
    """√(4 s_k m/β) g of the scalars, (steps, n, scalars), if there is noise."""
    if not fixed.rules.is_noisy:
        return None
    spread = jnp.sqrt(4 / fixed.rules.beta * paces[:, :-1])
    shape = (len(paces), n, fixed.rules.scalars)
    return spread[:, None, :] * jax.random.normal(jax.random.fold_in(key, 2), shape, paces.dtype)


def _triangle(
    fixed: Iteration, scalars: Array, s: Array, gram: Array, y: Array, paces: Array, noise: Array | None
) -> tuple[Array, Array]:
    """The scalars after the block, and its rows C (B, n): sub-block after sub-block."""
    lay = fixed.layout
    done: list[Array] = []
    for j in range(lay.subs):
        rows = slice(j * lay.sub_rows, (j + 1) * lay.sub_rows)
        steps = slice(j * lay.units, (j + 1) * lay.units)
        h = s[rows]
        if done:
            h = h + gram[rows, : j * lay.sub_rows] @ jnp.concatenate(done)
        own = None if noise is None else noise[steps]
        scalars, moved = _sub_block(fixed, scalars, h, gram[rows, rows], y[rows], paces[steps], own)
        done.append(moved)
    return scalars, jnp.concatenate(done)


def _sub_block(
    fixed: Iteration, scalars: Array, h: Array, gram: Array, y: Array, paces: Array, noise: Array | None
) -> tuple[Array, Array]:
    """Step through one sub-block, batch by batch; returns the scalars and the rows C (sub_rows, n)."""
    neuron, lay, n = fixed.neuron, fixed.layout, h.shape[1]
    assert isinstance(neuron, Ridge)  # others go step by step

    def step(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        moves, scalars = carry
        a, b, _ = split_columns(neuron, scalars)
        base, g, labels = (jax.lax.dynamic_slice_in_dim(part, k * lay.batch, lay.batch) for part in (h, gram, y))
        pre = base + g @ moves
        if "b" in neuron.scalars:
            pre = pre + b
        out, slope = jax.jvp(neuron.activation, (pre,), (jnp.ones_like(pre),))
        error = 2 / lay.batch * (labels - out @ (a / n))
        pull = error[:, None] * (slope * a if "a" in neuron.scalars else slope)
        moves = jax.lax.dynamic_update_slice(moves, paces[k, -1] * pull, (k * lay.batch, 0))
        if neuron.scalars:
            push = {"a": error @ out, "b": pull.sum(axis=0)}
            pushes = jnp.stack([push[name] for name in neuron.scalars], axis=1)
            scalars = (1 - 2 * fixed.ridge * paces[k, :-1]) * scalars + paces[k, :-1] * pushes
            scalars = scalars if noise is None else scalars + noise[k]
        return moves, scalars

    start = (jnp.zeros_like(h), scalars)
    moves, scalars = jax.lax.fori_loop(0, lay.units, step, start, unroll=min(2, lay.units))
    return scalars, moves
