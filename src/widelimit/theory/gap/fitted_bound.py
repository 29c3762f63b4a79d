"""The constant of a theorem, fitted to measured gaps.

    gap_r ≤ K e^{K T_r} s(N_r, ε_r, D_r; z)        for a share 1 − e^{−z²} of the runs r in every setting (N, ε, D, T)

    K_r       the constant with which the theorem holds with equality in run r
    K         the largest, over the settings, of the (1 − e^{−z²})-quantile of K_r (an order statistic that a fresh run
              exceeds with at most that probability); its interval is the bootstrap over replicas, 2.5 % to 97.5 %,
              its upper end no nearer than the lower one: resampling cannot exceed the largest K_r
    shape     log gap_r = log(K' e^{K' T_r} s(…; 0)) + e_r,  K' by least squares:  spread of e_r, and the likelihood
              of normal e_r. Every theorem has the one number K', so their likelihoods compare on the same runs
    vacuous   the bound is not below what is true anyway: risks lie between 0 and R(ρ_0); two neurons that start
              together are no farther apart than they have moved, both together

The gap of a run is its supremum over the saves. Gaps come from `wl.compare`, or cheaper from two solutions, that of the
limit and that of SGD with replicas, saved at the same times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from widelimit.arguments import require_seed
from widelimit.dynamics.methods import SGD
from widelimit.errors import InputError, is_finite, require, require_known
from widelimit.solving.solution import Solution
from widelimit.theory.gap.bounds import THEOREMS, Setting, bound, setting
from widelimit.theory.gap.coupling import Comparison

Gap = Comparison | tuple[Solution, Solution]

QUANTITIES = ("risk_gap", "distance", "max_distance")
RESAMPLES = 1000
FEWEST = 4  # replicas
LOWEST, HIGHEST = -80.0, 40.0  # of log K
CONFIDENCE = 0.95
MOST_WIDTH = 2**60


@dataclass(frozen=True, eq=False)
class Measured:
    """The gaps of the replicas of one setting, (R,), and what is true of them without a theorem."""

    at: Setting
    gaps: np.ndarray
    trivial: float


@dataclass(frozen=True, eq=False)
class FittedBound:
    """A theorem with its constant.

    theorem        its name, see `wl.bounds`
    constant       K
    low, high      interval of K
    z              for the probability 1 − e^{−z²}
    quantity       what is bounded: "risk_gap", "distance" or "max_distance"
    measured       the runs it was fitted to
    log_likelihood of the shape
    misfit         standard deviation of log gap around the shape
    hypotheses     what the theorem asks for and these runs do not have; empty if nothing

    >>> import widelimit as wl
    >>> at = wl.bounds.setting(100, 1e-3, 20)
    >>> few = Measured(at, np.array([0.1]), 1.0)
    >>> wl.FittedBound("general", 0.5, 0.4, 0.6, 1.0, "risk_gap", (few,), 0.0, 0.0, "").is_vacuous(100, 1e-3)
    False
    """

    theorem: str
    constant: float
    low: float
    high: float
    z: float
    quantity: str
    measured: tuple[Measured, ...]
    log_likelihood: float
    misfit: float
    hypotheses: str

    @property
    def trivial(self) -> float:
        """What is true without a theorem: the largest over the settings."""
        return max(m.trivial for m in self.measured)

    def value(self, n: int, step: float, *, dimension: int | None = None, t: float | None = None) -> float:
        """The bound at another width and step, and another D and T if given (else the largest that was measured)."""
        D = max(m.at.dimension for m in self.measured) if dimension is None else dimension
        return bound(
            self.theorem, self.constant, setting(n, step, D, max(m.at.t for m in self.measured) if t is None else t),
            self.z,
        )  # fmt: skip

    def is_vacuous(self, n: int, step: float, *, dimension: int | None = None, t: float | None = None) -> bool:
        """Whether the bound says no more than is true anyway."""
        return bool(self.value(n, step, dimension=dimension, t=t) >= self.trivial)

    def least_width(self, step: float, *, dimension: int | None = None, t: float | None = None) -> float:
        """The width from which on the bound is not vacuous; infinite if the step alone makes it so.

        Where a bound grows again with log N at a fixed step, the first such width.
        """
        width = 1
        while self.is_vacuous(width, step, dimension=dimension, t=t):
            if width > MOST_WIDTH:
                return math.inf
            width = 2 * width
        low = width // 2
        while width - low > 1:
            middle = (low + width) // 2
            low, width = (middle, width) if self.is_vacuous(middle, step, dimension=dimension, t=t) else (low, middle)
        return float(width)

    def covers(self, gaps: Gap | Sequence[Gap]) -> float:
        """The share of other runs that stay below the bound."""
        found = [_measured(c, self.quantity) for c in _listed(gaps)]
        below = [m.gaps <= bound(self.theorem, self.constant, m.at, self.z) for m in found]
        return float(np.concatenate(below).mean())

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {
            "theorem": self.theorem, "constant": self.constant, "low": self.low, "high": self.high, "z": self.z,
            "probability": 1 - math.exp(-self.z**2), "quantity": self.quantity, "trivial": self.trivial,
            "log_likelihood": self.log_likelihood, "misfit": self.misfit, "hypotheses": self.hypotheses,
            "settings": [m.at._asdict() | {"runs": len(m.gaps)} for m in self.measured],
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<FittedBound: {self.theorem}, K = {self.constant:.3g} [{self.low:.3g}, {self.high:.3g}] at "
            f"z = {self.z:.3g} for {self.quantity}, {len(self.measured)} settings, misfit {self.misfit:.2g}>"
        )


def fit_bound(
    theorem: str, gaps: Gap | Sequence[Gap], *, quantity: str = "risk_gap",
    confidence: float = CONFIDENCE, seed: int = 0,
) -> FittedBound:  # fmt: skip
    """Fit the constant of a theorem to the gaps of replicas.

    theorem      "general", "dimension free", "general coefficients", "noisy", "noisy, general" or "sampling"
    gaps         one or more, at one setting (N, ε, D, T) each: results of `wl.compare` with replicas, or pairs
                 (limit, finite) of the solutions of the limit and of SGD with replicas, saved at the same times
    quantity     "risk_gap" (chains from "PDE"), or "distance" or "max_distance" of neurons (chains from "ND"), to "SGD"
    confidence   1 − e^{−z²}: the share of runs that the bound shall cover in every setting
    seed         of the bootstrap

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> limit = wl.solve(problem, wl.MeanField(check=False), t_end=0.1, save=2)
    >>> finite = wl.solve(problem, wl.SGD(n=20, step=0.01), t_end=0.1, save=2, replicas=8)
    >>> fit = wl.fit_bound("dimension free", (limit, finite))
    >>> fit.covers((limit, finite))
    1.0
    """
    require_known("theorem", theorem, THEOREMS)
    require_known("quantity", quantity, QUANTITIES)
    good = is_finite(confidence) and 0 < confidence < 1
    require(good, "confidence must lie in (0, 1)", confidence, "try confidence=0.95")
    require_seed(seed)
    found = [_measured(c, quantity) for c in _listed(gaps)]
    z = math.sqrt(-math.log1p(-confidence))
    constants = [_constants(theorem, m, z) for m in found]
    K, rng = max(_quantile(c, confidence) for c in constants), np.random.default_rng(seed)
    drawn = [_quantile(c[rng.integers(len(c), size=(RESAMPLES, len(c)))], confidence) for c in constants]
    low, high = np.percentile(np.max(drawn, axis=0), [2.5, 97.5])
    high = max(high, 2 * K - low)
    misfit, likelihood = _shape(theorem, found)
    missing = sorted({_missing(theorem, c) for c in _listed(gaps)} - {""})
    return FittedBound(
        theorem, float(np.exp(K)), float(np.exp(low)), float(np.exp(high)), z, quantity, tuple(found), likelihood,
        misfit, "; ".join(missing),
    )  # fmt: skip


def _listed(gaps: Any) -> list[Gap]:
    """One gap or several as a list."""
    do = "try wl.compare(..., replicas=32), or a pair of solutions (limit, finite)"
    listed = [gaps] if isinstance(gaps, Comparison) or _is_pair(gaps) else gaps
    good = isinstance(listed, list | tuple) and len(listed) > 0
    good = good and all(isinstance(one, Comparison) or _is_pair(one) for one in listed)
    require(good, "gaps must be results of compare, or pairs of solutions", gaps, do)
    return list(listed)


def _is_pair(gap: object) -> bool:
    return isinstance(gap, tuple) and len(gap) == 2 and all(isinstance(one, Solution) for one in gap)


def _measured(gap: Gap, quantity: str) -> Measured:
    """One number per replica: the supremum over time."""
    found = _of_chain(gap, quantity) if isinstance(gap, Comparison) else _of_pair(*gap, quantity)
    good = len(found.gaps) >= FEWEST
    require(good, f"a fit needs at least {FEWEST} replicas of every setting", len(found.gaps), "try replicas=32")
    good = bool((found.gaps > 0).all())
    require(good, "a fit needs gaps that are not 0", float(found.gaps.min()), "save later times")
    return found


def _of_chain(result: Comparison, quantity: str) -> Measured:
    starts = ("PDE",) if quantity == "risk_gap" else ("PDE", "ND")
    names = [str(d) for d in result.dataset["dynamics"].values]
    good = names[0] in starts and names[-1] == "SGD" and result.outcome == "done"
    require(good, f"a bound of {quantity} needs a finished chain from {starts[-1]} to SGD", names, "leave chain out")
    about, D = result.dataset.attrs, result.solutions["SGD"].dataset.sizes["final_coordinate"]
    at = setting(int(about["n"]), float(about["step"]), D, float(result.times[-1]))
    gaps = np.atleast_1d(np.abs(result.gap("total", quantity)).max(axis=-1))
    return Measured(at, gaps, _trivial(result, quantity))


def _of_pair(limit: Solution, finite: Solution, quantity: str) -> Measured:
    method = finite.method
    good = quantity == "risk_gap" and limit.replicas is None and isinstance(method, SGD)
    require(good, "a pair of solutions has the risk gap of one limit and SGD", (limit, finite, quantity),
            "give (limit, finite), or results of wl.compare for distances")  # fmt: skip
    same = limit.times.shape == finite.times.shape and bool(np.allclose(limit.times, finite.times))
    require(same, "a pair of solutions must be saved at the same times", (len(limit.times), len(finite.times)),
            "give both the same save")  # fmt: skip
    assert isinstance(method, SGD)
    at = setting(method.n, method.step, finite.dataset.sizes["final_coordinate"], float(finite.times[-1]))
    gaps = np.atleast_1d(np.abs(finite.risk - limit.risk).max(axis=-1))
    return Measured(at, gaps, float(limit.risk[0]))


def _trivial(result: Comparison, quantity: str) -> float:
    """What is true without a theorem."""
    if quantity == "risk_gap":
        return float(result.dataset["risk"].sel(dynamics="PDE").values[..., 0].max())
    moved = 0.0
    for name in ("ND", "SGD"):
        theta = result.solutions[name].dataset["theta"].values  # (replica, time, neuron, coordinate)
        far = np.linalg.norm(theta - theta[:, :1], axis=-1)
        moved += float((far.max(axis=-1) if quantity == "max_distance" else far.mean(axis=-1)).max())
    return moved


def _missing(theorem: str, gap: Gap) -> str:
    """What the theorem asks for and a run does not have."""
    asked = THEOREMS[theorem]
    try:
        problem = (gap.solutions["SGD"] if isinstance(gap, Comparison) else gap[1]).problem
    except InputError:  # a record without its problem
        return ""
    roles = zip(problem.neuron.scalars, problem.neuron.trained, strict=True)
    trains = any(name == "a" and moves for name, moves in roles)
    if problem.is_noisy and not asked.noise:
        return "the theorem is about dynamics without noise"
    return "the theorem is about fixed outer weights" if trains and not asked.trained else ""


def _constants(theorem: str, measured: Measured, z: float) -> np.ndarray:
    """log K_r by bisection: the bound grows with K, (R,)."""
    low, high = np.full(len(measured.gaps), LOWEST), np.full(len(measured.gaps), HIGHEST)
    for _ in range(100):
        middle = (low + high) / 2
        over = THEOREMS[theorem].log(middle, measured.at, z) > np.log(measured.gaps)
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return high


def _quantile(values: np.ndarray, level: float) -> np.ndarray:
    """The order statistic of (…, R) that a further value exceeds with probability at most 1 − level, if R allows it."""
    R = values.shape[-1]
    return np.sort(values, axis=-1)[..., min(R, math.ceil(level * (R + 1))) - 1]


def _shape(theorem: str, found: Sequence[Measured]) -> tuple[float, float]:
    """Standard deviation of log gap around the theorem with its best constant, and the log-likelihood."""
    asked = THEOREMS[theorem]

    def residuals(log_K: float) -> np.ndarray:
        return np.concatenate([np.log(m.gaps) - asked.log(np.array(log_K), m.at, 0.0) for m in found])

    best = minimize_scalar(lambda x: float(np.sum(np.clip(residuals(x), -1e6, 1e6) ** 2)), bounds=(LOWEST, HIGHEST),
                           method="bounded", options={"xatol": 1e-10})  # fmt: skip
    e = residuals(float(best.x))
    spread = float(np.sqrt(np.mean(e**2)))
    return spread, -len(e) / 2 * (math.log(2 * math.pi * max(spread, 1e-300) ** 2) + 1)
