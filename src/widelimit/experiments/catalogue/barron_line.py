"""Networks of N neurons drawn from the waves of a function: their mean risk is below Δ²/N, and falls like 1/N.

    E R(ρ^N) = (E a² s² − E (f − f(0))²)/N ≤ Δ²/N,      Δ = 2rC, C Barron's norm on |x| ≤ r

Reference: [b93]; widelimit.theory.approximation.maurey.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.theory.approximation.barron import barron
from widelimit.theory.approximation.maurey import Approximation, approximation

RESAMPLES = 400


def measure(asked: Asked) -> Outcome:
    """Mean risks over draws, their slope with its bootstrap error, and the largest share of the bound."""
    norm = barron(str(asked["function"]), radius=asked.number("radius"))
    widths = [int(n) for n in asked.numbers("N")]
    found = approximation(norm, widths, asked.count("draws"))
    share = found.means / found.bounds
    worst = int(np.argmax(share))
    error = float(found.errors[worst] / found.bounds[worst])
    panel = Panel("Barron's line", "$N$", "risk $R$", (
        theory(r"$\Delta^2/N$", found.widths, found.bounds),
        measured("sampled networks, mean", found.widths, found.means, 1, found.errors),
    ), "xy")  # fmt: skip
    return Outcome(
        {"rate": Measurement(found.slope, _slope_error(found)), "bound": Measurement(float(share[worst]), error)},
        (panel,),
    )


def _slope_error(found: Approximation) -> float:
    """Standard deviation of the slope over networks drawn anew from those at hand, width by width."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(found.risks), size=(RESAMPLES, *found.risks.shape))
    means = np.take_along_axis(found.risks[None], picks, axis=1).mean(axis=1)
    return float(np.polyfit(np.log(found.widths), np.log(means).T, 1)[0].std(ddof=1))


BARRON_LINE = CatalogueEntry(
    "barron-line", "b93", "the risk of N neurons is below Δ²/N",
    (
        Parameter("function", "exp(-x**2)", "chosen"), Parameter("radius", 1.0, "chosen"),
        Parameter("N", (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0), "chosen", quick=(10.0, 100.0, 1000.0)),
        Parameter("draws", 400, "chosen", quick=100),
    ),
    (
        Claim("rate", "The mean risk falls like 1/N.", "Theorem 1", -1.0, "recalled", "near", 0.1,
              "N^{−1/2} and N^{−2} are five and ten times as far away", "another power of N"),
        Claim("bound", "It is below Δ²/N at every N: the largest share of the bound is at most 1.", "Theorem 1", 1.0,
              "recalled", "at most", 0.0, "a theorem has no tolerance", "a mean risk above the bound"),
    ),
    Seconds(3, 15), measure,
)  # fmt: skip
