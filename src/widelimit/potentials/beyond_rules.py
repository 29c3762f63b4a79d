"""What rules of quadrature lose at deviations beyond those they reach.

    e(s) = 1e−12^{ŝ/s}  for s > ŝ,  else 0            relative error of E σ(h), E σ(h) σ(h') and their slopes
    |δV| ≤ √R# Σ e,   |δU| ≤ e Σ Σ',   |δR| ≤ 2 √R# ∫ e Σ dρ + ∬ e Σ Σ' dρ dρ,   Σ² = U(θ, θ), e the larger of the two

    s   deviation of the pre-activation h in the widest class
    ŝ   up to which the rules were seen to agree to 1e−12: ∞ where a formula takes their place

The error of a rule of spacing g is e^{−C/(s g)} for a function analytic between its kinks, so that its logarithm
is proportional to 1/s. Rules that follow a function reach 10⁵, those of one that oscillates far out about 40.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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


def lost(activation: Activation, reach: Callable[[Activation], float], s: np.ndarray) -> np.ndarray:
    """e(s) for one of the two reaches, which is not measured for deviations that every rule reaches: of values and of
    slopes, (n, 2)."""
    s = np.repeat(s[:, None], 2, axis=1)
    stretch = _stretch(activation) if isinstance(activation, Part) else 1.0
    if stretch * s.max(initial=0.0) <= LEAST or math.isinf(most := reach(activation)):
        return np.zeros_like(s)
    return lost_beyond(most, s)


def lost_beyond(reach: float, s: np.ndarray) -> np.ndarray:
    """e(s) for ŝ = ``reach``."""
    return np.where(s > reach, AGREEMENT ** (reach / np.maximum(s, reach)), 0.0)


def with_lost(found: Errors, here: Errors, e: np.ndarray, weights: np.ndarray, square: float) -> Errors:
    """The errors with what is lost: ``here`` are V, U, ∇Ψ and R themselves, ``square`` is R#.

    e   relative errors of values and of slopes, (n, 2)
    """
    size, root = np.sqrt(np.abs(np.diagonal(here.U))), math.sqrt(abs(square))
    V, U = root * size * e[:, 0], np.outer(size, size) * np.maximum.outer(e[:, 0], e[:, 0])
    slope = np.max(e[:, 1]) * (np.abs(here.gradient).max() + size.max() * (root + weights @ size))
    risk = float(weights @ (2 * V + U @ weights))
    return Errors(found.V + V, found.U + U, found.gradient + slope, found.risk + risk)
