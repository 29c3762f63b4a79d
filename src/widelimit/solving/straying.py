"""How far the risk of a run may be off because its path is: the slopes it follows are not exact.

    δR(t) = ∫_0^t δR' ξ dt,     δR' = Σ_i p_i ⟨4 M |∇Ψ|, |δ∇Ψ|⟩        widelimit.potentials.slope_errors

to first order, by the trapezoidal rule over the saves, or over OFTEN of them: δR' costs as much as many steps. It is 0
for whoever follows exact slopes, or none, as SGD.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widelimit.problem.problem import Problem
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Recorder

OFTEN = 10  # stretches of the clock, at least, at whose ends δR' is measured


class Strayed(NamedTuple):
    """How far a risk may have strayed because slopes were not exact, numbers or (R,).

    rate     per unit of the clock, as it was last measured
    sum      up to the last save
    waited   clock since the rate was measured
    """

    rate: np.ndarray | float = 0.0
    sum: np.ndarray | float = 0.0
    waited: float = 0.0

    def waits(self, stretch: float) -> Strayed:
        """After a stretch of the clock, at whose end the rate is taken to be the same."""
        return Strayed(self.rate, self.sum + stretch * self.rate, self.waited + stretch)

    def moved(self, rate: np.ndarray | float, stretch: float) -> Strayed:
        """After a stretch of the clock, at whose end the rate is known."""
        then = self.waits(stretch)
        return Strayed(rate, then.sum + then.waited / 2 * (rate - self.rate))


class Passage(NamedTuple):
    """From the time of one save to that of the next, the state there, and the time at which the run ends."""

    start: float
    stop: float
    state: State
    end: float


def strayed(problem: Problem, run: Run, book: Recorder, before: Strayed, passage: Passage) -> Strayed:
    """How far the risk of a run may have strayed after the passage from one save to the next."""
    if run.slopes is None:
        return before
    (start, stop, state, end), columns, clock = passage, book.view.columns, problem.schedule.integral
    stretch = clock(stop) - clock(start) if stop > start else 0.0
    if start < stop < end and before.waited + stretch < clock(end) / OFTEN:
        return before.waits(stretch)
    of_blocks = [float(problem.rates.at(block, stop)) for block in columns.blocks]
    return before.moved(book.straying(state, np.repeat(of_blocks, columns.sizes), run.slopes), stretch)
