"""The risk as an observer, and on given data.

R(ρ) = E (y − f(x; ρ))²,      on M rows: (1/M) Σ_j (y_j − f(x_j; ρ))², with the standard error of that mean
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import overload

import numpy as np
from jax.typing import ArrayLike

from widelimit.arguments import instance_of
from widelimit.errors import require
from widelimit.measures import Measure
from widelimit.potentials.landscape import Landscape, Rho
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.sample_landscape import Estimate, sample_landscape
from widelimit.problem.data import Empirical
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Penalty


@overload
def risk(of: Landscape, rho: None = None) -> Callable[[Rho], float]: ...


@overload
def risk(of: Landscape | Problem, rho: Rho) -> float: ...


def risk(of: Landscape | Problem, rho: Rho | None = None) -> Callable[[Rho], float] | float:
    """The observer ρ ↦ R(ρ) of a landscape; with ``rho`` the risk itself, of a landscape or of a problem.

    rho   neurons (n, D) or a measure in the coordinates of the landscape; of a problem full ones, or a reduced measure

    >>> import widelimit as wl
    >>> neuron, start = wl.neurons.ridge("x"), wl.initial.gaussian(1.0)
    >>> problem = wl.Problem(wl.data.single_index(5, "2*z"), neuron, start)
    >>> round(wl.observables.risk(wl.landscape(problem, reduced=True))([[1.0, 0.0]]), 9)
    1.0
    >>> round(wl.observables.risk(problem, [[1.0, 0.0, 0.0, 0.0, 0.0]]), 9)
    1.0
    """
    if isinstance(of, Problem) and rho is not None:
        of = landscape(of, reduced=isinstance(rho, Measure) and rho.coordinates == of.reduced_coordinates)
    observer = instance_of(Landscape, of, "risk", "try wl.observables.risk(wl.landscape(problem))").risk
    return observer if rho is None else observer(rho)


def test_risk(problem: Problem, rho: Rho, x: ArrayLike, y: ArrayLike) -> Estimate:
    """The risk of a network on given rows, and its standard error; an observer that returns it records the risk alone.

    rho    in full coordinates, such as ``solution.final`` of SGD
    x, y   (M, d) and (M,)

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(2, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> wl.observables.test_risk(problem, np.zeros((3, 2)), [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    Estimate(risk=0.0, error=0.0)
    """
    instance_of(Problem, problem, "test_risk", "build one first")
    data = Empirical(x, y)
    require(data.d == problem.data.d, f"test data must have d = {problem.data.d:g} columns", data.d, "check x")
    land = sample_landscape(data, problem.network, Penalty(problem.ridge, problem.regulariser, problem.full))
    squares = np.asarray((data.y - land.mean_features(*land.measure(rho))) ** 2)
    error = squares.std(ddof=1) / math.sqrt(len(squares)) if len(squares) > 1 else math.nan
    return Estimate(float(squares.mean()), float(error))


test_risk.__test__ = False  # type: ignore[attr-defined]  # of a network: no test of pytest
