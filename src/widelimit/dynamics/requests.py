"""What is asked of a run before anything is computed: times to save at, a seed. Needs no JAX."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from widelimit.errors import InputError, is_finite, is_whole, require


def save_times(save: int | Sequence[float], t_end: float) -> list[float]:
    """The wished save times, increasing, within [0, t_end]."""
    if isinstance(save, numbers.Integral) and is_whole(save):
        count = int(save)
        require(count >= 2, "save must be at least 2 (start and end) or a list of times", save, "try save=41")
        return [float(t) for t in np.linspace(0.0, t_end, count)]
    try:
        times = [float(t) for t in save]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise InputError(f"save must be a whole number or a list of times, got {save!r}: try save=41.") from None
    good = bool(times) and all(is_finite(t) and 0 <= t <= t_end * (1 + 1e-12) for t in times)
    require(good and times == sorted(times), f"save times must increase within [0, {t_end:g}]", times, "sort them")
    return times if times[-1] >= t_end else [*times, float(t_end)]


def check_seed(seed: int) -> int:
    """The seed, if it is one."""
    require(is_whole(seed) and 0 <= seed < 2**32, "seed must be a whole number from 0 to 2³² − 1", seed, "try seed=0")
    return int(seed)
