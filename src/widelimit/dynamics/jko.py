"""Minimising movements (Jordan, Kinderlehrer, Otto): the limit as a sequence of minimisations.

    ρ_{k+1} = argmin_ρ  F(ρ) + W_2²(ρ, ρ_k)/(2η),      η = 2 ∫ξ dt over the step

    F   the energy ½ R + (λ/2) ∫|θ|² dρ, and with noise the free energy
    W_2 in the metric M^{-1}: Σ_c (θ_c − θ'_c)²/M_c; a coordinate with M_c = 0 stays

η counts the clock of the flow dθ = −∇Ψ dt, half of ours. F falls for every η, and the error is of order 1 in it.

    no noise                      points of fixed mass, each moved from where it was (this file)
    noise, one coordinate         quantiles, exactly                        widelimit.dynamics.jko_quantiles
    noise, two coordinates        entropic transport on a grid              widelimit.dynamics.jko_entropic

Scheme, no noise: the points θ_i of mass m_i minimise F(Σ m_i δ(θ_i)) + Σ m_i |θ_i − θ_i^k|²/(2η), which is W_2 itself
while the identity is the best coupling: for points in order in one dimension, for small η beyond. Newton's method from
θ^k, the linear system by conjugate gradients in the metric of W_2, with a line search, so that F cannot rise.
Reference: [jko98].
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.dynamics.jko_entropic import entropic_run
from widelimit.dynamics.jko_quantiles import quantile_run
from widelimit.dynamics.methods import JKO
from widelimit.dynamics.motion import motion
from widelimit.dynamics.run import DensityRun, Run, Tick, prepare, proximal_steps, whole_steps
from widelimit.dynamics.start import initial_points
from widelimit.errors import require
from widelimit.potentials.landscape_base import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.statement import Problem

POINTS = 400
NEWTON = 50
CONJUGATE = 200
ENOUGH = 1e-10  # root mean square of the condition for a minimum, relative to the move


@prepare.register
def _(method: JKO, problem: Problem, seed: int, replicas: int | None = None) -> Run | DensityRun:
    require(replicas is None, "JKO draws nothing and has no replicas", replicas, "drop replicas")
    free = problem.neuron.inner == "free"
    require(free, "JKO needs inner weights that move freely", "inner='sphere'", "use MeanField")
    if math.isinf(problem.beta):
        return _point_run(method, problem)
    names = problem.reduced_coordinates
    require(len(names) <= 2, "JKO with noise needs one or two reduced coordinates", names[:6], "use a ParticleFlow")
    return quantile_run(method, problem) if len(names) == 1 else entropic_run(method, problem)


def _point_run(method: JKO, problem: Problem) -> Run:
    theta, weights = initial_points(problem, method.cells or POINTS, "quantile")
    land, rules = landscape(problem, reduced=True), motion(problem, reduced=True)

    def advance(theta: Array, start: float, stop: float, tick: Tick) -> Array:
        for middle, end, eta in proximal_steps(problem, method.step, start, stop):
            theta = proximal_points(land, theta, weights, eta * rules.rates(middle))
            tick(end)
        return theta

    advice = "the field is not finite at some point: check the activation"
    return Run(theta, weights, land, advance, whole_steps(method.step), advice)


def proximal_points(land: Landscape, start: Array, weights: Array, eta: Array) -> Array:
    """The points after one step; eta (D,) is η M."""
    theta, value = start, float(objective(land, start, start, weights, eta))
    for _ in range(NEWTON):
        direction, slope, defect = newton_direction(land, theta, start, weights, eta)
        if not float(slope) < 0 or float(defect) <= ENOUGH * (1 + float(jnp.max(jnp.abs(theta - start)))):
            break
        size, tried, lower = 1.0, theta, math.inf
        while size > 1e-8 and not lower <= value + 1e-4 * size * float(slope):
            tried = theta + size * direction
            lower = float(objective(land, tried, start, weights, eta))
            size /= 2
        if not lower < value:
            break
        theta, value = tried, lower
    return theta


@partial(jax.jit, static_argnums=0)
def objective(land: Landscape, theta: Array, start: Array, weights: Array, eta: Array) -> Array:
    """F + W²/2η, with the penalty of the ridge."""
    moves = eta > 0
    distance = jnp.where(moves, (theta - start) ** 2 / jnp.where(moves, eta, 1.0), 0.0)
    return land.risk_of(theta, weights) / 2 + weights @ (land.penalty(theta) + jnp.sum(distance, axis=1) / 2)


@partial(jax.jit, static_argnums=0)
def newton_direction(
    land: Landscape, theta: Array, start: Array, weights: Array, eta: Array
) -> tuple[Array, Array, Array]:
    """A direction of descent, its slope, and how far from a minimum we are.

    The condition is g(θ) = θ − θ^k + η M ∇Ψ(θ; ρ) = 0; dg is symmetric in ⟨u, v⟩ = Σ m_i ⟨u_i, v_i⟩/(η M). Where the
    curvature is negative the direction found so far is taken.
    """
    moves = eta > 0
    metric = weights[:, None] * jnp.where(moves, 1 / jnp.where(moves, eta, 1.0), 0.0)

    def condition(theta: Array) -> Array:
        return jnp.where(moves, theta - start + eta * land.self_gradient(theta, weights), 0.0)

    g, linear = jax.linearize(condition, theta)

    def inner(u: Array, v: Array) -> Array:
        return jnp.sum(metric * u * v)

    def unfinished(at: Any) -> Array:
        _, _, _, left, k = at
        return (left > 1e-20 * jnp.maximum(inner(g, g), 1e-300)) & (k < CONJUGATE)

    def body(at: Any) -> Any:
        x, rest, along, left, k = at
        image = linear(along)
        curvature = inner(along, image)
        bends = curvature > 1e-12 * inner(along, along)
        size = left / jnp.where(bends, curvature, 1.0)
        following = rest - size * image
        new = inner(following, following)
        stopped = jnp.where(k == 0, along, x)  # the first direction is the steepest one
        return (
            jnp.where(bends, x + size * along, stopped), following, following + new / left * along,
            jnp.where(bends, new, 0.0), k + 1,
        )  # fmt: skip

    norm = inner(g, g)
    x, *_ = jax.lax.while_loop(unfinished, body, (jnp.zeros_like(g), -g, -g, norm, jnp.asarray(0)))
    return x, inner(g, x), jnp.sqrt(jnp.sum(weights[:, None] * g**2))
