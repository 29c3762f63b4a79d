"""The driver of many runs of one shape: as widelimit.solving.driver, with every compiled call for all of them.

Each has the record it would have alone, up to rounding. One that diverges or gives up ends with its reason, and the
others go on.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from widelimit.solving.adaptive import SmoothPlan
from widelimit.solving.driver import (
    Request,
    attributes_of,
    checked_run,
    closing_advice,
    dataset_of,
    is_possible,
    times_of,
)
from widelimit.solving.protocol import NeuronView, Run, State
from widelimit.solving.recorder import OfNeurons, Saves
from widelimit.solving.resuming import Stand
from widelimit.solving.solution import Solution
from widelimit.solving.straying import Passage, Strayed, strayed
from widelimit.solving.streams import stream
from widelimit.solving.team import Team, at, stays

STEPS = ("step", "noise_step", "substeps")  # of a method: they decide the legs


def ready(request: Request) -> Run:
    """The dynamics of a request with its start."""
    settings = request.settings
    run = request.ready(request.method, request.problem, settings.seed, settings.replicas)
    return checked_run(request, run)


def shape_of(request: Request, run: Run) -> Hashable:
    """What runs must have in common to go together; None for one that goes alone."""
    plan, settings = run.plan, request.settings
    if plan is None or settings.replicas is not None or not isinstance(run.view, NeuronView):
        return None
    if plan.mapping == "shared" or (plan.land is not None and not stays(plan.land)):
        return None
    leg = next(plan.legs(0.0, settings.t_end), None)
    leaves, structure = jax.tree.flatten((leg, run.state, plan.keys, run.view.land, run.view.weights))
    shapes = tuple(getattr(leaf, "shape", ()) for leaf in leaves)
    steps = tuple(getattr(request.method, name, None) for name in STEPS)
    times = (tuple(times_of(settings, run)), settings.keep, request.problem.rates.jumps, tuple(request.observers))
    twin = None if run.twin is None else shape_of(request, replace(run.twin, twin=None))
    return type(request.method), structure, shapes, steps, times, isinstance(plan, SmoothPlan), twin


@dataclass
class _Member:
    """What is kept of one run: its record, how it ended, and the number of saves behind it."""

    request: Request
    run: Run
    book: OfNeurons
    outcome: str = "done"
    advice: str = ""
    last: State = None
    off: Strayed = field(default_factory=Strayed)

    def strayed_to(self, state: State, now: float, t: float) -> float:
        """How far its risk may have strayed at a later time."""
        passage = Passage(now, t, state, self.request.settings.t_end)
        self.off = strayed(self.request.problem, self.run, self.book, self.off, passage)
        return float(self.off.sum)

    @property
    def strays(self) -> bool:
        """Whether its slopes may be inexact."""
        return self.book.view.land.refinement.matters and not self.ended

    @property
    def ended(self) -> bool:
        return self.outcome != "done"


@dataclass(frozen=True)
class Ended:
    """A run that has ended: its numbers over time, and its record, which takes as long to make as a short run.

    spent   seconds, its share of all
    """

    _member: _Member
    _here: Stand
    spent: float

    @property
    def outcome(self) -> str:
        """See `Solution.outcome`."""
        return self._member.outcome

    @property
    def advice(self) -> str:
        """See `Solution.advice`."""
        return self._member.advice

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return np.array(self._member.book.saves.times)

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The risk, its error and everything observed, over time."""
        found = self._member.book.saves.scalars(0, (0,))
        return {name: np.asarray(values, float) for name, (_, values, _) in found.items()}

    def solution(self) -> Solution:
        """Its record, as `solve` returns it."""
        request, run, book = self._member.request, self._member.run, self._member.book
        about = attributes_of(request, self.outcome, self.advice)
        about |= {"notes": "; ".join(dict.fromkeys(run.notes)), "wall_time": self.spent}
        return Solution(dataset_of(book, self._here, about), request)


