"""Leaps: how long a target waits at a saddle before its next step, against the dimension.

    y = z1 + z1 z2 (leap 1),   z1 + z1 z2 z3 (leap 2),   z1 + z1 z2 z3 z4 (leap 3),   x uniform on {±1}^d

The coordinates start at u_k ~ N(0, 1/d). Once z1 is learnt those of a leap l grow by du/dt ~ u^{l−1}, so that the flow
waits O(1) for l = 1, log d for l = 2 and d^{(l−2)/2} = √d for l = 3; steps of the size d^{−l/2} make d^{max(l−1, 1)}
samples of it. The field is that of d = ∞, where the other coordinates are Gaussian noise; d is in the start.
Reference: [abam23]; widelimit.theory.learning.leap.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Plain, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter, Unmet
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.learning.leap import leap
from widelimit.theory.learning.learning_curves import learning_curves

NEXT = {1: "z1*z2", 2: "z1*z2*z3", 3: "z1*z2*z3*z4"}


def measure(asked: Asked) -> Outcome:
    """Waiting times for every leap and dimension, and the risk of each at the largest one."""
    dimensions = asked.numbers("d")
    waits: dict[int, np.ndarray] = {}
    risks: list[DrawnLine] = []
    for length in NEXT:
        runs = [asked.part(f"{length}-{d:g}", partial(_run, asked, length, d)) for d in dimensions]
        waits[length] = np.array([run["wait"] for run in runs])  # type: ignore[call-overload, index]
        last: dict = runs[-1]  # type: ignore[assignment]
        risks.append(theory(f"leap {length}", last["t"], last["risk"], length - 1))
    powers = {length: power_over(dimensions, wait) for length, wait in waits.items()}
    slopes = np.diff(waits[2]) / np.diff(np.log(dimensions))
    known = [leap(f"z1 + {monomial}").leap == length for length, monomial in NEXT.items()]
    panels = (
        Panel("Waiting at the saddle", "dimension $d$", "$t$ between the two steps", tuple(
            measured(f"leap {length}", dimensions, wait, length - 1) for length, wait in waits.items()), "xy"),
        Panel(f"Saddle to saddle, $d={dimensions[-1]:g}$", "$t$", "$R(t)/R(0)$", tuple(risks), "x"),
    )  # fmt: skip
    return Outcome(
        {"leaps": Measurement(float(sum(known))), "leap 1": powers[1],
         "leap 2": Measurement(float(slopes.min() / slopes.max())), "leap 3": powers[3]}, panels,
        tuple(f"leap {length}: d^{p.value:.2f}" for length, p in powers.items()),
    )  # fmt: skip


def _run(asked: Asked, length: int, d: float) -> Plain:
    """The time between the steps, and the risk."""
    n, k = asked.count("N"), length + 1
    g = np.random.default_rng(0).normal(size=(n, k + 2))
    theta = np.concatenate([g[:, :2], g[:, 2:] / math.sqrt(d), np.ones((n, 1))], axis=1)  # a, b, u, r
    neuron = neurons.ridge("tanh", outer="trained", bias="trained")
    law = data.hypercube(math.inf, f"z1 + {NEXT[length]}")
    problem = Problem(law, neuron, initial.array(theta, coordinates="reduced"))
    saves = [0.0, *np.geomspace(0.05, asked.number("t_end"), asked.count("saves")).tolist()]
    flow = ParticleFlow(n, "reduced", rtol=1e-5, atol=1e-7, stiff=False)
    run = solve(problem, flow, saves[-1], save=saves)
    curves = learning_curves(run)
    wait = curves.learning_time(NEXT[length]) - curves.learning_time("z1")
    return {"wait": wait, "t": run.times[1:].tolist(), "risk": (run.risk[1:] / run.risk[0]).tolist()}


LEAPS = CatalogueEntry(
    "abam23-leaps", "abam23", "saddle to saddle: a longer leap waits longer, the more so the larger d",
    (
        Parameter("d", (100.0, 1000.0, 10_000.0, 100_000.0), "chosen", quick=(100.0, 1000.0, 10_000.0)),
        Parameter("N", 200, "chosen", quick=100), Parameter("t_end", 3000.0, "chosen", quick=300.0),
        Parameter("saves", 161, "chosen", quick=61),
    ),
    (
        Claim("leaps", "The three targets have leaps 1, 2 and 3: how many of them do.", "definition of the leap", 3.0,
              "text", "near", 0.5, "they are counted", "another leap"),
        Claim("leap 1", "A leap of 1 waits as long at every d: the power of d.", "main theorem", 0.0, "theory", "near",
              0.1, "corrections are of the order 1/√d", "a time that grows with d"),
        Claim("leap 2", "A leap of 2 waits like log d: least over largest slope in log d.", "main theorem", 1.0,
              "theory", "near", 0.5, "a power law d^{1/4} would have slopes 1.8 apart from decade to decade",
              "slopes that double, or none at all"),
        Claim("leap 3", "A leap of 3 waits like √d: the power of d.", "main theorem", 0.5, "theory", "near", 0.15,
              "a third of the way to a logarithm, whose power is about 0.1 here", "a logarithm, or d"),
    ),
    Seconds(25, 200), measure,
    deviations=("the flow at d = ∞ from a start of size 1/√d instead of SGD at finite d",),
    unmet=(Unmet("leap 3", "d is too small: with 100 neurons the wait is about √d and 30 more that do not grow. The "
                 "same equations in SciPy have powers of 0.26, 0.31, 0.37, 0.45 and 0.48, decade by decade from "
                 "d = 10² to 10⁷"),),
)  # fmt: skip
