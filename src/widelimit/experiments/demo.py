"""The main job on one page: two Gaussian classes, SGD against its mean-field limit.

By default the setting of the first figure of [mmn18] with a larger step: d = 40, Δ = 0.8, N = 800 neurons started at
N(0, 0.8²/d I), where the mass splits in two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widelimit.dynamics.methods import SGD, MeanField
from widelimit.dynamics.solve import solve
from widelimit.errors import require, require_positive
from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

SAVES = 41


@dataclass(frozen=True)
class TwoClasses:
    """Two Gaussian classes that differ in variance, learnt by plain neurons.

    scale   κ of the start w ~ N(0, κ²/d I)
    start   the neurons themselves instead, (n, d)
    """

    d: float = 40
    delta: float = 0.8
    informative: float | None = None
    activation: str = "ramp"
    scale: float = 0.8
    start: np.ndarray | None = None

    @property
    def problem(self) -> Problem:
        """The problem."""
        return Problem(
            data.gaussian_classes(self.d, self.delta, self.informative),
            neurons.ridge(activations.activation(self.activation)),
            initial.gaussian(self.scale) if self.start is None else initial.array(self.start),
        )


@dataclass(frozen=True)
class Demo:
    """SGD and its limit on one problem."""

    problem: Problem
    finite: SGD
    t_end: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("t_end", self.t_end, "10.0")

    def run_finite(self) -> Solution:
        """The finite network."""
        return solve(self.problem, self.finite, self.t_end, seed=self.seed, save=SAVES)

    def run_limit(self, finite: Solution) -> Solution:
        """The limit, at the times of the finite network."""
        times = [float(t) for t in finite.times]
        return solve(self.problem, MeanField(), times[-1], seed=self.seed, save=times)


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
            "sgd_error": float(finite.error[i]),
            "pde_error": float(limit.error[i]),
            "gap_error": float(finite.error[i] + limit.error[i]),
        }
        for i in chosen
    ]
