"""Predicting failure: from a narrow start training is stuck, from a wider one it learns, and the limit tells both.

    w ~ N(0, κ²/d I),  κ = 0.1 or 0.4,      σ with a dip: −2.5 to t = 0, −4 at 0.5, 7.5 from 1.5 on

The step: ε d L² = 0.2 in the quick form, L = 11.5 the slope of σ, so that the noise of SGD is small beside its drift;
at 4 networks leave the stuck state by noise. The gap to the limit is linear in it: 0.07 R(0) at 0.4, from both starts.
Reference: [mmn18], Fig. 4: risk against time, and mean |w| in the inset.
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import SGD, MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.two_gaussians import DIP, two_gaussians
from widelimit.observables.moments import moment

STARTS = {"narrow": 0.1, "wide": 0.4}
TIMES = 21


def measure(asked: Asked) -> Outcome:
    """Networks and limit from both starts."""
    risks: list[DrawnLine] = []
    lengths: list[DrawnLine] = []
    found: dict[str, Measurement] = {}
    ends: dict[str, Measurement] = {}
    t_end = asked.number("t_end")
    times = [0.0, *(float(t) for t in np.geomspace(t_end / 100, t_end, TIMES))]
    for colour, (name, scale) in enumerate(STARTS.items()):
        problem = two_gaussians(asked.count("d"), asked.number("delta"), scale, DIP)
        watched = {"length": moment("r")}
        limit = solve(problem, MeanField(), t_end, save=times, observers=watched)
        method = SGD(asked.count("N"), asked.number("eps"))
        seeds = asked.count("seeds")
        runs = solve(problem, method, t_end, save=times, observers=watched, replicas=seeds, store=asked.store)
        mean, error = runs.risk.mean(axis=0), runs.risk.std(axis=0, ddof=1) / math.sqrt(len(runs.risk))
        gap = np.abs(mean - limit.risk) / limit.risk[0]
        worst = int(np.argmax(gap))
        found[f"{name} follows"] = Measurement(float(gap[worst]), float(error[worst] / limit.risk[0]))
        ends[name] = Measurement(float(mean[-1]), float(error[-1]))
        label = rf"$\kappa={scale:g}$"
        r, r_limit = runs.dataset["length"].values.mean(axis=0), limit.dataset["length"].values
        t, later = times[1:], slice(1, None)  # the axis is logarithmic
        risks += [theory(f"limit, {label}", t, limit.risk[later], colour),
                  measured(f"SGD, {label}", t, mean[later], colour, error[later])]  # fmt: skip
        lengths += [theory(f"limit, {label}", t, r_limit[later], colour),
                    measured(f"SGD, {label}", t, r[later], colour)]  # fmt: skip
    found["failure"] = ratio(ends["narrow"], ends["wide"])
    panels = (Panel("Predicting failure", "$t$", "risk $R$", tuple(risks), "x"),
              Panel("Inset of the figure", "$t$", r"mean $|w|$", tuple(lengths), "x"))  # fmt: skip
    return Outcome(found, panels)


def ratio(one: Measurement, other: Measurement) -> Measurement:
    """A quotient with its standard error."""
    value = one.value / other.value
    return Measurement(value, abs(value) * math.hypot(one.error / one.value, other.error / other.value))


def _follows(name: str, scale: float, falsifier: str) -> Claim:
    sentence = f"SGD from κ = {scale:g} follows the limit: largest |R_SGD − R|/R(0)."
    return Claim(f"{name} follows", sentence, "Fig. 4", 0.05, "theory", "at most", 0.0,
                 "a twentieth of the first risk: the thickness of a symbol", falsifier)  # fmt: skip


PREDICTING_FAILURE = CatalogueEntry(
    "mmn18-failure", "mmn18", "a narrow start is stuck, a wider one learns, and the limit predicts both",
    (
        Parameter("d", 320, "sure"), Parameter("delta", 0.5, "sure"), Parameter("N", 800, "sure", quick=200),
        Parameter("activation", str(DIP), "recalled"), Parameter("eps", 2e-6, "chosen", quick=5e-6),
        Parameter("t_end", 2.0, "chosen", quick=0.3), Parameter("seeds", 4, "chosen", quick=2),
    ),
    (
        Claim("failure", "The narrow start ends at a larger risk than the wide one, by a factor of two or more.",
              "Fig. 4", 2.0, "recalled", "at least", 0.0, "a factor of two is seen in a figure",
              "both starts learn, or both are stuck"),
        _follows("narrow", 0.1, "networks that leave the stuck state while the limit stays"),
        _follows("wide", 0.4, "networks that learn at another time than the limit"),
    ),
    Seconds(23, 770), measure,
)  # fmt: skip
