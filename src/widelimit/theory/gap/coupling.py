"""From SGD to the PDE on one coupling, and where the gap comes from.

    R(ρ_t) − R(SGD) = [PDE − ND] + [ND − PD] + [PD − GD] + [GD − SGD]

    PDE  MeanField       the limit, with noise on a grid where one can hold it
    ND   NonlinearFlow   N tracers in its field
    PD   ParticleFlow    N neurons in their own field
    GD                   steps of ε
    SGD                  one sample per step

All start from the same neurons θ_i(0). With noise they move on the same Brownian paths B_i: SGD and GD by

    √(4 s_k M/β) g_i^k,     √ε g_i^k = B_i((k+1)ε) − B_i(kε)

and PD and ND by paths that have these increments, in substeps of ε. Without noise PD, ND and the leaps of GD are
solved to FINE · ε, between 10⁻⁸ and 10⁻⁶, because PD − GD, the least part, is of order ε. What is measured on every
part is in widelimit.theory.gap.gap_parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import xarray as xr

from widelimit.arguments import functions_of, instance_of, record_path, require_flag, words_of
from widelimit.dynamics.methods import GD, SGD, Method, NonlinearFlow, ParticleFlow
from widelimit.dynamics.solve import Observer, solve
from widelimit.errors import Interrupted, require, require_count, require_keywords, require_known, require_positive
from widelimit.observables.moments import moment
from widelimit.problem.problem import Problem
from widelimit.solving.driver import FAILURES
from widelimit.solving.settings import Settings, save_times
from widelimit.solving.solution import Solution
from widelimit.solving.whole_files import write_record
from widelimit.theory.gap import bounds
from widelimit.theory.gap.gap_parts import gap_dataset
from widelimit.theory.gap.limit_method import SUBSTEPS, limit_method, points_of

CHAIN = ("PDE", "ND", "PD", "GD", "SGD")
FINE = 1e-3  # tolerance of the flows, in units of ε
ABSOLUTE = 1e-2  # that of small numbers, in units of the relative one


@dataclass(frozen=True, eq=False)
class Comparison:
    """The five dynamics on one coupling; its repr has the largest |gap| of each part, over times and replicas.

    dataset    risk (dynamics, [replica,] time); risk_gap, risk_gap_error, distance, max_distance
               (part, [replica,] time); test_gap (part, test, [replica,] time); w2 (dynamics, [replica,] time)
    solutions  the runs, by name

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> gap = wl.compare(problem, 20, 0.01, 0.1, save=3, chain=("GD", "SGD"))  # doctest: +SKIP
    >>> gap.gap("total").shape  # doctest: +SKIP
    (3,)
    """

    dataset: xr.Dataset
    solutions: dict[str, Solution]

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return self.dataset["time"].values

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts, "total" last."""
        return tuple(str(p) for p in self.dataset["part"].values)

    @property
    def outcome(self) -> str:
        """ "done", "diverged", "stopped" or "interrupted"."""
        return self.dataset.attrs["outcome"]

    @property
    def advice(self) -> str:
        """What to do about an outcome other than "done"."""
        return self.dataset.attrs["advice"]

    def gap(self, part: str, quantity: str = "risk_gap") -> np.ndarray:
        """One quantity of one part over time, ([replica,] time)."""
        require_known("part", part, self.parts)
        require_known("quantity", quantity, [str(q) for q in self.dataset if "part" in self.dataset[q].dims])
        return self.dataset[quantity].sel(part=part).values

    def table(self, rows: int = 6) -> list[dict[str, float]]:
        """Risk gaps at a few times, averaged over replicas in absolute value, with how far they may be off, and the
        mean distance of the neurons."""
        require_count("rows", rows, "6")
        chosen = np.unique(np.linspace(0, len(self.times) - 1, min(rows, len(self.times))).round().astype(int))
        replica_mean = abs(self.dataset[["risk_gap", "risk_gap_error", "distance"]])
        if "replica" in replica_mean.dims:
            replica_mean = replica_mean.mean("replica")
        return [
            {"t": float(self.times[i]), **{p: float(replica_mean["risk_gap"].sel(part=p)[i]) for p in self.parts},
             "distance": float(replica_mean["distance"].sel(part="total")[i]),
             **{f"{p}_error": float(replica_mean["risk_gap_error"].sel(part=p)[i]) for p in self.parts}}
            for i in chosen
        ]  # fmt: skip

    def save(self, path: str | os.PathLike) -> Path:
        """Write the gaps and all runs into one NetCDF file, whole or not at all; `load` gives them back."""
        return write_record(
            record_path(path), {"/": self.dataset, **{name: s.dataset for name, s in self.solutions.items()}}
        )

    def __repr__(self) -> str:
        worst = {p: float(np.max(np.abs(self.gap(p)), initial=0.0)) for p in self.parts}
        return f"<Comparison: {', '.join(f'{p} {g:.2g}' for p, g in worst.items())}, {self.outcome}>"


