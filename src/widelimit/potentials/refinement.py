"""How a landscape that is not exact knows its errors: by another version of itself.

    error of X = SAFETY · |X − X of the other landscape| + rounding

The other one is finer as a rule. Public functions and moves go on to it until two in a row agree, as long as they may:
the loop is that of widelimit.agreement.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jax import Array

if TYPE_CHECKING:
    from widelimit.potentials.landscape import Landscape

Measured = Callable[..., Array]  # a landscape, the other one, θ → how far they are apart
AFFORDABLE = 2.0**25  # features of all neurons together on a landscape that a dynamics may climb to
MOVING = 1e-8  # error of V and U, relative to √(R# U) and U, at which neurons move: that of the solvers
ON_CELLS = 1e-5  # the same at centres of cells: well below the error of the cells themselves
HEADROOM = 10.0  # a landscape is certified with this much to spare where a move begins, so that neurons may move
SAFETY = 3.0  # times the difference: a series that converges slowly gains less than half of its error
ROUNDING = 2e-12
MAKING = RLock()  # one landscape is made at a time, for whichever thread asks first
REMEMBERED = 8  # measures of a landscape: those of a run and its twin at the ends of a move


class Errors(NamedTuple):
    """How far V (n,), U (n, n), ∇Ψ (n, D) and R may be off at the points of ρ, in the field of ρ."""

    V: np.ndarray
    U: np.ndarray
    gradient: np.ndarray
    risk: float


class Rung(NamedTuple):
    """How fine a landscape is: its tolerance, and its height above the coarsest."""

    tolerance: float
    height: int = 0

    @property
    def truncation(self) -> float:
        """Size of the terms of series that are left out."""
        return self.tolerance if self.height == 0 else self.tolerance / 100

    @property
    def doubled(self) -> int:
        """How many times as long the longest series and rules of fixed size are: once, above the coarsest twice."""
        return 1 if self.height == 0 else 2

    @property
    def on_sphere(self) -> int:
        """How many times as many nodes a sphere has: other than one rung below, so that their error is seen too."""
        return 1 if self.height == 0 else 3 - self.height % 2


class Known(NamedTuple):
    """What was found for a landscape at θ, as long as both exist."""

    land: weakref.ref[Landscape]
    theta: weakref.ref[Array]
    found: float


class Refinement:
    """The way to another landscape; to JAX one is like any other, so that compiled functions do not see it.

    make     () ↦ the other landscape, or None if there is none
    climbs   whether it takes the place of a landscape that is not accurate enough; the finest, and the one above a
             landscape whose nodes the user chose, only measures the error
    matters  whether the error can be above the tolerance, so that every risk is compared
    """

    def __init__(self, make: Callable[[], Landscape | None], climbs: bool, matters: bool = True):
        self.make, self.climbs, self.matters = make, climbs, matters
        self._known: deque[Known] = deque(maxlen=REMEMBERED)

    @property
    def landscape(self) -> Landscape | None:
        """The other landscape, made when it is first asked for, once for all threads."""
        with MAKING:
            return self._made

    @cached_property
    def _made(self) -> Landscape | None:
        return self.make()

    def once(self, measure: Measured, land: Landscape, theta: Array) -> float:
        """A measure of a landscape, the other one and θ, found once for an array that is asked about again."""
        for known in self._known.copy():  # a run and its twin may both be here
            if known.land() is land and known.theta() is theta:
                return known.found
        found = float(measure(land, self.landscape, theta))
        self._known.append(Known(weakref.ref(land), weakref.ref(theta), found))
        return found

    @staticmethod
    def climbed(
        land: Landscape, measure: Measured, theta: Array, most: float
    ) -> Iterator[tuple[list[Landscape], float]]:
        """A landscape, then with its finer ones, and how far the last of them is from the next by a measure.

        most   numbers computed for all rows of θ together on the finest
        """
        lands, n = [land], theta.size // theta.shape[-1]
        while lands[-1].refinement.climbs and (finer := lands[-1].other) is not None and n * finer.size <= most:
            yield lands, lands[-1].refinement.once(measure, lands[-1], theta)
            lands = [*lands, finer]
        yield lands, math.inf

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refinement)

    def __hash__(self) -> int:
        return hash(Refinement)


def may_agree_by_chance(lands: list[Landscape], measure: Measured, theta: Array, tolerance: float) -> bool:
    """Whether the last of landscapes, each finer than the one before, is not accurate enough by a measure: then it may
    look so, because with kinks two rules may agree by chance, and is compared with the one before it as well."""
    last = lands[-1]
    return len(lands) > 1 and last.other is not None and last.refinement.once(measure, last, theta) > tolerance


EXACT = Refinement(lambda: None, False, False)
