"""Wide networks of the scale 1/√m are lazy and test worse than those of 1/m.

    f = (1/√m) Σ_j a_j relu(⟨w_j, x⟩)   against   (1/m) Σ_j a_j relu(⟨w_j, x⟩),     a_j, w_j ~ N(0, 1) in pairs

    |θ_T − θ_0|/|θ_0| ~ m^{−1/2}        against   m^0

Reference: [cob19], the figure of the test loss against m; widelimit.experiments.catalogue.lazy.teacher_student.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter, Unmet
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.lazy.teacher_student import Student, descent, teacher_rows, trained
from widelimit.experiments.catalogue.repeats import errors_over, mean_over, power_over

SCALES = {"lazy": -0.5, "mean field": -1.0}  # powers of m in front of the sum
WIDE = 32.0  # from here on powers of m are fitted


def measure(asked: Asked) -> Outcome:
    """Test loss and movement against m, for both scales."""
    widths, seeds = np.array(asked.numbers("m")), asked.count("seeds")
    losses: list[DrawnLine] = []
    moves: list[DrawnLine] = []
    ends: dict[str, np.ndarray] = {}
    found: dict[str, Measurement] = {}
    for colour, (name, power) in enumerate(SCALES.items()):
        runs = np.array([[asked.part(f"{name}-{m:g}-{seed}", partial(_one, asked, Student(int(m), 1.0, m**power), seed))
                          for m in widths] for seed in range(seeds)])  # fmt: skip
        test, _, moved = np.moveaxis(runs, -1, 0)
        label = {"lazy": r"$1/\sqrt{m}$", "mean field": "$1/m$"}[name]
        losses.append(measured(label, widths, test.mean(axis=0), colour, errors_over(test)))
        moves.append(measured(label, widths, moved.mean(axis=0), colour, errors_over(moved)))
        wide = widths >= WIDE
        found[name] = power_over(widths[wide], moved[:, wide])
        law = {"lazy": -0.5, "mean field": 0.0}[name]
        line = moved.mean(axis=0)[-1] * (widths[wide] / widths[-1]) ** law
        moves.append(theory(f"$m^{{{law:g}}}$", widths[wide], line, colour))
        ends[name] = test[:, -1]
    found["worse"] = mean_over(ends["lazy"] / ends["mean field"])
    panels = (Panel("Test loss", "neurons $m$", "mean $(y-f)^2$", tuple(losses), "xy"),
              Panel("Movement", "neurons $m$", r"$|\theta_T-\theta_0|/|\theta_0|$", tuple(moves), "xy"))  # fmt: skip
    return Outcome(found, panels)


def _one(asked: Asked, student: Student, seed: int) -> list[float]:
    rows, new = teacher_rows(asked.count("d"), (asked.count("n"), asked.count("n_test")), seed)
    rate = asked.number("eta") / (student.scale * student.m)  # f moves at one speed then, whatever m and the scale are
    run = descent(rows, student, rate, asked.count("steps"), save=2, seed=seed)
    return list(trained(run, new))


LOSS_BY_WIDTH = CatalogueEntry(
    "cob19-width", "cob19", "wide networks of the scale 1/√m move less and test worse than those of 1/m",
    (
        Parameter("d", 100, "sure", quick=20), Parameter("n", 1000, "sure", quick=100),
        Parameter("n_test", 1000, "sure"), Parameter("seeds", 10, "sure", full=2, quick=2),
        Parameter("m", (2.0, 8.0, 32.0, 128.0, 512.0), "recalled", quick=(8.0, 32.0, 128.0, 512.0)),
        Parameter("eta", 0.5, "chosen"), Parameter("steps", 4000, "chosen", quick=2000),
    ),
    (
        Claim("worse", "At the largest m the scale 1/√m tests worse than 1/m, by a factor of 1.5 or more.",
              "figure of the test loss against m", 1.5, "recalled", "at least", 0.0,
              "half as much again is seen in a figure", "one test loss for both scales"),
        Claim("lazy", "With 1/√m the movement falls like m^{−1/2}: the power, from m = 32 on.", "theorem 2.3", -0.5,
              "theory", "near", 0.15, "a third of the way to the other scale", "a movement that does not fall"),
        Claim("mean field", "With 1/m it does not depend on m: the power, from m = 32 on.", "mean-field limit", 0.0,
              "theory", "near", 0.15, "a third of the way to the other scale", "a movement that falls like m^{−1/2}"),
    ),
    Seconds(20, 260), measure,
    unmet=(Unmet("worse", "1/√m tests worse, by 1.2 and not by 1.5: from starts of unit size networks of the scale 1/m "
                 "move by a fifth of their length only, and are half way to being lazy themselves"),),
)  # fmt: skip
