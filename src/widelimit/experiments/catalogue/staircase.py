"""A staircase is learnt step by step in a time of order one; its last step alone is not.

    y = z1 + z1 z2 + … + z1 … z4        y = z1 z2 z3,        x uniform on {±1}^d, d = ∞

Training without the factor 2 of ours: a time t there is t/2 here. The theorem speaks of some time of order one, the
horizon is our choice: at t = 100 a fifth of the risk is still there. Reference: [abam22].
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, theory
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution
from widelimit.theory.learning.learning_curves import learning_curves

FLAT = "z1*z2*z3"


def measure(asked: Asked) -> Outcome:
    """Both targets in the limit: what is left of the one, and how flat the other one stays."""
    stairs = str(asked["target"])
    climbed, stuck = (_limit(asked, target) for target in (stairs, FLAT))
    curves = learning_curves(climbed)
    names = [name.strip() for name in stairs.split("+")]
    shift = float(np.max(np.abs(stuck.risk / stuck.risk[0] - 1)))
    t, left = climbed.times[1:], climbed.risk / climbed.risk[0]
    risk = (theory("staircase", t, left[1:]), theory("$z_1z_2z_3$", t, stuck.risk[1:] / stuck.risk[0], 1))
    coefficients: tuple[DrawnLine, ...] = tuple(
        theory("$" + "".join(f"z_{k}" for k in range(1, i + 2)) + "$", t,
               curves.dataset["coefficient"].sel(component=name).values[1:], i)
        for i, name in enumerate(names)
    )  # fmt: skip
    return Outcome(
        {"learnt": Measurement(float(left[-1])), "flat": Measurement(shift)},
        (Panel("Test error", "$t$", "$R(t)/R(0)$", risk, "x"),
         Panel("Fourier coefficients", "$t$", "coefficient", coefficients, "x")),
    )  # fmt: skip


def _limit(asked: Asked, target: str) -> Solution:
    start = initial.gaussian(1.0, a=initial.uniform(-1.0, 1.0))
    neuron = neurons.ridge(str(asked["activation"]), outer="trained")
    problem = Problem(data.hypercube(math.inf, target), neuron, start)
    t_end = asked.number("t_end")
    times = [0.0, *(float(t) for t in np.geomspace(t_end / 1000, t_end, 61))]
    method = MeanField(asked.count("points"), check=False)
    return solve(problem, method, t_end, save=times, store=asked.store)


STAIRCASE = CatalogueEntry(
    "abam22-staircase", "abam22", "a staircase is learnt in a time of order one, its last step alone is not",
    (
        Parameter("target", "z1 + z1*z2 + z1*z2*z3 + z1*z2*z3*z4", "sure", quick="z1 + z1*z2 + z1*z2*z3"),
        Parameter("activation", "sigmoid(x - 0.5)", "sure"),
        Parameter("t_end", 1000.0, "chosen"), Parameter("points", 512, "chosen", quick=128),
    ),
    (
        Claim("learnt", "The staircase is learnt: what is left of its risk.", "main theorem, Fig. 1", 0.1, "theory",
              "at most", 0.0, "with a missing monomial a quarter or more would be left", "a plateau above a tenth"),
        Claim("flat", "z1 z2 z3 alone stays flat in the limit: largest relative change of its risk.", "main theorem",
              1e-3, "theory", "at most", 0.0, "constant neurons a σ(sG) cannot lower it; the rest is integration",
              "a risk that falls in a time of order one"),
    ),
    Seconds(37, 300), measure,
    deviations=("the limit alone; the batch SGD of the figure is not run",),
)  # fmt: skip
