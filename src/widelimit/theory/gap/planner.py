"""How wide, and how small a step? The cheapest network whose risk stays near that of the limit.

    P( sup_{t ≤ T} |R_N(t) − R(t)| ≤ tolerance ) ≥ confidence,      cost = N T/ε → min

1. Pilot   a few runs at a small width and a large step; known exponents carry them over (widelimit.theory.gap.pilot).
2. Choose  the cheapest (N, ε) on a grid of ratios that should do, and pilot nearer to it until the choice stays.
3. Verify  by fresh runs, of other seeds. How large their gaps are, beside what was foretold, weighs the pilot anew; if
           too few stay below the tolerance, or the choice now looks wasteful, others verify another one.

The choice aims at a failure rate of (1 − confidence)/3: a plan right at the confidence would fail half of its tests.
The supremum is over 21 times. The fluctuations of width and step add in squares, so that at the cheapest choice they
are about equal; "what dominates" is the larger part of the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from widelimit.arguments import instance_of, require_flag, require_seed
from widelimit.errors import (
    Diverged,
    InputError,
    is_finite,
    is_whole,
    require,
    require_count,
    require_keywords,
    require_positive,
)
from widelimit.problem.initial import Explicit
from widelimit.problem.problem import Problem
from widelimit.theory.gap.network_plan import NetworkPlan, Stage
from widelimit.theory.gap.pilot import Curves, PilotRuns, Trials, above

FIRST_WIDTH, FEWEST, MOST = 64, 4, 2**14  # neurons
SMALLEST = 2.0**-22  # step, as a share of the horizon
LARGER = 4.0  # step that may be tried, in units of one that has been seen to work
WIDTHS, STEPS = 2**0.5, 2**0.125  # ratios of the grid: every width is compiled for itself, steps are not
PILOTS, ROUNDS, ATTEMPTS = 16, 5, 5
NEAR = (4.0, 1.5)  # ratios of widths and of steps over which a pilot is carried
SHARE = 1 / 3  # of the failures allowed that the choice aims at
TIGHTER = 0.9  # factor of the target after a choice that failed
WASTE = 1.5  # ratio of costs from which on a plan that holds is given up for a cheaper one
FLOOR = 2.0  # times the error of a gap, which a tolerance must exceed


class PlanOptions(TypedDict, total=False):
    """What may be asked of a plan by keyword, see `plan`."""

    runs: int
    seed: int
    points: int | None
    progress: bool | None


def plan(
    problem: Problem, tolerance: float, confidence: float, t_end: float, **options: Unpack[PlanOptions]
) -> NetworkPlan:
    """The cheapest width and step whose risk stays within a tolerance of the limit's, found by pilots and verified.

    tolerance    of sup_t |R_N − R|
    confidence   the share of runs that must stay below it, such as 0.95
    t_end        horizon

    and by keyword

    runs         fresh runs that verify the plan (40)
    seed         of the pilots; fresh runs have seeds of their own (0)
    points       that carry the limit, as in `compare`
    progress     bars on stderr; by default if it is a terminal

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(4, 0.8), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0))
    >>> wl.plan(problem, 0.2, 0.9, 0.1, runs=10).holds  # doctest: +SKIP
    True
    """
    instance_of(Problem, problem, "plan", "build one first")
    require_keywords(options, PlanOptions.__annotations__)
    runs, seed, points = options.get("runs", 40), options.get("seed", 0), options.get("points")
    require_positive("tolerance", tolerance, "0.02")
    good = is_finite(confidence) and 0 < confidence < 1
    require(good, "confidence must be a number between 0 and 1", confidence, "try confidence=0.95")
    require_positive("t_end", t_end, "1.0")
    good = is_whole(runs) and runs >= 2
    require(good, "runs must be a whole number of at least 2", runs, "try runs=40")
    require_seed(seed)
    require_flag("progress", options.get("progress"), None)
    if points is not None:
        require_count("points", points, "400")
    require(math.isfinite(problem.data.d), "a plan is for finite networks and needs a finite d", problem.data.d,
            "choose a finite d")  # fmt: skip
    require(not isinstance(problem.initial, Explicit), "a plan chooses the width and needs a start of any width",
            problem.initial, "use a law such as wl.initial.gaussian(1.0)")  # fmt: skip
    trials = Trials(problem, float(t_end), points, options.get("progress"))
    return _Planner(trials, float(tolerance), float(confidence), runs, seed).found()


def aimed(confidence: float) -> float:
    """The probability that a choice aims at."""
    return 1 - SHARE * (1 - confidence)


class _Choice(NamedTuple):
    n: int
    step: float


@dataclass(frozen=True)
class _Planner:
    """The search for a plan."""

    trials: Trials
    tolerance: float
    confidence: float
    runs: int
    seed: int

    @property
    def aim(self) -> float:
        """The probability that the choice aims at."""
        return aimed(self.confidence)

    def found(self) -> NetworkPlan:
        """Pilot, choose, verify."""
        stages: list[Stage] = []
        seeds = self._seeds()
        pilot = self._first(seeds)
        self._require_reachable(pilot)
        target = self.tolerance
        for _ in range(ROUNDS):
            stages.append(self._told("pilot", pilot))
            choice, here = self._cheapest(pilot, target), _Choice(pilot.n, pilot.step)
            wide, fine = (max(a / b, b / a) <= near for a, b, near in zip(choice, here, NEAR, strict=True))
            if wide and fine:
                break
            pilot = self._at(choice._replace(n=pilot.n if wide else choice.n), pilot, seeds)
        return self._verified(pilot, target, stages, seeds)

    def _verified(self, pilot: PilotRuns, target: float, stages: list[Stage], seeds: Iterator[int]) -> NetworkPlan:
        """The plan of a choice that fresh runs confirm and do not find wasteful, or the last that was confirmed."""
        tried: list[NetworkPlan] = []
        for _ in range(ATTEMPTS):
            choice = self._cheapest(pilot, target)
            curves = self.trials.fresh(*choice, self.runs, next(seeds))
            if curves.outcome != "done":
                target *= TIGHTER
                continue
            tried.append(self._plan(choice, pilot, curves, stages))
            found = tried[-1]
            pilot = pilot.weighed(*choice, found.largest)
            if not found.holds:
                target *= TIGHTER
                continue
            better = self._cheapest(pilot, target)
            if choice.n / choice.step <= WASTE * better.n / better.step:
                break
        if not tried:
            raise Diverged(f"SGD diverged at every step down to {choice.step:.2g} with {choice.n} neurons.", None)
        return next((found for found in reversed(tried) if found.holds), max(tried, key=lambda found: found.inside))

    def _plan(self, choice: _Choice, pilot: PilotRuns, curves: Curves, stages: list[Stage]) -> NetworkPlan:
        """A choice with the gaps of its fresh runs, which become the last of the stages."""
        width, rest = (
            above(part, self.confidence) for part in (pilot.width_part(choice.n), pilot.step_part(choice.step))
        )
        inside = float(np.mean(np.abs(curves.gaps).max(axis=1) <= self.tolerance))
        gap = above(curves.gaps, self.confidence)
        stages.append(Stage("verify", choice.n, choice.step, gap, math.nan, math.nan, inside))
        return NetworkPlan(
            choice.n, choice.step, self.trials.t_end, self.tolerance, self.confidence, curves.gaps, curves.times,
            width, rest, curves.error, curves.seconds, tuple(stages),
        )  # fmt: skip

    def _told(self, kind: str, pilot: PilotRuns) -> Stage:
        gaps = pilot.width + pilot.rest
        gap, width, rest = (above(part, self.confidence) for part in (gaps, pilot.width, pilot.rest))
        inside = float(np.mean(np.abs(gaps).max(axis=-1) <= self.tolerance))
        return Stage(kind, pilot.n, pilot.step, gap, width, rest, inside)

    def _seeds(self) -> Iterator[int]:
        """Seeds of the pilots and of the fresh runs, all different."""
        return (int(s) for s in iter(np.random.default_rng(self.seed).integers(2**32, size=1000)))

    def _first(self, seeds: Iterator[int]) -> PilotRuns:
        """A pilot at a small width and a step at which nothing diverges."""
        t_end, parameters = self.trials.t_end, self.trials.problem.D
        step = min(t_end / 16, 1 / (8 * parameters))
        while step > SMALLEST * t_end:
            pilot = self.trials.pilot(FIRST_WIDTH, step, PILOTS, next(seeds))
            if pilot is not None:
                return pilot
            step /= 4
        raise Diverged(f"SGD of {FIRST_WIDTH} neurons diverged at every step down to {step:.2g}.", None)

    def _at(self, choice: _Choice, before: PilotRuns, seeds: Iterator[int]) -> PilotRuns:
        """The pilot at a choice, or at a smaller step if that diverges."""
        n, step = choice
        while True:
            found = self.trials.pilot(n, step, PILOTS, next(seeds))
            if found is not None:
                self._require_reachable(found)
                return found
            step = min(step / 2, before.step)

    def _require_reachable(self, pilot: PilotRuns) -> None:
        """Refuse a tolerance below what is known of the limit."""
        floor = FLOOR * pilot.error
        if self.tolerance <= floor:
            raise InputError(
                f"tolerance must exceed {floor:.2g}, twice the error of the risk of the limit, got {self.tolerance:g}: "
                "raise it, or give the limit more points."
            )

    def _cheapest(self, pilot: PilotRuns, target: float) -> _Choice:
        """The width and the step of least cost N/ε whose gap should stay below the target."""
        finest = SMALLEST * self.trials.t_end
        coarsest = min(LARGER * pilot.step, self.trials.t_end / 4)
        best: _Choice | None = None
        for n in _geometric(FEWEST, MOST):
            if best is not None and n / coarsest >= best.n / best.step:
                break  # no step makes a wider network cheaper
            step = self._largest_step(pilot, n, (finest, coarsest), target)
            if step is not None and (best is None or n / step < best.n / best.step):
                best = _Choice(n, step)
        if best is not None:
            return best
        width = above(pilot.width_part(MOST), self.aim)
        part, left = ("width", width) if width > target else ("step", pilot.quantile(MOST, finest, self.aim))
        most = f"{MOST} neurons leave" if part == "width" else f"a step of {finest:.2g} leaves"
        raise InputError(
            f"tolerance must be within reach of {MOST} neurons and steps of {finest:.2g}, got {self.tolerance:g}: the "
            f"floor is the {part}, {most} a gap of about {left:.2g}."
        )

    def _largest_step(self, pilot: PilotRuns, n: int, ends: tuple[float, float], target: float) -> float | None:
        """The largest step on the grid that should do for a width, None if none does."""
        finest, coarsest = ends
        if pilot.quantile(n, finest, self.aim) > target:
            return None
        low, high = 0, math.ceil(math.log(coarsest / finest, STEPS))  # coarsest STEPS^(−high) does
        while low < high:
            middle = (low + high) // 2
            fits = pilot.quantile(n, coarsest * STEPS**-middle, self.aim) <= target
            low, high = (low, middle) if fits else (middle + 1, high)
        return coarsest * STEPS**-low


def _geometric(first: int, last: int) -> list[int]:
    """Even widths, each about WIDTHS times the one before."""
    count = math.floor(math.log(last / first, WIDTHS) + 1e-9)
    return list(dict.fromkeys(2 * round(first * WIDTHS**i / 2) for i in range(count + 1)))
