"""A width and a step with the evidence that they suffice, as `plan` returns it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widelimit.on_first_use import OnFirstUse

stats = OnFirstUse("scipy.stats")


class Stage(NamedTuple):
    """One stage of a plan: "pilot" or "verify", at a width and step, and how large the gap was there.

    gap      the quantile of sup_t |R_N − R| at the confidence
    width    the same of the width part alone, nan where the parts were not told apart
    rest     of the step part alone
    inside   share of the runs below the tolerance
    """

    kind: str
    n: int
    step: float
    gap: float
    width: float
    rest: float
    inside: float


@dataclass(frozen=True, eq=False)
class NetworkPlan:
    """A width and a step, with the evidence that they suffice.

    n, step      what to train: ``wl.SGD(n, step)``
    t_end        horizon T
    tolerance    of sup_t |R_N − R|
    confidence   wanted share of runs below it
    gaps         R_N(t) − R(t) of the fresh runs, (run, time)
    times        (time,)
    width_part   of the gap at the confidence, as the last pilot has it: R_PD − R
    step_part    R_SGD − R_PD
    error        how far a gap may be off: the limit is not known better
    seconds      of one such run on this machine, when many run side by side, compiling included
    stages       the pilots and verifications that led here

    >>> gaps = np.array([[0.0, 0.02], [0.0, -0.01]])
    >>> found = NetworkPlan(100, 0.01, 1.0, 0.05, 0.9, gaps, np.array([0.0, 1.0]), 0.03, 0.01, 0.0, 0.1, ())
    >>> found.inside, found.dominates, found.steps
    (1.0, 'width', 100)
    """

    n: int
    step: float
    t_end: float
    tolerance: float
    confidence: float
    gaps: np.ndarray
    times: np.ndarray
    width_part: float
    step_part: float
    error: float
    seconds: float
    stages: tuple[Stage, ...]

    @property
    def largest(self) -> np.ndarray:
        """sup_t |R_N − R| of every fresh run, (run,)."""
        return np.abs(self.gaps).max(axis=1)

    @property
    def inside(self) -> float:
        """Share of the fresh runs whose gap stays below the tolerance."""
        return float(np.mean(self.largest <= self.tolerance))

    @property
    def at_least(self) -> float:
        """A lower bound of the probability to stay below, at 95 % (Clopper and Pearson)."""
        runs = len(self.gaps)
        good = round(self.inside * runs)
        return float(stats.beta.ppf(0.05, good, runs - good + 1)) if good else 0.0

    @property
    def holds(self) -> bool:
        """Whether as many fresh runs as wanted stayed below the tolerance."""
        return self.inside >= self.confidence

    @property
    def dominates(self) -> str:
        """ "width" or "step": the larger part of the gap."""
        return "width" if self.width_part >= self.step_part else "step"

    @property
    def steps(self) -> int:
        """Steps of one run."""
        return math.ceil(self.t_end / self.step * (1 - 1e-12))

    @property
    def sentence(self) -> str:
        """The plan in one sentence."""
        runs = len(self.gaps)
        verb = "suffice" if self.holds else "do not suffice"
        return (
            f"n = {self.n} and step = {self.step:.3g} {verb}: {round(self.inside * runs)} of {runs} fresh runs stay "
            f"within {self.tolerance:g} of the limit up to t = {self.t_end:g} (largest gap {self.largest.max():.3g}), "
            f"{self.steps} steps and about {self.seconds:.2g} s each, compiling included; "
            f"the {self.dominates} dominates."
        )

    def table(self) -> list[dict[str, str | float]]:
        """The stages, one row each."""
        return [{**stage._asdict()} for stage in self.stages]

    def document(self) -> dict[str, object]:
        """Everything as numbers, for a file."""
        rows = [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in self.table()]
        numbers = {
            name: getattr(self, name)
            for name in ("n", "step", "t_end", "tolerance", "confidence", "width_part", "step_part", "error",
                         "seconds", "steps", "inside", "at_least", "holds", "dominates", "sentence")
        }  # fmt: skip
        return {**numbers, "times": self.times.tolist(), "largest": self.largest.tolist(), "stages": rows}

    def __repr__(self) -> str:
        return f"<NetworkPlan: {self.sentence}>"
