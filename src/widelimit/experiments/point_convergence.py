"""How many points the mean-field limit needs: its error against a much finer solve, for both placements.

error(m) = max_t |R_m(t) − R_fine(t)| / R_fine(t)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.demo import TwoClasses
from widelimit.problem.problem import Problem

SETTINGS: dict[str, dict[str, Any]] = {
    "d = 320, Δ = 0.5, κ = 0.4 (mass stays together)": {"d": 320, "delta": 0.5, "scale": 0.4},
    "d = 40, Δ = 0.8, κ = 0.8 (mass splits in two)": {"d": 40, "delta": 0.8, "scale": 0.8},
}
COUNTS = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True)
class Convergence:
    """Error of one placement in one setting, for each number of points."""

    setting: str
    placement: str
    counts: tuple[int, ...]
    errors: tuple[float, ...]


def measure(counts: tuple[int, ...] = COUNTS, fine: int = 6400, t_end: float = 10.0) -> list[Convergence]:
    """The error of both placements in both settings."""
    rows = []
    for name, values in SETTINGS.items():
        problem = TwoClasses(**values).problem
        reference = _risk(problem, fine, "gauss", t_end)
        for placement in ("equal", "gauss"):
            risks = [_risk(problem, m, placement, t_end) for m in counts]
            errors = tuple(float(np.max(np.abs(r / reference - 1))) for r in risks)
            rows.append(Convergence(name, placement, tuple(counts), errors))
    return rows


def _risk(problem: Problem, points: int, placement: str, t_end: float) -> np.ndarray:
    """The risk with so tight a solver that only the points matter."""
    return solve(problem, MeanField(points, placement, 1e-10, 1e-12, check=False), t_end, save=21).risk


def draw(rows: list[Convergence]) -> Figure:
    """Error against the number of points, one panel for each setting."""
    names = list(dict.fromkeys(row.setting for row in rows))
    canvas = Figure(figsize=(10.0, 4.0), layout="constrained")
    panels = canvas.subplots(1, len(names), sharey=True, squeeze=False)[0]
    style = {"equal": ("o-", "#0072B2", "mid-quantiles"), "gauss": ("s--", "#D55E00", "Gauss nodes")}
    for axes, name in zip(panels, names, strict=True):
        for row in rows:
            if row.setting == name:
                line, colour, label = style[row.placement]
                axes.loglog(row.counts, np.maximum(row.errors, 1e-16), line, color=colour, label=label)
        axes.set(title=name, xlabel="number of points $m$")
        axes.set_xticks(rows[0].counts, labels=[str(m) for m in rows[0].counts])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
    panels[0].set_ylabel(r"$\max_t\,|R_m(t)-R_{\mathrm{fine}}(t)|\,/\,R_{\mathrm{fine}}(t)$")
    return canvas
