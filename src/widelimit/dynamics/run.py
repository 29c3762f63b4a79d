"""What the driver asks of a dynamics: a state, a way to move it, a way to look at it."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import Method
from widelimit.dynamics.start import initial_reduced
from widelimit.dynamics.streams import streams
from widelimit.errors import require
from widelimit.measures import Density
from widelimit.potentials.landscape_base import Landscape
from widelimit.problem.statement import Problem

CORES = os.cpu_count() or 1
GROUP = 4  # replicas in one call: more would leave the cache
Tick = Callable[[float], None]
Move = Callable[[Landscape, Array], Array]


@dataclass(frozen=True)
class Run:
    """A dynamics made ready.

    state      whatever moves; ``theta(state)`` are its neurons (n, D), or (R, n, D) with replicas, columns named by
               ``landscape.coordinates``
    weights    (n,)  their masses
    landscape        in the same coordinates
    advance          (state, t_from, t_to, tick) → state at t_to; calls ``tick(t)`` now and then;
                     returns values that are not finite when the dynamics diverges
    round_time       the time of the dynamics nearest to a wished one
    advice           what to change when it diverges
    """

    state: Any
    weights: Array
    landscape: Landscape
    advance: Callable[[Any, float, float, Tick], Any]
    round_time: Callable[[float], float]
    advice: str
    theta: Callable[[Any], Array] = lambda state: state


@dataclass(frozen=True)
class DensityRun:
    """A dynamics of a density made ready: as `Run`, with ``density(state)`` instead of neurons and their masses."""

    state: Any
    landscape: Landscape
    advance: Callable[[Any, float, float, Tick], Any]
    round_time: Callable[[float], float]
    advice: str
    density: Callable[[Any], Density]


def require_no_noise(problem: Problem, method: Method) -> None:
    """Refuse a finite temperature."""
    require(
        math.isinf(problem.beta),
        f"{type(method).__name__} moves without noise and needs beta = inf",
        problem.beta,
        "drop beta from the problem",
    )


@singledispatch
def prepare(method: Method, problem: Problem, seed: int, replicas: int | None = None) -> Run | DensityRun:
    """Make a dynamics ready; each file of this folder registers its own."""
    raise TypeError(f"no dynamics is registered for {method!r}")


def initial_neurons(problem: Problem, seed: int, n: int, reduced: bool, replicas: int | None) -> Array:
    """The neurons all dynamics of this seed start from, (n, D), or (R, n, D)."""
    keys = streams(seed, "initial", replicas)

    def draw(key: Array) -> Array:
        return initial_reduced(problem, key, n) if reduced else problem.sample_initial(key, n)

    if replicas is None:
        return draw(keys)
    if reduced and math.isinf(problem.data.d):  # drawn by numpy
        return jnp.stack([draw(key) for key in keys])
    return jax.vmap(draw)(keys)


def per_replica(function: Callable[..., Any], replicas: int | None, in_axes: Any = 0) -> Callable[..., Any]:
    """The function itself for a single run, mapped over the replicas otherwise."""
    return function if replicas is None else jax.vmap(function, in_axes)


def in_groups(function: Callable[..., Array], replicas: int | None, *stacked: Array) -> Array:
    """``function(R, *stacked)`` for groups of a few replicas, the groups spread over the cores.

    Small runs leave most of a machine idle: their matrix products are too short to share among cores.
    All groups have one size, so that ``function`` is compiled once.
    """
    if replicas is None:
        return function(None, *stacked)
    most = min(GROUP, max(1, replicas // CORES))
    size = max(g for g in range(1, most + 1) if replicas % g == 0)
    groups = [[part[k : k + size] for part in stacked] for k in range(0, replicas, size)]
    with ThreadPoolExecutor(CORES) as pool:
        return jnp.concatenate(list(pool.map(lambda group: jax.block_until_ready(function(size, *group)), groups)))


def carry(land: Landscape, theta: Array, weights: Array, move: Move) -> Array:
    """``move`` with the cheapest landscape that is certified where it starts and where it ends."""
    cheap = land.near(theta, weights)
    moved = move(cheap, theta)
    while bool(jnp.isfinite(moved).all()) and not cheap.holds(moved, weights):
        better = land.near(moved, weights)
        if better == cheap:  # nothing better is known
            break
        cheap = better
        moved = move(cheap, theta)
    return moved


def whole_steps(step: float) -> Callable[[float], float]:
    """The last multiple of the step that does not exceed a time."""
    return lambda t: int(t / step + 1e-6) * step


def proximal_steps(problem: Problem, step: float, start: float, stop: float) -> Iterator[tuple[float, float, float]]:
    """Middle and end of every step in between, and η = 2 ∫ξ over it."""
    clock = problem.schedule.integral
    for k in range(round(start / step), round(stop / step)):
        yield (k + 0.5) * step, (k + 1) * step, 2 * (clock((k + 1) * step) - clock(k * step))


def chunks(first: int, last: int, span: int) -> list[tuple[int, int]]:
    """[first, last) cut at the multiples of ``span``."""
    cuts = [first, *range((first // span + 1) * span, last, span), last]
    return list(itertools.pairwise(cuts)) if first < last else []
