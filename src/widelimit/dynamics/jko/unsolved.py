"""Steps of minimising movements whose minimum was not found: a run says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from widelimit.solving.recorder import Recorder


@dataclass
class Unsolved:
    """How many steps there were, and what the record says of them.

    notes   of the run, one at the first of them
    """

    count: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, end: float) -> None:
        """One more step, which ends at a time."""
        self.count += 1
        if self.count == 1:
            self.notes.append(f"no minimum was found in the step to t = {end:.3g}")

    def remark(self, _: Recorder) -> str:
        """What to say of a run that is done."""
        if not self.count:
            return ""
        steps = "one step" if self.count == 1 else f"{self.count} steps"
        return f"no minimum was found in {steps}, so that the run may be off by more than its error: try a smaller step"
