"""A quantity of a run over time, with a band around it; read from the record, nothing is computed anew.

risk          the band is how far it may be off
a coordinate  ∫ θ_c dρ_t, the band is one standard deviation of ρ_t
an observer   as it was recorded

Of replicas the mean is shown, and the band holds the middle 95 % of the runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widelimit.errors import require, require_known
from widelimit.interfaces.run_labels import symbol_of
from widelimit.measures import Cloud, Measure
from widelimit.observables.moments import moment, variance
from widelimit.solving.solution import Solution

TITLES = {
    "risk_error": ("Error of the risk", r"$\delta R$"),
    "free_energy": ("Free energy", r"$F(\rho_t)$"),
}
TAILS = (0.025, 0.975)  # between which the runs are that a band holds


@dataclass(frozen=True, eq=False)
class Series:
    """A value at every time of a run, between a low and a high one."""

    times: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def coordinates_of(solution: Solution) -> list[str]:
    """Names of the coordinates a solution was kept in."""
    return [str(c) for c in solution.dataset["coordinate"].values]


def quantities_of(solution: Solution) -> list[str]:
    """What a record has over time: numbers, and coordinates to average."""
    over_time = ("time",), ("replica", "time")
    numbers = [str(name) for name, values in solution.dataset.data_vars.items() if values.dims in over_time]
    return [*numbers, *coordinates_of(solution)]


def series(solution: Solution, name: str) -> Series:
    """One quantity of a run.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> run = wl.solve(problem, wl.SGD(n=10, step=0.01), t_end=0.02, save=2)
    >>> bool(abs(series(run, "r").value[0] - run.at(0.0).theta.mean()) < 1e-12)
    True
    """
    require_known("quantity", name, quantities_of(solution))
    dataset = solution.dataset
    if name not in dataset.data_vars:
        return _averaged(solution, name)
    values = dataset[name].values
    error = np.nan_to_num(solution.error) if name == "risk" else np.zeros_like(values)
    low, high = values - error, values + error
    if name == "risk":
        low = np.maximum(low, np.minimum(values, 0.0))  # a risk is not negative
    if solution.replicas is None:
        return Series(solution.times, values, low, high)
    low, high = np.quantile(low, TAILS[0], axis=0), np.quantile(high, TAILS[1], axis=0)
    return Series(solution.times, values.mean(axis=0), low, high)


def _averaged(solution: Solution, coordinate: str) -> Series:
    """The mean of a coordinate and its spread, replicas pooled."""
    measures = [measure_at(solution, t) for t in solution.times]
    mean = np.array([moment(coordinate)(rho) for rho in measures])
    spread = np.sqrt([variance(coordinate)(rho) for rho in measures])
    low = np.maximum(mean - spread, 0.0) if coordinate.startswith("r") else mean - spread  # a radius is not negative
    return Series(solution.times, mean, low, mean + spread)


def titles_of(name: str, solution: Solution) -> tuple[str, str]:
    """The title of a panel over time, and the label of its axis."""
    if name not in solution.dataset.data_vars:
        return f"Mean and spread of ${symbol_of(name)}$", f"${symbol_of(name)}$"
    if name == "risk":
        return "Risk", rf"{risk_name(solution)} $R(\rho_t)$"
    return TITLES.get(name, (name, name))


def risk_name(solution: Solution) -> str:
    """What the risk of a run is: that of the population, or on the rows of a data set."""
    return str(solution.dataset["risk"].attrs.get("long_name", "risk"))


def measure_at(solution: Solution, t: float) -> Measure:
    """The measure at the save nearest to t; replicas are pooled into one cloud."""
    if solution.replicas is None:
        return solution.at(t)
    clouds = [solution.replica(r).at(t) for r in range(solution.replicas)]
    weights = np.concatenate([c.weights for c in clouds]) / len(clouds)
    return Cloud(np.concatenate([c.theta for c in clouds]), weights, clouds[0].coordinates)


def require_quantity(name: str, solutions: list[Solution]) -> None:
    """Refuse a quantity that no run has, and an observer that is not one number at each time."""
    known = dict.fromkeys(q for s in solutions for q in quantities_of(s))
    arrays = [s.dataset[name].dims for s in solutions if name in s.dataset.data_vars and name not in known]
    require(not arrays, f"show needs one number at each time, {name!r} has more", arrays[:1],
            "record its entries under names of their own")  # fmt: skip
    require_known("quantity to show", name, [*known, "density"])
