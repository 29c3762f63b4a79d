"""The risk as an observer.

R(ρ) = E (y − f(x; ρ))²
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from widelimit.measures import Measure

if TYPE_CHECKING:
    from widelimit.potentials.landscape_base import Landscape


def risk(landscape: Landscape) -> Callable[[Measure], float]:
    """ρ ↦ R(ρ) in the coordinates of the landscape."""
    return landscape.risk
