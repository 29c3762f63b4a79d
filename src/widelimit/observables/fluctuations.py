"""How much a network of N neurons scatters around its limit, from replicas.

n_var(t) = N · Var_replicas[ s(ρ^N_t) ]          tends to a finite number as N → ∞
stderr²  = N² R/((R − 1)(R − 2)²) Σ_i (δ_i² − mean δ²)²      jackknife over the replicas

s        statistic   the risk, or any observer Cloud → number, such as ∫χ dρ
N                    neurons of each replica
R                    replicas, independent of each other
δ_i                  s of replica i minus the mean over the replicas
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from widelimit.arguments import answer_of, functions_of, instance_of
from widelimit.errors import require
from widelimit.measures import Cloud
from widelimit.solving.recorder import Observer
from widelimit.solving.solution import Solution


def fluctuations(solution: Solution, statistics: Mapping[str, Observer] | None = None) -> xr.Dataset:
    """N times the variance over replicas, at every save, of the risk and of every statistic.

    solution    a run with replicas
    statistics  observers Cloud → number under their names, e.g. ``{"m": moment("r")}``

    Returns ``n_var`` with its standard error ``stderr`` and ``mean`` with ``mean_stderr``, all (statistic, time); the
    first statistic is "risk".

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> runs = wl.solve(problem, wl.SGD(10, 0.01), 0.1, save=3, replicas=4)  # doctest: +SKIP
    >>> fluctuations(runs)["n_var"].shape  # doctest: +SKIP
    (1, 3)
    """
    statistics = _checked(solution, statistics)
    data = solution.dataset
    observed = [np.asarray(data["risk"].transpose("replica", "time"), float)]
    observed += [_observe(solution, name, observer) for name, observer in statistics.items()]
    scaled = [scaled_variance(values, data.sizes["neuron"]) for values in observed]
    dims = ("statistic", "time")
    count = data.sizes["neuron"] * data.sizes["replica"]
    variables = {
        "mean": (dims, np.stack([values.mean(axis=0) for values in observed]), {"long_name": "mean over replicas"}),
        "mean_stderr": (dims, np.sqrt(np.stack([s[0] for s in scaled]) / count), {"long_name": "its standard error"}),
        "n_var": (dims, np.stack([s[0] for s in scaled]), {"long_name": "N times the variance over replicas"}),
        "stderr": (dims, np.stack([s[1] for s in scaled]), {"long_name": "standard error of n_var"}),
    }
    coordinates = {"statistic": ["risk", *statistics], "time": data["time"]}
    return xr.Dataset(variables, coordinates, {"neurons": data.sizes["neuron"], "replicas": data.sizes["replica"]})


def scaled_variance(values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n times the unbiased variance over the first axis, and its jackknife standard error."""
    R = len(values)
    squares = (values - values.mean(axis=0)) ** 2
    spread = np.sum((squares - squares.mean(axis=0)) ** 2, axis=0)
    return n * squares.sum(axis=0) / (R - 1), n * np.sqrt(R / (R - 1) * spread) / (R - 2)


def _observe(solution: Solution, name: str, observer: Observer) -> np.ndarray:
    """One statistic of every replica at every save, (replica, time)."""
    data = solution.dataset
    theta = data["theta"].transpose("replica", "time", "neuron", "coordinate").values
    weights = data["weights"].values
    names = tuple(str(c) for c in data["coordinate"].values)
    rows = [
        [
            np.asarray(answer_of(observer, f"the statistic {name!r}", Cloud(theta_t, weights, names)))
            for theta_t in replica
        ]
        for replica in theta
    ]
    odd = [value for row in rows for value in row if value.size != 1 or value.dtype.kind not in "biuf"]
    got = f"{odd[0].dtype} of shape {odd[0].shape}" if odd else ""
    require(not odd, f"the statistic {name!r} must return one number", got, "give one statistic for each number")
    return np.array([[float(value.reshape(())) for value in row] for row in rows]).reshape(theta.shape[:2])


def _checked(solution: Solution, statistics: Mapping[str, Observer] | None) -> dict[str, Observer]:
    instance_of(Solution, solution, "fluctuations", "solve first")
    sizes = solution.dataset.sizes
    replicas = sizes.get("replica", 1)
    require(replicas >= 3, "fluctuations needs a run with at least 3 replicas", replicas, "solve for more of them")
    chosen = functions_of("statistics", statistics)
    require("risk" not in chosen, "statistics must not be named 'risk', which is always there", "risk", "rename it")
    return chosen
