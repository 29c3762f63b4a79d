"""Stochastic gradient descent, in exact blocks.

    θ_i ← θ_i + 2 s_k M [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ ∇v(θ_i) ] + √(4 s_k M/β) g_i^k
    s_k = ε ξ(kε), less for a last step cut by t_end,    M = diag(m_a, m_b, m_w) at time kε

    w   W (n, d)   a (n,)   b (n,)          neurons
    X   (B, d)     Y (B,)                   the samples of a block, drawn from the block's own key, never stored
    S = X Wᵀ       G = X Xᵀ                 pre-activations with the weights before the block, Gram matrix

Over a block, w only moves in the span of its samples and shrinks by the ridge. For v = |θ|²/2, with the decay
D_k = Π_{l<k} (1 − 2 s_l m_w λ),

    h_k = D_k S_k + Σ_{l<k} (D_k/D_{l+1}) G_{kl} C_l + b,      C_k = (2 s_k m_w/b)(y_k − f_k) a σ'(h_k)
    W ← D_B W + Σ_l (D_B/D_{l+1}) C_l ⊗ x_l

Two matrix products for each block (S, and Cᵀ X) replace two matrix–vector products for each sample; the
iterates are those of the plain loop up to rounding. The triangular sum is itself blocked: inside a sub-block one row at
a time, between sub-blocks by a matrix product. A save inside a block only looks at it: the block runs up to the save,
the later steps' s_k set to 0, and again from its beginning when time goes on, so that no path depends on what is saved.
Noise is added block by block, exactly in law (widelimit.dynamics.block_noise), and inside a block given that of all its
steps (widelimit.dynamics.noise_bridge). On the sphere, for custom neurons, for a regulariser other than squares, and
with noise where samples may be parallel, a block goes step by step (widelimit.dynamics.stepwise), and the noise is that
of GD with the same seed.
In single precision the scalars inside a block and the decay D_B are kept in double: 1 − 2 s_k m λ would round to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.block_layout import Layout, chunk_steps, layout_for
from widelimit.dynamics.block_noise import Decays, Noise, Walk, block_noise, decays
from widelimit.dynamics.methods import SGD
from widelimit.dynamics.noise_bridge import noise_until
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.dynamics.step_noise import remark
from widelimit.dynamics.stepwise import one_step
from widelimit.frozen import Frozen, static
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.data import DataLaw
from widelimit.problem.neurons import Custom, Linearised, Neuron, Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Penalty, Squares
from widelimit.problem.schedules import Steps, steps_of
from widelimit.solving.clock import Chunk, chunks, steps_until, whole_steps
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Advance, NeuronView, Run, Tick, view_neurons
from widelimit.solving.replicas import Leg, Plan
from widelimit.solving.streams import stream, streams

Keys = tuple[Array, Array]  # of the data and of the noise


class Block(NamedTuple):
    """The samples of a block, and how much of it is done.

    paces  s_k m (steps, blocks of parameters) as far as the block is done
    whole  the same for all its steps
    done   how many steps are done whole
    key    of its noise
    """

    x: Array  # (B, d)
    y: Array  # (B,)
    paces: Array
    whole: Array
    done: Array
    key: Array


class Iteration(Frozen, eq=False):
    """All that stays the same from block to block.

    decay     λ of every block of parameters (those of the scalars, that of w), None without a ridge
    stepwise  whether a block goes step by step
    """

    data: DataLaw
    neuron: Neuron | Linearised
    rules: Rules
    steps: Steps
    penalty: Penalty
    decay: tuple[float, ...] | None
    layout: Layout = static()
    stepwise: bool = static()

    def move(self, theta: Array, keys: Keys, chunk: Chunk) -> Array:
        """θ after some steps, the first of which begins a block; the memory used does not depend on their number."""
        steps, one = self.layout.steps, self.step_by_step if self.stepwise else self.block
        return jax.lax.fori_loop(chunk.first // steps, -(-chunk.last // steps), partial(one, keys, chunk), theta)

    def drawn(self, keys: Keys, chunk: Chunk, index: Array, dtype: jnp.dtype) -> Block:
        """The block of a number, as far as the steps of a chunk go."""
        k = index * self.layout.steps + jnp.arange(self.layout.steps)
        x, y = self.data.block(keys[0], index, len(k) * self.layout.batch, dtype)
        share, whole, key = chunk.share(k), self.paces(k), jax.random.fold_in(keys[1], index)
        return Block(x, y, share[:, None] * whole, whole, jnp.sum(share == 1), key)

    def paces(self, k: Array) -> Array:
        """s_k m of every block of parameters, (steps, blocks)."""
        at = self.rules.mobility.at
        rates = [jnp.broadcast_to(at(b, k * self.steps.step), k.shape) for b in self.rules.columns.blocks]
        return self.steps.sizes(k)[:, None] * jnp.stack(rates, axis=1)

    def step_by_step(self, keys: Keys, chunk: Chunk, index: Array, theta: Array) -> Array:
        """The plain loop, for what blocks cannot do."""
        block = self.drawn(keys, chunk, index, theta.dtype)

        def step(k: Array, theta: Array) -> Array:
            rows = k * self.layout.batch
            x, y = (jax.lax.dynamic_slice_in_dim(part, rows, self.layout.batch) for part in (block.x, block.y))
            pace = self.rules.columnwise(block.paces[k])
            key = jax.random.fold_in(keys[1], index * self.layout.steps + k)  # that of GD
            return one_step(self.neuron, self.rules, self.penalty, theta, (x, y), (pace, key))

        return jax.lax.fori_loop(0, len(block.paces), step, theta.astype(float)).astype(theta.dtype)

    def block(self, keys: Keys, chunk: Chunk, index: Array, theta: Array) -> Array:
        """Move the neurons through the samples of a block."""
        block = self.drawn(keys, chunk, index, theta.dtype)
        scalars, w = theta[:, : self.rules.scalars].astype(float), theta[:, self.rules.scalars :]
        lay, x, noise = self.layout, block.x, self._noise(block, len(w))
        s, gram = x @ w.T, x @ x.T
        decay = None if self.decay is None else self._decays(block.paces)
        if decay is not None:
            near = decay.cast(x.dtype)
            within, before = (jnp.repeat(part, lay.batch, axis=0) for part in (near.within, near.before))
            s, gram = before[:, None] * s, jnp.repeat(within, lay.batch, axis=1) * gram
        s = s if noise is None else s + noise.felt
        scalars, coefficients = self._triangle(scalars, s, gram, block, self._scalar_noise(block, len(w)))
        if decay is not None:
            coefficients = jnp.repeat(near.left, lay.batch)[:, None] * coefficients
            w = (decay.before[-1] * decay.shrink[-1] * w).astype(w.dtype)
        scalars = scalars.astype(w.dtype)
        if noise is None:
            return jnp.concatenate([scalars, w + coefficients.T @ x], axis=1)
        return jnp.concatenate([scalars, w + noise.fresh + (coefficients + noise.along).T @ x], axis=1)

    def _decays(self, paces: Array) -> Decays:
        """The decays of w over a block."""
        return decays(1 - 2 * (0.0 if self.decay is None else self.decay[-1]) * paces[:, -1])

    def _noise(self, block: Block, n: int) -> Noise | None:
        """The noise of w in a block as far as it is done, given that of the whole block."""
        beta, x = self.rules.beta, block.x
        if beta is None:
            return None
        walk, part = (
            Walk(x, self._decays(paces).cast(x.dtype), (4 / beta * paces[:, -1]).astype(x.dtype))
            for paces in (block.whole, block.paces)
        )
        noise = block_noise(block.key, walk, n)
        cut = block.done < self.layout.steps
        return jax.lax.cond(cut, lambda: noise_until(block.key, walk, noise, part, block.done), lambda: noise)

    def _scalar_noise(self, block: Block, n: int) -> Array | None:
        """√(4 s_k m/β) g of the scalars, (steps, n, scalars), if there is noise."""
        if self.rules.beta is None:
            return None
        paces = block.paces
        spread = jnp.sqrt(4 / self.rules.beta * paces[:, :-1]).astype(paces.dtype)
        shape = (len(paces), n, self.rules.scalars)
        return spread[:, None, :] * jax.random.normal(jax.random.fold_in(block.key, 2), shape, paces.dtype)

    def _triangle(
        self, scalars: Array, s: Array, gram: Array, block: Block, noise: Array | None
    ) -> tuple[Array, Array]:
        """The scalars after the block, and its rows C (B, n): sub-block after sub-block."""
        lay = self.layout
        done: list[Array] = []
        for j in range(lay.subs):
            rows = slice(j * lay.sub_rows, (j + 1) * lay.sub_rows)
            steps = slice(j * lay.units, (j + 1) * lay.units)
            h = s[rows]
            if done:
                h = h + gram[rows, : j * lay.sub_rows] @ jnp.concatenate(done)
            part = block._replace(y=block.y[rows], paces=block.paces[steps])
            own = None if noise is None else noise[steps]
            scalars, moved = self._sub_block(scalars, h, gram[rows, rows], part, own)
            done.append(moved)
        return scalars, jnp.concatenate(done)

    def _sub_block(
        self, scalars: Array, h: Array, gram: Array, block: Block, noise: Array | None
    ) -> tuple[Array, Array]:
        """Step through one sub-block, batch by batch; returns the scalars and the rows C (sub_rows, n)."""
        neuron, lay, n, columns, paces = self.neuron, self.layout, h.shape[1], self.rules.columns, block.paces
        assert isinstance(neuron, Ridge)  # others go step by step
        shrink = jnp.zeros(len(columns.scalars)) if self.decay is None else jnp.stack(self.decay[:-1] or (0.0,))
        shrink = shrink[: len(columns.scalars)]

        def step(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            moves, scalars = carry
            a, b = (part.astype(h.dtype) for part in columns.split(scalars)[:2])
            base, g, labels = (
                jax.lax.dynamic_slice_in_dim(part, k * lay.batch, lay.batch) for part in (h, gram, block.y)
            )
            pre = base + g @ moves
            if "b" in columns.scalars:
                pre = pre + b
            out, slope = jax.jvp(neuron.sigma, (pre,), (jnp.ones_like(pre),))
            error = 2 / lay.batch * (labels - out @ (a / n))
            pull = error[:, None] * (slope * a if "a" in columns.scalars else slope)
            moves = jax.lax.dynamic_update_slice(moves, paces[k, -1].astype(h.dtype) * pull, (k * lay.batch, 0))
            if columns.scalars:
                push = {"a": error @ out, "b": pull.sum(axis=0)}
                pushes = jnp.stack([push[name] for name in columns.scalars], axis=1)
                scalars = (1 - 2 * shrink * paces[k, :-1]) * scalars + paces[k, :-1] * pushes
                scalars = scalars if noise is None else scalars + noise[k]
            return moves, scalars

        start = (jnp.zeros_like(h), scalars)
        moves, scalars = jax.lax.fori_loop(0, lay.units, step, start, unroll=min(2, lay.units))
        return scalars, moves

    def on(self, land: Landscape) -> Iteration:
        """Returns itself: SGD uses samples and no landscape."""
        return self


def iteration(problem: Problem, method: SGD) -> Iteration:
    """What SGD repeats from block to block on this problem."""
    rules, v = rules_of(problem, reduced=False), problem.regulariser
    layout = layout_for(method.batch, int(problem.data.d) // 2 if rules.is_noisy else None)
    is_smooth = problem.data.mixture is not None or problem.data.on_sphere  # no two samples are parallel
    decay = None
    if problem.ridge and isinstance(v, Squares):
        decay = tuple(problem.ridge * getattr(v, name) for name in rules.columns.blocks)
    curved = problem.ridge > 0 and decay is None
    cannot = curved or rules.on_sphere or isinstance(problem.neuron, Custom) or (rules.is_noisy and not is_smooth)
    return Iteration(
        problem.data, problem.network.form, rules, steps_of(problem.schedule, method.step),
        Penalty(problem.ridge, v, rules.columns), decay, layout, cannot or method.stepwise,
    )  # fmt: skip


def ready(method: SGD, problem: Problem, seed: int, replicas: int | None) -> Run:
    """N neurons drawn from ρ_0."""
    theta = initial_neurons(problem, seed, method.n, False, replicas).astype(method.dtype)
    view = view_neurons(landscape(problem), jnp.full(method.n, 1 / method.n), lambda state: state[1])
    fixed, start = iteration(problem, method), start_with(theta, seed, replicas)
    run = iterated(fixed, method.step, start, view, problem.risk_falls)
    return replace(run, remark=partial(remark, problem, fixed, stream(seed, "remark")))


class Seeded(NamedTuple):
    """The neurons (n, D), or (R, n, D), and the keys of their samples and noise."""

    theta: Array
    keys: Keys
    replicas: int | None


def start_with(theta: Array, seed: int, replicas: int | None) -> Seeded:
    """Neurons, with the samples and the noise of a seed."""
    return Seeded(theta, (streams(seed, "data", replicas), streams(seed, "noise", replicas)), replicas)


def iterated(fixed: Iteration, step: float, start: Seeded, view: NeuronView, falls: bool) -> Run:
    """Neurons that go from block to block, ready for the driver."""
    theta, keys, replicas = start

    def legs(start: float, stop: float) -> Iterator[Leg]:
        for chunk in chunks(start, stop, step, chunk_steps(fixed.layout, theta)):
            yield Leg(fixed, chunk, chunk.end * step)

    plan = Plan(legs, keys, replicas, "grouped")

    def by_blocks(move: Advance) -> Advance:
        def advance(state: tuple[Array, Array], start: float, stop: float, tick: Tick) -> tuple[Array, Array]:
            """The neurons at the beginning of the block in which a time lies, and at that time."""
            start, whole = (steps_until(t, step) // fixed.layout.steps * block for t in (start, stop))
            theta = move(state[0], start, whole, lambda t, theta=None: tick(t, (theta, theta)))
            return theta, move(theta, whole, stop, lambda t, theta=None: tick(t))

        return advance

    block = fixed.layout.steps * step
    advice = f"the step {step:g} is too large: try step={step / 4:.2g} or less"
    return Run(
        (theta, theta),
        by_blocks(plan.advance),
        view,
        whole_steps(step),
        advice,
        falls=falls,
        plan=plan,
        route=by_blocks,
    )
