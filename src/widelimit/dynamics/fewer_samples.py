"""The error of descending on draws.

    a run     descends on M draws that stand for the law       its risk is off by δ_M,    δ_M ~ M^{−1/2}
    its twin  descends on M/2 others, from the same neurons                  by δ_{M/2}

Both risks are reported on the same fresh draw. The two sets are independent, so that their distance δ_M − δ_{M/2} has
three times the variance of δ_M; twice the distance is counted as the error, which covers δ_M in about 85 % of cases.
A data set is its own law and has no such error; nor has SGD, which draws anew at every step.
"""

from __future__ import annotations

from dataclasses import fields, replace

from widelimit.frozen import Value
from widelimit.potentials.sample_landscape import SampleLandscape
from widelimit.problem.problem import Problem
from widelimit.solving.driver import Ready
from widelimit.solving.protocol import Run

FEWEST = 4  # draws that can be halved
TIMES = 2.0


def beside_fewer_samples(ready: Ready) -> Ready:
    """The same dynamics, with a twin on half as many draws wherever draws stand for the law."""

    def both(method: Value, problem: Problem, seed: int, replicas: int | None) -> Run:
        run: Run = ready(method, problem, seed, replicas)
        land, law = run.view.land, problem.data
        drawn = isinstance(land, SampleLandscape) and land.data is not None
        if not drawn or law.samples < FEWEST or "samples" not in {f.name for f in fields(law)}:
            return run
        fewer = replace(problem, data=replace(law, samples=law.samples // 2))  # type: ignore[call-arg]
        other: Run = ready(method, fewer, seed, replicas)
        return replace(run, twin=other if other.twin is None else other.twin, times=TIMES)

    return both