@dataclass
class _Twins:
    """Coarser or finer runs that go along, and how far their risks are from those of the runs."""

    team: Team
    state: State
    views: Sequence[NeuronView]
    times: float
    distance: np.ndarray

    def moved(self, now: float, t: float, risk: np.ndarray) -> np.ndarray:
        """The error they tell at a later time, (B,); NaN of a member whose twin gave up."""
        if t > now:
            self.state = self.team.advance(self.state, now, t)
        distance = self.times * np.abs(self.team.risks(self.views, self.state) - risk)
        away = np.maximum(distance, self.distance)
        self.distance = distance
        return np.where(self.team.alive, away, np.nan)


def drive_together(requests: Sequence[Request], runs: Sequence[Run]) -> list[Ended]:
    """Runs of one shape, made ready, from t = 0 to their ends."""
    began = time.perf_counter()
    members = [_member(request, run) for request, run in zip(requests, runs, strict=True)]
    views = [member.book.view for member in members]
    steady = _is_steady(requests, runs)
    team = Team(runs, np.ones(len(runs), bool), steady)
    twins, state, now = _twins(members, steady), team.start, 0.0
    for t in times_of(requests[0].settings, runs[0]):
        before, state = state, team.advance(state, now, t) if t > now else state
        risk = team.risks(views, state)
        _end_the_wild(team, members, (before, state), risk)
        if not team.alive.any():
            break
        error = team.errors(views, state) + (0.0 if twins is None else twins.moved(now, t, risk))
        error += np.array([run.unknown for run in runs])
        error += [member.strayed_to(at(state, b), now, t) if member.strays else 0.0 for b, member in enumerate(members)]
        kept = members[0].book.kept(np.asarray(views[0].theta(state)))
        for b in np.flatnonzero(team.alive):
            members[b].book.put(t, kept[b], risk[b], error[b])
        now = t
    spent, state = (time.perf_counter() - began) / len(runs), jax.tree.map(np.asarray, state)
    return [_ended(member, at(state, b), now, spent) for b, member in enumerate(members)]


def _member(request: Request, run: Run) -> _Member:
    view = replace(run.view, land=run.view.land.reporting(stream(request.settings.seed, "report")))
    assert isinstance(view, NeuronView)
    return _Member(request, run, OfNeurons(view, Saves(request.problem, request.settings.keep, request.observers)))


def _is_steady(requests: Sequence[Request], runs: Sequence[Run]) -> bool:
    """Whether flows without noise have constant mobilities and one clock."""
    problems = [request.problem for request in requests]
    same = all(problem.schedule == problems[0].schedule for problem in problems)
    return same and isinstance(runs[0].plan, SmoothPlan) and all(problem.rates.is_constant for problem in problems)


def _twins(members: Sequence[_Member], steady: bool) -> _Twins | None:
    runs = [member.run.twin for member in members if member.run.twin is not None]
    if not runs:
        return None
    views = []
    for member, run in zip(members, runs, strict=True):
        assert isinstance(run.view, NeuronView)
        views.append(replace(run.view, land=member.book.view.land))
    team = Team(runs, np.ones(len(runs), bool), steady)
    return _Twins(team, team.start, views, members[0].run.times, np.zeros(len(runs)))


def _end_the_wild(team: Team, members: Sequence[_Member], states: tuple[State, State], risk: np.ndarray) -> None:
    """End the members that gave up, or whose risk is not that of a run under way."""
    for b, member in enumerate(members):
        if member.ended:
            continue
        if b in team.gave_up:
            member.outcome, member.advice = "stopped", team.gave_up[b]
        elif not (member.book.saves.is_possible(risk[b]) or is_possible(member.book, at(states[1], b), risk[b])):
            member.outcome, member.advice = "diverged", member.run.advice
        else:
            continue
        member.last, team.alive[b] = at(states[0], b), False


def _ended(member: _Member, state: State, t: float, spent: float) -> Ended:
    if not member.ended:
        member.advice = closing_advice(member.request, member.run, member.book)
    here = Stand(member.last if member.ended else state, None, None, member.off, len(member.book.saves.times), t)
    return Ended(member, here, spent)
