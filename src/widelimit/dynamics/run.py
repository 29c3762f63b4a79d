"""What the driver asks of a dynamics: a state, a way to move it, a way to look at it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from jax import Array

from widelimit.dynamics.methods import Method
from widelimit.errors import require
from widelimit.potentials.landscape_base import Landscape
from widelimit.problem.statement import Problem

Tick = Callable[[float], None]


@dataclass(frozen=True)
class Run:
    """A dynamics made ready.

    theta      (n, D)  initial neurons, columns named by ``landscape.coordinates``
    weights    (n,)    their masses
    landscape          in the same coordinates
    advance            (theta, t_from, t_to, tick) → theta at t_to; calls ``tick(t)`` now and then;
                       returns values that are not finite when the dynamics diverges
    round_time         the time of the dynamics nearest to a wished one
    advice             what to change when it diverges
    """

    theta: Array
    weights: Array
    landscape: Landscape
    advance: Callable[[Array, float, float, Tick], Array]
    round_time: Callable[[float], float]
    advice: str


def require_no_noise(problem: Problem, method: Method) -> None:
    """Refuse a finite temperature."""
    require(
        math.isinf(problem.beta),
        f"{type(method).__name__} moves without noise and needs beta = inf",
        problem.beta,
        "drop beta from the problem",
    )


@singledispatch
def prepare(method: Method, problem: Problem, seed: Any) -> Run:
    """Make a dynamics ready; each file of this folder registers its own."""
    raise TypeError(f"no dynamics is registered for {method!r}")
