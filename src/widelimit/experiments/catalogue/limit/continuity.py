"""The limit solves its equation in the weak form, and another problem's does not.

    d/dt ∫χ dρ = −2 ∫⟨∇χ, ∇Ψ⟩ dρ   for test functions χ: the residual between saves falls like the fourth power of their
    distance, the order of the spline through them

Reference: [mmn18], definition of the distributional dynamics; widelimit.observables.weak_form.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.observables.weak_form import weak_residual
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

OTHER = 1.1  # times the ridge, in another problem
SKIPS = (8, 4, 2)


def measure(asked: Asked) -> Outcome:
    """Residuals against the distance of saves, the power, and that of a solution of another problem."""
    start = initial.gaussian(0.8, a=initial.signs(0.7))
    law = data.gaussian_classes(20, 0.5)
    problem = Problem(law, neurons.ridge("x + 0.3*x**2", outer="trained"), start, ridge=0.5)
    method = MeanField(asked.count("points"), "gauss", rtol=1e-12, atol=1e-13, check=False)
    run = solve(problem, method, 1.0, save=asked.count("saves"))
    found = [_residual(problem, run, skip) for skip in SKIPS]
    wrong = [_residual(replace(problem, ridge=OTHER * problem.ridge), run, skip) for skip in SKIPS]
    h = np.array(SKIPS) / (asked.count("saves") - 1)
    panel = Panel("Residual of the weak form", "time between saves", r"$\sum_k|\mathrm{residual}_k|$", (
        theory("fourth power", h, found[0] * (h / h[0]) ** 4), measured("limit", h, found, 1),
        measured("ten percent more ridge", h, wrong, 2),
    ), "xy")  # fmt: skip
    return Outcome({"order": power_over(h, found), "other": Measurement(wrong[-1] / found[-1])}, (panel,))


def _chi(theta: Array) -> Array:
    return theta[0] * jnp.sin(theta[1])


def _residual(problem: Problem, run: Solution, skip: int) -> float:
    every = Solution(run.dataset.isel(time=slice(None, None, skip)))
    return float(np.abs(weak_residual(problem, every, _chi)).sum())


WEAK_FORM = CatalogueEntry(
    "weak-form", "mmn18", "the limit solves its equation in the weak form",
    (Parameter("points", 24, "chosen", quick=12), Parameter("saves", 65, "chosen")),
    (
        Claim("order", "The residual falls like the fourth power of the time between saves.",
              "definition of the dynamics", 4.0, "theory", "near", 0.5,
              "the order of cubic splines; corrections at eight intervals",
              "a residual that stays: another equation is solved"),
        Claim("other", "A ridge that is ten percent larger leaves a residual 100 times as large, or more.",
              "definition of the dynamics", 100.0, "theory", "at least", 0.0,
              "otherwise the first claim would say little", "a residual that does not see the equation"),
    ),
    Seconds(6, 12), measure,
)  # fmt: skip
