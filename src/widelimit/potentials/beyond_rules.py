"""What rules of quadrature lose at deviations beyond those they reach.

    e(s) = 1e−12^{ŝ/s}  for s > ŝ,  else 0            relative error of E σ(h), E σ(h) σ(h') and their slopes
    |δV| ≤ √R# Σ e,   |δU| ≤ e Σ Σ',   |δR| ≤ 2 √R# ∫ e Σ dρ + ∬ e Σ Σ' dρ dρ,   Σ² = U(θ, θ), e the larger of the two
    |δ∇Ψ(θ_i)| ≤ e_i (|∇Ψ| + max Σ (√R# + Σ_{j≠i} w_j Σ_j) + w_i Σ_i²)

    s   deviation of the pre-activation h in the widest class
    ŝ   up to which the rules were seen to agree to 1e−12: ∞ where a formula takes their place

The error of a rule of spacing g is e^{−C/(s g)} for a function analytic between its kinks, so that its logarithm
is proportional to 1/s. Rules that follow a function reach 10⁵, those of one that oscillates far out about 40.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from widelimit.potentials.direct_rules import AGREEMENT, RUNGS, ladder
from widelimit.potentials.pair_rules import largest_deviation
from widelimit.potentials.refinement import Errors
from widelimit.problem.activations import (
    Activation,
    ErrorFunction,
    ExponentialFunction,
    General,
    Hinges,
    Part,
    Polynomial,
    Sinusoid,
)

LEAST = RUNGS[-1] / RUNGS[0]  # the smallest ŝ: a first rule that does not reach 1 is refused


@singledispatch
def values_reach(activation: Activation) -> float:
    """ŝ of E σ(h) h_k: ∞ for formulas."""
    return math.inf


@values_reach.register
def _(activation: General) -> float:
    return ladder(activation)[-1]


@values_reach.register
def _(activation: Part) -> float:
    return values_reach(activation.activation) / _stretch(activation)


@singledispatch
def kernels_reach(activation: Activation) -> float:
    """ŝ of E σ(h) σ(h'): ∞ for formulas."""
    return min(values_reach(activation), largest_deviation(activation))


@kernels_reach.register
def _(activation: Hinges | ErrorFunction | Sinusoid | ExponentialFunction | Polynomial) -> float:
    return math.inf


@kernels_reach.register
def _(activation: Part) -> float:
    return kernels_reach(activation.activation) / _stretch(activation)


def _stretch(activation: Part) -> float:
    return max(abs(float(activation.scale)), 1e-300)


@dataclass(frozen=True, eq=False)
class Lost:
    """Relative errors at n neurons that no comparison of landscapes shows, each (n,).

    values      of E y Φ, relative to √R# Σ
    pairs       of E Φ Φ' with another neuron, relative to Σ Σ'; the larger of the two counts
    own         of E Φ², relative to Σ²
    slopes      of E y ∂Φ and E Φ' ∂Φ, relative to √R# Σ and Σ' Σ
    own_slopes  of E Φ ∂Φ, relative to Σ²
    """

    values: np.ndarray
    pairs: np.ndarray
    own: np.ndarray
    slopes: np.ndarray
    own_slopes: np.ndarray

    @classmethod
    def same(cls, e: np.ndarray) -> Lost:
        """One error (n,) in all of them."""
        return cls(e, e, e, e, e)

    def any(self) -> bool:
        """Whether something is lost."""
        return any(part.any() for part in vars(self).values())

    def __add__(self, other: Lost) -> Lost:
        return Lost(*(mine + its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))


def lost(activation: Activation, reach: Callable[[Activation], float], s: np.ndarray) -> np.ndarray:
    """e(s) for one of the two reaches, which is not measured for deviations that every rule reaches, (n,)."""
    stretch = _stretch(activation) if isinstance(activation, Part) else 1.0
    if stretch * s.max(initial=0.0) <= LEAST or math.isinf(most := reach(activation)):
        return np.zeros_like(s)
    return lost_beyond(most, s)


def lost_beyond(reach: float, s: np.ndarray) -> np.ndarray:
    """e(s) for ŝ = ``reach``."""
    return np.where(s > reach, AGREEMENT ** (reach / np.maximum(s, reach)), 0.0)


def with_lost(found: Errors, here: Errors, e: Lost, weights: np.ndarray, square: float) -> Errors:
    """The errors with what is lost: ``here`` are V, U, ∇Ψ and R themselves, ``square`` is R#."""
    size, root = np.sqrt(np.abs(np.diagonal(here.U))), math.sqrt(abs(square))
    V, U = root * size * e.values, np.outer(size, size) * np.maximum.outer(e.pairs, e.pairs)
    np.fill_diagonal(U, size**2 * e.own)
    slope = lost_slopes(e, float(np.abs(here.gradient).max()), size, weights, root)
    risk = float(weights @ (2 * V + U @ weights))
    return Errors(found.V + V, found.U + U, found.gradient + slope[:, None], found.risk + risk)


def lost_slopes(e: Lost, most: float, size: np.ndarray, weights: np.ndarray, root: float) -> np.ndarray:
    """|δ∇Ψ(θ_i)|, (n,), with Σ of every neuron, the largest |∇Ψ| and √R#."""
    others = root + weights @ size - weights * size
    return e.slopes * (most + size.max() * others) + e.own_slopes * weights * size**2
