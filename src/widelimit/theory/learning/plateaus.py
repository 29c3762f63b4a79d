"""Plateaus of a curve over time, found where it is flat on the scale of log t.

    flat at t:    |dy/d log t| < ϱ (max y − min y)
    plateau       a longest interval of flat times that is at least ``ratio`` long, end/start ≥ ratio
    level         y where the curve is flattest

Training that goes from saddle to saddle waits on each of them for longer than it took to get there, so that log t shows
all of them, whatever the scales of time are.  Slopes are central differences between saves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike

from widelimit.arguments import array_of
from widelimit.errors import is_finite, require, require_positive

FLAT = 0.05
RATIO = 1.5
FEWEST = 4  # times of a curve


class Plateau(NamedTuple):
    """Where a curve rests: from when, until when, and at which level.

    >>> Plateau(0.0, 1.0, 0.5).level
    0.5
    """

    start: float
    end: float
    level: float


def plateaus(times: ArrayLike, values: ArrayLike, flat: float = FLAT, ratio: float = RATIO) -> tuple[Plateau, ...]:
    """The plateaus of a curve, in order of time, the one it starts on and the one it ends on included.

    times    (T,), increasing, >= 0; geometric spacing shows plateaus of all lengths
    values   (T,)
    flat     the largest change of y per factor e of time, as a share of all that y changes
    ratio    end/start of a plateau, at least

    >>> import numpy as np
    >>> import widelimit as wl
    >>> t = np.geomspace(1e-6, 1e3, 181)
    >>> found = wl.plateaus(t, np.exp(-1000 * t) + np.exp(-t))
    >>> [round(plateau.level, 2) for plateau in found]
    [2.0, 0.99, 0.0]
    """
    do = "give solution.times and solution.risk"
    t, y = (array_of(name, v, "(T,)", do, finite=True) for name, v in (("times", times), ("values", values)))
    good = len(t) == len(y) and len(t) >= FEWEST and bool((np.diff(t) > 0).all()) and t[0] >= 0
    require(good, "plateaus need four or more increasing times >= 0, and a value for each", (t.shape, y.shape), do)
    require_positive("flat", flat, "0.05")
    require(is_finite(ratio) and ratio >= 1, "ratio must be a number >= 1", ratio, "try ratio=1.5")
    later = t > 0
    log_t, seen = np.log(t[later]), y[later]
    spread = float(np.ptp(y))
    speed = np.abs(np.gradient(seen, log_t)) if len(seen) > 1 else np.zeros(len(seen))
    calm = np.concatenate([[False], speed <= flat * spread, [False]])
    edges = np.flatnonzero(np.diff(calm.astype(int)))
    found = []
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        if log_t[last] - log_t[first] >= np.log(ratio):
            level = seen[first + int(np.argmin(speed[first : last + 1]))]
            rests = first == 0 and not later[0] and abs(y[0] - level) <= flat * spread
            found.append(
                Plateau(0.0 if rests else float(np.exp(log_t[first])), float(np.exp(log_t[last])), float(level))
            )
    return tuple(found)
