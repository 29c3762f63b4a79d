"""Large starts train lazily, fit their data, and test worse.

    f = Σ_j a_j relu(⟨w_j, x⟩),  a_j, w_j ~ τ N(0, 1) in pairs,  teacher of 3 neurons,  step η = min(10, 0.1/τ²)

Reference: [cob19], the figure of the test loss against τ; widelimit.experiments.catalogue.lazy.teacher_student.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured
from widelimit.experiments.catalogue.lazy.teacher_student import Student, descent, teacher_rows, trained
from widelimit.experiments.catalogue.repeats import errors_over, mean_over


def measure(asked: Asked) -> Outcome:
    """Test and training loss and movement for every τ."""
    taus, seeds = asked.numbers("tau"), asked.count("seeds")
    found = np.array([[asked.part(f"{tau:g}-{seed}", partial(_one, asked, tau, seed)) for tau in taus]
                      for seed in range(seeds)])  # fmt: skip
    test, train, moved = np.moveaxis(found, -1, 0)
    mean, error = test.mean(axis=0), errors_over(test)
    panels = (
        Panel("Losses after training", r"size of the start $\tau$", "mean $(y-f)^2$", (
            measured("test", taus, mean, 0, error), measured("training", taus, train.mean(axis=0), 1),
        ), "xy"),
        Panel("Movement", r"size of the start $\tau$", r"$|\theta_T-\theta_0|/|\theta_0|$", (
            measured("student", taus, moved.mean(axis=0), 2, errors_over(moved)),
        ), "xy"),
    )  # fmt: skip
    first = [teacher_rows(asked.count("d"), (asked.count("n"),), seed)[0].y for seed in range(seeds)]
    fitted = train[:, -1] / [np.mean(y**2) for y in first]
    return Outcome(
        {"worse": mean_over(test[:, -1] / test.min(axis=1)), "fits": mean_over(fitted),
         "still": mean_over(moved[:, -1])}, panels,
    )  # fmt: skip


def _one(asked: Asked, tau: float, seed: int) -> list[float]:
    rows, new = teacher_rows(asked.count("d"), (asked.count("n"), asked.count("n_test")), seed)
    rate = min(10.0, 0.1 / tau**2)
    run = descent(rows, Student(asked.count("m"), tau), rate, asked.count("steps"), save=2, seed=seed)
    return list(trained(run, new))


LOSS_BY_START = CatalogueEntry(
    "cob19-start", "cob19", "large starts train lazily, fit their data, and test worse",
    (
        Parameter("d", 100, "sure", quick=30), Parameter("n", 1000, "sure", quick=150),
        Parameter("n_test", 1000, "sure"), Parameter("m", 50, "sure", quick=40),
        Parameter("tau", tuple(round(10**e, 6) for e in (-2.2, -1.4, -0.6, 0.2, 1.0)), "recalled",
                  quick=(0.1, 0.5, 2.0)),
        Parameter("steps", 10_000, "sure", quick=3000), Parameter("seeds", 10, "sure", full=2, quick=2),
    ),
    (
        Claim("worse", "The largest start tests worse than the best one, by a factor of two or more.",
              "figure of the test loss against τ", 2.0, "recalled", "at least", 0.0,
              "a factor of two is seen in a figure",
              "a test loss that does not depend on τ"),
        Claim("fits", "It fits its data: what is left of the training loss.", "figure of the test loss against τ", 0.01,
              "recalled", "at most", 0.0, "a hundredth: below it the test loss is another matter",
              "a training that has not arrived, so that the test loss tells nothing"),
        Claim("still", "It hardly moves: |θ_T − θ_0|/|θ_0|.", "title and theorem 2.3", 0.1, "theory", "at most", 0.0,
              "the movement is O(1/α), and α ~ τ²", "neurons that move by their own length"),
    ),
    Seconds(5, 150), measure,
)  # fmt: skip
