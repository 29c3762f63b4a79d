"""The gap between neighbouring dynamics of a chain, part by part; every part is computed from its own two runs.

risk gap        R(first) − R(second), signed, so that the parts add up to the total; it may be off by the sum of both
                errors, that of the points in the PDE included (without noise the field of ND has the same points
                and no error of its own; with noise it has that of its points)
distance        mean_i and max_i |θ_i − θ'_i|, where both have neurons
test gap        ∫χ dρ − ∫χ dρ' for test functions χ of the reduced coordinates
W_2             of every cloud to the limit, in reduced coordinates; with noise, which takes many points or cells, only
                where there is one of them
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import xarray as xr

from widelimit.measures import Cloud, Measure, uniform_cloud
from widelimit.observables.distances import wasserstein
from widelimit.potentials.landscapes import reduce
from widelimit.problem.problem import Problem
from widelimit.solving.recorder import Observer, density_in, observed
from widelimit.solving.solution import Solution


def gap_dataset(
    problem: Problem, solutions: dict[str, Solution], tests: Mapping[str, Observer], about: Mapping[str, str | float]
) -> xr.Dataset:
    """Everything that is measured on the runs, at the times they all reached."""
    names = list(solutions)
    count = min(len(s.times) for s in solutions.values())
    pairs = [*itertools.pairwise(names), (names[0], names[-1])] if len(names) > 1 else []
    labels = [f"{a}–{b}" for a, b in pairs[:-1]] + ["total"] * bool(pairs)
    over = ("replica", "time") if solutions[names[-1]].replicas else ("time",)
    replicas = solutions[names[-1]].replicas
    risk = {name: _spread(s, s.risk[..., :count], replicas) for name, s in solutions.items()}
    error = {name: _spread(s, s.error[..., :count], replicas) for name, s in solutions.items()}
    measured = {name: _statistics(problem, s, solutions.get("PDE"), tests, count) for name, s in solutions.items()}
    measured = {
        name: (_spread(solutions[name], far, replicas), _spread(solutions[name], values, replicas))
        for name, (far, values) in measured.items()
    }
    near = {name: _neurons(s, count) for name, s in solutions.items()}
    gaps = [_distances(near, a, b, risk[a].shape) for a, b in pairs]
    variables = {
        "risk": (("dynamics", *over), np.stack(list(risk.values()))),
        "w2": (("dynamics", *over), np.stack([m[0] for m in measured.values()])),
        "risk_gap": (("part", *over), _stack([risk[a] - risk[b] for a, b in pairs], risk[names[0]].shape)),
        "risk_gap_error": (("part", *over), _stack([error[a] + error[b] for a, b in pairs], risk[names[0]].shape)),
        "distance": (("part", *over), _stack([g[0] for g in gaps], risk[names[0]].shape)),
        "max_distance": (("part", *over), _stack([g[1] for g in gaps], risk[names[0]].shape)),
        "test_gap": (("part", "test", *over),
                     _stack([measured[a][1] - measured[b][1] for a, b in pairs], measured[names[0]][1].shape)),
    }  # fmt: skip
    coordinates = {"time": solutions[names[0]].times[:count], "dynamics": names, "part": labels, "test": list(tests)}
    return xr.Dataset(variables, coordinates, dict(about))


def _stack(values: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.stack(values) if values else np.empty((0, *shape))


def _spread(solution: Solution, values: np.ndarray, replicas: int | None) -> np.ndarray:
    """Values (…, time), repeated for every replica where the run itself has none."""
    return values if solution.replicas == replicas else np.repeat(values[..., None, :], replicas or 1, axis=-2)


def _neurons(solution: Solution, count: int) -> np.ndarray | None:
    """θ ([replica,] time, neuron, coordinate) of a coupled run; the limit has no neurons."""
    if "theta" not in solution.dataset or solution.name == "MeanField":
        return None
    return solution.dataset["theta"].values[..., :count, :, :]


def _distances(
    near: Mapping[str, np.ndarray | None], a: str, b: str, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """mean_i and max_i |θ_i − θ'_i|; from the tracers where the first run is the limit."""
    first, second = near["ND"] if a == "PDE" and b != "ND" else near[a], near[b]
    if first is None or second is None:
        return np.full(shape, np.nan), np.full(shape, np.nan)
    gaps = np.linalg.norm(first - second, axis=-1)
    return gaps.mean(axis=-1), gaps.max(axis=-1)


def _statistics(
    problem: Problem, solution: Solution, limit: Solution | None, tests: Mapping[str, Observer], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """W_2 to the limit ([replica,] time), and the test functions (test, [replica,] time)."""
    if solution.replicas:
        each = [_statistics(problem, solution.replica(r), limit, tests, count) for r in range(solution.replicas)]
        return np.stack([e[0] for e in each]), np.stack([e[1] for e in each], axis=1)
    far, values = [], []
    for i in range(count):
        cloud = _reduced(problem, solution, i)
        near = limit is not None and (not problem.is_noisy or len(problem.reduced_coordinates) == 1)
        far.append(wasserstein(cloud, _reduced(problem, limit, i)) if near else np.nan)  # type: ignore[arg-type]
        values.append([float(observed(name, test, cloud)) for name, test in tests.items()])
    return np.array(far), np.array(values).reshape(count, len(tests)).T


def _reduced(problem: Problem, solution: Solution, i: int) -> Measure:
    """The saved measure number i in reduced coordinates."""
    if solution.is_density:
        return density_in(solution.dataset.isel(time=i))
    theta = solution.dataset["theta"].values[i]
    names = tuple(str(c) for c in solution.dataset["coordinate"].values)
    if names == problem.reduced_coordinates:
        return Cloud(theta, solution.dataset["weights"].values, names)
    return uniform_cloud(np.asarray(reduce(problem, theta)), problem.reduced_coordinates)
