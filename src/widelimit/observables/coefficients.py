"""What a network has learnt of each component of a target.

    f̂_g = E f(x; ρ) g(z),   z the kept coordinates

    hypercube       g = z1*z2 …   Fourier (Walsh) coefficients
    Gaussian input  g = h2(z) …   Hermite coefficients; h_k is orthonormal, He_k is not

The coefficient of the target itself is `target_coefficient`; with an orthonormal family Σ_g f̂_g² = E f(z)².
On the hypercube at finite d the other coordinates count as Gaussian noise, as they do at d = ∞.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from widelimit.errors import require
from widelimit.measures import Cloud, Measure
from widelimit.potentials.landscapes import landscape, reduce
from widelimit.problem.data import Hypercube
from widelimit.problem.data.target import check_arity, evaluate, parsed
from widelimit.problem.expressions import Expression
from widelimit.problem.problem import Problem


def coefficient(problem: Problem, basis: str | Expression | Callable[[Any], Any]) -> Callable[[Measure], float]:
    """An observer of E f(x; ρ) g(z) for an expression or a function g of the kept coordinates.

    >>> import widelimit as wl
    >>> cube = wl.data.hypercube(float("inf"), "z1 + z1*z2")
    >>> problem = wl.Problem(cube, wl.neurons.ridge("tanh", outer="trained"), wl.initial.gaussian(1.0, a=1.0))
    >>> blind = wl.Cloud([[1.0, 0.0, 0.0, 1.0]], [1.0], ("a", "u_1", "u_2", "r"))
    >>> round(wl.observables.coefficient(problem, "z1")(blind), 12)
    0.0
    """
    g = _function(problem, basis)
    law = problem.data
    plain = problem
    if problem.no_reduction and isinstance(law, Hypercube):
        plain = replace(problem, data=replace(law, d=math.inf))
    land = landscape(plain, reduced=True)

    def observe(rho: Measure) -> float:
        is_full = tuple(rho.coordinates) != tuple(problem.reduced_coordinates)
        theta = np.asarray(reduce(problem, rho.theta)) if is_full else rho.theta
        return land.project(Cloud(theta, rho.weights, land.coordinates), g)  # type: ignore[attr-defined]

    return observe


def target_coefficient(problem: Problem, basis: str | Expression | Callable[[Any], Any]) -> float:
    """E y g(z), the coefficient of the target."""
    require(bool(problem.groups), "target_coefficient needs a law with kept coordinates", problem.data, "see wl.data")
    z, p, y = problem.data.quadrature
    return float(np.sum(p * y * _function(problem, basis)(z)))


def _function(problem: Problem, basis: Any) -> Callable[[np.ndarray], np.ndarray]:
    good = problem.kept > 0
    require(good, "coefficients need a law with kept coordinates, such as hypercube", problem.data, "see wl.data")
    found = parsed(basis)
    check_arity(found, problem.kept)
    return lambda z: np.broadcast_to(np.asarray(evaluate(found, z), float), z.shape[:-1])
