"""What is learnt when: the distance to the target, component by component, over time.

    R(ρ_t) = Σ_α (ŷ_α − f̂_α(t))² + rest(t) + noise²         α up to a degree

    ŷ_α, f̂_α   target (component), coefficient (component, time)      widelimit.observables.components
    ‖P_k (f* − f_t)‖² = Σ_{|α| = k} (ŷ_α − f̂_α)²                       by_degree (degree, time)
    rest        higher degrees, and what f has in directions that the target does not see

Learning time t_α of a component: the first at which f̂_α is a given share of ŷ_α. Growth: f̂_α(t) ~ t^p near t = 0.
Steps: between t_α and the next learning time the risk tends to rest at

    level = noise² + Σ (level at which (ŷ_β − f̂_β)² rests at first),   β learnt after α

which it reaches where the time scales are far apart; how near it came is told beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from widelimit.errors import is_finite, is_whole, require, require_known
from widelimit.frozen import public_names
from widelimit.observables.components import components
from widelimit.solving.solution import Solution
from widelimit.theory.gap.rates import slope
from widelimit.theory.learning.plateaus import FEWEST, FLAT, RATIO, Plateau, plateaus

NOTHING = 1e-12  # of all that the target has: a component below it is no part of the target


class LearningStep(NamedTuple):
    """A step of the risk: a component is learnt at ``start``, the next one at ``end``.

    level   where the risk rests between them if that is long enough: what the later components hold
    risk    where it was flattest between them

    >>> LearningStep("z1", 0.1, 0.5, 1.0, 0.98).level
    1.0
    """

    component: str
    start: float
    end: float
    level: float
    risk: float


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves:
    """Components of a run over time; ``dataset`` has target, coefficient, gap, rest and risk.

    >>> import widelimit as wl
    >>> cube = wl.data.hypercube(float("inf"), "z1 + z1*z2")
    >>> problem = wl.Problem(cube, wl.neurons.ridge("x + x**2", outer="fixed"), wl.initial.gaussian(1.0, a=1.0))
    >>> curves = wl.learning_curves(wl.solve(problem, wl.MeanField(points=1, check=False), t_end=1.0, save=21))
    >>> curves.names
    ('1', 'z1', 'z2', 'z1*z2')
    """

    dataset: xr.Dataset

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return tuple(str(name) for name in self.dataset["component"].values)

    @property
    def times(self) -> np.ndarray:
        """Save times, (time,)."""
        return self.dataset["time"].values

    @property
    def by_degree(self) -> xr.DataArray:
        """‖P_k (f* − f_t)‖² for every degree k, (degree, time)."""
        return self.dataset["gap"].groupby("degree").sum()

    @property
    def in_target(self) -> tuple[str, ...]:
        """The components that the target has."""
        target = self.dataset["target"].values
        seen = np.abs(target) > NOTHING * math.sqrt(float(target @ target))
        return tuple(name for name, kept in zip(self.names, seen, strict=True) if kept)

    def learning_time(self, component: str, share: float = 0.5) -> float:
        """The first time at which f̂_α is at a share of ŷ_α, between saves by a straight line; infinite if never."""
        require_known("component of the target", component, self.in_target)
        require(is_finite(share) and 0 < share <= 1, "share must be a number in (0, 1]", share, "try share=0.5")
        one = self.dataset.sel(component=component)
        done = one["coefficient"].values / float(one["target"]) - share
        if done[0] >= 0:
            return float(self.times[0])
        after = int(np.argmax(done >= 0))
        if after == 0:
            return math.inf
        part = done[after - 1] / (done[after - 1] - done[after])
        return float(self.times[after - 1] + part * (self.times[after] - self.times[after - 1]))

    @property
    def learning_times(self) -> dict[str, float]:
        """When half of each component of the target was learnt, in the order of learning."""
        found = {name: self.learning_time(name) for name in self.in_target}
        return dict(sorted(found.items(), key=lambda entry: entry[1]))

    def growth(self, component: str, start: float, end: float) -> float:
        """p of |f̂_α| ~ t^p between two times, by least squares of the logarithms."""
        require_known("component", component, self.names)
        good = is_finite(start) and is_finite(end) and 0 < start < end
        require(good, "growth needs two times 0 < start < end", (start, end), "try early ones")
        inside = (self.times >= start) & (self.times <= end)
        few = int(inside.sum())
        require(few >= 2, "growth needs two or more saves between start and end", few, "save more, or widen them")
        values = np.abs(self.dataset["coefficient"].sel(component=component).values[inside])
        return float(slope(self.times[inside].tolist(), values))

    def plateaus(self, of: str | int = "risk", flat: float = FLAT, ratio: float = RATIO) -> tuple[Plateau, ...]:
        """Where a curve rests: the risk, a component (its gap), or a degree; see `wl.plateaus`."""
        if isinstance(of, str):
            require_known("curve", of, ("risk", *self.names))
            values = self.dataset["risk"] if of == "risk" else self.dataset["gap"].sel(component=of)
        else:
            found = self.by_degree
            good = is_whole(of) and of in found["degree"].values
            require(good, "a curve must be 'risk', the name of a component or a degree", of, "try of=1")
            values = found.sel(degree=of)
        return plateaus(self.times, values.values, flat, ratio)

    @property
    def steps(self) -> tuple[LearningStep, ...]:
        """The staircase of the risk, a step for every component of the target that was learnt, in their order."""
        learnt = {name: t for name, t in self.learning_times.items() if math.isfinite(t)}
        waiting = {name: self._at_first(name) for name in self.in_target}
        ends, found = [*learnt.values(), float(self.times[-1])][1:], []
        for (name, start), end in zip(learnt.items(), ends, strict=True):
            del waiting[name]
            level = float(self.dataset.attrs["noise"]) ** 2 + sum(waiting.values())
            found.append(LearningStep(name, start, end, level, self._flattest(start, end)))
        return tuple(found)

    def _at_first(self, component: str) -> float:
        """Where the gap of a component rests at first; what it is at the first save if it does not."""
        gap = self.dataset["gap"].sel(component=component).values
        if len(gap) < FEWEST:
            return float(gap[0])
        resting = [rest for rest in plateaus(self.times, gap) if rest.start <= self.times[self.times > 0][0]]
        return resting[0].level if resting else float(gap[0])

    def _flattest(self, start: float, end: float) -> float:
        """The risk where it changes least per factor of time, between two times."""
        t, risk = (values[self.times > 0] for values in (self.times, self.dataset["risk"].values))
        inside = np.flatnonzero((t >= start) & (t <= end))
        if not len(inside) or len(t) < 2:
            return float(np.interp(start, self.times, self.dataset["risk"].values))
        speed = np.abs(np.gradient(risk, np.log(t)))
        return float(risk[inside[np.argmin(speed[inside])]])

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    def __repr__(self) -> str:
        times = (f"{name} at {t:.3g}" for name, t in self.learning_times.items())
        return f"<LearningCurves: {', '.join(times)}>"


def learning_curves(solution: Solution, order: int | None = None) -> LearningCurves:
    """How far a run is from every component of its target, over time.

    solution   of ridge neurons on an index model or the hypercube, one replica
    order      the highest degree; by default that of the target

    >>> import math
    >>> import widelimit as wl
    >>> data = wl.data.single_index(math.inf, "h1(z)")
    >>> problem = wl.Problem(data, wl.neurons.ridge("x"), wl.initial.gaussian(1.0))  # u = 1 − e^{−2t}
    >>> curves = wl.learning_curves(wl.solve(problem, wl.MeanField(points=1, check=False), t_end=2.0, save=41))
    >>> round(curves.learning_time("h1(z)"), 3)  # log(2)/2
    0.347
    """
    good = isinstance(solution, Solution)
    require(good, "learning_curves needs a wl.Solution", type(solution).__name__, "pass what wl.solve returned")
    require(solution.replicas is None, "learning curves belong to one replica", f"{solution.replicas} of them",
            "choose one with solution.replica(0)")  # fmt: skip
    problem, times = solution.problem, solution.times
    family = components(problem, order)
    learnt = np.array([family.learnt(solution.at(t)) for t in times]).reshape(len(times), -1).T
    gap = (family.target[:, None] - learnt) ** 2
    noise = float(problem.data.noise)
    rest = solution.risk - gap.sum(axis=0) - noise**2
    both = ("component", "time")
    return LearningCurves(xr.Dataset(
        {"target": (both[:1], family.target), "coefficient": (both, learnt), "gap": (both, gap),
         "rest": (both[1:], rest), "risk": (both[1:], solution.risk)},
        {"component": list(family.names), "degree": (both[:1], family.degrees), "time": times}, {"noise": noise},
    ))  # fmt: skip