class CompareOptions(TypedDict, total=False):
    """What may be asked of a comparison by keyword, see `compare`."""

    seed: int
    replicas: int | None
    save: int | Sequence[float]
    chain: Sequence[str]
    coordinates: str
    points: int | None
    throw: bool


@dataclass(frozen=True)
class Coupling:
    """What is compared: width and step, horizon, and the options of `compare`."""

    n: int
    step: float
    t_end: float
    seed: int = 0
    replicas: int | None = None
    save: int | Sequence[float] = 21
    chain: Sequence[str] = CHAIN
    coordinates: str = "full"
    points: int | None = None
    throw: bool = True

    def __post_init__(self) -> None:
        require_count("n", self.n, "200")
        require_positive("step", self.step, "1e-3")
        require_positive("t_end", self.t_end, "1.0")
        require_flag("throw", self.throw)
        require_known("coordinates", self.coordinates, ("full", "reduced"))
        names = words_of("chain", self.chain, "chain=('GD', 'SGD')")
        start = CHAIN.index(names[0]) if names and names[0] in CHAIN else 0
        require(len(names) >= 2 and names == CHAIN[start : start + len(names)],
                f"chain must be neighbours among {', '.join(CHAIN)}", names, "try chain=('GD', 'SGD')")  # fmt: skip
        full = self.coordinates == "full" or "SGD" not in names
        require(full, "SGD runs in full coordinates only", self.coordinates, "leave SGD out of the chain")
        if self.points is not None:
            require_count("points", self.points, "400")
        asked = Settings(t_end=self.t_end, seed=self.seed, save=self.save, replicas=self.replicas)
        vars(self).update(chain=names, step=float(self.step), t_end=asked.t_end)

    @property
    def times(self) -> list[float]:
        """Save times that all dynamics reach: whole steps, and t_end."""
        whole = (round(t / self.step) * self.step for t in save_times(self.save, self.t_end)[:-1])
        return [*dict.fromkeys(t for t in whole if t < self.t_end * (1 - 1e-12)), self.t_end]

    @property
    def rtol(self) -> float:
        """Tolerance of the flows, and of the leaps of GD."""
        return min(max(FINE * self.step, 1e-8), 1e-6)

    def method(self, problem: Problem, name: str) -> Method:
        """The method of a name of the chain; with noise, on the Brownian paths of GD."""
        n, noisy, points = self.n, problem.is_noisy, points_of(problem, self.points)
        flow: dict[str, Any] = {
            "rtol": self.rtol,
            "atol": ABSOLUTE * self.rtol,
            "noise_step": self.step,
            "substeps": SUBSTEPS,
        }
        every: dict[str, Callable[[], Method]] = {
            "PDE": lambda: limit_method(problem, self.points, self.step),
            "ND": lambda: NonlinearFlow(n, self.coordinates, points, check=noisy, **flow),
            "PD": lambda: ParticleFlow(n, self.coordinates, **flow),
            "GD": lambda: GD(n, self.step, self.coordinates, self.rtol),
            "SGD": lambda: SGD(n, self.step, stepwise=noisy),
        }
        return every[name]()

    def require_one_path(self, problem: Problem) -> None:
        """Refuse dynamics that cannot share their noise."""
        shared = not (problem.is_noisy and self.coordinates == "reduced" and "GD" in self.chain)
        require(shared, "GD shares the noise of flows in full coordinates only", self.coordinates,
                "compare in full coordinates, or leave GD out of the chain")  # fmt: skip

    def solve(self, problem: Problem, name: str, progress: bool | None) -> Solution:
        """One dynamics of the chain; the limit draws nothing and is run once."""
        limit = name == "PDE"
        return solve(
            problem, self.method(problem, name), self.t_end, seed=self.seed, save=self.times, progress=progress,
            replicas=None if limit else self.replicas, keep="reduced" if limit else self.coordinates, throw=False,
        )  # fmt: skip


