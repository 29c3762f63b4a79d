"""The risk of SGD at convergence against Δ, beside the best single atom and the best network of any width.

    R(δ_{r*}) = min_r R(δ_r),     inf R over all measures,     the threshold Δ_d below which they are the same

Below Δ_d one atom is optimal and its certificate closes, above it does not; Δ_∞ is about 0.47, and beyond it
inf R = 0 at d = ∞. The step: ε d L² = 0.4 with L = 10 the slope of the ramp, so that the noise of SGD is small beside
its drift; at 4 networks stay above the single atom. The horizon: the limit itself is above inf R by 0.034
(Δ = 0.8) at t = 50, by 0.018 at t = 100, and by 0.019 (Δ = 0.6) at t = 20; the quick form has the Δ where it is
soonest. Reference: [mmn18], Fig. 2.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from widelimit.dynamics.methods import SGD
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, published, theory
from widelimit.experiments.catalogue.two_gaussians import RAMP, two_gaussians
from widelimit.theory.fixed_points.minimise import minimise

POINTS = 256  # of the search for neurons; in one radius the certificate is a theorem whatever they are
CLOSED = 1e-6  # gap of an atom that is optimal; beyond the threshold it opens like the distance from it
NEAR = 1e-3  # how well the threshold is found
START = 0.8  # κ, and the contrast at which the last two claims are read
FAR = 0.8


def measure(asked: Asked) -> Outcome:
    """Both curves, the threshold, and networks at a few Δ."""
    d = asked.count("d")
    grid = asked.numbers("deltas")
    best, single = (np.array([_lowest(asked, d, delta, atoms) for delta in grid]) for atoms in (None, 1))
    threshold = asked.part("threshold", lambda: _threshold(math.inf))
    trained = asked.numbers("sgd_deltas")
    runs = np.array([asked.part(f"sgd-{delta:g}", partial(_trained, asked, delta)) for delta in trained])
    mean, error = runs.mean(axis=1), runs.std(axis=1, ddof=1) / math.sqrt(runs.shape[1])
    excess = mean - np.array([_lowest(asked, d, delta, None) for delta in trained])
    worst = int(np.argmax(np.abs(excess)))
    at_infinity = _lowest(asked, math.inf, FAR, None)
    alone = _lowest(asked, d, FAR, 1) - _lowest(asked, d, FAR, None)
    panel = Panel(f"Risk at convergence, $d={d}$", r"$\Delta$", "risk $R$", (
        theory(r"$\inf R$", grid, best), theory("best single atom", grid, single, 1),
        measured("SGD", trained, mean, 2, error), published(r"$\Delta_\infty$, recalled", [0.47, 0.47], [0.0, 0.6]),
    ))  # fmt: skip
    return Outcome(
        {"threshold": Measurement(float(threshold)),  # type: ignore[arg-type]
         "sgd": Measurement(float(abs(excess[worst])), float(error[worst])),
         "infimum": Measurement(at_infinity), "atom": Measurement(alone)}, (panel,),
    )  # fmt: skip


def _lowest(asked: Asked, d: float, delta: float, atoms: int | None) -> float:
    def compute() -> float:
        return minimise(two_gaussians(d, delta, START), tolerance=1e-7, atoms=atoms, points=POINTS).risk

    return float(asked.part(f"lowest-{d}-{delta:g}-{atoms}", compute))  # type: ignore[arg-type]


def _threshold(d: float) -> float:
    """Where the certificate of the best atom opens, by bisection."""
    low, high = 0.3, 0.7
    while high - low > NEAR:
        middle = (low + high) / 2
        found = minimise(two_gaussians(d, middle, START), atoms=1, points=POINTS)
        low, high = (middle, high) if found.gap < CLOSED else (low, middle)
    return (low + high) / 2


def _trained(asked: Asked, delta: float) -> list:
    """The last risk of every network."""
    method, t_end = SGD(asked.count("N"), asked.number("eps")), asked.number("t_end")
    problem = two_gaussians(asked.count("d"), delta, START)
    run = solve(problem, method, t_end, save=[t_end], replicas=asked.count("seeds"), store=asked.store)
    return run.risk[:, -1].tolist()


RISK_AT_CONVERGENCE = CatalogueEntry(
    "mmn18-risk", "mmn18", "risk at convergence against Δ, with the best atom, the best network, and the threshold",
    (
        Parameter("d", 40, "recalled"), Parameter("N", 800, "recalled", quick=400),
        Parameter("activation", str(RAMP), "recalled"), Parameter("eps", 1e-4, "chosen"),
        Parameter("deltas", tuple(i / 20 for i in range(2, 18)), "chosen", quick=(0.2, 0.4, 0.6, 0.8)),
        Parameter("sgd_deltas", tuple(i / 10 for i in range(1, 9)), "chosen", quick=(0.2, 0.6)),
        Parameter("t_end", 100.0, "chosen", quick=20.0), Parameter("seeds", 4, "chosen", quick=2),
    ),
    (
        Claim("threshold", "At d = ∞ one atom is best up to Δ_∞.", "Fig. 2 and its text", 0.47, "recalled", "near",
              0.01, "recalled to two digits", "a certificate that closes at 0.5, or is open at 0.45"),
        Claim("sgd", "SGD reaches the global minimum: largest |R_SGD − inf R| over Δ.", "Fig. 2", 0.05, "theory",
              "at most", 0.0, "about the size of a + in the figure, whose risks go from 0 to 1",
              "networks that stay at the single atom, or above it"),
        Claim("infimum", "At d = ∞ and Δ = 0.8, beyond the threshold, inf R = 0.", "text", 1e-5, "recalled",
              "at most", 0.0, "a limit: the minimiser stops at a gap of 1e−7", "a positive infimum"),
        Claim("atom", "At Δ = 0.8 one atom is not optimal: R(δ_{r*}) − inf R.", "Fig. 2", 0.05, "recalled",
              "at least", 0.0, "the size of a symbol", "one curve instead of two"),
    ),
    Seconds(45, 900), measure,
)  # fmt: skip
