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
from typing import cast

import numpy as np

from widelimit.arguments import answer_of, array_of, instance_of
from widelimit.errors import require
from widelimit.measures import Cloud, Measure, measure_of
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape, reduce
from widelimit.problem.data import Hypercube
from widelimit.problem.data.target import Evaluated, check_arity, evaluate, parsed
from widelimit.problem.problem import Problem


def coefficient(problem: Problem, basis: Evaluated) -> Callable[[Measure], float]:
    """An observer of E f(x; ρ) g(z) for an expression or a function g of the kept coordinates.

    >>> import widelimit as wl
    >>> cube = wl.data.hypercube(float("inf"), "z1 + z1*z2")
    >>> problem = wl.Problem(cube, wl.neurons.ridge("tanh", outer="trained"), wl.initial.gaussian(1.0, a=1.0))
    >>> blind = wl.Cloud([[1.0, 0.0, 0.0, 1.0]], [1.0], ("a", "u_1", "u_2", "r"))
    >>> round(wl.observables.coefficient(problem, "z1")(blind), 12)
    0.0
    """
    observe = projection(problem, _function(problem, basis))
    return lambda rho: float(observe(measure_of(rho, "coefficient")))


def coefficient_error(problem: Problem, basis: Evaluated) -> Callable[[Measure], float]:
    """An observer of how far `coefficient` may be off: what finer nodes change, or the spread of random ones, and what
    is lost of neurons too long for the rules of σ, or too steep for nodes of several coordinates.

    >>> import widelimit as wl
    >>> cube = wl.data.hypercube(float("inf"), "z1 + z1*z2")
    >>> problem = wl.Problem(cube, wl.neurons.ridge("tanh", outer="trained"), wl.initial.gaussian(1.0, a=1.0))
    >>> rho = wl.Cloud([[1.0, 2.0, 0.0, 1.0]], [1.0], ("a", "u_1", "u_2", "r"))
    >>> wl.observables.coefficient_error(problem, "z1")(rho) < 1e-11
    True
    """
    observe = projection_error(problem, _function(problem, basis))
    return lambda rho: float(observe(measure_of(rho, "coefficient_error")))


def projection(problem: Problem, g: Callable[[np.ndarray], np.ndarray]) -> Callable[[Measure], np.ndarray]:
    """An observer of E f(x; ρ) g(z) for functions g of the nodes z (J, k): (J,) or (J, several)."""
    land = _landscape(problem)
    return lambda rho: land.project(_reduced(problem, rho, land), g)


def projection_error(problem: Problem, g: Callable[[np.ndarray], np.ndarray]) -> Callable[[Measure], np.ndarray]:
    """An observer of how far `projection` may be off."""
    land = _landscape(problem)
    return lambda rho: land.project_error(_reduced(problem, rho, land), g)


def _landscape(problem: Problem) -> FeatureLandscape:
    """That of the reduced coordinates, for a cube that has none at its own d the one at d = ∞."""
    law = problem.data
    if problem.no_reduction and isinstance(law, Hypercube):
        problem = replace(problem, data=replace(law, d=math.inf))
    return cast(FeatureLandscape, landscape(problem, reduced=True))


def _reduced(problem: Problem, rho: Measure, land: FeatureLandscape) -> Cloud:
    """ρ in the coordinates of that landscape."""
    is_full = tuple(rho.coordinates) != tuple(problem.reduced_coordinates)
    theta = np.asarray(reduce(problem, rho.theta)) if is_full else rho.theta
    return Cloud(theta, rho.weights, land.coordinates)


def target_coefficient(problem: Problem, basis: Evaluated) -> float:
    """E y g(z), the coefficient of the target.

    >>> import widelimit as wl
    >>> cube = wl.data.hypercube(float("inf"), "z1 + 0.5*z1*z2")
    >>> problem = wl.Problem(cube, wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.observables.target_coefficient(problem, "z1*z2")
    0.5
    """
    instance_of(Problem, problem, "target_coefficient", "build one first")
    require(bool(problem.groups), "target_coefficient needs a law with kept coordinates", problem.data, "see wl.data")
    z, p, y = problem.data.quadrature
    return float(np.sum(p * y * _function(problem, basis)(z)))


def _function(problem: Problem, basis: Evaluated) -> Callable[[np.ndarray], np.ndarray]:
    good = instance_of(Problem, problem, "coefficient", "build one first").kept > 0
    require(good, "coefficients need a law with kept coordinates, such as hypercube", problem.data, "see wl.data")
    found = parsed(basis)
    check_arity(found, problem.kept)
    return lambda z: np.broadcast_to(_numbers(answer_of(evaluate, "the function g", found, z)), z.shape[:-1])


def _numbers(values: object) -> np.ndarray:
    """What g answers, one number for every point or one for all."""
    return array_of("the values of g", values, "() or (n,)", "write it as an expression such as 'z1*z2'", finite=True)
