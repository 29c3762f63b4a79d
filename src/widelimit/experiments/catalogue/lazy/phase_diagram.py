"""A phase diagram of training: how far neurons and kernel move, by the scale exponent and the width.

    f = m^{−γ} Σ_j a_j relu(⟨w_j, x⟩),   a_j, w_j ~ N(0, 1) in pairs:     α = m^{1−γ}

    |θ_T − θ_0|/|θ_0| ~ m^S:    S = γ − 1 (γ ≤ 1),  (γ − 1)/2 (γ ≥ 1)       to change f by a number of order one
    γ < 1 lazy (S < 0),   γ = 1 critical (S = 0),   γ > 1 condensed (S > 0)

The kernel K moves by m^{2(γ−1)} in the lazy phase: what is of first order in θ − θ_0 is odd in a and cancels. Above
γ = 1 it is quadratic in θ, m^{γ−1}. Reference: [lxm21], with equal sizes of both layers (γ' = 0).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from widelimit.dynamics.methods import GD
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
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
    rates: dict[float, Measurement] = {}
    kernels: dict[float, Measurement] = {}
    left = 0.0
    for colour, gamma in enumerate(exponents):
        runs = np.array([[asked.part(f"{gamma:g}-{m:g}-{seed}", partial(_one, asked, gamma, int(m), seed))
                          for m in widths] for seed in range(seeds)])  # fmt: skip
        moved, kernel, risk = np.moveaxis(runs, -1, 0)
        rates[gamma], kernels[gamma] = power_over(widths, moved), power_over(widths, kernel)
        left = max(left, float(risk.max()))
        lines.append(measured(rf"$\gamma={gamma:g}$", widths, moved.mean(axis=0), colour, errors_over(moved)))
    grid = np.linspace(min(exponents), max(exponents), 21)
    diagram = [theory("neurons, counted", grid, np.where(grid < 1, grid - 1, (grid - 1) / 2)),
               theory("kernel, counted", grid, np.where(grid < 1, 2 * (grid - 1), grid - 1), 1)]  # fmt: skip
    for colour, (name, powers) in enumerate((("neurons", rates), ("kernel", kernels))):
        found = [powers[gamma] for gamma in exponents]
        diagram.append(measured(name, exponents, [p.value for p in found], colour, [p.error for p in found]))
    return Outcome(
        {**{name: rates[gamma] for name, gamma in PHASES.items()}, "kernel": kernels[PHASES["lazy"]]},
        (Panel("Movement of the neurons", "neurons $m$", r"$|\theta_T-\theta_0|/|\theta_0|$", tuple(lines), "xy"),
         Panel("Phases", r"scale exponent $\gamma$", "power of $m$", tuple(diagram))),
        (f"largest share of the risk that was left at the end: {left:.2g}",),
    )  # fmt: skip


def _one(asked: Asked, gamma: float, m: int, seed: int) -> list[float]:
    """|θ_T − θ_0|/|θ_0|, ‖K_T − K_0‖/‖K_0‖, and what is left of the risk."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(asked.count("rows"), asked.count("d")))
    law = data.empirical(x, np.sin(2 * x[:, 0]) + x[:, 1])
    start = initial.paired(initial.gaussian(asked.count("d") ** 0.5, a=initial.normal()))
    problem = Problem(law, neurons.ridge("relu", "trained"), start, alpha=float(m) ** (1 - gamma))
    run = solve(problem, GD(m, asked.number("eps")), asked.number("t_end"), save=2, keep="full", seed=seed)
    first, last = run.dataset["theta"].values
    before, after = (ntk(problem, x, rho=theta).matrix for theta in (first, last))
    shares = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in ((first, last), (before, after))]
    return [*map(float, shares), float(run.risk[-1] / run.risk[0])]


PHASE_DIAGRAM = CatalogueEntry(
    "lxm21-phases", "lxm21", "lazy, critical and condensed training, by the scale exponent",
    (
        Parameter("gamma", (0.5, 0.75, 1.0, 1.25, 1.5), "recalled", quick=(0.5, 1.0, 1.5)),
        Parameter("m", (32.0, 128.0, 512.0, 2048.0), "chosen", quick=(32.0, 128.0, 512.0)),
        Parameter("d", 2, "chosen"), Parameter("rows", 10, "chosen"), Parameter("t_end", 40.0, "chosen", quick=20.0),
        Parameter("eps", 2e-3, "chosen"), Parameter("seeds", 4, "chosen", quick=2),
    ),
    (
        Claim("lazy", "γ = 1/2: the wider the network the less it moves, the power of m.", "phase diagram", -0.5,
              "theory", "near", 0.15, "widths are finite: corrections of relative order m^{−1/2}", "S = 0"),
        Claim("critical", "γ = 1: it moves by as much at every width.", "phase diagram", 0.0, "recalled", "near", 0.15,
              "as above", "a movement that falls or grows like a root of m"),
        Claim("condensed", "γ = 3/2: the wider the network the more it moves.", "phase diagram", 0.1, "recalled",
              "at least", 0.0, "half way to 1/4, less what corrections may take", "S = 0, or a movement that falls"),
        Claim("kernel", "γ = 1/2: the kernel moves like 1/m.", "counting powers", -1.0, "theory", "near", 0.3,
              "kinks of ReLU count as half an order", "m^{−1/2}: a first order that does not cancel"),
    ),
    Seconds(16, 240), measure,
    deviations=("rows and labels of our own",),
)  # fmt: skip
