"""The risk as an observer.

R(ρ) = E (y − f(x; ρ))²
"""

from __future__ import annotations

from collections.abc import Callable

from widelimit.measures import Measure
from widelimit.potentials.landscape import Landscape


def risk(landscape: Landscape) -> Callable[[Measure], float]:
    """ρ ↦ R(ρ) in the coordinates of the landscape."""
    return landscape.risk
