"""The five dynamics on two Gaussian classes: where the gap between SGD and the PDE comes from.

By default the setting of the demo, where the mass splits in two, with fewer neurons and a shorter horizon.
"""

from __future__ import annotations

from dataclasses import dataclass

from widelimit.errors import require_count
from widelimit.experiments.demo import two_classes
from widelimit.problem.problem import Problem
from widelimit.theory.coupling import Comparison, compare


@dataclass(frozen=True)
class Setting:
    """A problem with the width, step, horizon and replicas of its comparison."""

    problem: Problem
    n: int
    step: float
    t_end: float
    seed: int
    replicas: int | None


def setting(
    d: float = 40, delta: float = 0.8, informative: float | None = None, activation: str = "ramp", scale: float = 0.8,
    n: int = 200, step: float = 1e-3, t_end: float = 1.0, seed: int = 0, replicas: int | None = None,
) -> Setting:  # fmt: skip
    """State the comparison; needs no JAX."""
    demo = two_classes(d, delta, informative, activation, scale, None, n, step, 400, t_end, seed)
    if replicas is not None:
        require_count("replicas", replicas, "8")
    return Setting(demo.problem, n, step, t_end, seed, replicas)


def run(chosen: Setting) -> Comparison:
    """Run it."""
    return compare(
        chosen.problem, chosen.n, chosen.step, chosen.t_end, seed=chosen.seed, replicas=chosen.replicas
    )  # fmt: skip
