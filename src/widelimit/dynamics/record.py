"""What a run has saved so far, and how it becomes a dataset: of neurons that move, or of a density over cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widelimit.dynamics.run import DensityRun, Run
from widelimit.errors import require
from widelimit.measures import Cloud, Density, Measure
from widelimit.potentials.free_energy import free_energy_of
from widelimit.potentials.landscapes import reduce
from widelimit.problem.statement import Problem

Observer = Callable[[Measure], Any]
Variable = tuple[tuple[str, ...], np.ndarray, dict[str, Any]]
Contents = tuple[dict[str, Variable], dict[str, Any]]
RISK = {"long_name": "population risk", "symbol": "R"}


@dataclass
class Record:
    """Saves of one run; `Neurons` and `Densities` know what ρ looks like.

    keep       neurons in "reduced" or "full" coordinates
    observers  functions of ρ, by name
    """

    problem: Problem
    keep: str
    observers: Mapping[str, Observer]
    times: list[float] = field(default_factory=list)
    risk: list[np.ndarray] = field(default_factory=list)
    observed: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, t: float, risk: np.ndarray, measures: Measure | list[Measure]) -> None:
        """Save the risk and what the observers say of a measure, or of those of all replicas."""
        values = {name: _observed(name, observer, measures) for name, observer in self.observers.items()}
        self.times.append(t)  # an observer may be interrupted: from here on all is kept
        self.risk.append(risk)
        for name, value in values.items():
            self.observed.setdefault(name, []).append(value)

    def scalars(self, lead: int, shape: tuple[int, ...], about: dict[str, Any]) -> dict[str, Variable]:
        """The risk and everything observed, over time."""
        variables = {"risk": over_time(self.risk, lead, ("time",), about, shape)}
        for name in self.observers:
            values = self.observed.get(name, [])
            extra = tuple(f"{name}_{i}" for i in range(1, np.ndim(values[0]) - lead + 1)) if values else ()
            variables[name] = over_time(values, lead, ("time", *extra), {}, shape)
        return variables


@dataclass
class Neurons:
    """The record of neurons that move, replicas included."""

    run: Run
    saves: Record
    theta: list[np.ndarray] = field(default_factory=list)

    def risk(self, state: Any) -> np.ndarray:
        """R(ρ) of a cloud (n, D), or of every replica (R, n, D); not a number where θ is none."""
        theta = self.run.theta(state)
        good = np.isfinite(theta).all(axis=(-2, -1))
        if good.all():
            return np.asarray(self.run.landscape.risk_of(theta, self.run.weights), float)
        risk = np.full(good.shape, np.nan)
        if good.any():
            risk[good] = self.run.landscape.risk_of(theta[good], self.run.weights)
        return risk

    def save(self, t: float, state: Any, risk: np.ndarray) -> None:
        """Keep a state."""
        kept = np.asarray(self._kept(self.run.theta(state)), float)
        weights = np.asarray(self.run.weights)
        clouds: list[Measure] = [Cloud(rows, weights, self._names) for rows in kept.reshape(-1, *kept.shape[-2:])]
        self.saves.add(t, risk, clouds if kept.ndim == 3 else clouds[0])
        self.theta.append(kept)

    def contents(self, state: Any) -> Contents:
        """Variables and coordinates of the dataset; ``state`` is the last good one."""
        theta = np.asarray(self.run.theta(state))
        front = ("replica",) * (theta.ndim - 2)
        lead, shape = len(front), (0, *theta.shape[:-1], len(self._names))
        variables = {
            **self.saves.scalars(lead, shape[: 1 + lead], RISK | self._estimated(theta)),
            "theta": over_time(self.theta, lead, ("time", "neuron", "coordinate"),
                               {"long_name": "neurons", "symbol": "θ"}, shape),
            "weights": (("neuron",), np.asarray(self.run.weights), {"long_name": "mass of each neuron", "symbol": "p"}),
            "final": ((*front, "neuron", "final_coordinate"), theta, {"long_name": "last neurons", "symbol": "θ"}),
        }  # fmt: skip
        return variables, {
            "coordinate": list(self._names),
            "final_coordinate": list(self.run.landscape.coordinates),
        }

    @property
    def _names(self) -> tuple[str, ...]:
        return self.run.landscape.coordinates if self.saves.keep == "full" else self.saves.problem.reduced_coordinates

    def _kept(self, theta: Any) -> Any:
        """θ as it is saved: reduced unless asked otherwise, and no radius below 0."""
        if self.saves.keep == "full":
            return theta
        problem = self.saves.problem
        is_full = self.run.landscape.coordinates != problem.reduced_coordinates
        rows = theta.reshape(-1, theta.shape[-1])
        reduced = np.array(reduce(problem, rows) if is_full else rows)
        radii = reduced.shape[1] - len(problem.groups)
        reduced[:, radii:] = np.maximum(reduced[:, radii:], 0.0)
        return reduced.reshape(*theta.shape[:-1], -1)

    def _estimated(self, theta: np.ndarray) -> dict[str, float]:
        """Standard error of the last risk, where it is estimated from a draw of the data law."""
        last = theta.reshape(-1, *theta.shape[-2:])[0]
        if not np.isfinite(last).all():
            return {}
        land = self.run.landscape
        error = land.risk_error(Cloud(last, np.asarray(self.run.weights), land.coordinates))
        return {"standard_error": error} if error else {}


@dataclass
class Densities:
    """The record of a density: masses of cells, whose edges may move and whose number may grow."""

    run: DensityRun
    saves: Record
    densities: list[Density] = field(default_factory=list)
    free_energy: list[np.ndarray] = field(default_factory=list)

    def risk(self, state: Any) -> np.ndarray:
        """R(ρ)."""
        rho = self.run.density(state)
        return np.asarray(self.run.landscape.risk(rho) if np.isfinite(rho.theta).all() else np.nan)

    def save(self, t: float, state: Any, risk: np.ndarray) -> None:
        """Keep a state."""
        rho = self.run.density(state)
        energy = np.asarray(free_energy_of(self.run.landscape, rho, self.saves.problem.beta))
        self.saves.add(t, risk, rho)
        self.densities.append(rho)
        self.free_energy.append(energy)

    def contents(self, state: Any) -> Contents:
        """Variables and coordinates of the dataset; ``state`` is the last good one."""
        last = self.run.density(state)
        padded = [_on_the_cells_of(rho, last) for rho in self.densities]
        cells = tuple(f"cell_{name}" for name in last.coordinates)
        shape = (0, *last.masses.shape)
        variables = {
            **self.saves.scalars(0, (0,), RISK),
            "free_energy": over_time(self.free_energy, 0, ("time",), {"long_name": "free energy", "symbol": "F"}, (0,)),
            "masses": over_time([rho.masses for rho in padded], 0, ("time", *cells),
                                {"long_name": "mass of each cell", "symbol": "m"}, shape),
        }  # fmt: skip
        for c, name in enumerate(last.coordinates):
            about = {"long_name": f"edges of the cells of {name}", "symbol": name}
            edges = [rho.edges[c] for rho in padded]
            variables[f"edges_{name}"] = over_time(edges, 0, ("time", f"edge_{name}"), about, (0, len(last.edges[c])))
        dimensions = [np.nan if d is None else float(d) for d in last.dimensions]
        return variables, {"coordinate": list(last.coordinates), "dimension": ("coordinate", dimensions)}


def _on_the_cells_of(rho: Density, last: Density) -> Density:
    """A density on a grid that has grown since."""
    if rho.masses.shape == last.masses.shape:
        return rho
    pads = []
    for own, grown in zip(rho.edges, last.edges, strict=True):
        below = int(np.argmin(np.abs(grown - own[0])))
        pads.append((below, len(grown) - len(own) - below))
    return Density(last.edges, np.pad(rho.masses, pads), last.coordinates, last.dimensions)


def recorder(run: Run | DensityRun, saves: Record) -> Neurons | Densities:
    """The record that fits a run."""
    return Densities(run, saves) if isinstance(run, DensityRun) else Neurons(run, saves)


def over_time(
    values: list[np.ndarray], lead: int, dims: tuple[str, ...], attributes: dict[str, Any], empty: tuple[int, ...]
) -> Variable:
    """A variable from its values at the save times: the replicas first, if there are any, then time."""
    stacked = np.stack(values) if values else np.empty(empty)
    return ("replica",) * lead + dims, np.moveaxis(stacked, 0, lead), attributes


def _observed(name: str, observer: Observer, rho: Measure | list[Measure]) -> np.ndarray:
    """What an observer says of a measure, or of each of several."""
    if isinstance(rho, list):
        return np.stack([_observed(name, observer, one) for one in rho])
    value = np.asarray(observer(rho))
    odd = value.dtype.kind not in "biuf"
    require(not odd, "observers must return numbers or arrays of numbers", [name], "return one array each")
    return value
