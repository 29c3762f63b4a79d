"""Neurons in the plane: from a small start they gather along a few directions, from a large one they hardly move.

    f = Σ_j a_j relu(⟨w_j, x⟩),  x ∈ R²,  a_j, w_j ~ τ N(0, 1) in pairs;   drawn is |a_j| w_j, by the sign of a_j

Reference: [cob19], the figure of trajectories; widelimit.experiments.catalogue.lazy.teacher_student.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.lazy.teacher_student import Student, descent, teacher_rows, trained
from widelimit.experiments.catalogue.repeats import mean_over

SAVES = 41


def measure(asked: Asked) -> Outcome:
    """How far the neurons go, over seeds, and the paths of the first one."""
    found: dict[str, Measurement] = {}
    panels = []
    for name, tau in {"moves": asked.number("tau_small"), "still": asked.number("tau_large")}.items():
        moved = []
        for seed in range(asked.count("seeds")):
            rows, new = teacher_rows(2, (asked.count("n"), 100), seed)
            rate = min(10.0, 0.1 / tau**2) / 10
            steps = np.unique(np.geomspace(1, asked.count("steps"), SAVES).round())
            saves = [0.0, *(steps * rate * asked.count("m")).tolist()]  # times of ours, finer at first
            run = descent(rows, Student(asked.count("m"), tau), rate, asked.count("steps"), save=saves, seed=seed)
            moved.append(trained(run, new).moved)
            if seed == 0:
                panels.append(_paths(rf"$\tau={tau:g}$", run.dataset["theta"].values))
        found[name] = mean_over(moved)
    return Outcome(found, tuple(panels))


def _paths(title: str, theta: np.ndarray) -> Panel:
    """|a| w over time, a line for each neuron with a symbol at its end; θ is (time, m, 3)."""
    places = np.abs(theta[..., :1]) * theta[..., 1:]
    lines: list[DrawnLine] = []
    for colour, positive in enumerate((True, False)):
        chosen = np.flatnonzero((theta[-1, :, 0] > 0) == positive)
        sign = "$a>0$" if positive else "$a<0$"
        lines += [theory("", places[:, i, 0], places[:, i, 1], colour) for i in chosen]
        if len(chosen):
            lines.append(measured(f"end, {sign}", places[-1, chosen, 0], places[-1, chosen, 1], colour))
    return Panel(title, "$|a|w_1$", "$|a|w_2$", tuple(lines))


TRAJECTORIES = CatalogueEntry(
    "cob19-trajectories", "cob19", "in the plane neurons of a small start move, those of a large one hardly",
    (
        Parameter("n", 15, "sure"), Parameter("m", 16, "sure"), Parameter("tau_small", 0.1, "sure"),
        Parameter("tau_large", 2.0, "sure"), Parameter("steps", 100_000, "chosen", quick=20_000),
        Parameter("seeds", 8, "chosen", quick=3),
    ),
    (
        Claim("moves", "τ = 0.1: the neurons move by their own length or more, |θ_T − θ_0|/|θ_0|.",
              "figure of trajectories", 1.0, "recalled", "at least", 0.0,
              "paths as long as what they start from are seen", "paths that are not seen"),
        Claim("still", "τ = 2: they hardly move.", "figure of trajectories", 0.2, "recalled", "at most", 0.0,
              "a fifth of the distance from the origin is about the size of a symbol there",
              "paths that cross each other"),
    ),
    Seconds(8, 60), measure,
)  # fmt: skip
