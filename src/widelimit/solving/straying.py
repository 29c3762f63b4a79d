"""How far the risk of a run may be off because its path is: the slopes it follows are not exact.

    δR(t) = ∫_0^t δR' ξ dt,     δR' = Σ_i p_i ⟨4 M |∇Ψ|, |δ∇Ψ|⟩        widelimit.potentials.slope_errors

to first order, by the trapezoidal rule over the saves. It is 0 for whoever follows exact slopes, or none, as SGD.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widelimit.problem.problem import Problem
from widelimit.solving.protocol import Run, State
from widelimit.solving.recorder import Recorder


class Strayed(NamedTuple):
    """How far a risk may have strayed because slopes were not exact, numbers or (R,).

    rate   per unit of the clock, at the last save
    sum    up to there
    """

    rate: np.ndarray | float = 0.0
    sum: np.ndarray | float = 0.0

    def moved(self, rate: np.ndarray | float, stretch: float) -> Strayed:
        """After a stretch of the clock, at whose end the rate is known."""
        return Strayed(rate, self.sum + stretch / 2 * (self.rate + rate))


class Passage(NamedTuple):
    """From the time of one save to that of the next, and the state there."""

    start: float
    stop: float
    state: State


def strayed(problem: Problem, run: Run, book: Recorder, before: Strayed, passage: Passage) -> Strayed:
    """How far the risk of a run may have strayed after the passage from one save to the next."""
    if run.slopes is None:
        return before
    (start, stop, state), columns, clock = passage, book.view.columns, problem.schedule.integral
    of_blocks = [float(problem.rates.at(block, stop)) for block in columns.blocks]
    rate = book.straying(state, np.repeat(of_blocks, columns.sizes), run.slopes)
    return before.moved(rate, clock(stop) - clock(start) if stop > start else 0.0)
