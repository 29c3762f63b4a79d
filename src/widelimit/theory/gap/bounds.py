"""The theorems that bound the distance of SGD to the PDE, as functions of (N, ε, D, T, z): K is fitted, never invented.

    general               K e^{KT} √(max(1/N, ε)) [ √(D + log(N/ε)) + z ]
    dimension free        K e^{KT} ( [√log N + z]/√N + [√(D + log N) + z] √ε )                      fixed a
    general coefficients  the same with e^{KT³}                                                     trained a
    noisy                 as dimension free                                                         fixed a, noise
    noisy, general        K e^{e^{KT} (√log N + z²)} ( [√(D log N) + log^{3/2}(NT) + z⁵]/√N
                                                      + [√D log(NT/ε) + log^{3/2} N + z⁶] √ε )       trained a, noise
    sampling              K (1 + z)/√(2N)                       |mean_i χ(θ̄_i) − ∫χ dρ|: McDiarmid, no dynamics
    Grönwall              Δ(t) ≤ A(t) + ∫ L Δ ds   ⇒   Δ(t) ≤ sup_{s ≤ t} A(s) · exp(∫ L ds)

    N   n      neurons                     D   dimension   parameters of a neuron
    ε   step   of SGD, 0 for a flow        T   t           horizon
    K          constant of the problem     z               probability at least 1 − e^{−z²}

All but the last two bound sup_{kε ≤ T} |R_N(θ^k) − R(ρ_{kε})|. K is fitted in widelimit.theory.gap.fitted_bound.
Reference: [mmn18] theorem 3, [mmm19] theorems 1 to 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widelimit.arguments import array_of
from widelimit.errors import (
    InputError,
    is_finite,
    is_number,
    is_whole,
    require,
    require_count,
    require_known,
    require_nonnegative,
)

__all__ = ["bound", "dimension_free", "general", "gronwall", "noisy_general", "sampling", "setting"]

LARGEST_Z = 100.0
EXPONENTS = {
    ("n", "PDE–ND", "risk spread"): -0.5,
    ("n", "PDE–ND", "risk bias"): -1.0,
    ("n", "PDE–ND", "W2"): -0.5,
    ("n", "ND–PD", "distance"): -0.5,
    ("n", "ND–PD", "max distance"): -0.5,
    ("step", "PD–GD", "distance"): 1.0,
    ("step", "PD–GD", "max distance"): 1.0,
    ("step", "PD–GD", "risk bias"): 1.0,
    ("step", "GD–SGD", "distance"): 0.5,
    ("step", "GD–SGD", "max distance"): 0.5,
    ("step", "GD–SGD", "risk spread"): 0.5,
    ("d", "ND–PD", "distance"): 0.0,
    ("d", "ND–PD", "max distance"): 0.0,
    ("d", "GD–SGD", "distance"): 0.5,
    ("d", "GD–SGD", "max distance"): 0.5,
}


class Setting(NamedTuple):
    """Where a bound is asked for: width, step, number of parameters of a neuron, horizon."""

    n: int
    step: float
    dimension: int
    t: float = 1.0


def setting(n: int, step: float, dimension: int, t: float = 1.0) -> Setting:
    """Width N, step ε (0 for a flow), parameters D of a neuron and horizon T, checked.

    >>> setting(100, 1e-3, 40).t
    1.0
    """
    require_count("n", n, "100")
    require_nonnegative("step", step, "1e-3")
    good = is_whole(dimension) and dimension >= 0
    require(good, "dimension must be a whole number >= 0", dimension, "try dimension=40")
    require(is_number(t) and t >= 0, "t must be a number >= 0", t, "try t=1.0")
    return Setting(int(n), float(step), int(dimension), float(t))


def _probability(z: float) -> None:
    good = is_number(z) and 0 <= z <= LARGEST_Z
    require(good, f"z must lie between 0 and {LARGEST_Z:g}, for a probability 1 − exp(−z²)", z, "try z=1.73")


def general(n: int, step: float, dimension: int, z: float = 0.0) -> float:
    """err_{N,D}(z), without the factor K e^{KT}; infinite for a flow.

    >>> round(general(100, 1e-2, 0), 3)
    0.303
    """
    at = setting(n, step, dimension)
    _probability(z)
    return _general(at, z)


def _general(at: Setting, z: float) -> float:
    if at.step == 0:
        return math.inf
    return math.sqrt(max(1 / at.n, at.step)) * (math.sqrt(at.dimension + max(math.log(at.n / at.step), 0.0)) + z)


def dimension_free(n: int, step: float, dimension: int, z: float = 0.0) -> tuple[float, float]:
    """The terms of N and of ε, without the factor K e^{KT}.

    >>> [round(term, 3) for term in dimension_free(100, 1e-4, 20)]
    [0.215, 0.05]
    """
    at = setting(n, step, dimension)
    _probability(z)
    log_n = math.log(max(at.n, 2))
    return (math.sqrt(log_n) + z) / math.sqrt(at.n), (math.sqrt(at.dimension + log_n) + z) * math.sqrt(at.step)


def noisy_general(n: int, step: float, dimension: int, t: float, z: float = 0.0) -> tuple[float, float]:
    """The terms of N and of ε with noise and trained a, without the factor K e^{e^{KT}(√log N + z²)}.

    >>> [round(term, 2) for term in noisy_general(100, 1e-4, 20, 1.0)]
    [1.95, 0.72]
    """
    at = setting(n, step, dimension, t)
    _probability(z)
    log_n, log_nt = math.log(max(at.n, 2)), math.log(max(at.n * at.t, 2))
    width = (math.sqrt(at.dimension * log_n) + log_nt**1.5 + z**5) / math.sqrt(at.n)
    if at.step == 0:
        return width, 0.0
    count = math.log(max(at.n * at.t / at.step, 2))
    return width, (math.sqrt(at.dimension) * count + log_n**1.5 + z**6) * math.sqrt(at.step)


def sampling(n: int, z: float = 0.0) -> float:
    """(1 + z)/√(2N), for tracers and a test function, without the factor K.

    >>> sampling(50)
    0.1
    """
    require_count("n", n, "100")
    _probability(z)
    return (1 + z) / math.sqrt(2 * n)


def gronwall(forcing: np.ndarray, growth: np.ndarray) -> np.ndarray:
    """The envelope sup_{s ≤ t} A(s) · exp(∫ L ds) over time.

    forcing   A, (time,)
    growth    ∫_0^t L ds, (time,)

    >>> gronwall(np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.0, np.log(2.0)])).tolist()
    [0.0, 1.0, 2.0]
    """
    do = "give two arrays (m,)"
    A, L = (array_of(name, x, "(m,)", do, finite=True) for name, x in (("forcing", forcing), ("growth", growth)))
    good = A.shape == L.shape and len(A) > 0
    require(good, "gronwall needs A and ∫L at the same times, one or more", (A.shape, L.shape), do)
    return np.maximum.accumulate(A) * np.exp(np.minimum(L, 700.0))


@dataclass(frozen=True)
class Theorem:
    """One bound, K · exp(growth) · terms.

    terms    of N and ε, a function of the setting and z
    growth   the exponent, a function of K, the setting and z
    noise    whether it is about noisy dynamics
    trained  whether outer weights may be trained
    """

    terms: Callable[[Setting, float], float]
    growth: Callable[[np.ndarray, Setting, float], np.ndarray]
    noise: bool = False
    trained: bool = False

    def log(self, log_K: np.ndarray, at: Setting, z: float) -> np.ndarray:
        """log of the bound, for many K at once."""
        terms = self.terms(at, z)
        with np.errstate(over="ignore"):
            return log_K + self.growth(np.exp(log_K), at, z) + (math.log(terms) if terms > 0 else -math.inf)


def _doubly(K: np.ndarray, at: Setting, z: float) -> np.ndarray:
    return np.exp(np.minimum(K * at.t, 700.0)) * (math.sqrt(math.log(max(at.n, 2))) + z**2)


def _free(at: Setting, z: float) -> float:
    return sum(dimension_free(at.n, at.step, at.dimension, z))


THEOREMS = {
    "general": Theorem(_general, lambda K, at, z: K * at.t, trained=True),
    "dimension free": Theorem(_free, lambda K, at, z: K * at.t),
    "general coefficients": Theorem(_free, lambda K, at, z: K * at.t**3, trained=True),
    "noisy": Theorem(_free, lambda K, at, z: K * at.t, noise=True),
    "noisy, general": Theorem(lambda at, z: sum(noisy_general(*at, z)), _doubly, noise=True, trained=True),
    "sampling": Theorem(lambda at, z: sampling(at.n, z), lambda K, at, z: 0.0 * K, noise=True, trained=True),
}  # fmt: skip


def bound(theorem: str, constant: float, at: Setting, z: float = 0.0) -> float:
    """The value of a theorem with the constant K; infinite where it is larger than any number.

    theorem   "general", "dimension free", "general coefficients", "noisy", "noisy, general" or "sampling"
    constant  K > 0, from `wl.fit_bound`
    at        `setting(n, step, dimension, t)`

    >>> round(bound("dimension free", 0.5, setting(10_000, 1e-6, 20, 2.0)), 4)
    0.0486
    """
    require_known("theorem", theorem, THEOREMS)
    require(is_finite(constant) and constant > 0, "constant must be a number > 0", constant, "fit it with wl.fit_bound")
    if not isinstance(at, Setting):
        raise InputError(f"a bound needs a setting, got {type(at).__name__!r}: try bounds.setting(100, 1e-3, 40, 1.0).")
    setting(*at)
    _probability(z)
    value = float(THEOREMS[theorem].log(np.array(math.log(constant)), at, float(z)))
    return math.exp(value) if value < 700 else math.inf


def __dir__() -> list[str]:
    return __all__
