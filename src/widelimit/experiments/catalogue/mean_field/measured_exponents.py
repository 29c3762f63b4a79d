"""What the entries on the gap share: two classes with bounded neurons of slope 1, and exponents as measurements.

gap(x) ~ C x^p,   x = N or ε:     p by least squares over logarithms, error from the bootstrap over couplings
"""

from __future__ import annotations

import math

from widelimit.experiments.catalogue.claims import Claim, Measurement
from widelimit.experiments.catalogue.drawing import DrawnLine, measured, theory
from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.gap.rates import Rates

NORMAL = 2 * 1.96  # widths of the 95 % interval of a normal law, in standard errors
TOLERANCE = 0.15


def bounded_classes(d: int, ridge: float = 0.0, beta: float = math.inf) -> Problem:
    """Two isotropic classes, σ from −1 to 1 with slope 1.

    >>> bounded_classes(20).data.d
    20
    """
    sigma = activations.ramp((0.0, -1.0), (2.0, 1.0))
    start = initial.gaussian(1.0)
    return Problem(data.gaussian_classes(d, 0.8), neurons.ridge(sigma), start, ridge=ridge, beta=beta)


def exponent(found: Rates, part: str, quantity: str) -> Measurement:
    """The exponent of a part with its standard error."""
    value, low, high = found.exponent(part, quantity)
    return Measurement(value, (high - low) / NORMAL)


def drawn_rate(
    found: Rates, part: str, quantity: str, power: float, colour: int, label: str | None = None
) -> list[DrawnLine]:
    """The gap of a part as symbols, and the power of theory through its last value."""
    cell = found.dataset["gap"].sel(part=part, quantity=quantity)
    x, gap = cell["x"].values, cell.values
    return [theory(f"exponent {power:g}", x, gap[-1] * (x / x[-1]) ** power, colour),
            measured(label or f"{part}, {quantity}", x, gap, colour)]  # fmt: skip


def rate_claim(name: str, sentence: str, locator: str, power: float) -> Claim:
    """The exponent of a part is that of theory."""
    reason = "three values of x over a factor of 4 and a few couplings; the next power of theory is 1/2 away"
    return Claim(name, sentence, locator, power, "theory", "near", TOLERANCE, reason,
                 f"an exponent of {power - 0.5:g} or {power + 0.5:g}")  # fmt: skip
