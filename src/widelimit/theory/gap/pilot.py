"""The gap of a network to the limit, measured at one width and step and carried over to others by known exponents.

    R_N(t) − R(t)   = [ R_PD(t) − R(t) ]           +  [ R_SGD(t) − R_PD(t) ]
    at (N_0, ε_0)   = m_w(t) + u_w(t)                 + m_s(t) + u_s(t)              m the mean, u what is left of a run
    at (N, ε)       ≈ m_w N_0/N + u_w √(N_0/N)        + m_s ε/ε_0 + u_s √(ε/ε_0)

    width part   bias of order 1/N, fluctuation of order N^(−1/2): of the draw of the neurons, and of their noise
    step part    bias of order ε (and ε d), fluctuation of order (ε d)^(1/2): of Euler's steps and of the samples

SGD and the particle flow PD of a run share their neurons, and with noise their Brownian paths, so that the difference
is the step alone. The two fluctuations are independent to first order: every width part may meet every step part, R²
pairs from R runs.  Reference: [mmm19].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from widelimit.dynamics.methods import SGD, ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution
from widelimit.theory.gap.coupling import Coupling
from widelimit.theory.gap.limit_method import limit_method

SAVES = 21  # times at which a gap is looked at


class Curves(NamedTuple):
    """Risks of some runs minus the risk of the limit, (run, time).

    gaps     of each run
    times    (time,)
    error    how far a gap may be off: that of the limit and of the risk of a network together
    scale    largest risk of the limit
    seconds  of one of the runs, compilation included
    outcome  "done", or why the runs ended
    """

    gaps: np.ndarray
    times: np.ndarray
    error: float
    scale: float
    seconds: float
    outcome: str


@dataclass(frozen=True, eq=False)
class PilotRuns:
    """What a few runs at one width and step say of other widths and steps.

    n, step      of the runs
    width        R_PD − R, (run, time)
    rest         R_SGD − R_PD, (run, time), the step part
    error        how far a gap may be off

    >>> one = PilotRuns(100, 0.01, np.array([[0.1], [-0.1]]), np.zeros((2, 1)), 0.0)
    >>> one.quantile(400, 0.01, 1.0)
    0.05
    """

    n: int
    step: float
    width: np.ndarray
    rest: np.ndarray
    error: float

    def width_part(self, n: float) -> np.ndarray:
        """R_PD − R of networks of n neurons, (run, time)."""
        return _scaled(self.width, self.n / n)

    def step_part(self, step: float) -> np.ndarray:
        """R_SGD − R_PD with another step, (run, time)."""
        return _scaled(self.rest, step / self.step)

    def quantile(self, n: float, step: float, probability: float) -> float:
        """The size that sup_t |R_N − R| keeps below with a probability."""
        return above(self.width_part(n)[:, None] + self.step_part(step), probability)

    def weighed(self, n: float, step: float, largest: np.ndarray) -> PilotRuns:
        """The pilot times a number, so that it foretells the mean square of sup_t |gap| that runs elsewhere had."""
        foretold = np.abs(self.width_part(n)[:, None] + self.step_part(step)).max(axis=-1)
        ratio = math.sqrt(float(np.mean(largest**2)) / max(float(np.mean(foretold**2)), 1e-300))
        return replace(self, width=ratio * self.width, rest=ratio * self.rest)


def above(gaps: np.ndarray, probability: float) -> float:
    """The quantile of sup_t |gap|, gaps (…, time)."""
    return float(np.quantile(np.abs(gaps).max(axis=-1), probability))


def _scaled(gaps: np.ndarray, ratio: float) -> np.ndarray:
    """m ratio + u √ratio."""
    mean = gaps.mean(axis=0)
    return mean * ratio + (gaps - mean) * np.sqrt(ratio)


@dataclass(frozen=True)
class Trials:
    """Runs of a problem beside its limit.

    points   that carry the limit, if not the usual number
    """

    problem: Problem
    t_end: float
    points: int | None
    progress: bool | None

    def fresh(self, n: int, step: float, runs: int, seed: int) -> Curves:
        """The gaps of SGD to the limit."""
        return self._beside_the_limit(n, step, runs, seed, together=False)[1]

    def pilot(self, n: int, step: float, runs: int, seed: int) -> PilotRuns | None:
        """SGD and the particle flow on one coupling; None if SGD diverges, or its gap exceeds the risk of the limit."""
        flow, sgd = self._beside_the_limit(n, step, runs, seed, together=True)
        if flow is None:
            return None
        return PilotRuns(n, step, flow.gaps, sgd.gaps - flow.gaps, max(flow.error, sgd.error))

    def _beside_the_limit(
        self, n: int, step: float, runs: int, seed: int, together: bool
    ) -> tuple[Curves | None, Curves]:
        """The gaps of the particle flow, if it is wanted on one coupling, and of SGD."""
        problem = self.problem.at_width(n)
        times = Coupling(n, step, self.t_end, save=SAVES).times
        sgd = self._solved(problem, SGD(n, step, stepwise=together and problem.is_noisy), runs, seed, times)
        limit = self._limit(step, times)
        found = _curves(sgd, limit, runs)
        if not together or sgd.outcome != "done" or above(found.gaps, 0.5) > found.scale:
            return None, found
        flow = self._solved(problem, ParticleFlow(n, noise_step=step), runs, seed, times)
        return _curves(flow, limit, runs), found

    def _limit(self, step: float, times: list[float]) -> Solution:
        method = limit_method(self.problem, self.points, step)
        return solve(self.problem, method, self.t_end, save=times, progress=self.progress)

    def _solved(
        self, problem: Problem, method: SGD | ParticleFlow, runs: int, seed: int, times: list[float]
    ) -> Solution:
        return solve(problem, method, self.t_end, seed=seed, save=times, replicas=runs, progress=self.progress,
                     throw=False)  # fmt: skip


def _curves(runs: Solution, limit: Solution, count: int) -> Curves:
    """The gaps of runs to the limit, at the times they reached."""
    reached = len(runs.times)
    error = float(np.max(limit.error)) + float(np.max(runs.error, initial=0.0))
    gaps = runs.risk - limit.risk[:reached]
    return Curves(
        gaps, runs.times, error, float(np.max(limit.risk)), runs.dataset.attrs["wall_time"] / count, runs.outcome
    )
