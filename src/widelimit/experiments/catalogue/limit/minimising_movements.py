"""Minimising movements: every step lowers the free energy, and the error is of order one in the step.

    ρ_{k+1} = argmin F(ρ) + W_2²(ρ, ρ_k)/(2η):      F(ρ_{k+1}) ≤ F(ρ_k) for every η,     W_1(ρ^η_T, ρ^{η/2}_T) ~ η

Two Gaussian classes with noise in one radius, beside finite volumes. Reference: [jko98]; widelimit.dynamics.jko.
"""

from __future__ import annotations

import itertools

import numpy as np

from widelimit.dynamics.methods import JKO, FiniteVolume
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.observables.distances import wasserstein
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

BOX = ((0.0, 4.0),)
ACTIVATION = "0.2 + x + 0.3*x**2"


def measure(asked: Asked) -> Outcome:
    """Distances of neighbouring steps, the order, and the largest rise of the free energy."""
    problem = Problem(data.gaussian_classes(20, 0.6), neurons.ridge(ACTIVATION), initial.gaussian(1.0), ridge=0.3,
                      beta=20.0)  # fmt: skip
    t_end, steps, cells = asked.number("t_end"), asked.numbers("steps"), asked.count("cells")
    exact = solve(problem, FiniteVolume(asked.count("grid"), BOX, tolerance=1e-6), t_end, save=41)
    runs = [solve(problem, JKO(step, cells), t_end, save=round(t_end / step) + 1) for step in steps]
    pairs = [wasserstein(a.final, b.final, p=1) for a, b in itertools.pairwise(runs)]
    rise = max(float(np.max(np.diff(_energy(run)))) for run in runs)
    falls: list[DrawnLine] = [theory("limit", exact.times, _energy(exact))]
    for colour, place in ((1, 0), (2, -1)):
        falls.append(measured(f"step {steps[place]:g}", runs[place].times, _energy(runs[place]), colour))
    panels = (
        Panel("Iterates", "$t$", r"free energy $F$", tuple(falls)),
        Panel("Order", "step", "$W_1$ to the run of half the step", (
            theory("order 1", steps[:-1], pairs[0] * np.array(steps[:-1]) / steps[0]),
            measured("minimising movements", steps[:-1], pairs, 1),
        ), "xy"),
    )  # fmt: skip
    return Outcome({"order": power_over(steps[:-1], pairs), "energy": Measurement(rise)}, panels)


def _energy(run: Solution) -> np.ndarray:
    return run.dataset["free_energy"].values


MINIMISING_MOVEMENTS = CatalogueEntry(
    "jko-order", "jko98", "minimising movements lower the free energy, and reach the limit with order one",
    (
        Parameter("steps", (0.1, 0.05, 0.025, 0.0125, 0.00625), "chosen", quick=(0.1, 0.05, 0.025)),
        Parameter("t_end", 0.5, "chosen"), Parameter("cells", 256, "chosen", quick=128),
        Parameter("grid", 800, "chosen", quick=400),
    ),
    (
        Claim("order", "Distances of neighbouring steps fall with order one: the power.", "convergence theorem", 1.0,
              "recalled", "near", 0.2, "the next order is in the difference of the first two steps", "order 1/2 or 2"),
        Claim("energy", "No step raises the free energy: its largest rise.", "by construction", 1e-12, "theory",
              "at most", 0.0, "rounding", "a step that is no minimum"),
    ),
    Seconds(10, 60), measure,
)  # fmt: skip
