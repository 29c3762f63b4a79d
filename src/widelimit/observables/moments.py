"""Moments of the coordinates.

∫ θ_c^k ρ(dθ)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from widelimit.errors import require_count
from widelimit.measures import Cloud


def moment(coordinate: str, power: int = 1) -> Callable[[Cloud], float]:
    """ρ ↦ ∫ θ_c^power dρ for the coordinate c, e.g. ``moment("r", 2)``."""
    require_count("power", power, "2")
    return lambda cloud: float(cloud.mean(cloud.column(coordinate) ** power))


def summary(cloud: Cloud) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of every coordinate.

    >>> summary(Cloud(np.array([[1.0], [3.0]]), np.array([0.5, 0.5]), ("r",)))
    {'r': (2.0, 1.0)}
    """
    result = {}
    for name in cloud.coordinates:
        values = cloud.column(name)
        mean = float(cloud.mean(values))
        result[name] = (mean, float(np.sqrt(cloud.mean((values - mean) ** 2))))
    return result
