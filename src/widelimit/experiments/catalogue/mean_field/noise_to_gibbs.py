"""Noisy SGD ends at the Gibbs law, whose energy is above the best by O(D/β).

    θ += 2ε [(y − f) ∇σ* − λθ] + √(4ε/β) g         ρ_* = exp(−β Ψ_λ(·; ρ_*))/Z
    E(ρ_*) − inf E = O(D/β),      E = ½R + (λ/2) ∫|θ|² dρ

inf E from below by the certificate of the coldest law, see widelimit.theory.noise.cooling. Samples add to the noise the
share ε β E (y − f)² σ'², about a hundredth here. Reference: [mmn18], Theorem 4 and the text on noisy SGD.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widelimit.dynamics.methods import SGD
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, bars, measured, theory
from widelimit.observables.density import binned_density
from widelimit.observables.moments import moment
from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.noise.cooling import cooling
from widelimit.theory.noise.gibbs import gibbs

BINS = 40


def measure(asked: Asked) -> Outcome:
    """Mean square and risk at the end over those of the Gibbs law, and the slope of the excess over D/β."""
    sigma = activations.ramp((0.5, -1.0), (1.5, 2.0))
    law = data.gaussian_classes(asked.count("d"), asked.number("delta"))
    start = initial.gaussian(asked.number("scale"))
    cold = Problem(law, neurons.ridge(sigma), start, ridge=asked.number("ridge"))
    noisy = replace(cold, beta=asked.number("beta"))
    end, seeds, t_end = gibbs(noisy), asked.count("seeds"), asked.number("t_end")
    method = SGD(asked.count("N"), asked.number("eps"))
    runs = solve(noisy, method, t_end, save=[t_end], replicas=seeds, observers={"square": moment("r", 2)},
                 store=asked.store)  # fmt: skip
    square = runs.dataset["square"].values[:, -1] / float(end.rho.mean(end.rho.column("r") ** 2))
    risk = runs.risk[:, -1] / end.risk
    found = cooling(cold, list(asked.numbers("betas")))
    cost = found.D / found.beta
    edges = np.linspace(0.0, 1.05 * float(runs.dataset["theta"].values[:, -1].max()), BINS + 1)
    heights = np.mean([binned_density(runs.replica(i).at(t_end), "r", edges) for i in range(seeds)], axis=0)
    own, density = end.density("r")
    line = found.excess[-1] * cost / cost[-1]
    panels = (
        Panel("Noisy SGD ends at the Gibbs law", "$r$", "density", (
            bars("SGD", edges, heights, 1), theory(r"$\rho_*$", (own[1:] + own[:-1]) / 2, density),
        )),
        Panel("What noise costs", r"$D/\beta$", r"$E(\rho_*)-\inf E$", (
            theory(r"$\propto D/\beta$", cost, line), measured("Gibbs law", cost, found.excess, 1),
        ), "xy"),
    )  # fmt: skip
    return Outcome(
        {"square": Measurement(float(square.mean()), float(square.std(ddof=1) / math.sqrt(seeds))),
         "risk": Measurement(float(risk.mean()), float(risk.std(ddof=1) / math.sqrt(seeds))),
         "cost": Measurement(found.exponent)}, panels,
    )  # fmt: skip


NOISE_TO_GIBBS = CatalogueEntry(
    "mmn18-gibbs", "mmn18", "noisy SGD ends at the Gibbs law, which costs O(D/β)",
    (
        Parameter("d", 10, "chosen"), Parameter("delta", 0.8, "chosen"), Parameter("scale", 0.8, "chosen"),
        Parameter("ridge", 0.5, "chosen"), Parameter("beta", 10.0, "chosen"),
        Parameter("N", 800, "chosen", quick=400), Parameter("eps", 2e-4, "chosen", quick=1e-3),
        Parameter("t_end", 5.0, "chosen", quick=3.0), Parameter("seeds", 8, "chosen"),
        Parameter("betas", tuple(float(b) for b in (30, 100, 300, 1000, 3000, 10000, 30000)), "chosen",
                  quick=(100.0, 1000.0, 3000.0, 10000.0)),
    ),
    (
        Claim("square", "SGD ends at the Gibbs law: E|w|² over that of ρ_*.", "Theorem 4", 1.0, "theory", "near", 0.05,
              "a fortieth for the neurons of one seed (√(2/d)/√N), a hundredth for samples and for the time left",
              "half the mean square: noise of half the variance"),
        Claim("risk", "and its risk there is that of ρ_*: the ratio.", "Theorem 4", 1.0, "theory", "near", 0.05,
              "as above", "another risk: noise of another strength"),
        Claim("cost", "E(ρ_*) − inf E falls like D/β: exponent.", "Theorem 4: R(ρ_*) ≤ inf R + CD/β", 1.0, "theory",
              "near", 0.1, "D/β and its root are five times as far apart", "the exponent 1/2"),
    ),
    Seconds(48, 340), measure,
)  # fmt: skip
