"""Particle flow of N neurons.

    dθ_i = −2 ξ(t) M ∇Ψ(θ_i; ρ) dt + √(4 ξ(t) M/β) dB_i,      ρ = Σ_j p_j δ(θ_j)

    θ   theta     (n, D)   one row per neuron
    p   weights   (n,)     1/n for a finite network
    Ψ   psi       (n,)     half the first variation of the risk, V(θ) + ∫ U(θ, ·) dρ + (λ/2)|θ|²
    M   rates     (D,)     mobility of every column

On the clock τ = ∫ξ dt the flow is autonomous as long as the mobility is constant, so schedules that are infinite at 0
need no care; time is cut where the mobility jumps.
Scheme: without noise adaptive Tsit5, or the implicit Kvaerno5 for stiff rates (diffrax); with noise Strang splitting,
half a kick, a midpoint step, half a kick, which is exact in law for the noise and of weak order 2.  Reference: [mmn18].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import diffrax
import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.methods import MeanField, NonlinearFlow, ParticleFlow
from widelimit.dynamics.motion import Motion, motion
from widelimit.dynamics.run import Run, Tick, carry, chunks, initial_neurons, per_replica, prepare, whole_steps
from widelimit.dynamics.streams import streams
from widelimit.errors import require
from widelimit.potentials.landscape_base import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.mobility import Mobility
from widelimit.problem.schedules import Schedule
from widelimit.problem.statement import Problem

MAX_STEPS = 200_000
STEPS_PER_CALL = 64  # of the splitting scheme, between two looks at the clock and at the certificate of the landscape
GAVE_UP = f"the solver gave up after {MAX_STEPS} steps or left the numbers: raise rtol and atol, or shorten t_end"


class Flow(Protocol):
    """A right-hand side: velocity per unit of the clock, its noise, and its constraint. Hashable."""

    def __call__(self, t: Any, state: Any, weights: Array, /) -> Any:
        """The velocity of the state."""

    def kick(self, keys: Any, moment: tuple[Any, int], t: Any, state: Any, stretch: Any, /) -> Any:
        """The state after the noise of a stretch of the clock, back on its constraint; ``moment`` tells kicks apart."""

    def retract(self, state: Any, /) -> Any:
        """The state back on its constraint."""

    def during(self, rates: Mobility) -> Any:
        """The same flow with another mobility."""


@dataclass(frozen=True)
class Interacting:
    """Particles in their own field: −2 M ∇Ψ(θ; ρ), along the sphere if they are on it."""

    land: Landscape
    rules: Motion

    def __call__(self, t: Any, theta: Array, weights: Array) -> Array:
        """The velocity, (n, D)."""
        return self.rules.tangent(theta, -2 * self.rules.rates(t) * self.land.self_gradient(theta, weights))

    def kick(self, keys: Array, moment: tuple[Any, int], t: Any, theta: Array, stretch: Any) -> Array:
        """The neurons after some noise."""
        return kicked(self.rules, moment, t, stretch, theta, keys)

    def retract(self, theta: Array) -> Array:
        """The neurons back on the sphere."""
        return self.rules.retract(theta)

    def during(self, rates: Mobility) -> Interacting:
        """The same field with another mobility."""
        return replace(self, rules=replace(self.rules, mobility=rates))


def kicked(rules: Motion, moment: tuple[Any, int], t: Any, stretch: Any, theta: Array, key: Array) -> Array:
    """Neurons after the noise of half a step, (step number, half)."""
    step, half = moment
    own = jax.random.split(jax.random.fold_in(key, step))[half]
    return rules.retract(rules.kick(own, theta, rules.rates(t), stretch))


@prepare.register
def _(method: ParticleFlow, problem: Problem, seed: int, replicas: int | None = None) -> Run:
    reduced = method.coordinates == "reduced"
    theta = initial_neurons(problem, seed, method.n, reduced, replicas)
    return particle_run(problem, method, theta, jnp.full(method.n, 1 / method.n), reduced, seed, replicas)


def particle_run(
    problem: Problem, method: ParticleFlow | MeanField, theta: Array, weights: Array, reduced: bool, seed: int,
    replicas: int | None,
) -> Run:  # fmt: skip
    """Weighted particles in their own field, ready for the driver."""
    land, rules = landscape(problem, reduced), motion(problem, reduced)
    keys = streams(seed, "noise", replicas)

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        def move(cheap: Landscape, theta: Array, leg: tuple[float, float]) -> Array:
            return advance_flow(Interacting(cheap, rules), problem, method, replicas, theta, weights, keys, *leg)

        for leg in legs(problem, method, start, stop):
            theta = carry(land, theta, weights, partial(move, leg=leg))
            tick(leg[1])
        return theta

    return Run(theta, weights, land, advance, time_grid(problem, method), advice(problem, method))


def time_grid(problem: Problem, method: Any) -> Any:
    """How times are rounded: not at all, or to the steps of the splitting scheme."""
    if math.isinf(problem.beta):
        return lambda t: t
    require(not method.stiff, "noise goes by an explicit splitting scheme and needs stiff=False", method, "drop stiff")
    return whole_steps(method.noise_step)


def advice(problem: Problem, method: Any) -> str:
    """What to do when the flow fails."""
    if math.isinf(problem.beta):
        return GAVE_UP
    return f"the noise_step {method.noise_step:g} is too large: try noise_step={method.noise_step / 4:.2g} or less"


def legs(problem: Problem, method: Any, start: float, stop: float) -> Iterator[tuple[float, float]]:
    """The stretches of time between two looks at the clock: no jump of the mobility inside any of them."""
    if math.isfinite(problem.beta):
        step = method.noise_step
        for first, last in chunks(round(start / step), round(stop / step), STEPS_PER_CALL):
            yield first * step, last * step
        return
    yield from without_jumps(problem, start, stop)


def without_jumps(problem: Problem, start: float, stop: float) -> Iterator[tuple[float, float]]:
    """An interval of time, cut where the mobility jumps."""
    return itertools.pairwise([start, *(t for t in problem.rates.jumps if start < t < stop), stop])


def advance_flow(
    flow: Flow, problem: Problem, method: ParticleFlow | NonlinearFlow | MeanField, replicas: int | None, state: Any,
    weights: Array, keys: Any, start: float, stop: float,
) -> Any:  # fmt: skip
    """The state at the end of one leg."""
    clock = problem.schedule.integral
    if math.isfinite(problem.beta) and not isinstance(method, MeanField):
        first, last = round(start / method.noise_step), round(stop / method.noise_step)
        readings = [clock(k * method.noise_step) for k in range(first, last + 1)]
        stretch = jnp.zeros(STEPS_PER_CALL).at[: last - first].set(jnp.diff(jnp.asarray(readings)))
        return split_steps(flow, replicas, state, weights, keys, stretch, method.noise_step, first, last)
    rates, xi, *span = on_the_clock(problem, start, stop)
    flow = flow.during(rates)
    return integrate(flow, xi, replicas, method.stiff, state, weights, *span, method.rtol, method.atol)


def on_the_clock(problem: Problem, start: float, stop: float) -> tuple[Mobility, Schedule | None, float, float]:
    """The mobility in an interval without jumps, and the interval: on the clock (no schedule), or in time."""
    rates, clock = problem.rates.between(start, stop), problem.schedule.integral
    if rates.is_constant:
        return rates, None, clock(start), clock(stop)
    return in_time(problem, start, stop)


def in_time(problem: Problem, start: float, stop: float) -> tuple[Mobility, Schedule | None, float, float]:
    """The same in time."""
    rates = problem.rates.between(start, stop)
    finite = start > 0 or bool(jnp.isfinite(problem.schedule(jnp.asarray(0.0))))
    require(
        finite,
        "a mobility that varies smoothly, or a fixed step, needs a schedule that is finite at t = 0",
        problem.schedule,
        "use windows, or put the decay in the mobility",
    )
    return rates, problem.schedule, start, stop


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def integrate(
    flow: Flow, xi: Schedule | None, replicas: int | None, stiff: bool, state: Any, weights: Array, start: Any,
    stop: Any, rtol: Any, atol: Any,
) -> Any:  # fmt: skip
    """The state at ``stop``, on the clock (xi None) or in time; not finite if the solver gives up."""

    def velocity(t: Any, state: Any, args: Any) -> Any:
        speed = 1.0 if xi is None else xi(t)
        return jax.tree.map(lambda v: speed * v, flow(t, state, weights))

    def one(state: Any) -> Any:
        solver = diffrax.Kvaerno5() if stiff else diffrax.Tsit5()
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(velocity), solver, start, stop, None, state, max_steps=MAX_STEPS, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol), saveat=diffrax.SaveAt(t1=True),
        )  # fmt: skip
        good = solution.result == diffrax.RESULTS.successful
        return flow.retract(jax.tree.map(lambda y: jnp.where(good, y[0], jnp.nan), solution.ys))

    if stiff and replicas is not None:  # batched factorisations can wait for each other for ever on a CPU
        return jax.lax.map(one, state)
    return per_replica(one, replicas)(state)


@partial(jax.jit, static_argnums=(0, 1))
def split_steps(
    flow: Flow, replicas: int | None, state: Any, weights: Array, keys: Any, stretches: Array, step: Any, first: Any,
    last: Any,
) -> Any:  # fmt: skip
    """The state after steps first, …, last − 1 of the splitting scheme."""

    def one(state: Any, key: Any, k: Any) -> Any:
        t, stretch = (k + 0.5) * step, stretches[k - first]

        def shifted(state: Any, velocity: Any, by: Any) -> Any:
            return flow.retract(jax.tree.map(lambda y, v: y + by * v, state, velocity))

        state = flow.kick(key, (k, 0), t, state, stretch / 2)
        middle = shifted(state, flow(t, state, weights), stretch / 2)
        return flow.kick(key, (k, 1), t, shifted(state, flow(t, middle, weights), stretch), stretch / 2)

    def body(k: Any, state: Any) -> Any:
        return per_replica(partial(one, k=k), replicas)(state, keys)

    return jax.lax.fori_loop(first, last, body, state)
