"""Exponents of the parts of the gap, measured.

    gap(x) ~ C x^p,     x = N, ε or d:     log gap = p log x + log C by least squares

For every part of the chain and every x, over R replicas:

    distance       √mean_r (sup_t mean_i |θ_i − θ'_i|)²          max distance   the same with max_i
    W2             √mean_r W_2(first or second, limit)² at t_end
    risk spread    std_r of the risk gap at t_end                first-order fluctuations, ∝ ∫Ψ d(ρ^N − ρ)
    risk bias      |mean_r of the risk gap| at t_end             second order, ∝ 1/N; all that is left at an optimum,
                                                                 where Ψ is constant on the support of ρ

The interval is the bootstrap over replicas (2.5 % to 97.5 %), drawn anew at every x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import xarray as xr

from widelimit.arguments import instance_of, numbers_of
from widelimit.errors import require, require_count, require_keywords, require_known
from widelimit.problem.data import GaussianClasses, IndexModel, MultiIndex, SingleIndex
from widelimit.problem.problem import Problem
from widelimit.theory.gap.bounds import EXPONENTS
from widelimit.theory.gap.coupling import Comparison, Coupling, compare

CHAINS = {"n": ("PDE", "ND", "PD"), "step": ("PD", "GD", "SGD"), "d": ("ND", "PD", "GD", "SGD")}
QUANTITIES = ("distance", "max distance", "W2", "risk spread", "risk bias")
RESAMPLES = 2000
Samples = dict[tuple[str, str], np.ndarray]  # one number per replica for every part and quantity


class Exponent(NamedTuple):
    """A measured power and its interval.

    >>> Exponent(2.1, 1.9, 2.3).value
    2.1
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Rates:
    """Measured exponents; ``dataset`` has gap (quantity, part, x) and exponent, low, high, theory (quantity, part).

    >>> cells = {"exponent": (("quantity", "part"), [[-0.5]])}
    >>> cells |= {name: (("quantity", "part"), [[0.0]]) for name in ("low", "high", "theory")}
    >>> Rates(xr.Dataset(cells, {"quantity": ["distance"], "part": ["ND–PD"]})).exponent("ND–PD", "distance").value
    -0.5
    """

    dataset: xr.Dataset

    def table(self) -> list[dict[str, str | float]]:
        """One row for every exponent that could be measured."""
        rows: list[dict[str, str | float]] = []
        for part in self.dataset["part"].values:
            for quantity in self.dataset["quantity"].values:
                cell = self.dataset.sel(part=part, quantity=quantity)
                if np.isfinite(cell["exponent"]):
                    numbers = {k: float(cell[k]) for k in ("exponent", "low", "high", "theory")}
                    rows.append({"part": str(part), "quantity": str(quantity), **numbers})
        return rows

    def exponent(self, part: str, quantity: str) -> Exponent:
        """The exponent of one part and its interval."""
        require_known("part", part, [str(p) for p in self.dataset["part"].values])
        require_known("quantity", quantity, QUANTITIES)
        cell = self.dataset.sel(part=part, quantity=quantity)
        return Exponent(float(cell["exponent"]), float(cell["low"]), float(cell["high"]))

    def __repr__(self) -> str:
        rows = (f"{r['part']} {r['quantity']} {r['exponent']:.2f}" for r in self.table())
        return f"<Rates over {self.dataset.attrs['over']}: {', '.join(rows)}>"


class RatesOptions(TypedDict, total=False):
    """What may be asked of `rates` by keyword."""

    n: int
    step: float
    t_end: float
    seed: int
    replicas: int
    chain: Sequence[str] | None
    coordinates: str
    points: int | None


DEFAULTS: RatesOptions = {
    "n": 100, "step": 1e-3, "t_end": 0.5, "seed": 0, "replicas": 32, "chain": None, "coordinates": "full",
    "points": None,
}  # fmt: skip


