"""Stochastic gradient descent, in exact blocks.

    θ_i ← θ_i + 2 s_k [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ θ_i ],     s_k = ε ξ(kε)

    w   W (n, d)   a (n,)   b (n,)          neurons
    X   (B, d)     Y (B,)                   the samples of a block, drawn from the block's own key, never stored
    S = X Wᵀ       G = X Xᵀ                 pre-activations with the weights before the block, Gram matrix

Over a block, w only moves in the span of its samples. With the decay D_k = Π_{l<k} (1 − 2 s_l λ) of the ridge,

    h_k = D_k S_k + Σ_{l<k} (D_k/D_{l+1}) G_{kl} C_l + b,      C_k = (2 s_k/b)(y_k − f_k) a σ'(h_k)
    W ← D_B W + Σ_l (D_B/D_{l+1}) C_l ⊗ x_l

Two matrix products for each block (S, and Cᵀ X) replace two matrix–vector products for each sample; the
iterates are those of the plain loop up to rounding. The triangular sum is itself blocked: inside a sub-block one row at
a time, between sub-blocks by a matrix product. A block cut by a save time runs twice, the other steps' s_k set to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import SGD
from widelimit.dynamics.run import Run, Tick, prepare, require_no_noise
from widelimit.dynamics.streams import stream
from widelimit.potentials.landscape_base import split_columns
from widelimit.potentials.landscapes import landscape
from widelimit.problem.data import GaussianClasses
from widelimit.problem.neurons import Ridge
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
    """All that stays the same from block to block."""

    data: GaussianClasses
    neuron: Ridge
    ridge: float
    schedule: Schedule
    step: float
    layout: Layout


def layout_for(batch: int) -> Layout:
    """Blocks of about BLOCK_ROWS samples in sub-blocks of about SUB_ROWS, whole batches each."""
    units = max(1, SUB_ROWS // batch)
    return Layout(batch, units, max(1, BLOCK_ROWS // (units * batch)))


@prepare.register
def _(method: SGD, problem: Problem, seed: int) -> Run:
    require_no_noise(problem, method)
    theta = problem.sample_initial(stream(seed, "initial"), method.n).astype(method.dtype)
    iteration = Iteration(
        problem.data, problem.neuron, problem.ridge, problem.schedule, method.step, layout_for(method.batch)
    )
    key = stream(seed, "data")

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        first, last = round(start / method.step), round(stop / method.step)
        span = chunk_steps(iteration.layout, theta)
        while first < last:
            cut = min(last, (first // span + 1) * span)
            theta = sgd_steps(iteration, theta, key, first, cut)
            first = cut
            if not bool(jnp.isfinite(theta).all()):
                return theta
            tick(first * method.step)
        return theta

    weights = jnp.full(method.n, 1 / method.n)
    advice = f"the step {method.step:g} is too large: try step={method.step / 4:.2g} or less"
    return Run(theta, weights, landscape(problem), advance, lambda t: int(t / method.step + 1e-6) * method.step, advice)


def chunk_steps(layout: Layout, theta: Array) -> int:
    """A whole number of blocks that takes about a second."""
    work = 2 * theta.size * layout.batch * layout.steps
    return layout.steps * max(1, int(WORK_PER_CALL / work))


@partial(jax.jit, static_argnums=0)
def sgd_steps(iteration: Iteration, theta: Array, key: Array, first: Array, last: Array) -> Array:
    """The iterate after steps first, …, last − 1; the memory used does not depend on how many they are."""
    steps = iteration.layout.steps
    scalars = theta[:, : len(iteration.neuron.scalars)]
    _, _, w = split_columns(iteration.neuron, theta)

    def body(index: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        k = index * steps + jnp.arange(steps)
        inside = (k >= first) & (k < last)
        sizes = jnp.where(inside, step_sizes(iteration.schedule, iteration.step, k), 0.0).astype(theta.dtype)
        x, y = iteration.data.sample(jax.random.fold_in(key, index), steps * iteration.layout.batch, theta.dtype)
        return one_block(iteration, *state, x, y, sizes)

    begin, end = first // steps, -(-last // steps)
    scalars, w = jax.lax.fori_loop(begin, end, body, (scalars, w))
    return jnp.concatenate([scalars, w], axis=1)


def one_block(iteration: Iteration, scalars: Array, w: Array, x: Array, y: Array, sizes: Array) -> tuple[Array, Array]:
    """Move the neurons through the samples x (B, d), y (B,) with the step sizes (steps,)."""
    lay = iteration.layout
    shrink = 1 - 2 * iteration.ridge * sizes
    s, gram = x @ w.T, x @ x.T
    if iteration.ridge:
        within, before, left = (jnp.repeat(part, lay.batch, axis=0) for part in _decays(shrink))
        s, gram = before[:, None] * s, jnp.repeat(within, lay.batch, axis=1) * gram
    done: list[Array] = []
    for j in range(lay.subs):
        rows = slice(j * lay.sub_rows, (j + 1) * lay.sub_rows)
        steps = slice(j * lay.units, (j + 1) * lay.units)
        h = s[rows]
        if done:
            h = h + gram[rows, : j * lay.sub_rows] @ jnp.concatenate(done)
        per_step = (sizes[steps], shrink[steps])
        scalars, moved = _sub_block(iteration, scalars, h, gram[rows, rows], y[rows], per_step)
        done.append(moved)
    moves = jnp.concatenate(done)
    if iteration.ridge:
        return scalars, before[-1] * shrink[-1] * w + (left[:, None] * moves).T @ x
    return scalars, w + moves.T @ x


def _decays(shrink: Array) -> tuple[Array, Array, Array]:
    """D_k/D_{l+1} for l < k (steps, steps), D_k (steps,), D_B/D_{l+1} (steps,), without dividing by small numbers."""
    size, sign = jnp.log(jnp.maximum(jnp.abs(shrink), 1e-37)), jnp.where(shrink < 0, -1.0, 1.0).astype(shrink.dtype)
    after, turn = jnp.cumsum(size), jnp.cumprod(sign)
    before, earlier = after - size, turn * sign
    ratio = earlier[:, None] * turn * jnp.exp(before[:, None] - after)
    return jnp.tril(ratio, -1), earlier * jnp.exp(before), turn[-1] * turn * jnp.exp(after[-1] - after)


def _sub_block(
    iteration: Iteration, scalars: Array, h: Array, gram: Array, y: Array, per_step: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Step through one sub-block, batch by batch; returns the scalars and the rows C (sub_rows, n)."""
    neuron, lay, n = iteration.neuron, iteration.layout, h.shape[1]
    trained = jnp.asarray(neuron.trained, h.dtype)

    sizes, shrink = per_step

    def step(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        moves, scalars = carry
        a, b, _ = split_columns(neuron, scalars)
        here = (jax.lax.dynamic_slice_in_dim(part, k * lay.batch, lay.batch) for part in (h, gram, y))
        base, g, labels = here
        pre = base + g @ moves
        if "b" in neuron.scalars:
            pre = pre + b
        out, slope = jax.jvp(neuron.activation, (pre,), (jnp.ones_like(pre),))
        error = 2 * sizes[k] / lay.batch * (labels - out @ (a / n))
        force = error[:, None] * (slope * a if "a" in neuron.scalars else slope)
        moves = jax.lax.dynamic_update_slice(moves, force, (k * lay.batch, 0))
        if neuron.scalars:
            push = {"a": error @ out, "b": force.sum(axis=0)}
            fresh = shrink[k] * scalars + jnp.stack([push[name] for name in neuron.scalars], axis=1)
            scalars = jnp.where(trained > 0, fresh, scalars)
        return moves, scalars

    moves, scalars = jax.lax.fori_loop(0, lay.units, step, (jnp.zeros_like(h), scalars), unroll=min(2, lay.units))
    return scalars, moves
