"""The weak form of the continuity equation, tested on a solution.

    residual_k = ∫χ dρ_{t_{k+1}} − ∫χ dρ_{t_k} − ∫_{τ_k}^{τ_{k+1}} ∫ Lχ dρ dτ,        dτ = ξ dt
    Lχ = −2 ⟨M ∇χ, ∇Ψ_λ⟩ + 2 β^{-1} [ Σ_c M_c ∂²_c χ + Σ_g M_g (d_g − 1)/r_g ∂_{r_g} χ ]

    χ    chi      one neuron θ (D,) → number, traceable by JAX
    L    generator of the dynamics in reduced coordinates, on the clock τ
    M    rates    (D,)  mobility of each coordinate, M_g that of r_g
    d_g  sizes    (D,)  number of directions behind each radius, 1 for a scalar
    τ    clock    (time,)

A radius cannot fall below 0: there −2 M ∂Ψ is taken from the right, and is 0 where it points inwards. With noise χ must
be even in every radius that reaches 0, and (∂_r χ)/r is read as ∂²_r χ there.

Scheme: ∫ … dτ by a cubic spline through the saves. The residual is the error of the solver plus that of the quadrature:
h⁵ per interval of length h while τ ↦ ∫Lχ dρ is smooth, which it is not where mass crosses a kink.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.arguments import instance_of
from widelimit.dynamics.rules import rules_of
from widelimit.errors import InputError, require, shown
from widelimit.measures import Measure
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

interpolate = OnFirstUse("scipy.interpolate")

EDGE = 1e-9  # where the slope at a vanishing radius is taken
STANDSTILL = 1e-11  # share of the whole clock below which an interval counts as none: ∫ξ dt is known to 1e-12


def weak_residual(problem: Problem, solution: Solution, chi: Callable[[Array], Array]) -> np.ndarray:
    """Residual of the weak form between neighbouring save times, (saves − 1,).

    problem   the one the solution claims to solve
    solution  from `solve`, kept in reduced coordinates
    chi       test function of one neuron θ (D,), columns as in ``problem.reduced_coordinates``,
              e.g. ``lambda theta: theta[0] ** 2``

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> limit = wl.solve(problem, wl.MeanField(8, check=False), 0.1, save=6)  # doctest: +SKIP
    >>> bool(abs(weak_residual(problem, limit, lambda theta: theta[0] ** 2)).max() < 1e-6)  # doctest: +SKIP
    True
    """
    _check(problem, solution, chi)
    apply = _generator(problem, lambda row: chi(row) + 0.0)
    parts = [_between_jumps(problem, solution, apply, times) for times in _segments(problem, solution.times)]
    return np.concatenate(parts)


def _segments(problem: Problem, times: np.ndarray) -> list[np.ndarray]:
    """The save times, cut where the mobility jumps."""
    inside = [t for t in problem.rates.jumps if times[0] < t < times[-1]]
    cuts = [int(np.argmin(np.abs(times - t))) for t in inside]
    missed = [t for t, k in zip(inside, cuts, strict=True) if not math.isclose(times[k], t, rel_tol=1e-9)]
    require(not missed, "the times at which the mobility jumps must be among the saves", missed, "add them to save=")
    ends = [0, *cuts, len(times) - 1]
    return [times[a : b + 1] for a, b in itertools.pairwise(ends) if b > a]


def _between_jumps(
    problem: Problem, solution: Solution, apply: Callable[[Measure, np.ndarray], tuple[float, float]], times: np.ndarray
) -> np.ndarray:
    """Residuals between neighbouring saves of a stretch without jumps."""
    held = problem.rates.between(float(times[0]), float(times[-1]))
    rules = replace(rules_of(problem, reduced=True), mobility=held)
    clock = problem.schedule.clock(times)
    pairs = np.array([apply(solution.at(t), np.asarray(rules.rates(t))) for t in times])  # ∫χ dρ and ∫Lχ dρ
    return np.diff(pairs[:, 0]) - _integrals(clock, pairs[:, 1])


def _generator(problem: Problem, chi: Callable[[Array], Array]) -> Callable[[Measure, np.ndarray], tuple[float, float]]:
    """(ρ, M) ↦ ∫χ dρ, ∫Lχ dρ."""
    slope, land = jax.grad(chi), landscape(problem, reduced=True)
    velocity = _velocity(problem)
    diffusion = _diffusion(problem, chi) if math.isfinite(problem.beta) else None

    @jax.jit
    def both(land: Landscape, theta: Array, weights: Array, M: Array) -> tuple[Array, Array]:
        change = jnp.sum(jax.vmap(slope)(theta) * velocity(land, theta, weights, M), axis=1)
        if diffusion is not None:
            change = change + 2 / problem.beta * jax.vmap(diffusion)(theta) @ M
        return weights @ jax.vmap(chi)(theta), weights @ change

    def apply(cloud: Measure, M: np.ndarray) -> tuple[float, float]:
        theta, weights = jnp.asarray(cloud.theta, float), jnp.asarray(cloud.weights, float)
        mean, change = both(land.in_motion(theta), theta, weights, jnp.asarray(M))
        return float(mean), float(change)

    return apply


def _velocity(problem: Problem) -> Callable[[Landscape, Array, Array, Array], Array]:
    """(landscape, θ, p, M) ↦ −2 M ∇Ψ_λ(θ; ρ), (n, D), with no radius pushed below 0, along the sphere if θ is on it."""
    rules, is_radius = rules_of(problem, reduced=True), problem.reduced.is_radius()

    def velocity(land: Landscape, theta: Array, weights: Array, M: Array) -> Array:
        at_edge = is_radius & (theta <= 0)
        v = -2 * M * land.gradient(jnp.where(at_edge, EDGE, theta), theta, weights)
        return rules.tangent(theta, jnp.where(at_edge, jnp.maximum(v, 0.0), v))

    return velocity


def _diffusion(problem: Problem, chi: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """θ_i ↦ ∂²_c χ + (d_c − 1)/r_c ∂_c χ for every coordinate c, the second term for radii only, (D,)."""
    slope, curvature, is_radius = jax.grad(chi), jax.hessian(chi), problem.reduced.is_radius()
    sizes = np.array([*[1.0] * len(problem.neuron.scalars), *[1.0] * problem.kept, *(g.d for g in problem.groups)])

    def diffusion(row: Array) -> Array:
        first, second, outside = slope(row), jnp.diagonal(curvature(row)), row > 0
        ratio = jnp.where(outside, first / jnp.where(outside, row, 1.0), second)
        return second + jnp.where(is_radius, (sizes - 1) * ratio, 0.0)

    return diffusion


def _integrals(clock: np.ndarray, values: np.ndarray) -> np.ndarray:
    """∫ values dτ over every interval of the clock; 0 where it stands still."""
    steps = np.diff(clock)
    moves = steps > STANDSTILL * (clock[-1] - clock[0])
    if not moves.any():
        return np.zeros(len(steps))
    first = np.concatenate([[True], moves])
    spline = interpolate.CubicSpline(clock[first], values[first]).antiderivative()
    return np.where(moves, np.diff(spline(clock)), 0.0)


def _check(problem: Problem, solution: Solution, chi: Callable[[Array], Array]) -> None:
    instance_of(Problem, problem, "weak_residual", "pass it, the solution and the test function")
    instance_of(Solution, solution, "weak_residual", "pass the problem, it and the test function")
    require(solution.replicas is None, "weak_residual needs one run", f"{solution.replicas} replicas", "select one")
    names = tuple(str(c) for c in solution.dataset["coordinate"].values)
    wanted = problem.reduced_coordinates
    require(
        names == wanted,
        f"weak_residual needs neurons in the reduced coordinates {', '.join(wanted)}",
        f"{names[0]} … {names[-1]}, {len(names)} columns",
        "solve with keep='reduced'",
    )
    require(len(solution.times) >= 2, "weak_residual needs two or more saves", len(solution.times), "raise save=")
    wild = math.isfinite(problem.beta) and problem.neuron.inner == "sphere"
    require(not wild, "weak_residual knows the noise of free inner weights", "inner='sphere'", "drop beta or inner")
    endless = math.isfinite(problem.beta) and any(math.isinf(g.d) for g in problem.groups)
    require(not endless, "noise in reduced coordinates needs a finite dimension", math.inf, "choose d or drop beta")
    _check_traceable(chi, len(wanted))


def _check_traceable(chi: Callable[[Array], Array], D: int) -> None:
    example = "write it with jax.numpy, as in lambda theta: theta[0] ** 2"
    try:
        shape = jax.eval_shape(lambda row: chi(row) + 0.0, jax.ShapeDtypeStruct((D,), float)).shape
    except Exception:  # whatever the function does with a tracer
        raise InputError(
            f"chi must be a function of one neuron theta ({D},) that JAX can trace, got {shown(chi)}: {example}."
        ) from None
    require(shape == (), f"chi must return one number for one neuron theta ({D},)", f"shape {shape}", example)
