"""What is asked of a run besides its problem and its method: how long, from which seed, what to save."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import field
from typing import TypedDict

import numpy as np

from widelimit.arguments import numbers_of, require_seed
from widelimit.errors import is_whole, require, require_count, require_keywords, require_known, require_positive
from widelimit.frozen import Value, as_number, static

MOST_SAVES = 1_000_000


class Settings(Value):
    """How long to run and what to save.

    t_end     horizon in time t = kε
    seed      of every random stream
    save      how many equally spaced times to save at, or a list of times (t_end is always saved)
    replicas  how many independent runs, stacked on the dimension "replica" (one if left out); the first is the run
              without replicas
    keep      neurons saved over time in "reduced" or "full" coordinates (the last ones in those the run moved them in)
    """

    t_end: float = field(kw_only=True)
    seed: int = static(default=0, kw_only=True)
    save: int | Sequence[float] = static(default=41, kw_only=True)
    replicas: int | None = static(default=None, kw_only=True)
    keep: str = static(default="reduced", kw_only=True)

    def __post_init__(self) -> None:
        require_positive("t_end", self.t_end, "10.0")
        require_seed(self.seed)
        if self.replicas is not None:
            require_count("replicas", self.replicas, "16")
        require_known("way to keep neurons", self.keep, ("full", "reduced"))
        times = save_times(self.save, self.t_end)
        whole = isinstance(self.save, numbers.Integral)
        self.settle(t_end=as_number(self.t_end), seed=int(self.seed), save=int(self.save) if whole else tuple(times))  # type: ignore[arg-type]

    @property
    def times(self) -> list[float]:
        """The save times that were asked for."""
        return save_times(self.save, self.t_end)


class SolveOptions(TypedDict, total=False):
    """The settings that may be left out, as keywords."""

    seed: int
    save: int | Sequence[float]
    replicas: int | None
    keep: str


def settings_of(t_end: float, options: SolveOptions) -> Settings:
    """Settings from keywords; an unknown one is refused."""
    require_keywords(options, SolveOptions.__annotations__)
    return Settings(t_end=t_end, **options)


def save_times(save: int | Sequence[float], t_end: float) -> list[float]:
    """The save times that were asked for, increasing, within [0, t_end]."""
    if isinstance(save, numbers.Integral) and is_whole(save):
        count = int(save)
        wanted = f"save must be from 2 (start and end) to {MOST_SAVES:,}, or a list of times"
        require(2 <= count <= MOST_SAVES, wanted, save, "try save=41")
        return [float(t) for t in np.linspace(0.0, t_end, count)]
    times = list(numbers_of("save", save, "save=41", "a whole number or a list of times"))
    wanted = f"save times must increase within [0, {t_end:g}]"
    good = all(0 <= t <= t_end * (1 + 1e-12) for t in times)
    require(good, wanted, times, "drop those outside, or raise t_end")
    require(times == sorted(times), wanted, times, "sort them")
    return times if times[-1] >= t_end else [*times, float(t_end)]
