"""The width that is enough does not grow with d, the step must shrink like 1/d.

    sup_t |R_N(θ^k) − R(ρ_{kε})| ≤ K e^{KT} ( [√log N + z]/√N + [√(D + log N) + z] √ε )

The first term is seen between tracers of the limit and interacting neurons (ND–PD), the second between gradient descent
and SGD, as the mean distance of the neurons. Reference: [mmm19], theorem 1.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.experiments.catalogue.mean_field.measured_exponents import (
    TOLERANCE,
    bounded_classes,
    drawn_rate,
    exponent,
    rate_claim,
)
from widelimit.theory.gap.rates import Rates, rates


def measure(asked: Asked) -> Outcome:
    """The term of N at several d, and that of ε at several d against the product εd."""
    t_end, replicas = asked.number("t_end"), asked.count("replicas")
    dimensions = [int(d) for d in asked.numbers("d")]
    widths, steps = (list(asked.numbers(name)) for name in ("N", "eps"))
    n, few = int(widths[1]), int(widths[0])
    problems = {d: bounded_classes(d) for d in dimensions}
    wide = {d: rates(problems[d], "n", widths, t_end=t_end, replicas=replicas, chain=("ND", "PD"))
            for d in map(int, asked.numbers("wide_d"))}  # fmt: skip
    over_d = rates(problems[dimensions[0]], "d", dimensions, n=n, t_end=t_end, replicas=replicas, chain=("ND", "PD"))
    fine = {d: rates(problems[d], "step", steps, n=few, t_end=t_end, replicas=replicas, chain=("GD", "SGD"))
            for d in (dimensions[0], dimensions[-1])}  # fmt: skip
    products = np.concatenate([np.array(steps) * d for d in fine])
    gaps = np.concatenate([_gaps(found, "GD–SGD") for found in fine.values()])
    power, level = np.polyfit(np.log(products), np.log(gaps), 1)
    apart = np.log(gaps) - power * np.log(products) - level
    powers = [exponent(found, "ND–PD", "distance") for found in wide.values()]
    flat = _gaps(over_d, "ND–PD")
    growing = flat[0] * np.sqrt(np.array(dimensions) / dimensions[0])
    spots = np.sort(products)
    root = np.exp(np.mean(np.log(gaps / np.sqrt(products)))) * np.sqrt(spots)
    panels = (
        Panel("Width", "$N$", "distance of neurons and tracers", tuple(
            line for i, (d, found) in enumerate(wide.items())
            for line in drawn_rate(found, "ND–PD", "distance", -0.5, i, f"$d={d:g}$")
        ), "xy"),
        Panel(f"Dimension, $N={n}$", "$d$", "distance of neurons and tracers", (
            theory("does not grow", dimensions, np.full(len(dimensions), flat[0])),
            theory(r"$d^{1/2}$ would refute it", dimensions, growing, 1),
            measured("ND–PD", dimensions, flat),
        ), "xy"),
        Panel("Step", r"$\varepsilon d$", "distance of GD and SGD", (
            theory(r"$(\varepsilon d)^{1/2}$", spots, root),
            *(measured(f"$d={d}$", np.array(steps) * d, _gaps(found, "GD–SGD"), i + 1)
              for i, (d, found) in enumerate(fine.items())),
        ), "xy"),
    )  # fmt: skip
    worst = max(powers, key=lambda p: abs(p.value + 0.5))
    one = exponent(fine[dimensions[0]], "GD–SGD", "distance")
    return Outcome(
        {"width": worst, "dimension": exponent(over_d, "ND–PD", "distance"),
         "step": Measurement(float(power), one.error), "product": Measurement(float(np.max(np.abs(apart))))}, panels,
    )  # fmt: skip


def _gaps(found: Rates, part: str) -> np.ndarray:
    """Mean distances of a part at all x."""
    return found.dataset["gap"].sel(part=part, quantity="distance").values


WIDTH_AND_STEP = CatalogueEntry(
    "mmm19-width", "mmm19", "the width that is enough does not grow with d, and the step shrinks like 1/d",
    (
        Parameter("d", (20.0, 80.0, 320.0), "chosen", quick=(20.0, 40.0, 80.0)), Parameter("t_end", 0.5, "chosen"),
        Parameter("wide_d", (20.0, 80.0), "chosen", quick=(20.0,)),
        Parameter("N", (16.0, 32.0, 64.0, 128.0, 256.0), "chosen", quick=(8.0, 16.0, 32.0)),
        Parameter("eps", (0.0005, 0.001, 0.002), "chosen", quick=(0.002, 0.005, 0.01)),
        Parameter("replicas", 64, "chosen", quick=16),
    ),
    (
        rate_claim("width", "The gap falls like N^{−1/2} in every d: exponent that is farthest from it.",
                   "theorem 1, first term", -0.5),
        Claim("dimension", "At one N it does not grow with d: exponent.", "theorem 1, first term", TOLERANCE, "theory",
              "at most", 0.0, "theory has 0, and no power of d below 1/2", "growth like √d"),
        rate_claim("step", "The gap of samples grows like (εd)^{1/2}: exponent over all ε and d.",
                   "theorem 1, second term", 0.5),
        Claim("product", "and is a function of εd: largest distance of its logarithm from one line.",
              "theorem 1, second term", 0.2, "theory", "at most", 0.0,
              "without d, gaps at equal ε would be (1/2) log 4 = 0.7 apart, half of it on either side",
              "two lines for two d"),
    ),
    Seconds(40, 340), measure,
)  # fmt: skip
