"""What the driver asks of a dynamics: a state, a way to move it, a way to look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import require
from widelimit.measures import Density
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscape_values import with_entropy
from widelimit.potentials.refinement import AFFORDABLE, ON_CELLS
from widelimit.potentials.slope_errors import straying
from widelimit.problem.neurons import halves
from widelimit.problem.problem import Problem

if TYPE_CHECKING:
    from widelimit.solving.recorder import Recorder
    from widelimit.solving.replicas import Plan

State = Any  # a pytree of arrays, known to its dynamics alone


class Tick(Protocol):
    """Told how far a dynamics has come; with its state where it can go on from there to the same bits."""

    def __call__(self, t: float, state: State | None = None) -> None:
        """Tell that time t is reached."""


Advance = Callable[[State, float, float, Tick], State]


class Dynamics(Protocol):
    """An equation made ready: data for a compiled function, of one replica."""

    def move(self, state: State, keys: State, leg: State) -> State:
        """The state after one leg; traceable."""

    def on(self, land: Landscape) -> Self:
        """The same dynamics on another landscape."""


@dataclass(frozen=True)
class NeuronView:
    """How a state is looked at as neurons.

    land      whose risk is reported
    weights   (n,)
    theta     state ↦ θ (n, D), or (R, n, D) with replicas, which is saved
    rows      state ↦ what the landscape sees: θ, unless neurons remember more than that
    """

    land: Landscape
    weights: Array
    theta: Callable[[State], Array]
    rows: Callable[[State], Array]

    @property
    def columns(self) -> Coordinates:
        """Of θ."""
        return self.land.penalty.columns

    def risk(self, state: State) -> Array:
        """R, a number or (R,)."""
        rows = self.rows(state)
        return self.land.in_motion(rows).risk_of(rows, self.weights)

    def error(self, state: State) -> Array:
        """How far R may be off, 0 where it is exact; a number or (R,)."""
        rows = self.rows(state)
        return self.land.moving_risk_error(rows, self.weights)

    def straying(self, state: State, rates: np.ndarray, allowed: float) -> np.ndarray:
        """How fast R strays because slopes are not exact, a number or (R,)."""
        rows = self.rows(state)
        return straying(self.land.in_motion(rows), rows, self.weights, rates, allowed)


@dataclass(frozen=True)
class CellView:
    """How a state is looked at as a density over cells.

    land      whose risk is reported
    beta      inverse temperature in the free energy
    density   state ↦ `Density`
    known     centres and landscapes of the cells seen last, by their edges
    """

    land: Landscape
    beta: float
    density: Callable[[State], Density]
    known: dict[tuple[bytes, ...], tuple[Array, list[Landscape]]] = field(default_factory=dict, init=False)

    @property
    def columns(self) -> Coordinates:
        """Of θ."""
        return self.land.penalty.columns

    def risk(self, rho: Density) -> Array:
        """R(ρ)."""
        points, lands = self._resolved(rho)
        return lands[-1].risk_of(points, _masses(rho))

    def error(self, rho: Density) -> Array:
        """How far R may be off, 0 where it is exact."""
        points, lands = self._resolved(rho)
        return self.land.risk_error_on(lands, points, _masses(rho))

    def straying(self, rho: Density, rates: np.ndarray, allowed: float) -> np.ndarray:
        """How fast R strays because slopes are not exact."""
        points, lands = self._resolved(rho)
        return straying(lands[-1], points, _masses(rho), rates, allowed)

    def free_energy(self, rho: Density) -> float:
        """F(ρ), off by half of what R may be off."""
        points, lands = self._resolved(rho)
        return with_entropy(float(lands[-1].energy_of(points, _masses(rho))), rho, self.beta)

    def _resolved(self, rho: Density) -> tuple[Array, list[Landscape]]:
        """The centres of the cells, and the landscape and its finer ones up to that of whoever moves on them; found
        again only if the cells are others."""
        cells = tuple(edges.tobytes() for edges in rho.edges)
        if cells not in self.known:
            self.known.clear()
            points, _ = self.land.measure(rho)
            self.known[cells] = points, self.land.climbing(points, ON_CELLS, AFFORDABLE)
        return self.known[cells]


def _masses(rho: Density) -> Array:
    return jnp.asarray(rho.weights, float)


class Memory(Protocol):
    """Choices that a dynamics makes as it goes, besides its state.

    steps    how many it has taken
    midway   where between two times it pauses, or shall go on: a pytree, or None at the first of them
    """

    steps: int
    midway: State

    def recall(self) -> State:
        """The choices at the moment, a pytree of numbers."""

    def restore(self, choices: State) -> None:
        """Go on with these."""


@dataclass(frozen=True)
class Run:
    """A dynamics with its start, ready for the driver.

    state       what the dynamics moves, a pytree of arrays
    advance     (state, t_from, t_to, tick) → state at t_to; calls ``tick(t)`` now and then; returns values that are not
                finite when the dynamics diverges
    view        how the state is looked at
    round_time  a time before t_end that was asked for ↦ the time at which the dynamics can stop for it
    advice      what to change when it diverges
    falls       whether its risk can only fall as long as its step is small
    memory      what the dynamics chose on its way and goes on with, if it chooses anything
    notes       what the record shall say of the way it was solved; may grow as the run goes on
    twin        a coarser or finer version of this run; the error of the risk is the distance of the two risks
    times       factor of that distance
    slopes      relative error of V and U up to which the landscape whose slopes it follows counts as exact; None if it
                follows no slopes
    unknown     added to the error of the risk: NaN where that of the points or cells is not measured, else 0
    plan        how the state is moved from leg to leg, if it is; several runs may then be moved together
    remark      record ↦ advice on a run that is done, empty if there is none; None for a run that never has any
    """

    state: State
    advance: Advance
    view: NeuronView | CellView
    round_time: Callable[[float], float]
    advice: str
    twin: Run | None = None
    times: float = 1.0
    unknown: float = 0.0
    slopes: float | None = None
    memory: Memory | None = None
    notes: list[str] = field(default_factory=list)
    falls: bool = False
    plan: Plan | None = None
    remark: Callable[[Recorder], str] | None = None


def view_neurons(land: Landscape, weights: Array, theta: Callable[[State], Array] = lambda state: state) -> NeuronView:
    """Neurons whose risk is that of a landscape; the state is θ itself unless said otherwise."""
    return NeuronView(land, weights, theta, theta)


def view_started(land: Landscape, weights: Array, rows: Callable[[State], Array] = lambda state: state) -> NeuronView:
    """Neurons that remember their start, whose risk is that of the linearised network."""
    return NeuronView(land, weights, lambda state: halves(rows(state))[0], rows)


def require_no_noise(problem: Problem, method: object) -> None:
    """Refuse a finite temperature."""
    require(
        not problem.is_noisy,
        f"{type(method).__name__} moves without noise and needs beta = inf",
        problem.beta,
        "use FiniteVolume (one or two reduced coordinates), MeanField or ParticleFlow, or drop beta",
    )


def require_single(replicas: int | None, name: str) -> None:
    """Refuse replicas of a limit, which draws no neurons."""
    require(replicas is None, f"{name} is a limit: it draws no neurons and has no replicas", replicas, "drop replicas")
