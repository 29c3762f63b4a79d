"""What a run has saved so far, and how it becomes a dataset: of neurons that move, or of a density over cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
import numpy as np
import xarray as xr
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import require
from widelimit.measures import Cloud, Density, Measure
from widelimit.potentials.sample_landscape import Estimate
from widelimit.problem.problem import Problem
from widelimit.solving.protocol import CellView, NeuronView, State

BLOWN_UP = 1e6  # a risk this many times the first one is a divergence, finite or not
ROUNDING = 1e-9  # of a risk, relative to the first one
Observed = float | int | bool | np.ndarray | Estimate
Observer = Callable[[Measure], Observed]
Attributes = Mapping[str, str | float]
Variable = tuple[tuple[str, ...], np.ndarray, Attributes]
Axis = list[str] | tuple[str, list[float]]
Contents = tuple[dict[str, Variable], dict[str, Axis]]


@dataclass
class Saves:
    """What every run saves; `OfNeurons` and `OfCells` know what ρ looks like.

    keep       neurons in "reduced" or "full" coordinates
    observers  functions of ρ, by name
    """

    problem: Problem
    keep: str
    observers: Mapping[str, Observer]
    times: list[float] = field(default_factory=list)
    risk: list[np.ndarray] = field(default_factory=list)
    error: list[np.ndarray] = field(default_factory=list)
    observed: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def is_possible(self, risk: np.ndarray) -> bool:
        """Whether a risk is finite, not below 0 but for rounding, and not far above the first one."""
        first = float(np.max(self.risk[0])) if self.risk else math.inf
        lowest = -ROUNDING * (1 + first) if self.risk else -ROUNDING
        return bool(np.all((risk > lowest) & (risk < BLOWN_UP * (1 + first))))

    @property
    def ends_above(self) -> bool:
        """Whether the last risk, a mean over replicas, is above the first one by more than it may be off."""
        if len(self.risk) < 2:
            return False
        first, last = (np.mean(self.risk[k]) for k in (0, -1))
        return bool(last > first + np.mean(self.error[0]) + np.mean(self.error[-1]) + ROUNDING * (1 + first))

    def add(self, t: float, risk: np.ndarray, error: np.ndarray, measures: Measure | list[Measure]) -> None:
        """Save the risk, its error, and what the observers say of a measure, or of the measure of every replica."""
        values = {name: observed(name, observer, measures) for name, observer in self.observers.items()}
        self.times.append(t)  # after the observers, which may be interrupted: a save is kept whole or not at all
        self.risk.append(risk)
        self.error.append(error)
        for name, value in values.items():
            self.observed.setdefault(name, []).append(value)

    def restore(self, dataset: xr.Dataset) -> None:
        """Take over what a record of this run has saved."""
        self.times = [float(t) for t in dataset["time"].values]
        self.risk, self.error = saved(dataset, "risk"), saved(dataset, "risk_error")
        self.observed = {name: saved(dataset, name) for name in self.observers}

    def cut(self, count: int) -> None:
        """Keep the first saves only."""
        del self.times[count:]
        for kept in (self.risk, self.error, *self.observed.values()):
            del kept[count:]

    def scalars(self, lead: int, shape: tuple[int, ...]) -> dict[str, Variable]:
        """The risk, its error and everything observed, over time."""
        name = self.problem.data.risk_name
        about = {"long_name": name, "symbol": "R"}, {"long_name": f"how far the {name} may be off", "symbol": "δR"}
        variables = {"risk": over_time(self.risk, lead, ("time",), about[0], shape),
                     "risk_error": over_time(self.error, lead, ("time",), about[1], shape)}  # fmt: skip
        for name in self.observers:
            values = self.observed.get(name, [])
            extra = tuple(f"{name}_{i}" for i in range(1, np.ndim(values[0]) - lead + 1)) if values else ()
            variables[name] = over_time(values, lead, ("time", *extra), {}, shape)
        return variables


@dataclass
class OfNeurons:
    """The record of neurons that move, replicas included."""

    view: NeuronView
    saves: Saves
    theta: list[np.ndarray] = field(default_factory=list)

    def risk(self, state: State) -> np.ndarray:
        """R(ρ) of a cloud (n, D), or of every replica (R, n, D); NaN if θ is not finite in one of them."""
        theta = self.view.theta(state)
        good = bool(np.isfinite(theta).all())
        return np.asarray(self.view.risk(state), float) if good else np.full(theta.shape[:-2], np.nan)

    def error(self, state: State) -> np.ndarray:
        """How far R(ρ) may be off, on finite θ."""
        return np.asarray(self.view.error(state))

    def straying(self, state: State, rates: np.ndarray, allowed: float) -> np.ndarray:
        """How fast the risk strays because slopes are not exact."""
        return self.view.straying(state, rates, allowed)

    def save(self, t: float, state: State, risk: np.ndarray, away: np.ndarray | float) -> None:
        """Keep a state; ``away`` is what a twin of the run adds to the error."""
        self.put(t, self.kept(np.asarray(self.view.theta(state))), risk, away + self.error(state))

    def put(self, t: float, kept: np.ndarray, risk: np.ndarray, error: np.ndarray) -> None:
        """Keep neurons in the form in which they are kept."""
        clouds: list[Measure] = []
        if self.saves.observers:
            weights = np.asarray(self.view.weights)
            clouds = [Cloud(rows, weights, self._names) for rows in kept.reshape(-1, *kept.shape[-2:])]
        self.saves.add(t, risk, error, clouds[0] if clouds and kept.ndim == 2 else clouds)
        self.theta.append(kept)

    def restore(self, dataset: xr.Dataset) -> None:
        """Take over what a record of this run has saved."""
        self.saves.restore(dataset)
        self.theta = saved(dataset, "theta")

    def cut(self, count: int) -> None:
        """Keep the first saves only."""
        self.saves.cut(count)
        del self.theta[count:]

    def contents(self, state: State) -> Contents:
        """Variables and coordinates of the dataset; ``state`` is the last good one."""
        theta = np.asarray(self.view.theta(state))
        front = ("replica",) * (theta.ndim - 2)
        lead, shape = len(front), (0, *theta.shape[:-1], len(self._names))
        variables: dict[str, Variable] = {
            **self.saves.scalars(lead, shape[: 1 + lead]),
            "theta": over_time(self.theta, lead, ("time", "neuron", "coordinate"),
                               {"long_name": "neurons", "symbol": "θ"}, shape),
            "weights": (("neuron",), np.asarray(self.view.weights), {"long_name": "mass of a neuron", "symbol": "p"}),
            "final": ((*front, "neuron", "final_coordinate"), theta, {"long_name": "last neurons", "symbol": "θ"}),
        }  # fmt: skip
        return variables, {"coordinate": list(self._names), "final_coordinate": list(self.view.columns.names)}

    @property
    def _columns(self) -> Coordinates:
        return self.view.columns if self.saves.keep == "full" else self.saves.problem.reduced

    @property
    def _names(self) -> tuple[str, ...]:
        return self._columns.names

    def kept(self, theta: np.ndarray) -> np.ndarray:
        """θ as it is saved: reduced unless asked otherwise, and no radius below 0."""
        if self.saves.keep == "full":
            return theta.astype(float)
        reduced = np.array(_reduced(self.view.columns, theta.reshape(-1, theta.shape[-1])), float)
        radii = self._columns.first_radius
        reduced[:, radii:] = np.maximum(reduced[:, radii:], 0.0)
        return reduced.reshape(*theta.shape[:-1], -1)


@jax.jit
def _reduced(columns: Coordinates, theta: Array) -> Array:
    return columns.reduce(theta)


@dataclass
class OfCells:
    """The record of a density: masses of cells, whose edges may move and whose number may grow."""

    view: CellView
    saves: Saves
    densities: list[Density] = field(default_factory=list)
    free_energy: list[np.ndarray] = field(default_factory=list)

    def risk(self, state: State) -> np.ndarray:
        """R(ρ)."""
        rho = self.view.density(state)
        return np.asarray(self.view.risk(rho) if np.isfinite(rho.theta).all() else np.nan)

    def error(self, state: State) -> np.ndarray:
        """How far R(ρ) may be off."""
        return np.asarray(self.view.error(self.view.density(state)))

    def straying(self, state: State, rates: np.ndarray, allowed: float) -> np.ndarray:
        """How fast the risk strays because slopes are not exact."""
        return self.view.straying(self.view.density(state), rates, allowed)

    def save(self, t: float, state: State, risk: np.ndarray, away: np.ndarray | float) -> None:
        """Keep a state; ``away`` is what a twin of the run adds to the error."""
        rho = self.view.density(state)
        energy = np.asarray(self.view.free_energy(rho))
        self.saves.add(t, risk, away + self.error(state), rho)
        self.densities.append(rho)
        self.free_energy.append(energy)

    def restore(self, dataset: xr.Dataset) -> None:
        """Take over what a record of this run has saved."""
        self.saves.restore(dataset)
        self.densities = [density_in(dataset.isel(time=i)) for i in range(dataset.sizes["time"])]
        self.free_energy = saved(dataset, "free_energy")

    def cut(self, count: int) -> None:
        """Keep the first saves only."""
        self.saves.cut(count)
        del self.densities[count:], self.free_energy[count:]

    def contents(self, state: State) -> Contents:
        """Variables and coordinates of the dataset; ``state`` is the last good one."""
        last = self.view.density(state)
        padded = [_on_the_cells_of(rho, last) for rho in self.densities]
        cells = tuple(f"cell_{name}" for name in last.coordinates)
        shape = (0, *last.masses.shape)
        variables = {
            **self.saves.scalars(0, (0,)),
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


Recorder = OfNeurons | OfCells


def saved(dataset: xr.Dataset, name: str) -> list[np.ndarray]:
    """What a record has of one variable, save by save."""
    return list(dataset[name].transpose("time", ...).values)


def density_in(moment: xr.Dataset) -> Density:
    """The density of one save of a record."""
    names = tuple(str(c) for c in moment["coordinate"].values)
    dimensions = tuple(None if math.isnan(d) else float(d) for d in moment["dimension"].values)
    return Density(tuple(moment[f"edges_{name}"].values for name in names), moment["masses"].values, names, dimensions)


def _on_the_cells_of(rho: Density, last: Density) -> Density:
    """A density on the larger grid of a later one, its new cells empty."""
    if rho.masses.shape == last.masses.shape:
        return rho
    pads = []
    for own, grown in zip(rho.edges, last.edges, strict=True):
        below = int(np.argmin(np.abs(grown - own[0])))
        pads.append((below, len(grown) - len(own) - below))
    return Density(last.edges, np.pad(rho.masses, pads), last.coordinates, last.dimensions)


def recorder(view: NeuronView | CellView, saves: Saves) -> Recorder:
    """The record that fits a view."""
    return OfCells(view, saves) if isinstance(view, CellView) else OfNeurons(view, saves)


def over_time(
    values: list[np.ndarray], lead: int, dims: tuple[str, ...], attributes: Attributes, empty: tuple[int, ...]
) -> Variable:
    """A variable from its values at the save times: the replicas first, if there are any, then time."""
    stacked = np.stack(values) if values else np.empty(empty)
    return ("replica",) * lead + dims, np.moveaxis(stacked, 0, lead), attributes


def observed(name: str, observer: Observer, rho: Measure | list[Measure]) -> np.ndarray:
    """What an observer says of a measure, or of each of several; of an estimate its value, without the error."""
    if isinstance(rho, list):
        return np.stack([observed(name, observer, one) for one in rho])
    said = observer(rho)
    value = np.asarray(said.risk if isinstance(said, Estimate) else said)
    odd = value.dtype.kind not in "biuf"
    require(not odd, "observers must return numbers or arrays of numbers", [name], "return one array each")
    return value
