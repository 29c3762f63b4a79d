"""A phase diagram of training: how far the tangent kernel moves, by the scale exponent and the width.

    f = m^{−γ} Σ_j a_j relu(⟨w_j, x⟩),   a_j, w_j ~ N(0, 1) in pairs:     α = m^{1−γ}

    ‖K_T − K_0‖/‖K_0‖ ~ m^S:   S = γ − 1 for every γ, by counting powers of m: a w must change by m^{γ−1} each
    γ < 1 lazy (S < 0),   γ = 1 critical (S = 0),   γ > 1 condensed (S > 0)

Below γ = 1 the kernel changes in proportion to θ, which moves by m^{γ−1}; above it θ grows by m^{(γ−1)/2}, and K is
quadratic in it. Reference: [lxm21], with equal sizes of both layers (γ' = 0).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.repeats import errors_over, power_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.ntk import ntk

PHASES = {"lazy": 0.5, "critical": 1.0, "condensed": 1.5}


def measure(asked: Asked) -> Outcome:
    """Movement of the kernel against m for several γ, and its power against γ."""
    widths, exponents, seeds = asked.numbers("m"), asked.numbers("gamma"), asked.count("seeds")
    lines: list[DrawnLine] = []
    powers = []
    for colour, gamma in enumerate(exponents):
        runs = np.array([[asked.part(f"{gamma:g}-{m:g}-{seed}", partial(_one, asked, gamma, int(m), seed))
                          for m in widths] for seed in range(seeds)])  # fmt: skip
        moved = runs[..., 0]
        powers.append((power_over(widths, moved), float(runs[..., 1].max())))
        lines.append(measured(rf"$\gamma={gamma:g}$", widths, moved.mean(axis=0), colour, errors_over(moved)))
    found = [p for p, _ in powers]
    of = dict(zip(exponents, found, strict=True))
    grid = np.linspace(min(exponents), max(exponents), 21)
    diagram = (theory(r"$\gamma-1$", grid, grid - 1), measured("kernel", exponents, [p.value for p in found], 1,
               [p.error for p in found]))  # fmt: skip
    note = f"largest share of the risk that was left at the end: {max(risk for _, risk in powers):.2g}"
    return Outcome(
        {name: of[gamma] for name, gamma in PHASES.items()},
        (Panel("Movement of the kernel", "neurons $m$", r"$\|K_T-K_0\|/\|K_0\|$", tuple(lines), "xy"),
         Panel("Phases", r"scale exponent $\gamma$", "power $S$ of $m$", diagram)), (note,),
    )  # fmt: skip


def _one(asked: Asked, gamma: float, m: int, seed: int) -> list[float]:
    """‖K_T − K_0‖/‖K_0‖, and what is left of the risk."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(asked.count("rows"), asked.count("d")))
    law = data.empirical(x, np.sin(2 * x[:, 0]) + x[:, 1])
    start = initial.paired(initial.gaussian(asked.count("d") ** 0.5, a=initial.normal()))
    problem = Problem(law, neurons.ridge("relu", "trained"), start, alpha=float(m) ** (1 - gamma))
    flow = ParticleFlow(m, rtol=1e-5, atol=1e-7, stiff=False)
    run = solve(problem, flow, asked.number("t_end"), save=2, keep="full", seed=seed)
    before, after = (ntk(problem, x, rho=theta).matrix for theta in run.dataset["theta"].values)
    return [float(np.linalg.norm(after - before) / np.linalg.norm(before)), float(run.risk[-1] / run.risk[0])]


PHASE_DIAGRAM = CatalogueEntry(
    "lxm21-phases", "lxm21", "lazy, critical and condensed training, by the scale exponent",
    (
        Parameter("gamma", (0.5, 0.75, 1.0, 1.25, 1.5), "recalled", quick=(0.5, 1.0, 1.5)),
        Parameter("m", (32.0, 128.0, 512.0, 2048.0), "chosen", quick=(32.0, 128.0, 512.0)),
        Parameter("d", 2, "chosen"), Parameter("rows", 10, "chosen"), Parameter("t_end", 50.0, "chosen", quick=20.0),
        Parameter("seeds", 4, "chosen", quick=2),
    ),
    (
        Claim("lazy", "γ = 1/2: the kernel moves less the wider the network, the power S of m.", "phase diagram", -0.5,
              "theory", "near", 0.15, "widths are finite: corrections of relative order m^{−1/2}", "S = 0"),
        Claim("critical", "γ = 1: it moves by as much at every width.", "phase diagram", 0.0, "recalled", "near", 0.15,
              "as above", "a movement that falls or grows like a root of m"),
        Claim("condensed", "γ = 3/2: it moves more the wider the network.", "phase diagram", 0.2, "recalled",
              "at least", 0.0, "half way to 0.5, less what corrections may take", "S = 0, or a movement that falls"),
    ),
    Seconds(15, 600), measure,
    deviations=("the kernel instead of the inner weights; rows and labels of our own",),
)  # fmt: skip
