"""ρ as it is given to a theorem: a measure, a solution or an array, in full or reduced coordinates, checked once."""

from __future__ import annotations

import math

import numpy as np
from jax.typing import ArrayLike

from widelimit.arguments import array_of
from widelimit.errors import InputError, require, shortened
from widelimit.measures import Measure, uniform_cloud
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

Given = Measure | Solution | ArrayLike


def measure_in(problem: Problem, rho: object) -> Measure:
    """ρ as a measure in full or reduced coordinates of a problem, checked."""
    rho = rho.final if isinstance(rho, Solution) else rho
    finite = math.isfinite(problem.data.d)
    if not isinstance(rho, Measure):
        theta = array_of("rho", rho, "(n, D)", "give one row per neuron, or a wl.Cloud", finite=True)
        widths = {problem.reduced.D: problem.reduced_coordinates}
        if finite and problem.groups and problem.full.D in widths:
            raise InputError(
                f"rho of {problem.full.D} columns may be full or reduced here, got an array: give a wl.Cloud, whose "
                "coordinates tell."
            )
        widths |= {problem.full.D: problem.coordinates} if finite else {}
        forms = " or ".join(f"(n, {width})" for width in sorted(widths))
        do = f"give the columns {shortened(problem.reduced_coordinates)}" + ("" if finite else ": d is infinite")
        require(len(theta) > 0 and theta.shape[1] in widths, f"rho must have shape {forms}", theta.shape, do)
        rho = uniform_cloud(theta, widths[theta.shape[1]])
    known = [problem.reduced_coordinates, *([problem.coordinates] if finite else [])]
    names = " or ".join(shortened(one) for one in known)
    do = "check the problem" if finite else "a network of an infinite dimension has reduced coordinates alone"
    require(tuple(rho.coordinates) in map(tuple, known), f"rho must have the coordinates {names}",
            shortened(rho.coordinates), do)  # fmt: skip
    good = bool(np.isfinite(rho.theta).all()) and rho.n > 0
    require(good, "rho needs finite neurons", "none, or nan or inf", "stop before the run diverges")
    if problem.groups and tuple(rho.coordinates) == tuple(problem.reduced_coordinates):
        least = float(np.asarray(rho.theta)[:, problem.reduced.first_radius :].min())
        require(least >= 0, "radii in reduced coordinates must be >= 0", least, "take their absolute values")
    return rho
