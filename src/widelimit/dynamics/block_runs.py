"""Runs that go from block to block, and how one stops inside a block.

A run goes on to the end of the block in which it is asked to stop, and knows the neurons at that time too. It goes on
from the end of the block; only where it is to stop in the same block again is the block done again, to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from jax import Array

from widelimit.dynamics.block_layout import chunk_steps
from widelimit.solving.clock import Chunk, chunks, steps_until, whole_steps
from widelimit.solving.protocol import NeuronView, Run
from widelimit.solving.replicas import Leg, Plan
from widelimit.solving.streams import streams

if TYPE_CHECKING:
    from widelimit.dynamics.sgd import Iteration

Keys = tuple[Array, Array]  # of the data and of the noise


class InBlock(NamedTuple):
    """Neurons (n, D), or (R, n, D): at the beginning of a block, at a time in it, and at its end.

    The three are the same where the time is the end of a block, and in the plain loop, which needs no whole blocks:
    there ``begin`` and ``end`` are in double precision.
    """

    begin: Array
    theta: Array
    end: Array


class Stint(NamedTuple):
    """The steps of a chunk, from the end of the last block, or from its beginning if that block is done again."""

    chunk: Chunk
    again: bool = False


class Seeded(NamedTuple):
    """The neurons (n, D), or (R, n, D), and the keys of their samples and noise."""

    theta: Array
    keys: Keys
    replicas: int | None


def start_with(theta: Array, seed: int, replicas: int | None) -> Seeded:
    """Neurons, with the samples and the noise of a seed."""
    return Seeded(theta, (streams(seed, "data", replicas), streams(seed, "noise", replicas)), replicas)


def iterated(fixed: Iteration, step: float, start: Seeded, view: NeuronView, falls: bool) -> Run:
    """Neurons that go from block to block, or step by step, ready for the driver."""
    theta, keys, replicas = start
    block, span = fixed.layout.steps, chunk_steps(fixed.layout, theta)

    def legs(start: float, stop: float) -> Iterator[Leg]:
        done, again = steps_until(start, step), False
        if done % block and not fixed.stepwise:  # inside a block, whose end is known
            begin = done // block * block
            again = steps_until(stop, step) < begin + block
            done = begin if again else begin + block
            start = done * step
        at_its_end = [Chunk(round(done), round(done), done)]  # without a step: θ is that at the end of the block
        for chunk in chunks(start, stop, step, span) or at_its_end:
            yield Leg(fixed, Stint(chunk, again), chunk.end * step)

    plan, exact = Plan(legs, keys, replicas, "grouped"), theta.astype(float) if fixed.stepwise else theta
    advice = f"the step {step:g} is too large: try step={step / 4:.2g} or less"
    place = InBlock(exact, theta, exact)
    return Run(place, plan.advance, view, whole_steps(step), advice, falls=falls, plan=plan)
