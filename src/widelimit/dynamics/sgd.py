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
a time, between sub-blocks by a matrix product. A save inside a block takes the same sum with C_l = 0 for the later
steps, while the block itself goes on to its end, also after the last save: no path depends on what is saved.
Noise is added block by block, exactly in law (widelimit.dynamics.block_noise), and inside a block given that of all its
steps (widelimit.dynamics.noise_bridge). On the sphere, for custom neurons, for a regulariser other than squares, and
with noise where samples may be parallel, a block goes step by step (widelimit.dynamics.stepwise), and the noise is that
of GD with the same seed.
In single precision the scalars inside a block and the decay D_B are kept in double: 1 − 2 s_k m λ would round to 1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.block_layout import Layout, layout_for
from widelimit.dynamics.block_noise import Decays, Noise, Walk, block_noise, decays
from widelimit.dynamics.block_runs import InBlock, Keys, Stint, iterated, start_with
from widelimit.dynamics.methods import SGD
from widelimit.dynamics.noise_bridge import noise_until
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.dynamics.step_noise import remark
from widelimit.dynamics.stepwise import one_step
from widelimit.dynamics.triangle import Block, Course, Triangle
from widelimit.frozen import Frozen, static
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.data import DataLaw
from widelimit.problem.neurons import Custom, Linearised, Neuron, Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Penalty, Squares
from widelimit.problem.schedules import Steps, steps_of
from widelimit.solving.clock import Chunk
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Run, view_neurons
from widelimit.solving.streams import stream


