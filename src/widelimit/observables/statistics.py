"""Statistics of ρ chosen freely: each function here makes an observer, a function of a `Cloud`.

    average(χ)       ∫ χ dρ
    mass(A)          ρ(A)
    variance(c)      ∫ (θ_c − ∫θ_c dρ)² dρ
    quantile(c, q)   F^{-1}(q) = min{x : F(x) ≥ q},   F(x) = ρ(θ_c ≤ x)

    χ   chi          θ (n, D) → (n,) or (n, k)
    A   predicate    θ (n, D) → (n,) of true and false
    c   coordinate   name of a column of θ
    F   levels       distribution function after each point, in the order of θ_c

Points without mass do not count in F. Levels that agree to ROUNDING are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widelimit.arguments import answer_of, numbers_of, require_word
from widelimit.errors import is_number, require
from widelimit.measures import Measure, measure_of

ROUNDING = 32 * float(np.finfo(float).eps)


def average(chi: Callable[[np.ndarray], Any]) -> Callable[[Measure], Any]:
    """ρ ↦ ∫ χ dρ: a number, or (k,) where χ has k values for each neuron.

    >>> import widelimit as wl
    >>> average(lambda theta: theta[:, 0] ** 2)(wl.Cloud(np.array([[1.0], [3.0]]), np.array([0.5, 0.5]), ("r",)))
    5.0
    """
    require(callable(chi), "average needs a function of the array theta (n, D)", chi, "try lambda theta: theta[:, 0]")

    def observer(cloud: Measure) -> Any:
        values = _values(chi, cloud, (1, 2))
        mean = cloud.mean(values)
        return mean if mean.ndim else float(mean)

    return observer


def mass(predicate: Callable[[np.ndarray], Any]) -> Callable[[Measure], float]:
    """ρ ↦ ρ(A), A the neurons where the predicate holds, e.g. ``mass(lambda theta: theta[:, 0] > 1)``.

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",))
    >>> wl.observables.mass(lambda theta: theta[:, 0] > 1)(rho)
    0.5
    """
    example = "try lambda theta: theta[:, 0] > 1"
    require(callable(predicate), "mass needs a function of the array theta (n, D)", predicate, example)

    def observer(cloud: Measure) -> float:
        inside = _values(predicate, cloud, (1,))
        require(inside.dtype == bool, "the predicate of mass must answer true or false", str(inside.dtype), example)
        return float(cloud.mean(inside))

    return observer


def variance(coordinate: str) -> Callable[[Measure], float]:
    """ρ ↦ ∫ (θ_c − mean)² dρ for the coordinate c.

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",))
    >>> wl.observables.variance("r")(rho)
    1.0
    """
    require_word("coordinate", coordinate, "'r'")

    def observer(cloud: Measure) -> float:
        values = measure_of(cloud, "variance").column(coordinate)
        return float(cloud.mean((values - cloud.mean(values)) ** 2))

    return observer


def quantile(coordinate: str, q: float | Sequence[float]) -> Callable[[Measure], Any]:
    """ρ ↦ F^{-1}(q) for the coordinate c: a value of the cloud, never between two; (k,) for k levels q.

    >>> import widelimit as wl
    >>> quantile("r", 0.5)(wl.Cloud(np.array([[1.0], [2.0], [7.0]]), np.array([0.25, 0.5, 0.25]), ("r",)))
    2.0
    """
    require_word("coordinate", coordinate, "'r'")
    alone: list[Any] = [q]
    listed = alone if is_number(q) else numbers_of("q", q, "q=0.5", "one or more levels in [0, 1]")
    good = all(0 <= x <= 1 for x in listed)
    require(good, "a quantile needs one or more levels q in [0, 1]", q, "try q=0.5")
    wanted = np.asarray(listed, float)

    def observer(cloud: Measure) -> Any:
        values, levels = quantile_function(measure_of(cloud, "quantile").column(coordinate), cloud.weights)
        found = values[np.minimum(np.searchsorted(levels, wanted - ROUNDING), len(levels) - 1)]
        return found if np.ndim(q) else float(found[0])

    return observer


def quantile_function(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that carry mass in increasing order, and the distribution function after each; it ends at 1."""
    values, weights = np.asarray(values, float), np.asarray(weights, float)
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    require(len(order) > 0, "a distribution function needs a point with mass", f"{len(values)} points", "add points")
    levels = np.cumsum(weights[order], dtype=np.longdouble)  # rounding of a long sum would displace mass
    return values[order], np.asarray(levels / levels[-1], float)


def _values(chi: Callable[[np.ndarray], Any], cloud: Measure, dimensions: tuple[int, ...]) -> np.ndarray:
    """χ(θ), with one row per neuron."""
    measure_of(cloud, "this observer")
    values = np.asarray(answer_of(chi, "a function of theta", np.asarray(cloud.theta)))
    require(
        values.ndim in dimensions and len(values) == cloud.n and values.dtype.kind in "biuf",
        f"a function of theta must return {' or '.join(('', '(n,)', '(n, k)')[d] for d in dimensions)} numbers, "
        f"here n = {cloud.n}",
        f"{values.dtype} of shape {values.shape}",
        "compute with whole columns, as in theta[:, 0] ** 2",
    )
    return values
