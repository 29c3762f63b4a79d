"""One step of minimising movements without noise: points of fixed mass, each moved from where it was.

    min over θ of   F(Σ_i m_i δ(θ_i)) + Σ_i m_i |θ_i − θ_i^k|²_{M^{-1}}/(2η),     F = ½ R + λ ∫v dρ

The sum is W_2² as long as no other pairing of old and new points is cheaper: in one dimension while the points stay in
order, in more for small η.

Scheme: Newton's method from θ^k, the linear system by conjugate gradients in the metric of W_2, with a line search, so
that F rises by no more than its rounding. A radius does not pass below 0, and rests there where F falls towards it.
Reference: [jko98].
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.jko.unsolved import Unsolved
from widelimit.dynamics.methods import JKO
from widelimit.dynamics.rules import rules_of
from widelimit.frozen import Frozen
from widelimit.potentials.chunks import all_finite
from widelimit.potentials.damped_newton import Budget, Direction, Lowest, minimise
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import MOVING
from widelimit.problem.problem import Problem
from widelimit.solving.clock import proximal_steps, whole_steps
from widelimit.solving.placement import initial_points
from widelimit.solving.protocol import Run, Tick, view_neurons

POINTS = 400
CONJUGATE = 200
ENOUGH = 1e-10  # root mean square of the condition for a minimum, relative to the move
BUDGET = Budget(steps=50, shortest=1e-8, rounding=1e-15)


class PointStep(Frozen, eq=False):
    """The problem of one step: points ``start`` of masses m move in the time η M of every column, (D,)."""

    land: Landscape
    start: Array
    weights: Array
    eta: Array

    def distance(self, theta: Array) -> Array:
        """|θ_i − θ_i^k|² in the metric M^{-1}/η, (n,)."""
        moves = self.eta > 0
        return jnp.sum(jnp.where(moves, (theta - self.start) ** 2 / jnp.where(moves, self.eta, 1.0), 0.0), axis=1)

    def condition(self, theta: Array) -> Array:
        """θ − θ^k + η M ∇Ψ(θ; ρ), 0 at the minimum; and where a radius rests at 0."""
        found = theta - self.start + self.eta * self.land.self_gradient(theta, self.weights)
        rests = self.land.penalty.columns.is_radius() & (theta <= 0) & (found > 0)
        return jnp.where((self.eta > 0) & ~rests, found, 0.0)

    def shifted(self, theta: Array, size: float, move: Array) -> Array:
        """The points moved, radii not below 0."""
        moved = theta + size * move
        return jnp.where(self.land.penalty.columns.is_radius(), jnp.maximum(moved, 0.0), moved)


def point_run(method: JKO, problem: Problem) -> Run:
    """The scheme, ready for the driver."""
    theta, weights = initial_points(problem, method.cells or POINTS, "quantile")
    land, rules, unsolved = landscape(problem, reduced=True), rules_of(problem, reduced=True), Unsolved()

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        for step in proximal_steps(problem, method.step, start, stop):
            theta, solved = moved(PointStep(land, theta, weights, step.eta * rules.rates(step.middle)))
            if not solved:
                unsolved.add(step.end)
            tick(step.end)
        return theta

    advice = "the field is not finite at some point: check the activation"
    return Run(
        theta, advance, view_neurons(land, weights), whole_steps(method.step), advice, slopes=MOVING,
        notes=unsolved.notes, remark=unsolved.remark,
    )  # fmt: skip


def moved(movement: PointStep) -> Lowest[Array]:
    """The points after one step, on a landscape that is accurate at both of its ends."""
    land: Landscape | None = movement.land.near(movement.start, movement.weights)
    while land is not None:
        found = proximal_points(replace(movement, land=land))
        land = land.better(found.point, movement.weights) if all_finite(found.point) else None
    return found


def proximal_points(movement: PointStep) -> Lowest[Array]:
    """The points after one step on a given landscape."""

    def descent(theta: Array) -> Direction:
        direction, slope, defect = newton_direction(movement, theta)
        moved = float(jnp.max(jnp.abs(theta - movement.start)))
        return Direction(direction, float(slope), float(defect) <= ENOUGH * (1 + moved))

    def value(theta: Array) -> float:
        return float(movement.land.energy_of(theta, movement.weights) + transport(movement, theta))

    return minimise(movement.start, value, descent, movement.shifted, BUDGET)


@jax.jit
def transport(movement: PointStep, theta: Array) -> Array:
    """W_2²/(2η) between the points and their start."""
    return movement.weights @ movement.distance(theta) / 2


class Conjugate(NamedTuple):
    """A stage of the conjugate gradients: solution, residual, direction, squared residual, number."""

    x: Array
    rest: Array
    along: Array
    left: Array
    k: Array


class NewtonStep(NamedTuple):
    """A direction of descent, the slope along it, and the root mean square of the condition for a minimum."""

    direction: Array
    slope: Array
    defect: Array


@jax.jit
def newton_direction(movement: PointStep, theta: Array) -> NewtonStep:
    """The step of Newton's method from points θ.

    The derivative of the condition is symmetric in ⟨u, v⟩ = Σ m_i ⟨u_i, v_i⟩/(η M). Where the curvature is negative
    the direction found so far is taken.
    """
    moves, eta, weights = movement.eta > 0, movement.eta, movement.weights
    metric = weights[:, None] * jnp.where(moves, 1 / jnp.where(moves, eta, 1.0), 0.0)
    g, linear = jax.linearize(movement.condition, theta)

    def inner(u: Array, v: Array) -> Array:
        return jnp.sum(metric * u * v)

    def unfinished(at: Conjugate) -> Array:
        return (at.left > 1e-20 * jnp.maximum(inner(g, g), 1e-300)) & (at.k < CONJUGATE)

    def body(at: Conjugate) -> Conjugate:
        image = linear(at.along)
        curvature = inner(at.along, image)
        bends = curvature > 1e-12 * inner(at.along, at.along)
        size = at.left / jnp.where(bends, curvature, 1.0)
        following = at.rest - size * image
        new = inner(following, following)
        stopped = jnp.where(at.k == 0, at.along, at.x)  # the first direction is the steepest one
        return Conjugate(
            jnp.where(bends, at.x + size * at.along, stopped), following, following + new / at.left * at.along,
            jnp.where(bends, new, 0.0), at.k + 1,
        )  # fmt: skip

    start = Conjugate(jnp.zeros_like(g), -g, -g, inner(g, g), jnp.asarray(0))
    x = jax.lax.while_loop(unfinished, body, start).x
    return NewtonStep(x, inner(g, x), jnp.sqrt(jnp.sum(weights[:, None] * g**2)))
