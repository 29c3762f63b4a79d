"""The radii of the neurons of SGD against the density of the reduced PDE.

    ∂_t ρ̄ = 2 ∂_r (ρ̄ ∂_r ψ(r; ρ̄)),     r = |w|,     histogram of r_1, …, r_N at time t = kε

    W_1(ρ^N, ρ̄_t) = ∫ |F_N − F_t| dr,      for N draws from ρ̄_t on average    ∫ √(2 F_t (1 − F_t)/(πN)) dr

The second is what a histogram of N neurons cannot be better than, and the unit of the first.
Reference: [mmn18], Fig. 1.
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import SGD, MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, bars, measured, theory
from widelimit.experiments.catalogue.two_gaussians import RAMP, two_gaussians
from widelimit.measures import Cloud, Measure
from widelimit.observables.density import binned_density, smooth_density
from widelimit.observables.distances import wasserstein
from widelimit.solving.solution import Solution

BINS, FINE = 50, 120
BETWEEN = 20  # saves of the risk


def measure(asked: Asked) -> Outcome:
    """Distances at the times of the figure in units of what N draws have, and the gap of the risk at all times."""
    shown, t_end = asked.numbers("times"), asked.numbers("times")[-1]
    times = sorted({0.0, *shown, *(float(t) for t in np.geomspace(t_end / 1000, t_end, BETWEEN))})
    problem = two_gaussians(asked.count("d"), asked.number("delta"), asked.number("scale"))
    limit = solve(problem, MeanField(), t_end, save=times)
    method, seeds = SGD(asked.count("N"), asked.number("eps")), asked.count("seeds")
    runs = solve(problem, method, t_end, save=times, replicas=seeds, store=asked.store)
    far = np.array([[_excess(runs.replica(i).at(t), limit.at(t)) for t in shown] for i in range(seeds)])
    mean, error = far.mean(axis=0), far.std(axis=0, ddof=1) / math.sqrt(seeds)
    risk, spread = runs.risk.mean(axis=0), runs.risk.std(axis=0, ddof=1) / math.sqrt(seeds)
    gap = np.abs(risk - limit.risk) / limit.risk[0]
    worst, at = int(np.argmax(mean)), int(np.argmax(gap))
    later = slice(1, None)  # the axis is logarithmic
    panels = (
        *(_histogram(runs.replica(0), limit, t) for t in shown),
        Panel("The risk follows", "$t$", "risk $R$", (
            theory("limit", times[1:], limit.risk[later]),
            measured("SGD", times[1:], risk[later], 1, spread[later]),
        ), "x"),
    )  # fmt: skip
    return Outcome(
        {"density": Measurement(float(mean[worst]), float(error[worst])),
         "risk": Measurement(float(gap[at]), float(spread[at] / limit.risk[0]))},
        panels, tuple(f"t = {t:g}: {m:.2f} ± {e:.2f} times what N draws have"
                      for t, m, e in zip(shown, mean, error, strict=True)),
    )  # fmt: skip


def _excess(network: Measure, limit: Measure) -> float:
    """W_1(ρ^N, ρ̄) over its mean for N independent draws."""
    assert isinstance(limit, Cloud)
    r = limit.column("r")
    order = np.argsort(r)
    below = np.cumsum(np.asarray(limit.weights)[order])[:-1]
    drawn = np.sqrt(2 * below * np.maximum(1 - below, 0.0) / (math.pi * network.n)) @ np.diff(r[order])
    return wasserstein(network, limit, 1) / float(drawn)


def _histogram(run: Solution, limit: Solution, t: float) -> Panel:
    one, other = run.at(t), limit.at(t)
    top = 1.05 * max(float(one.column("r").max()), float(other.column("r").max()))
    edges, fine = np.linspace(0.0, top, BINS + 1), np.linspace(0.0, top, FINE + 1)
    return Panel(f"$t={t:g}$", "$r$", "density", (
        bars("SGD", edges, binned_density(one, "r", edges), 1),
        theory("limit", (fine[1:] + fine[:-1]) / 2, smooth_density(other, "r", fine)),
    ))  # fmt: skip


RADIAL_DENSITY = CatalogueEntry(
    "mmn18-density", "mmn18", "the radii of the neurons have the density of the reduced PDE",
    (
        Parameter("d", 40, "sure"), Parameter("delta", 0.8, "sure"), Parameter("N", 800, "sure", quick=400),
        Parameter("eps", 1e-6, "sure", quick=1e-4), Parameter("scale", 0.8, "sure"),
        Parameter("activation", str(RAMP), "recalled"),
        Parameter("times", (0.001, 4.0, 10.0), "recalled", quick=(0.01, 1.0, 4.0)),
        Parameter("seeds", 2, "chosen"),
    ),
    (
        Claim("density", "The histogram is that of the limit: largest W_1(ρ^N, ρ̄_t) over that of N draws.", "Fig. 1",
              3.0, "theory", "at most", 0.0, "draws, interaction and steps are three errors, each allowed as much as "
              "the first, which is 1", "radii of another time: a clock that is wrong by two"),
        Claim("risk", "The risk follows the limit: largest |R_SGD − R|/R(0).", "Theorem 1", 0.05, "theory", "at most",
              0.0, "a twentieth of the first risk: the thickness of a symbol", "a risk that falls at another time"),
    ),
    Seconds(7, 520), measure,
)  # fmt: skip
