"""The classes of [mmn18] and its two activations, as entries of the catalogue use them.

x | y ~ N(0, (1 + yΔ)² I_d),  y = ±1,     σ*(x; w) = σ(⟨w, x⟩),     w ~ N(0, κ²/d I) at the start
"""

from __future__ import annotations

from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem

RAMP = ((0.5, -2.5), (1.5, 7.5))
DIP = ((0.0, -2.5), (0.5, -4.0), (1.5, 7.5))
Knots = tuple[tuple[float, float], ...]


def two_gaussians(d: float, delta: float, scale: float, knots: Knots = RAMP) -> Problem:
    """The problem.

    >>> two_gaussians(40, 0.8, 0.8).data.d
    40
    """
    sigma = activations.piecewise_linear(knots)
    return Problem(data.gaussian_classes(d, delta), neurons.ridge(sigma), initial.gaussian(scale))