class Cut(NamedTuple):
    """How far a block is done: s_k m times the share of each step that is, and how many steps are done as a whole."""

    paces: Array
    done: Array


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

    def move(self, place: InBlock, keys: Keys, stint: Stint) -> InBlock:
        """From block to block to where a stint ends; the memory used does not depend on the number of steps."""
        chunk, again = stint
        if self.stepwise:
            return self.step_by_step(place, keys, chunk)
        steps = self.layout.steps
        whole, last = jnp.floor(chunk.end / steps).astype(int), -(-chunk.last // steps)
        cuts = jnp.stack([chunk.first // steps, whole, last])

        def blocks(part: Array, at: tuple[Array, Array, Course]) -> tuple[Array, Array, Course]:
            _, theta, course = at  # first the whole blocks, then the one in which the chunk ends, by the same code
            return theta, *jax.lax.fori_loop(cuts[part], cuts[part + 1], partial(self.block, keys), (theta, course))

        start = jnp.where(again, place.begin, place.end)
        begin, end, course = jax.lax.fori_loop(0, 2, blocks, (start, start, self.course(start)))
        theta = jax.lax.cond(whole < last, lambda: self.inside(begin, course, keys, chunk, whole), lambda: end)
        return InBlock(begin, theta, end)

    def drawn(self, keys: Keys, index: Array, dtype: jnp.dtype) -> Block:
        """The block of a number."""
        k = self.steps_of(index)
        x, y = self.data.block(keys[0], index, len(k) * self.layout.batch, dtype)
        return Block(x, y, self.paces(k), jax.random.fold_in(keys[1], index))

    def steps_of(self, index: Array) -> Array:
        """The numbers of the steps of a block."""
        return index * self.layout.steps + jnp.arange(self.layout.steps)

    def paces(self, k: Array) -> Array:
        """s_k m of every block of parameters, (steps, blocks); 0 where a rate is negative, as after a run it may be."""
        at = self.rules.mobility.at
        rates = [jnp.broadcast_to(at(b, k * self.steps.step), k.shape) for b in self.rules.columns.blocks]
        return jnp.maximum(self.steps.sizes(k)[:, None] * jnp.stack(rates, axis=1), 0.0)

    def step_by_step(self, place: InBlock, keys: Keys, chunk: Chunk) -> InBlock:
        """The plain loop, for what blocks cannot do; it stops anywhere."""
        steps, batch = self.layout.steps, self.layout.batch

        def through(index: Array, theta: Array) -> Array:
            block, start = self.drawn(keys, index, place.theta.dtype), index * steps

            def step(k: Array, theta: Array) -> Array:
                x, y = (jax.lax.dynamic_slice_in_dim(part, (k - start) * batch, batch) for part in (block.x, block.y))
                pace = self.rules.columnwise(chunk.share(k) * block.paces[k - start])
                key = jax.random.fold_in(keys[1], k)  # that of GD
                return one_step(self.neuron, self.rules, self.penalty, theta, (x, y), (pace, key))

            return jax.lax.fori_loop(
                jnp.maximum(chunk.first, start), jnp.minimum(chunk.last, start + steps), step, theta
            )

        end = jax.lax.fori_loop(chunk.first // steps, -(-chunk.last // steps), through, place.end)
        return InBlock(end, end.astype(place.theta.dtype), end)

    def course(self, theta: Array) -> Course:
        """An empty one, with which the loop over blocks begins."""
        lay, (n, s) = self.layout, (len(theta), self.rules.scalars)
        rows = lay.steps * lay.batch
        shapes = ((rows, theta.shape[1] - s), theta.dtype), ((rows, n), theta.dtype), ((lay.steps, n, s), float)
        return Course(*(jnp.zeros(*of) for of in shapes))

    def block(self, keys: Keys, index: Array, at: tuple[Array, Course]) -> tuple[Array, Course]:
        """The neurons after a block, and what happened in it."""
        theta, _ = at
        block = self.drawn(keys, index, theta.dtype)
        scalars, w = self.split(theta)
        lay, x, noise = self.layout, block.x, self._noise(block, len(w))
        s, gram = x @ w.T, x @ x.T
        if self.decay is not None:
            near = self._decays(block.paces).cast(x.dtype)
            within, before = (jnp.repeat(part, lay.batch, axis=0) for part in (near.within, near.before))
            s, gram = before[:, None] * s, jnp.repeat(within, lay.batch, axis=1) * gram
        s = s if noise is None else s + noise.felt
        course = self._triangle.course(scalars, s, gram, block, self._scalar_noise(block, len(w)))
        w = self.moved(w, course, block.paces, noise)
        return jnp.concatenate([course.scalars[-1].astype(w.dtype), w], axis=1), course

    def split(self, theta: Array) -> tuple[Array, Array]:
        """The scalars of all neurons, in double, and w."""
        return theta[:, : self.rules.scalars].astype(float), theta[:, self.rules.scalars :]

    def moved(self, w: Array, course: Course, paces: Array, noise: Noise | None) -> Array:
        """D_B W + Σ_l (D_B/D_{l+1}) C_l ⊗ x_l, and the noise."""
        c = course.c
        if self.decay is not None:
            decay = self._decays(paces)
            c = jnp.repeat(decay.cast(c.dtype).left, self.layout.batch)[:, None] * c
            w = (decay.before[-1] * decay.shrink[-1] * w).astype(w.dtype)
        return w + c.T @ course.x if noise is None else w + noise.fresh + (c + noise.along).T @ course.x

    def inside(self, theta: Array, course: Course, keys: Keys, chunk: Chunk, index: Array) -> Array:
        """θ where a chunk ends inside a block, from θ at its beginning: after m steps, and a share of step m."""
        k, (scalars, w) = self.steps_of(index), self.split(theta)
        share = chunk.share(k)

        def taken(share: Array, of: Array) -> Array:
            return jnp.where(share > 0, share * of, 0.0).astype(of.dtype)  # what comes later may be infinite

        m, cut = jnp.sum(share == 1), taken(share[:, None], self.paces(k))
        block = self.drawn(keys, index, theta.dtype)._replace(x=course.x)
        noise, kicks = self._noise(block, len(w), Cut(cut, m)), self._scalar_noise(block, len(w))
        before = jnp.where(m > 0, course.scalars[m - 1], scalars)
        kick = jnp.zeros_like(before) if kicks is None else kicks[m]
        scalars = before + taken(share[m], course.scalars[m] - before - kick)
        scalars = scalars + taken(jnp.sqrt(share[m]), kick)
        done = taken(jnp.repeat(share, self.layout.batch)[:, None], course.c)
        w = self.moved(w, course._replace(c=done), cut, noise)
        return jnp.concatenate([scalars.astype(w.dtype), w], axis=1)

    @property
    def _triangle(self) -> Triangle:
        columns, decay = self.rules.columns, self.decay or (0.0,) * len(self.rules.columns.blocks)
        assert isinstance(self.neuron, Ridge)  # others go step by step
        return Triangle(self.neuron.sigma, columns, self.layout, decay[: len(columns.scalars)])

    def _decays(self, paces: Array) -> Decays:
        """The decays of w over a block."""
        return decays(1 - 2 * (0.0 if self.decay is None else self.decay[-1]) * paces[:, -1])

    def _noise(self, block: Block, n: int, cut: Cut | None = None) -> Noise | None:
        """The noise of w in a block, or in as much of it as is asked for, given that of the whole block."""
        beta, x = self.rules.beta, block.x
        if beta is None:
            return None

        def walk(paces: Array) -> Walk:
            return Walk(x, self._decays(paces).cast(x.dtype), (4 / beta * paces[:, -1]).astype(x.dtype))

        noise = block_noise(block.key, walk(block.paces), n)
        if cut is None:
            return noise
        return noise_until(block.key, walk(block.paces), noise, walk(cut.paces), cut.done)

    def _scalar_noise(self, block: Block, n: int) -> Array | None:
        """√(4 s_k m/β) g of the scalars, (steps, n, scalars), if there is noise."""
        if self.rules.beta is None:
            return None
        paces = block.paces
        spread = jnp.sqrt(4 / self.rules.beta * paces[:, :-1]).astype(paces.dtype)
        shape = (len(paces), n, self.rules.scalars)
        return spread[:, None, :] * jax.random.normal(jax.random.fold_in(block.key, 2), shape, paces.dtype)

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
    view = view_neurons(landscape(problem), jnp.full(method.n, 1 / method.n), lambda place: place.theta)
    fixed, start = iteration(problem, method), start_with(theta, seed, replicas)
    run = iterated(fixed, method.step, start, view, problem.risk_falls)
    return replace(run, remark=partial(remark, problem, fixed, stream(seed, "remark")))