def rates(
    problem: Problem,
    over: str,
    values: Sequence[float],
    *,
    progress: bool | None = None,
    **options: Unpack[RatesOptions],
) -> Rates:
    """Fit the exponents of the parts of the gap over the width, the step or the dimension.

    over         "n", "step" or "d"
    values       of it, three or more; the others stay at ``n``, ``step`` and the problem's own d

    and by keyword

    n, step      width (100) and step (1e-3) of the finite networks
    t_end, seed  horizon (0.5) and seed (0)
    replicas     independent couplings at every value, for the intervals (32)
    chain        which dynamics, as in `compare` (default: those whose gap depends on it)
    coordinates  "full" or "reduced"
    points       that carry the limit, as in `compare`

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> few = {"t_end": 0.02, "replicas": 4, "chain": ("GD", "SGD")}
    >>> wl.rates(problem, "step", [0.01, 0.005, 0.002], n=4, **few).dataset.attrs["over"]  # doctest: +SKIP
    'step'
    """
    instance_of(Problem, problem, "rates", "build one first")
    require_known("variable", over, tuple(CHAINS))
    require_keywords(options, DEFAULTS)
    asked: RatesOptions = {**DEFAULTS, **options}
    spots = sorted({*numbers_of("values", values, "values=[100, 200, 400]")})
    require(len(spots) >= 3 and spots[0] > 0, "values must be three or more positive numbers", values, "add some")
    replicas = asked["replicas"]
    require_count("replicas", replicas, "32")
    require(replicas >= 4, "an interval needs at least 4 replicas", replicas, "try replicas=32")
    chain = CHAINS[over] if asked["chain"] is None else asked["chain"]
    Coupling(asked["n"], asked["step"], asked["t_end"], asked["seed"], replicas, 6, chain,
             asked["coordinates"], asked["points"])  # fmt: skip
    samples: list[Samples] = []
    for value in spots:
        n, step = int(value) if over == "n" else asked["n"], value if over == "step" else asked["step"]
        place = _with_dimension(problem, int(value)) if over == "d" else problem
        result = compare(
            place, n, step, asked["t_end"], seed=asked["seed"], replicas=replicas, save=6, progress=progress,
            chain=chain, coordinates=asked["coordinates"], points=asked["points"],
        )  # fmt: skip
        samples.append(_samples(result))
    return Rates(_dataset(over, spots, samples, replicas, asked["seed"]))


def _with_dimension(problem: Problem, d: int) -> Problem:
    """The same problem in another dimension."""
    data = problem.data
    if isinstance(data, GaussianClasses) and data.informative is None:
        return replace(problem, data=replace(data, d=d))
    require(isinstance(data, IndexModel), "rates over d needs isotropic classes or an index model", data,
            "leave informative out")  # fmt: skip
    assert isinstance(data, SingleIndex | MultiIndex)
    return replace(problem, data=replace(data, d=d))


def _samples(result: Comparison) -> Samples:
    """One number per replica for every part and quantity."""
    numbers = {}
    for part in result.parts[:-1]:
        far = part.split("–")[1]
        numbers[part, "distance"] = result.gap(part, "distance").max(axis=-1)
        numbers[part, "max distance"] = result.gap(part, "max_distance").max(axis=-1)
        numbers[part, "W2"] = result.dataset["w2"].sel(dynamics=far).values[:, -1]
        numbers[part, "risk spread"] = numbers[part, "risk bias"] = result.gap(part)[:, -1]
    return numbers


def summarise(quantity: str, numbers: np.ndarray) -> np.ndarray:
    """The size of a gap from one number per replica (…, R)."""
    if quantity == "risk spread":
        return numbers.std(axis=-1, ddof=1)
    if quantity == "risk bias":
        return np.abs(numbers.mean(axis=-1))
    return np.sqrt(np.mean(numbers**2, axis=-1))


def _dataset(over: str, spots: list[float], samples: list[Samples], replicas: int, seed: int) -> xr.Dataset:
    parts = list(dict.fromkeys(part for part, _ in samples[0]))
    shape = (len(QUANTITIES), len(parts))
    gap = np.full((*shape, len(spots)), math.nan)
    fits = {name: np.full(shape, math.nan) for name in ("exponent", "low", "high", "theory")}
    rng = np.random.default_rng(seed)
    for i, quantity in enumerate(QUANTITIES):
        for j, part in enumerate(parts):
            numbers = np.stack([s[part, quantity] for s in samples])
            gap[i, j] = summarise(quantity, numbers)
            if not (gap[i, j] > 0).all():
                continue
            picks = rng.integers(replicas, size=(RESAMPLES, len(spots), replicas))
            drawn = summarise(quantity, np.take_along_axis(numbers[None], picks, axis=-1))
            fits["exponent"][i, j] = slope(spots, gap[i, j])
            fits["low"][i, j], fits["high"][i, j] = np.percentile(slope(spots, drawn), [2.5, 97.5])
            fits["theory"][i, j] = EXPONENTS.get((over, part, quantity), math.nan)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: (("quantity", "part"), values) for name, values in fits.items()
    }
    variables["gap"] = (("quantity", "part", "x"), gap)
    return xr.Dataset(variables, {"quantity": list(QUANTITIES), "part": parts, "x": spots}, {"over": over})


def slope(x: Sequence[float], y: np.ndarray) -> np.ndarray:
    """Least-squares slope of log y (…, points) against log x (points,)."""
    log_x = np.log(np.asarray(x, float))
    centred = log_x - log_x.mean()
    return np.log(np.maximum(y, 1e-300)) @ centred / (centred @ centred)
