"""The limit on a grid: distributional dynamics with and without noise (McKean–Vlasov).

    ∂_t ρ = 2 ξ ∇·(ρ M ∇Ψ_λ(θ; ρ)) + 2 ξ β^{-1} ∇·(M ∇ρ)

Scheme, order 2 in space (widelimit.dynamics.fluxes) and in time. Noise: Ψ at the middle of a step from an implicit
step, then the exchange in that Ψ by modified Patankar–Runge–Kutta steps (positive for every step), the two coordinates
in turn (Strang). No noise: Heun's method under a Courant number of 0.45. A step after which the free energy is larger
is taken again, shorter.  Reference: [bdm03].
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.chains import implicit_step, patankar_step
from widelimit.dynamics.flow import in_time, on_the_clock, without_jumps
from widelimit.dynamics.fluxes import (
    Terrain,
    energy_terms,
    exchange,
    free_energy,
    potential,
    terrain_of,
    upwind_change,
    velocities,
)
from widelimit.dynamics.grid import LARGEST, Cells, Grid, initial_grid
from widelimit.dynamics.methods import FiniteVolume
from widelimit.dynamics.motion import Motion, motion
from widelimit.dynamics.run import DensityRun, Tick, prepare
from widelimit.errors import InputError, require
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.least_squares import LeastSquares
from widelimit.problem.schedules import Schedule
from widelimit.problem.statement import Problem

STEPS_PER_CALL = 256  # between two looks at the clock and at the ends of the grid
CROWDED = 1e-12  # mass in the outermost cells of a grid that makes it grow
HELD_BACK = 1e-6  # mass at the sides of a box worth a warning
COURANT = 0.45
SHARE = 0.1  # of the mass moved in a step that may be its error, so that the last decay is resolved too
AT_REST = 1e-13  # mass moved by rounding alone
SLACK = 1e-13  # rounding of the free energy
SMALLEST = 1e-13  # step, relative to the clock
FINE, EMPTIED, UPHILL, STUCK = 0, 1, 2, 3


class Moment(NamedTuple):
    """Where the dynamics is."""

    t: Array
    masses: Array
    step: Array  # to try next
    energy: Array  # F
    tried: Array  # steps in this call
    status: Array  # FINE, or why a fixed step cannot be taken


@dataclass(frozen=True)
class Pace:
    """ξ M of every coordinate: on the clock (no schedule), or in time."""

    rules: Motion
    xi: Schedule | None

    def __call__(self, t: Array) -> Array:
        """(D,)."""
        rates = self.rules.rates(t)
        return rates if self.xi is None else rates * self.xi(t)


@prepare.register
def _(method: FiniteVolume, problem: Problem, seed: int, replicas: int | None = None) -> DensityRun:
    require(replicas is None, "FiniteVolume draws nothing and has no replicas", replicas, "drop replicas")
    rules, noisy = motion(problem, reduced=True), math.isfinite(problem.beta)
    grid, masses = initial_grid(problem, method.cells, method.box)
    land = landscape(problem, reduced=True)
    assert isinstance(land, LeastSquares)
    known: dict[Grid, Terrain] = {}
    rules = replace(rules, dimensions=None, beta=math.inf)  # of the rules only the rates are used
    told: list[str] = []

    def terrain(grid: Grid) -> Terrain:
        if grid not in known:
            known.clear()
            known[grid] = terrain_of(land, grid, problem.beta)
        return known[grid]

    def advance(state: Cells, start: float, stop: float, tick: Tick) -> Cells:
        for leg in without_jumps(problem, start, stop):
            rates, xi, begin, end = on_the_clock(problem, *leg) if method.step is None else in_time(problem, *leg)
            pace = Pace(replace(rules, mobility=rates), xi)
            now = begin
            while now < end:
                state, now = _call(terrain, pace, noisy, method, state, now, end)
                if not np.isfinite(state.masses).all():
                    return state
                tick(leg[0] + (leg[1] - leg[0]) * (now - begin) / (end - begin))
        if method.box is not None and not told:
            told.extend(_warned_of_sides(state))
        return state

    advice = (
        f"the mass leaves every grid of {LARGEST} cells, or no step is short enough: use fewer cells, give the box it "
        "may move in, or raise tolerance"
    )
    return DensityRun(Cells(grid, masses), land, advance, lambda t: t, advice, Cells.density)


def _call(
    terrain: Any, pace: Pace, noisy: bool, method: FiniteVolume, state: Cells, now: float, end: float
) -> tuple[Cells, float]:
    """Some steps, on a larger grid if they reach the ends of this one."""
    while True:
        fixed = method.step is not None
        wish = method.step if fixed else min(state.step, end - now)
        moment = steps(terrain(state.grid), pace, noisy, fixed, jnp.asarray(state.masses), now, end, wish,
                       method.tolerance)  # fmt: skip
        _complain(int(moment.status), float(moment.step), method)
        if int(moment.status) == STUCK:
            return state.failed(), end
        masses = np.asarray(moment.masses)
        crowded = state.grid.crowded(masses, CROWDED)
        if not crowded.any():
            return Cells(state.grid, masses, float(moment.step)), float(moment.t)
        wider = state.grown(crowded)
        if math.prod(wider.grid.shape) > LARGEST:
            return state.failed(), end
        state = wider


def _complain(status: int, largest: float, method: FiniteVolume) -> None:
    if status == EMPTIED:
        raise InputError(
            f"step must be at most {largest:.3g} here, so that no cell of the grid is emptied, got {method.step}: "
            "lower it, use fewer cells, or leave step out."
        )
    if status == UPHILL:
        raise InputError(
            f"step must be small enough for the free energy to fall, got {method.step}: lower it, or leave step out."
        )


def _warned_of_sides(state: Cells) -> list[str]:
    """Say where a box holds mass back; returns what was said."""
    held = state.grid.held_back(state.masses)
    if held.max() <= HELD_BACK:
        return []
    c, end = np.unravel_index(held.argmax(), held.shape)
    axis = state.grid.axes[c]
    sentence = (
        f"the box holds back mass: {held.max():.2g} lies in the last cell at {axis.name} = {axis.edges[-end]:.4g}; "
        "widen the box, or leave it out"
    )
    warnings.warn(sentence, RuntimeWarning, stacklevel=4)
    return [sentence]


@partial(jax.jit, static_argnums=(1, 2, 3))
def steps(
    terrain: Terrain, pace: Pace, noisy: bool, fixed: bool, masses: Array, now: Any, end: Any, step: Any,
    tolerance: Any,
) -> Moment:  # fmt: skip
    """Some hundred steps, or fewer if the end comes first."""
    one = partial(_with_noise if noisy else _without_noise, terrain, pace)

    def unfinished(at: Moment) -> Array:
        return (at.t < end) & (at.tried < STEPS_PER_CALL) & (at.status == FINE)

    def body(at: Moment) -> Moment:
        limit = largest_step(terrain, pace, noisy, at)
        dt = jnp.minimum(at.step if fixed else jnp.minimum(at.step, limit), end - at.t)
        moved, error = one(at.masses, at.t, dt)
        moved = moved / jnp.sum(moved)  # rounding of one step
        energy = free_energy(terrain, noisy, moved)
        falls = energy <= at.energy + SLACK * energy_terms(terrain, noisy, moved)
        positive = jnp.min(moved) >= 0
        if fixed:
            emptied = (dt > limit * (1 + 1e-9)) | ~positive
            status = jnp.where(emptied, EMPTIED, jnp.where(falls, FINE, UPHILL))
            good, following = status == FINE, jnp.where(emptied, limit, at.step)
        else:
            allowed = jnp.minimum(tolerance, SHARE * jnp.sum(jnp.abs(moved - at.masses)) + AT_REST)
            good, following = _adapted(at.step, dt, error / allowed, falls & positive)
            vanishes = (dt < SMALLEST * (1 + jnp.abs(end))) & (dt < end - at.t)
            status = jnp.where(~good & vanishes, STUCK, FINE)
        stays = at._replace(step=following, tried=at.tried + 1, status=status)
        moves = stays._replace(t=jnp.where(end - at.t <= dt, end, at.t + dt), masses=moved, energy=energy)
        return jax.tree.map(partial(jnp.where, good), moves, stays)

    energy = free_energy(terrain, noisy, masses)
    start = Moment(jnp.asarray(now, float), masses, jnp.asarray(step, float), energy, jnp.asarray(0), jnp.asarray(FINE))
    return jax.lax.while_loop(unfinished, body, start)


def _adapted(step: Array, dt: Array, error: Array, lawful: Array) -> tuple[Array, Array]:
    """Whether a step of dt is taken, and the next to try; error relative to what is allowed, of order 2 in dt."""
    good = lawful & (error <= 1)
    wanted = dt * jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-300)), 0.2, 3.0)
    shorter = jnp.where(lawful, jnp.minimum(wanted, 0.8 * dt), 0.25 * dt)
    cut_short = dt < step  # by the end or by the largest step, which says little about the next
    return good, jnp.where(good, jnp.where(cut_short, jnp.maximum(step, wanted), wanted), shorter)


def _along(rule: Any, terrain: Terrain, rates: Array, psi: Array, c: int, masses: Array, dt: Any) -> Array:
    """The exchange along one coordinate for a time dt."""
    left, right = exchange(terrain, rates, psi, c)
    return jnp.moveaxis(rule(dt * left, dt * right, jnp.moveaxis(masses, c, -1)), -1, c)


def _with_noise(terrain: Terrain, pace: Pace, masses: Array, t: Array, dt: Array) -> tuple[Array, Array]:
    """Masses after a step, and its error."""
    psi, rates = potential(terrain, masses), pace(t + dt / 2)
    first = masses
    for c in range(masses.ndim):
        first = _along(implicit_step, terrain, rates, psi, c, first, dt)
    middle = potential(terrain, (masses + first) / 2)
    order = [(0, 1.0)] if masses.ndim == 1 else [(0, 0.5), (1, 1.0), (0, 0.5)]
    moved = masses
    for c, share in order:
        moved = _along(patankar_step, terrain, rates, middle, c, moved, share * dt)
    return moved, jnp.sum(jnp.abs(moved - first))


def largest_step(terrain: Terrain, pace: Pace, noisy: bool, at: Moment) -> Array:
    """The step that empties no cell; none with noise."""
    if noisy:
        return jnp.asarray(math.inf)
    speeds = velocities(terrain, pace(at.t), potential(terrain, at.masses))
    courant = sum(
        (jnp.max(jnp.abs(v), initial=0.0) / h for v, h in zip(speeds, terrain.widths, strict=True)), jnp.asarray(0.0)
    )
    return COURANT / jnp.maximum(courant, 1e-300)


def _without_noise(terrain: Terrain, pace: Pace, masses: Array, t: Array, dt: Array) -> tuple[Array, Array]:
    """Masses after a step, and the error of the features they give."""
    first = masses + dt * upwind_change(terrain, pace(t), masses)
    moved = (masses + first + dt * upwind_change(terrain, pace(t + dt), first)) / 2
    off = (moved - first).ravel() @ terrain.features
    return moved, jnp.sqrt(jnp.sum(terrain.p * off**2))
