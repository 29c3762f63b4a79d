"""The limit on a grid: distributional dynamics with and without noise (McKean–Vlasov).

    ∂_t ρ = 2 ξ ∇·(ρ M ∇Ψ_λ(θ; ρ)) + 2 ξ β^{-1} ∇·(M ∇ρ)

Scheme, order 2 in space (widelimit.dynamics.finite_volume.fluxes) and in time. Noise: Ψ at the middle of a step from an
implicit step, then the exchange in that Ψ by modified Patankar–Runge–Kutta steps (positive for every step), the two
coordinates in turn (Strang). No noise: Heun's method under a Courant number of 0.45. A step after which the free energy
is larger is taken again, shorter.  Reference: [bdm03].
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.finite_volume.fluxes import (
    Terrain,
    exchange,
    free_energy,
    mean_features,
    potential,
    terrain_of,
    upwind_change,
    velocities,
)
from widelimit.dynamics.finite_volume.grid import LARGEST, Grid, Mass, initial_grid
from widelimit.dynamics.finite_volume.implicit_exchange import implicit_step, patankar_step
from widelimit.dynamics.methods import FiniteVolume
from widelimit.dynamics.rules import Rules, rules_of
from widelimit.errors import InputError
from widelimit.frozen import Frozen, static
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import ON_CELLS
from widelimit.problem.problem import Problem
from widelimit.solving.clock import stretches
from widelimit.solving.protocol import CellView, Run, Tick, require_single

STEPS_PER_CALL = 256  # compiled together; after each call progress is reported and the grid may grow
TIMES = 2.0  # the distance to half the cells: a third of it is the error at order 2, more where mass collects in a cell
CROWDED = 1e-12  # mass in the outermost cells of a grid that makes it grow
HELD_BACK = 1e-6  # mass at the sides of a box worth a warning
COURANT = 0.45
SHARE = 0.1  # largest error of a step, relative to the mass it moves: keeps the error small close to rest too
AT_REST = 1e-13  # mass moved by rounding alone
SLACK = 1e-13  # rounding of the free energy, relative to its terms
SMALLEST = 1e-13  # step, relative to the clock
FINE, EMPTIED, UPHILL, STUCK = 0, 1, 2, 3
Rule = Callable[[Array, Array, Array], Array]  # shares sent left and right, masses before ↦ masses after


class Moment(NamedTuple):
    """The state between two steps."""

    t: Array
    masses: Array
    step: Array  # to try next
    energy: Array  # F
    tried: Array  # steps in this call
    status: Array  # FINE, or why a fixed step cannot be taken


class Scheme(Frozen, eq=False):
    """The equation on one grid: its terrain, and the rules that give ξ M, on the clock or in time.

    tolerance  error of an adaptive step
    fixed      whether the step is given
    """

    terrain: Terrain
    rules: Rules
    tolerance: float
    fixed: bool = static()


@dataclass(frozen=True)
class OnGrids:
    """The equation on a grid that is made larger when the mass needs it."""

    method: FiniteVolume
    problem: Problem
    land: FeatureLandscape
    rules: Rules
    known: dict[Grid, Terrain]  # the terrain computed last, by its grid

    def terrain(self, grid: Grid) -> Terrain:
        """The terrain of a grid, computed again only if the grid is another one."""
        if grid not in self.known:
            self.known.clear()
            self.known[grid] = terrain_of(self.land, grid, self.problem.beta if self.problem.is_noisy else None)
        return self.known[grid]

    def advance(self, state: Mass, start: float, stop: float, tick: Tick) -> Mass:
        """The masses at a later time."""
        begin = start
        for part in stretches(self.problem, start, stop, in_time=self.method.step is not None):
            rules, now = self.rules.during(part), part.start
            while now < part.stop:
                state, now = self.some_steps(state, rules, now, part.stop)
                if not np.isfinite(state.masses).all():
                    return state
                tick(begin + (part.end - begin) * (now - part.start) / (part.stop - part.start))
            begin = part.end
        return state

    def some_steps(self, state: Mass, rules: Rules, now: float, end: float) -> tuple[Mass, float]:
        """Some steps, on a larger grid if they reach the ends of this one."""
        fixed, method = self.method.step is not None, self.method
        while True:
            wish = method.step if method.step is not None else min(state.step, end - now)
            scheme = Scheme(self.terrain(state.grid), rules, method.tolerance, fixed)
            moment = steps(scheme, jnp.asarray(state.masses), now, end, wish)
            _complain(int(moment.status), float(moment.step), method)
            if int(moment.status) == STUCK:
                return state.failed(), end
            masses = np.asarray(moment.masses)
            crowded = state.grid.crowded(masses, CROWDED)
            if not crowded.any():
                return Mass(state.grid, masses, float(moment.step)), float(moment.t)
            wider = state.grown(crowded)
            if math.prod(wider.grid.shape) > LARGEST:
                return state.failed(), end
            state = wider


def ready(method: FiniteVolume, problem: Problem, seed: int, replicas: int | None) -> Run:
    """The masses of ρ_0 in the cells of a grid."""
    require_single(replicas, "FiniteVolume")
    rules = rules_of(problem, reduced=True)
    grid, masses = initial_grid(problem, method.cells, method.box)
    land = landscape(problem, reduced=True)
    assert isinstance(land, FeatureLandscape)
    on_grids = OnGrids(method, problem, land, replace(rules, beta=None), {})
    told: list[str] = []

    def advance(state: Mass, start: float, stop: float, tick: Tick) -> Mass:
        state = on_grids.advance(state, start, stop, tick)
        if method.box is not None and not told:
            told.extend(_warned_of_sides(state))
        return state

    advice = (
        f"the mass leaves every grid of {LARGEST} cells, or no step is short enough: use fewer cells, give the box it "
        "may move in, or raise tolerance"
    )
    view = CellView(land, problem.beta, Mass.density)
    coarser = replace(method, cells=max(4, len(masses) // 2), check=False)
    twin = ready(coarser, problem, seed, replicas) if method.check else None
    unknown = 0.0 if method.check else math.nan
    return Run(Mass(grid, masses), advance, view, lambda t: t, advice, twin, TIMES, unknown, ON_CELLS)


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


def _warned_of_sides(state: Mass) -> list[str]:
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


@jax.jit
def steps(scheme: Scheme, masses: Array, now: float, end: float, step: float) -> Moment:
    """At most STEPS_PER_CALL steps, fewer if the end comes first or a step cannot be taken."""
    noisy, fixed, terrain = scheme.terrain.beta is not None, scheme.fixed, scheme.terrain
    one = partial(_with_noise if noisy else _without_noise, scheme)

    def unfinished(at: Moment) -> Array:
        return (at.t < end) & (at.tried < STEPS_PER_CALL) & (at.status == FINE)

    def body(at: Moment) -> Moment:
        limit = largest_step(scheme, at)
        dt = jnp.minimum(at.step if fixed else jnp.minimum(at.step, limit), end - at.t)
        moved, error = one(at.masses, at.t, dt)
        moved = moved / jnp.sum(moved)  # total mass 1, without the rounding of this step
        energy, size = free_energy(terrain, moved)
        falls = energy <= at.energy + SLACK * size
        positive = jnp.min(moved) >= 0
        if fixed:
            emptied = (dt > limit * (1 + 1e-9)) | ~positive
            status = jnp.where(emptied, EMPTIED, jnp.where(falls, FINE, UPHILL))
            good, following = status == FINE, jnp.where(emptied, limit, at.step)
        else:
            allowed = jnp.minimum(scheme.tolerance, SHARE * jnp.sum(jnp.abs(moved - at.masses)) + AT_REST)
            good, following = _adapted(at.step, dt, error / allowed, falls & positive)
            vanishes = (dt < SMALLEST * (1 + jnp.abs(end))) & (dt < end - at.t)
            status = jnp.where(~good & vanishes, STUCK, FINE)
        stays = at._replace(step=following, tried=at.tried + 1, status=status)
        moves = stays._replace(t=jnp.where(end - at.t <= dt, end, at.t + dt), masses=moved, energy=energy)
        return jax.tree.map(partial(jnp.where, good), moves, stays)

    energy, _ = free_energy(terrain, masses)
    start = Moment(jnp.asarray(now, float), masses, jnp.asarray(step, float), energy, jnp.asarray(0), jnp.asarray(FINE))
    return jax.lax.while_loop(unfinished, body, start)


def _adapted(step: Array, dt: Array, error: Array, lawful: Array) -> tuple[Array, Array]:
    """Whether a step of dt is taken, and the next to try; error relative to what is allowed, of order 2 in dt."""
    good = lawful & (error <= 1)
    wanted = dt * jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-300)), 0.2, 3.0)
    shorter = jnp.where(lawful, jnp.minimum(wanted, 0.8 * dt), 0.25 * dt)
    cut_short = dt < step  # by the end or by the largest step, which says little about the next
    return good, jnp.where(good, jnp.where(cut_short, jnp.maximum(step, wanted), wanted), shorter)


class Exchange(NamedTuple):
    """What flows along the coordinates of a terrain, in a given potential and with given rates."""

    terrain: Terrain
    rates: Array
    psi: Array

    def along(self, c: int, rule: Rule, masses: Array, dt: Array) -> Array:
        """The masses after an exchange along coordinate c for a time dt."""
        left, right = exchange(self.terrain, self.rates, self.psi, c)
        return jnp.moveaxis(rule(dt * left, dt * right, jnp.moveaxis(masses, c, -1)), -1, c)


def _with_noise(scheme: Scheme, masses: Array, t: Array, dt: Array) -> tuple[Array, Array]:
    """Masses after a step, and its error."""
    terrain, rates = scheme.terrain, scheme.rules.rates(t + dt / 2)
    now, first = Exchange(terrain, rates, potential(terrain, masses)), masses
    for c in range(masses.ndim):
        first = now.along(c, implicit_step, first, dt)
    middle = Exchange(terrain, rates, potential(terrain, (masses + first) / 2))
    order = [(0, 1.0)] if masses.ndim == 1 else [(0, 0.5), (1, 1.0), (0, 0.5)]
    moved = masses
    for c, share in order:
        moved = middle.along(c, patankar_step, moved, share * dt)
    return moved, jnp.sum(jnp.abs(moved - first))


def largest_step(scheme: Scheme, at: Moment) -> Array:
    """The largest step that empties no cell; infinite with noise, where every step is allowed."""
    terrain = scheme.terrain
    if terrain.beta is not None:
        return jnp.asarray(math.inf)
    speeds = velocities(terrain, scheme.rules.rates(at.t), potential(terrain, at.masses))
    courant = sum(
        (jnp.max(jnp.abs(v), initial=0.0) / h for v, h in zip(speeds, terrain.widths, strict=True)), jnp.asarray(0.0)
    )
    return COURANT / jnp.maximum(courant, 1e-300)


def _without_noise(scheme: Scheme, masses: Array, t: Array, dt: Array) -> tuple[Array, Array]:
    """Masses after a step, and the error of the features they give."""
    terrain, pace = scheme.terrain, scheme.rules.rates
    first = masses + dt * upwind_change(terrain, pace(t), masses)
    moved = (masses + first + dt * upwind_change(terrain, pace(t + dt), first)) / 2
    off = mean_features(terrain, moved - first)
    return moved, jnp.sqrt(jnp.sum(terrain.fit.p * off**2))
