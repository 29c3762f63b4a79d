"""Which scheme solves a flow: the explicit one, or the implicit one of stiff flows.

    h Λ > LIMITED      the explicit scheme is held back by its stability, not by its error
    h   mean step,     Λ   the fastest rate of the flow, the largest |eigenvalue| of ∂velocity/∂y

A flow is solved explicitly. Where a thousand steps are not enough and stability is what holds them back, or very many
are still to go, the implicit scheme takes over, if what is left is worth a trial of it; if its steps turn out not to be
longer by more than they cost it hands back for a while.
``stiff=False`` keeps to the explicit scheme. ``stiff=True`` begins with the implicit one, which hands over if its steps
are not longer than explicit ones at the edge of stability, STABLE/Λ, by more than they cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jax import Array

from widelimit.errors import require
from widelimit.potentials.landscape import Landscape

if TYPE_CHECKING:
    from widelimit.solving.adaptive import Midway, Solver

STEPS_PER_CALL = {False: 1000, True: 100}  # explicit, implicit
STABLE = 3.3  # hΛ up to which Tsit5 is stable
LIMITED = 2.0
MANY = 20_000  # steps still to go at which the implicit scheme is tried whatever holds the explicit one back
MOST_COUPLED = 3000


class Choices(NamedTuple):
    """What a `SchemeChoice` goes on with, in its words."""

    stiff: bool
    open: bool
    pace: float
    waits: int
    pause: int
    step: Array | float


@dataclass
class SchemeChoice:
    """Which scheme a run is solved by at the moment.

    stiff   whether the implicit one
    open    whether that may still change
    pace    mean step of the explicit scheme when it was held back, 0 if it was not
    waits   calls before the scheme is judged: the first of the implicit one, which resolves what relaxes at once, and
            some of the explicit one after a trial in vain
    pause   how many these are after the next trial in vain
    notes   what the record says of it
    steps   taken so far
    cost    of an implicit step, in explicit ones
    midway  where in a leg it pauses, or shall go on
    step    how long the next step is to be, of every replica; 0 if it is not known yet
    """

    stiff: bool = False
    open: bool = False
    pace: float = 0.0
    waits: int = 0
    pause: int = 4
    notes: list[str] = field(default_factory=list)
    steps: int = 0
    cost: float = 4.0
    midway: Midway | None = None
    step: Array | float = 0.0

    @classmethod
    def of(cls, solver: Solver, land: Landscape, n: int) -> SchemeChoice:
        """The one a run of n neurons begins with."""
        coupled = land.coupled(n)
        few = coupled <= MOST_COUPLED
        wanted = f"stiff=True needs neurons coupled through at most {MOST_COUPLED} numbers (features, or n D)"
        require(few or not solver.stiff, wanted, coupled, "use coordinates='reduced', or drop stiff")
        begins = bool(solver.stiff)
        return cls(begins, few and solver.stiff is not False, waits=int(begins), cost=land.implicit_cost(n))

    def recall(self) -> Choices:
        """The choice at the moment."""
        return Choices(self.stiff, self.open, self.pace, self.waits, self.pause, self.step)

    def restore(self, choices: Choices) -> None:
        """Go on with an earlier choice."""
        self.stiff, self.open, self.pace, self.waits, self.pause, self.step = choices

    def reconsider(self, pace: float, rate: float, left: float, end: float) -> None:
        """Change hands, in the leg that ends at a time, if the steps of the last call suggest it."""
        worth = left > STEPS_PER_CALL[True] * self.cost * pace  # what a trial costs
        if self.waits:
            self.waits -= 1
        elif self.stiff and pace * rate < self.cost * (self.pace * rate or STABLE):
            self.stiff, self.waits, self.pause = False, self.pause, 2 * self.pause
            self.notes.append(f"not stiff enough: the explicit one again before t = {end:.3g}")
        elif not self.stiff and worth and (pace * rate > LIMITED or left > MANY * pace):
            self.stiff, self.pace = True, pace
            self.notes.append(f"stiff: the implicit solver from before t = {end:.3g} on")
