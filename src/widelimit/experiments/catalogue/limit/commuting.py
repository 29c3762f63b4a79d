"""Sampling and evolving commute as N → ∞.

    draw N neurons from ρ_0 and let them evolve     or     let ρ_0 evolve and draw N neurons from ρ_t

Mean risks differ from R by O(1/N). A single network is off by N^{−1/2}, to first order by a sum over its draws, whose
mean is known:

    R_N = E R_N + Σ_k β_k z_k + …,      z_k = (1/N) Σ_i √(2k+1) P_k(2u_i − 1),     u_i = F_0(r_i) uniform,  E z_k = 0

P_k are Legendre's polynomials, F_0 the law of |w| at the start. β by least squares over the networks takes this part
out; what is left is of second order, as large as the mean that is asked for. References: [mmn18], propagation of
chaos; widelimit.theory.gap.commutation.
"""

from __future__ import annotations

import numpy as np
from scipy.special import eval_legendre, gammainc

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.predicting_failure import ratio
from widelimit.experiments.catalogue.two_gaussians import two_gaussians
from widelimit.solving.solution import Solution
from widelimit.theory.gap.commutation import ROUTES

SCALE = 0.8
DEGREES = np.arange(1, 9)


def measure(asked: Asked) -> Outcome:
    """The excess N (E R_N − R) of both routes at the end, at the largest N over that at the smallest."""
    problem = two_gaussians(asked.count("d"), 0.5, SCALE)
    widths, t_end = np.array(asked.numbers("N")), asked.number("t_end")
    limit = float(solve(problem, MeanField(), t_end, save=2).risk[-1])
    lines: list[DrawnLine] = []
    found: dict[str, Measurement] = {}
    for colour, (route, kind) in enumerate(ROUTES.items()):
        runs = [solve(problem, kind(int(n), "reduced"), t_end, seed=colour, replicas=asked.count("replicas"), save=2)
                for n in widths]  # fmt: skip
        means = [mean_without_draws(run.risk[:, -1], _levels(run, asked.count("d"))) for run in runs]
        gap, error = np.array([mean.value - limit for mean in means]), np.array([mean.error for mean in means])
        last, first = (Measurement(float(widths[i] * gap[i]), float(widths[i] * error[i])) for i in (-1, 0))
        found[route] = ratio(last, first)
        lines += [theory("$1/N$" if colour == 0 else "", widths, np.abs(gap[-1]) * widths[-1] / widths, colour),
                  measured(route, widths, np.abs(gap), colour, error)]  # fmt: skip
    panel = Panel("Two routes to $N$ neurons", "$N$", r"$|\mathbf{E}R_N-R|$", tuple(lines), "xy")
    return Outcome(found, (panel,))


def _levels(run: Solution, d: int) -> np.ndarray:
    """u = F_0(r) of the neurons at the start, (networks, N): d r²/κ² has the law χ² with d degrees."""
    r = run.dataset["theta"].sel(coordinate="r").isel(time=0).values
    return gammainc(d / 2, d * (r / SCALE) ** 2 / 2)


def mean_without_draws(risks: np.ndarray, u: np.ndarray) -> Measurement:
    """E R_N from the risks (networks,) and the levels (networks, N) of the draws they began with.

    >>> u = np.random.default_rng(0).uniform(size=(50, 4))
    >>> mean_without_draws(3.0 + (2 * u - 1).mean(axis=1), u).error < 1e-12
    True
    """
    z = [np.sqrt(2 * k + 1) * eval_legendre(k, 2 * u - 1).mean(axis=1) for k in DEGREES]
    design = np.stack([np.ones(len(risks)), *z], axis=1)
    fit = np.linalg.lstsq(design, risks, rcond=None)[0]
    variance = np.sum((risks - design @ fit) ** 2) / (len(risks) - design.shape[1])
    return Measurement(float(fit[0]), float(np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0])))


def _route(name: str) -> Claim:
    return Claim(name, f"{name.capitalize()}: N (E R_N − R) tends to a number, the largest N over the smallest.",
                 "propagation of chaos", 1.0, "theory", "near", 0.5,
                 "the next order is 1/N of this; N^{−1/2} would make it 2 or more",
                 "an excess of another power of N")  # fmt: skip


COMMUTING = CatalogueEntry(
    "sampling-and-evolving", "mmn18", "sampling and evolving commute as N grows",
    (
        Parameter("N", (5.0, 10.0, 20.0, 40.0), "chosen", quick=(5.0, 20.0)), Parameter("d", 20, "chosen"),
        Parameter("t_end", 1.0, "chosen"), Parameter("replicas", 2000, "chosen", quick=256),
    ),
    tuple(map(_route, ROUTES)), Seconds(50, 300), measure,
)  # fmt: skip
