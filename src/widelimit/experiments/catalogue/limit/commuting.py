"""Sampling and evolving commute as N → ∞.

    draw N neurons from ρ_0 and let them evolve     or     let ρ_0 evolve and draw N neurons from ρ_t

Mean risks differ by O(1/N); N Var of ∫χ dρ tends to a number for both, not the same one, because neurons that interact
share their fluctuations. Reference: [mmn18], propagation of chaos; widelimit.theory.gap.commutation.
"""

from __future__ import annotations

import numpy as np

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.predicting_failure import ratio
from widelimit.experiments.catalogue.two_gaussians import two_gaussians
from widelimit.theory.gap.commutation import commute

ROUTES = ("sample then evolve", "evolve then sample")


def measure(asked: Asked) -> Outcome:
    """The excess N (E R_N − R) of both routes at the end, at the largest N over that at the smallest."""
    problem = two_gaussians(asked.count("d"), 0.5, 0.8)
    widths, t_end = np.array(asked.numbers("N")), asked.number("t_end")
    limit = float(solve(problem, MeanField(), t_end, save=2).risk[-1])
    both = [commute(problem, int(n), t_end, replicas=asked.count("replicas"), save=2) for n in widths]
    lines: list[DrawnLine] = []
    found: dict[str, Measurement] = {}
    for colour, route in enumerate(ROUTES):
        ends = [one.sel(route=route, statistic="risk").isel(time=-1) for one in both]
        gap = np.array([float(end["mean"]) - limit for end in ends])
        error = np.array([np.sqrt(float(end["n_var"]) / n / asked.count("replicas"))
                          for end, n in zip(ends, widths, strict=True)])  # fmt: skip
        scaled = widths * gap
        last, first = (Measurement(float(scaled[i]), float(widths[i] * error[i])) for i in (-1, 0))
        found[route] = ratio(last, first)
        lines += [theory("$1/N$" if colour == 0 else "", widths, np.abs(gap[-1]) * widths[-1] / widths, colour),
                  measured(route, widths, np.abs(gap), colour, error)]  # fmt: skip
    panel = Panel("Two routes to $N$ neurons", "$N$", r"$|\mathbf{E}R_N-R|$", tuple(lines), "xy")
    return Outcome(found, (panel,))


def _route(name: str) -> Claim:
    return Claim(name, f"{name.capitalize()}: N (E R_N − R) tends to a number, the largest N over the smallest.",
                 "propagation of chaos", 1.0, "theory", "near", 0.5,
                 "the next order is 1/N of this; N^{−1/2} would make it 2 or more",
                 "an excess of another power of N")  # fmt: skip


COMMUTING = CatalogueEntry(
    "sampling-and-evolving", "mmn18", "sampling and evolving commute as N grows",
    (
        Parameter("N", (5.0, 10.0, 20.0, 40.0), "chosen", quick=(5.0, 20.0)), Parameter("d", 20, "chosen"),
        Parameter("t_end", 1.0, "chosen"), Parameter("replicas", 2000, "chosen", quick=200),
    ),
    tuple(map(_route, ROUTES)), Seconds(12, 60), measure,
)  # fmt: skip
