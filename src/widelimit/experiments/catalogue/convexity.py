"""The risk is convex along mixtures of networks, and not along the way neurons move.

    R((1 − s)ρ + sρ')            a parabola that opens upwards, slope 2 ∫Ψ(·; ρ) d(ρ' − ρ) at s = 0
    R of the W_2 geodesic        may rise over a barrier

ρ is one atom where training is stuck, ρ' the best network with |w| ≤ 4. References: [mmn18], [cb18].
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, theory
from widelimit.experiments.catalogue.two_gaussians import DIP, two_gaussians
from widelimit.potentials.landscapes import landscape
from widelimit.theory.fixed_points.minimise import minimise
from widelimit.theory.fixed_points.two_geometries import two_geometries


def measure(asked: Asked) -> Outcome:
    """R along both ways, and the slope by a second route."""
    problem = two_gaussians(math.inf, asked.number("delta"), 0.1, DIP)
    stuck = np.array([[asked.number("stuck_r")]])
    best = minimise(problem, within={"w": asked.number("within_w")}, points=256).rho
    found = two_geometries(problem, stuck, best, asked.count("points"))
    curvature, slope, _ = np.polyfit(found.s, found.mixture, 2)
    land = landscape(problem, reduced=True)
    psi = [np.asarray(land.psi(theta, stuck)) for theta in (best.theta, stuck)]
    exact = 2 * (float(best.mean(psi[0])) - float(psi[1][0]))
    panel = Panel("Two ways to a better network", "$s$", "risk $R$", (
        theory("along mixtures", found.s, found.mixture), theory("neurons move", found.s, found.displacement, 1),
    ))  # fmt: skip
    return Outcome(
        {"parabola": Measurement(float(curvature)), "slope": Measurement(float(slope), theory=exact),
         "barrier": Measurement(found.barrier)}, (panel,),
    )  # fmt: skip


CONVEXITY = CatalogueEntry(
    "convexity-two-geometries", "cb18", "convex along mixtures, a barrier along transport",
    (
        Parameter("delta", 0.5, "chosen"), Parameter("stuck_r", 0.1, "chosen"), Parameter("within_w", 4.0, "chosen"),
        Parameter("points", 201, "chosen", quick=51),
    ),
    (
        Claim("parabola", "Along mixtures the risk is convex.", "risk quadratic in ρ, with a positive kernel", 0.0,
              "theory", "at least", 0.0, "a square cannot be negative", "a negative curvature"),
        Claim("slope", "Along mixtures it starts with the slope 2 ∫Ψ d(ρ' − ρ).", "first variation of R", None,
              "theory", "near", 1e-6, "both are exact up to rounding and the rules of integration",
              "another slope: Ψ would not be half the first variation"),
        Claim("barrier", "Along transport there is a barrier, by 0.01 or more.", "remarks on convexity", 0.01,
              "theory", "at least", 0.0, "a hundredth of the risk of f = 0 would be seen in a figure",
              "a risk that does not rise"),
    ),
    Seconds(6, 12), measure,
)  # fmt: skip
