"""How many samples a learner needs to find the direction of a single-index model, against the dimension.

    y = φ(x_1) + noise · G,   x ~ N(0, I_d):     n(d) = median samples until |⟨w, e_1⟩| ≥ level,   n(d) ~ C d^p

    learner       p by theory
    OnlineSGD     max(1, s − 1), and a factor log d at s = 2; s the information exponent
    FilteredPCA   1

p is the least-squares slope of log n over log d, its interval the bootstrap over replicas (2.5 % to 97.5 %), drawn anew
at every d, as in widelimit.theory.gap.rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict, Unpack

import numpy as np

from widelimit.arguments import numbers_of, require_replicas, require_seed
from widelimit.errors import is_finite, is_whole, require, require_keywords, require_nonnegative
from widelimit.frozen import public_names
from widelimit.problem.activations import Choice
from widelimit.theory.gap.rates import RESAMPLES, Exponent, slope
from widelimit.theory.learning.filtered_pca import FilteredPCA
from widelimit.theory.learning.online_sgd import Law, OnlineSGD, Question
from widelimit.theory.learning.overlap_flow import link_of

Learner = OnlineSGD | FilteredPCA
FEWEST = 16  # replicas of an interval of medians


@dataclass(frozen=True, eq=False, repr=False)
class OverlapSamples:
    """Samples to a given overlap, for every dimension and replica.

    learner, link   who learned what
    dimensions      d (D,), increasing
    samples         (D, replicas), infinite where a replica was not waited for
    level           the overlap
    theory          power of d, and of log d

    >>> import widelimit as wl
    >>> found = wl.samples_to_overlap(wl.FilteredPCA(), "h3(z)", [8, 12, 16], replicas=16)
    >>> found.samples.shape
    (3, 16)
    """

    learner: Learner
    link: str
    dimensions: np.ndarray
    samples: np.ndarray
    level: float
    theory: Law
    seed: int = 0

    @property
    def median(self) -> np.ndarray:
        """n(d), (D,); infinite where less than half of the replicas arrived."""
        return median(self.samples)

    @cached_property
    def exponent(self) -> Exponent:
        """p with its interval; not a number if a median is infinite."""
        return self.power()

    def power(self, logarithms: int = 0) -> Exponent:
        """The power p of n(d) ~ C d^p (log d)^j for a given j: j = 1 is what theory has for SGD at s = 2."""
        good = is_whole(logarithms)
        require(good, "logarithms must be a whole number", logarithms, "try logarithms=1")
        log = np.log(self.dimensions) ** logarithms
        if not np.isfinite(self.median).all():
            return Exponent(math.nan, math.nan, math.nan)
        value = float(slope(self.dimensions.tolist(), self.median / log))
        rows, replicas = self.samples.shape
        picks = np.random.default_rng(self.seed).integers(replicas, size=(RESAMPLES, rows, replicas))
        drawn = median(np.take_along_axis(self.samples[None], picks, axis=-1))
        longest = np.max(self.samples, axis=1, where=np.isfinite(self.samples), initial=0.0)
        seen = np.minimum(drawn, longest)  # where a resample has more than half that were not waited for
        low, high = np.percentile(slope(self.dimensions.tolist(), seen / log), [2.5, 97.5])
        return Exponent(value, float(low), float(high))

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    def __repr__(self) -> str:
        p, d = self.exponent, self.dimensions
        power = f"d^{p.value:.2f} [{p.low:.2f}, {p.high:.2f}]" if math.isfinite(p.value) else "not reached"
        return f"<OverlapSamples of {self.learner!r} on {self.link}: {power} for d = {d[0]:g} … {d[-1]:g}>"


class OverlapOptions(TypedDict, total=False):
    """What may be asked of `samples_to_overlap` by keyword."""

    level: float
    noise: float
    replicas: int
    seed: int


DEFAULTS: OverlapOptions = {"level": 0.5, "noise": 0.0, "replicas": 64, "seed": 0}


def samples_to_overlap(
    learner: Learner, link: Choice, dimensions: Sequence[int], **options: Unpack[OverlapOptions]
) -> OverlapSamples:
    """Samples until a learner has found the direction of y = φ(x_1), for several dimensions, with the fitted power.

    learner      `OnlineSGD` or `FilteredPCA`
    link         φ, an expression in z, or a JAX-traceable function
    dimensions   d, three or more

    and by keyword

    level        the overlap to reach (0.5)
    noise        standard deviation of the noise of the labels (0)
    replicas     independent runs for every d (64)
    seed         of all random numbers (0)

    >>> import widelimit as wl
    >>> found = wl.samples_to_overlap(wl.OnlineSGD(), "h1(z)", [16, 32, 64], replicas=16)
    >>> found.theory.power, bool(0.5 < found.exponent.value < 1.5)
    (1.0, True)
    """
    good = isinstance(learner, Learner)
    require(good, "a learner must be wl.OnlineSGD or wl.FilteredPCA", learner, "try wl.OnlineSGD()")
    require_keywords(options, DEFAULTS)
    asked: OverlapOptions = {**DEFAULTS, **options}
    spots = _dimensions(dimensions)
    level = asked["level"]
    require(is_finite(level) and 0 < level < 1, "level must be a number between 0 and 1", level, "try level=0.5")
    require_nonnegative("noise", asked["noise"], "0.1")
    require_replicas(asked["replicas"], FEWEST)
    require_seed(asked["seed"])
    phi = link_of(link)
    question = Question(phi, float(asked["noise"]), float(level), int(asked["replicas"]))
    samples = [learner.samples(question, d, np.random.default_rng((asked["seed"], d))) for d in spots]
    theory = learner.law(phi)
    return OverlapSamples(learner, str(link), np.array(spots), np.stack(samples), float(level), theory, asked["seed"])


def _dimensions(values: Sequence[int]) -> list[int]:
    """Three or more whole numbers, in increasing order."""
    do = "dimensions=[32, 64, 128]"
    found = sorted({*numbers_of("dimensions", values, do)})
    good = len(found) >= 3 and found[0] >= 2 and all(d == int(d) for d in found)
    require(good, "dimensions must be three or more whole numbers of at least 2", values, f"try {do}")
    return [int(d) for d in found]


def median(samples: np.ndarray) -> np.ndarray:
    """The lower median over the last axis, which may be infinite: no mean of two is taken."""
    count = samples.shape[-1]
    return np.partition(samples, (count - 1) // 2, axis=-1)[..., (count - 1) // 2]
