"""Universal approximation: trained networks are below Barron's line, and further below the wider they are.

    min over N neurons of E (f − f_N)² ≤ Δ²/N,      found by training (gradient flow, the best of three starts)

Reference: [b93]; widelimit.theory.approximation.maurey.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.theory.approximation.barron import barron
from widelimit.theory.approximation.maurey import approximation


def measure(asked: Asked) -> Outcome:
    """Trained risks beside sampled ones and the line."""
    norm = barron(str(asked["function"]), radius=asked.number("radius"))
    widths = [int(n) for n in asked.numbers("N")]
    found = approximation(norm, widths, asked.count("draws"), trained=widths, t_end=asked.number("t_end"))
    trained = np.asarray(found.trained_risks)
    panel = Panel("Universal approximation", "$N$", "risk $R$", (
        theory(r"$\Delta^2/N$", found.widths, found.bounds), measured("trained", found.widths, trained, 1),
        measured("sampled, mean", found.widths, found.means, 2, found.errors),
    ), "xy")  # fmt: skip
    return Outcome(
        {"bound": Measurement(float(np.max(trained / found.bounds))),
         "sampled": Measurement(float(np.max(trained / found.means))), "falls": power_over(widths, trained)}, (panel,),
    )  # fmt: skip


UNIVERSAL = CatalogueEntry(
    "universal-approximation", "b93", "trained networks are below Barron's line",
    (
        Parameter("function", "exp(-x**2)", "chosen"), Parameter("radius", 1.0, "chosen"),
        Parameter("N", (2.0, 4.0, 8.0, 16.0, 32.0), "chosen", quick=(2.0, 8.0)), Parameter("draws", 100, "chosen"),
        Parameter("t_end", 1000.0, "chosen", quick=50.0),
    ),
    (
        Claim("bound", "Trained networks are below Δ²/N at every N: the largest share.", "Theorem 1", 1.0, "recalled",
              "at most", 0.0, "a theorem has no tolerance", "a risk above the line"),
        Claim("sampled", "They are better than the mean of sampled ones: the largest share.", "Theorem 1", 1.0,
              "theory", "at most", 0.0, "the best network is no worse than the mean",
              "training that ends above a random draw"),
        Claim("falls", "Their risk falls with N: the power.", "universal approximation", 0.0, "theory", "at most", 0.0,
              "wider networks contain the narrower ones", "a risk that grows"),
    ),
    Seconds(21, 120), measure,
)  # fmt: skip
