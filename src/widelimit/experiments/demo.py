"""The main job on one page: two Gaussian classes, SGD against its mean-field limit.

By default the setting of the first figure of [mmn18] with a larger step: d = 40, Δ = 0.8, N = 800 neurons started at
N(0, 0.8²/d I), where the mass splits in two. Stating it needs no JAX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from widelimit.dynamics.methods import SGD, MeanField
from widelimit.dynamics.solve import solve
from widelimit.errors import require, require_positive
from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

SAVES = 41


@dataclass(frozen=True)
class Demo:
    """A problem with its two methods and horizon."""

    problem: Problem
    finite: SGD
    limit: MeanField
    t_end: float
    seed: int


def two_classes(
    d: float = 40, delta: float = 0.8, informative: float | None = None, activation: str = "ramp", scale: float = 0.8,
    start: Any = None, n: int = 800, step: float = 1e-4, points: int = 400, t_end: float = 10.0, seed: int = 0,
) -> Demo:  # fmt: skip
    """State the demo; ``start`` is an explicit array of neurons instead of N(0, scale²/d I)."""
    require_positive("t_end", t_end, "10.0")
    problem = Problem(
        data.gaussian_classes(d, delta, informative),
        neurons.ridge(activations.activation(activation)),
        initial.gaussian(scale) if start is None else initial.array(start),
    )
    return Demo(problem, SGD(n, step), MeanField(points), t_end, seed)


def run_finite(demo: Demo) -> Solution:
    """The finite network."""
    return solve(demo.problem, demo.finite, demo.t_end, seed=demo.seed, save=SAVES)


def run_limit(demo: Demo, finite: Solution) -> Solution:
    """The limit, at the times of the finite network."""
    return solve(demo.problem, demo.limit, float(finite.times[-1]), seed=demo.seed, save=list(finite.times))


def table(finite: Solution, limit: Solution, rows: int = 11) -> list[dict[str, float]]:
    """t, risk of SGD, risk of the limit, and the gap at up to ``rows`` saved times."""
    require(list(finite.times) == list(limit.times), "both must be saved at the same times", len(limit.times), "rerun")
    count = len(finite.times)
    chosen = sorted({round(i * (count - 1) / (rows - 1)) for i in range(rows)})
    return [
        {
            "t": float(finite.times[i]),
            "sgd": float(finite.risk[i]),
            "pde": float(limit.risk[i]),
            "gap": float(finite.risk[i] - limit.risk[i]),
        }
        for i in chosen
    ]