def compare(
    problem: Problem,
    n: int,
    step: float,
    t_end: float,
    *,
    tests: Mapping[str, Observer] | None = None,
    progress: bool | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Run the five dynamics from the same neurons and take the gap apart.

    n, step      width and step of the finite networks
    tests        test functions: observers of a Cloud in reduced coordinates (default: first and second moments)

    and by keyword

    seed         of every random stream (0)
    replicas     R independent couplings in one go
    save         how many times to save at (21), or the times
    chain        neighbours among "PDE", "ND", "PD", "GD", "SGD", if not all are wanted
    coordinates  "full", or "reduced" for a chain without SGD, where each neuron stands for all its rotations
    points       that carry the limit (400, with noise 4000, which is a source of error, stated in the result)
    throw        raise `Diverged` on divergence (True)

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> wl.compare(problem, n=20, step=0.01, t_end=0.1, save=2, chain=("GD", "SGD")).parts
    ('GD–SGD', 'total')
    """
    instance_of(Problem, problem, "compare", "build one first")
    require_flag("progress", progress, None)
    require_keywords(options, CompareOptions.__annotations__)
    asked, chosen = Coupling(n, step, t_end, **options), functions_of("tests", tests) or _moments(problem)
    asked.require_one_path(problem)
    solutions: dict[str, Solution] = {}
    problem, outcome = problem.at_width(n), "done"
    for name in asked.chain:
        try:
            solutions[name] = asked.solve(problem, name, progress)
        except Interrupted as stop:
            solutions[name], outcome = stop.solution, "interrupted"
        if solutions[name].outcome != "done":
            outcome = solutions[name].outcome
            break
    result = Comparison(
        gap_dataset(problem, solutions, chosen, _about(problem, solutions, asked, outcome)),
        solutions,
    )
    if outcome == "interrupted":
        raise Interrupted(result)
    if outcome in FAILURES and asked.throw:
        reached = f"last good time t = {result.times[-1]:g}" if len(result.times) else "nothing was saved"
        raise FAILURES[outcome](f"{list(solutions)[-1]} {outcome} ({reached}): {result.advice}.", result)
    return result


def _moments(problem: Problem) -> dict[str, Observer]:
    return {
        f"mean {c}^{k}" if k > 1 else f"mean {c}": moment(c, k) for c in problem.reduced_coordinates for k in (1, 2)
    }


def _about(
    problem: Problem, solutions: Mapping[str, Solution], asked: Coupling, outcome: str
) -> dict[str, str | float]:
    """What a comparison says of itself."""
    dimension = problem.reduced.D if np.isinf(problem.data.d) else problem.D
    return {
        "outcome": outcome, "advice": [*solutions.values()][-1].advice, "n": asked.n, "step": asked.step,
        "error_term": bounds.general(asked.n, asked.step, dimension),
    }  # fmt: skip
