"""Moments of the coordinates.

∫ θ_c^k ρ(dθ)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from widelimit.arguments import require_word
from widelimit.errors import require_count
from widelimit.measures import Measure, measure_of
from widelimit.observables.statistics import variance


def moment(coordinate: str, power: int = 1) -> Callable[[Measure], float]:
    """ρ ↦ ∫ θ_c^power dρ for the coordinate c, e.g. ``moment("r", 2)``.

    >>> import widelimit as wl
    >>> wl.observables.moment("r", 2)(wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",)))
    5.0
    """
    require_word("coordinate", coordinate, "'r'")
    require_count("power", power, "2")

    def observer(cloud: Measure) -> float:
        rho = measure_of(cloud, "moment")
        return float(rho.mean(rho.column(coordinate) ** power))

    return observer


def summary(cloud: Measure) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of every coordinate.

    >>> import widelimit as wl
    >>> summary(wl.Cloud(np.array([[1.0], [3.0]]), np.array([0.5, 0.5]), ("r",)))
    {'r': (2.0, 1.0)}
    """
    measure_of(cloud, "summary")
    return {name: (moment(name)(cloud), float(np.sqrt(variance(name)(cloud)))) for name in cloud.coordinates}
