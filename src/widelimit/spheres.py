"""The unit sphere in R^d, in any number of dimensions.

S = 2 π^{d/2}/Γ(d/2)                     its area
c = Γ(d/2)/(√π Γ((d − 1)/2))             density at 0 of a coordinate of a uniform point: c (1 − t²)^{(d−3)/2}
"""

from __future__ import annotations

import math

MANY = 100.0  # from here on the series of Γ(x + ½)/Γ(x) is right to rounding


def log_sphere_area(d: float) -> float:
    """log S.

    >>> round(math.exp(log_sphere_area(3)) / math.pi, 12)
    4.0
    """
    return math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)


def equator_density(d: float) -> float:
    """c; in many dimensions by Γ(x + ½)/Γ(x) = √x (1 − 1/8x + 1/128x² + …), as a difference of logarithms loses digits.

    >>> round(equator_density(3), 12), round(equator_density(1e12) / 1e6, 6)  # ½, and √(d/2π)
    (0.5, 0.398942)
    """
    x = (d - 1) / 2
    if x < MANY:
        return math.gamma(x + 0.5) / (math.gamma(x) * math.sqrt(math.pi))
    series = 1 - (1 - (1 + (5 - (21 + 399 / (8 * x)) / (32 * x)) / (8 * x)) / (16 * x)) / (8 * x)
    return math.sqrt(x / math.pi) * series
