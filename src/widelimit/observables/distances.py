"""How far two measures are from each other.

    W_p(ρ, ρ')^p = min over couplings π of ∫ |θ − θ'|^p dπ
                 = ∫_0^1 |F^{-1}(u) − F'^{-1}(u)|^p du            in one dimension
    pair distance: max_i |θ_i − θ'_i| or Σ_i p_i |θ_i − θ'_i|     row i of one cloud belongs to row i of the other

    p       p        order of W_p, at least 1 (in the pair distance p_i are the weights)
    F^{-1}           quantile function, a step for every point
    |·|              Euclidean length over the chosen coordinates

Scheme: one dimension exactly, by merging the levels of F and F', O((n + m) log(n + m)); more dimensions exactly, by
the network simplex of POT on the (n, m) matrix of costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widelimit.arguments import words_of
from widelimit.errors import InputError, is_finite, require, require_known, shortened
from widelimit.measures import Measure, measure_of, require_masses
from widelimit.observables.statistics import ROUNDING, quantile_function
from widelimit.on_first_use import OnFirstUse

ot, distance = OnFirstUse("ot"), OnFirstUse("scipy.spatial.distance")
LARGEST_PLAN = 40_000_000  # entries of the cost matrix, about 1 GB with the plan
PIVOTS = 10_000_000


def wasserstein(cloud: Measure, other: Measure, p: float = 2, coordinates: str | Sequence[str] | None = None) -> float:
    """W_p between two weighted clouds.

    p            order, at least 1
    coordinates  compare only these columns; by default all, which both clouds must share

    >>> import widelimit as wl
    >>> one = wl.Cloud(np.array([[0.0], [1.0]]), np.array([0.5, 0.5]), ("r",))
    >>> wasserstein(one, wl.Cloud(np.array([[2.0]]), np.array([1.0]), ("r",)), p=1)
    1.5
    """
    require(is_finite(p) and p >= 1, "the order p of a distance W_p must be a number of at least 1", p, "try p=2")
    x, y = _columns(cloud, other, coordinates)
    weights, other_weights = _probabilities(cloud), _probabilities(other)
    if x.shape[1] == 1:
        return _on_the_line(x[:, 0], weights, y[:, 0], other_weights, p)
    return _by_simplex(x, weights, y, other_weights, p)


def pair_distance(
    cloud: Measure, other: Measure, norm: str = "max", coordinates: str | Sequence[str] | None = None
) -> float:
    """Distance between neurons that belong together: row i of one cloud to row i of the other.

    norm         "max" over the neurons, or their "mean" in the weights p_i, which both clouds must share
    coordinates  compare only these columns; by default all

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",))
    >>> wl.observables.pair_distance(rho, wl.Cloud([[1.5], [3.0]], [0.5, 0.5], ("r",)), norm="mean")
    0.25
    """
    require_known("norm", norm, ("max", "mean"))
    x, y = _columns(cloud, other, coordinates)
    require(len(x) == len(y), "coupled clouds must have equally many neurons", (len(x), len(y)), "pair them first")
    same = np.allclose(cloud.weights, other.weights, rtol=1e-9, atol=0)
    require(same, "coupled clouds must have the same weights", "different ones", "use wasserstein instead")
    lengths = np.linalg.norm(x - y, axis=1)
    return float(lengths.max() if norm == "max" else _probabilities(cloud) @ lengths)


def _on_the_line(x: np.ndarray, weights: np.ndarray, y: np.ndarray, other_weights: np.ndarray, p: float) -> float:
    """W_p from the plan on the line."""
    plan = line_plan(x, weights, y, other_weights)
    gaps = np.abs(plan.x - plan.y)
    scale = float(gaps.max())
    return scale * float(plan.share @ (gaps / scale) ** p) ** (1 / p) if scale > 0 else 0.0


def _by_simplex(x: np.ndarray, weights: np.ndarray, y: np.ndarray, other_weights: np.ndarray, p: float) -> float:
    """W_p from the optimal plan."""
    cost, scale = _cost(x, y, p)
    if scale == 0:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, log = ot.emd2(weights, other_weights, cost, numItermax=PIVOTS, log=True)
    _require_found(log["warning"], len(x), len(y))
    return scale * max(float(mean), 0.0) ** (1 / p)


class LinePlan(NamedTuple):
    """Each share of the mass, from which point x it goes, and to which y; (pairs,) each."""

    share: np.ndarray
    x: np.ndarray
    y: np.ndarray


def line_plan(x: np.ndarray, weights: np.ndarray, y: np.ndarray, other_weights: np.ndarray) -> LinePlan:
    """The optimal plan on the line: both quantile functions are constant between neighbours of the merged levels."""
    x, levels = quantile_function(x, weights)
    y, other_levels = quantile_function(y, other_weights)
    cuts = np.sort(np.concatenate([levels, other_levels]))
    share = np.diff(cuts, prepend=0.0)
    cuts, share = cuts[share > ROUNDING], share[share > ROUNDING]
    middle = cuts - share / 2
    return LinePlan(share, x[np.searchsorted(levels, middle)], y[np.searchsorted(other_levels, middle)])


def optimal_plan(x: np.ndarray, weights: np.ndarray, y: np.ndarray, other_weights: np.ndarray) -> np.ndarray:
    """The masses (n, m) that go from each point x to each y, at the least cost |x − y|²."""
    cost, _ = _cost(x, y, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sums = weights / weights.sum(), other_weights / other_weights.sum()
        plan, log = ot.emd(*sums, cost, numItermax=PIVOTS, log=True)
    _require_found(log["warning"], len(x), len(y))
    return np.asarray(plan)


def _cost(x: np.ndarray, y: np.ndarray, p: float) -> tuple[np.ndarray, float]:
    """(|x − y|/scale)^p, (n, m), and the scale, the largest distance."""
    require(
        len(x) * len(y) <= LARGEST_PLAN,
        f"W_p in {x.shape[1]} dimensions needs n·m <= {LARGEST_PLAN:.0e} pairs of points",
        f"{len(x)} x {len(y)}",
        "thin the clouds, or compare one coordinate at a time",
    )
    cost = distance.cdist(x, y)
    scale = float(cost.max())
    if scale > 0:
        cost /= scale
        np.power(cost, p, out=cost)
    return cost, scale


def _require_found(warning: object, n: int, m: int) -> None:
    if warning is not None:
        raise InputError(
            f"the optimal plan between {n} and {m} points was not found in {PIVOTS:.0e} pivots, got "
            f"{str(warning).splitlines()[0]!r}: thin the clouds, or compare one coordinate at a time."
        )


def _columns(
    cloud: Measure, other: Measure, coordinates: str | Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The columns to compare, (n, k) and (m, k)."""
    cloud, other = measure_of(cloud, "a distance"), measure_of(other, "a distance")
    if coordinates is None:
        do = "reduce the full one, or name common ones in coordinates="
        same = cloud.coordinates == other.coordinates
        require(
            same,
            f"both clouds must have the coordinates {shortened(cloud.coordinates)}",
            shortened(other.coordinates),
            do,
        )
    wanted = cloud.coordinates if coordinates is None else coordinates
    names = words_of("coordinates", wanted, "('a', 'r')")
    require(len(names) > 0, "a distance needs at least one coordinate", names, "name one, or leave coordinates= out")
    require(len(set(names)) == len(names), "coordinates must be named once", names, "drop the repeated ones")
    columns = [np.stack([np.asarray(c.column(name), float) for name in names], axis=1) for c in (cloud, other)]
    finite = all(len(c) > 0 and bool(np.isfinite(c).all()) for c in columns)
    require(finite, "a distance needs clouds of finite points", "none, or nan or inf", "stop before the run diverges")
    return columns[0], columns[1]


def _probabilities(cloud: Measure) -> np.ndarray:
    """The weights, checked, over their sum, which single precision leaves near 1."""
    weights = np.asarray(cloud.weights, float)
    require_masses("the weights of a cloud", weights)
    return weights / weights.sum()
