"""From SGD to the PDE in four parts, each with the rate of its own.

    R(ρ_t) − R(SGD) = [PDE − ND] + [ND − PD] + [PD − GD] + [GD − SGD]

    PDE–ND   draws of N neurons            N^{−1/2}, spread of the risk
    ND–PD    neurons in their own field    N^{−1/2}, distance
    PD–GD    steps of ε                    ε, distance
    GD–SGD   samples instead of means      ε^{1/2}, distance

Reference: [mmm19], proof of theorem 1; widelimit.theory.gap.rates.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Parameter
from widelimit.experiments.catalogue.drawing import Panel, theory
from widelimit.experiments.catalogue.mean_field.measured_exponents import (
    bounded_classes,
    drawn_rate,
    exponent,
    rate_claim,
)
from widelimit.theory.gap.coupling import compare
from widelimit.theory.gap.rates import rates

PARTS = {"PDE–ND": ("risk spread", -0.5), "ND–PD": ("distance", -0.5), "PD–GD": ("distance", 1.0),
         "GD–SGD": ("distance", 0.5)}  # fmt: skip


def measure(asked: Asked) -> Outcome:
    """Rates in N of the first two parts, in ε of the others, and all four over time on one coupling."""
    problem, t_end, replicas = bounded_classes(asked.count("d")), asked.number("t_end"), asked.count("replicas")
    widths, steps = (list(asked.numbers(name)) for name in ("N", "eps"))
    n = int(widths[0])
    wide = rates(problem, "n", widths, t_end=t_end, replicas=replicas, chain=("PDE", "ND", "PD"))
    fine = rates(problem, "step", steps, n=n, t_end=t_end, replicas=replicas, chain=("PD", "GD", "SGD"))
    over = {part: wide if part in ("PDE–ND", "ND–PD") else fine for part in PARTS}
    both = compare(problem, n, steps[-1], t_end, replicas=replicas, save=11)
    lines = tuple(
        theory(part, both.times[1:], np.sqrt(np.mean(both.gap(part)[:, 1:] ** 2, axis=0)), i)
        for i, part in enumerate(PARTS)
    )
    drawn = {part: drawn_rate(over[part], part, *PARTS[part], i) for i, part in enumerate(PARTS)}
    panels = (
        Panel(f"$N={n}$, $\\varepsilon={steps[-1]:g}$", "$t$", "gap of the risk, root mean square", lines, "y"),
        Panel("Rates in $N$", "$N$", "gap", (*drawn["PDE–ND"], *drawn["ND–PD"]), "xy"),
        Panel("Rates in the step", r"$\varepsilon$", "gap", (*drawn["PD–GD"], *drawn["GD–SGD"]), "xy"),
    )
    return Outcome({part: exponent(over[part], part, PARTS[part][0]) for part in PARTS}, panels)


GAP_DECOMPOSITION = CatalogueEntry(
    "mmm19-parts", "mmm19", "four parts of the gap between SGD and the PDE, each with its rate",
    (
        Parameter("d", 20, "chosen"), Parameter("t_end", 0.5, "chosen"),
        Parameter("N", (16.0, 32.0, 64.0, 128.0, 256.0), "chosen", quick=(16.0, 32.0, 64.0)),
        Parameter("eps", (0.002, 0.005, 0.01, 0.02), "chosen", quick=(0.005, 0.01, 0.02)),
        Parameter("replicas", 64, "chosen", quick=16),
    ),
    (
        rate_claim("PDE–ND", "Draws: the risk of N tracers scatters like N^{−1/2}.", "PDE–ND", -0.5),
        rate_claim("ND–PD", "Interaction: neurons leave their tracers like N^{−1/2}.", "ND–PD", -0.5),
        rate_claim("PD–GD", "Steps: gradient descent leaves the flow like ε.", "PD–GD", 1.0),
        rate_claim("GD–SGD", "Samples: SGD leaves gradient descent like ε^{1/2}.", "GD–SGD", 0.5),
    ),
    Seconds(11, 220), measure,
)  # fmt: skip
