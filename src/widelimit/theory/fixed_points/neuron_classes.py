"""Which neurons a network may have: the set over which an infimum of Ψ runs.

    |a| ≤ A,  |b| ≤ B,  |w| ≤ W      from ``within``; infinite if nothing is said
    |w| = 1                           for neurons on the sphere
    a_min ≤ a ≤ a_max                 for a scalar that is fixed: the values that ρ has

In reduced coordinates |w|² = |u|² + Σ_g r_g². Any point of the space is taken into the set by `place`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates, length
from widelimit.errors import is_finite, require, require_known
from widelimit.frozen import Frozen
from widelimit.problem.problem import Problem

Bounds = list[tuple[float | None, float | None]]


class Allowed(Frozen, eq=False):
    """The set of neurons in some coordinates.

    lower, upper  of every column, (D,); −∞ and ∞ where there is no bound
    ball          W
    sphere        1 if |w| = 1, else 0
    columns       their names
    """

    lower: Array
    upper: Array
    ball: Array
    sphere: Array
    columns: Coordinates

    def place(self, theta: Array) -> Array:
        """Points (n, D) of the space, taken into the set."""
        first = len(self.columns.scalars)
        theta = jnp.clip(theta, self.lower, self.upper)
        scalars, w = theta[:, :first], theta[:, first:]
        size = length(w)
        safe, ball = jnp.where(size > 0, size, 1.0), jnp.where(jnp.isinf(self.ball), 1.0, self.ball)
        inside = jnp.where(size > self.ball, ball / safe, 1.0)
        factor = jnp.where(self.sphere > 0, 1 / safe, inside)
        return jnp.concatenate([scalars, w * factor[:, None]], axis=1)

    @property
    def box(self) -> dict[str, tuple[float, float]]:
        """The bounds of every block in words."""
        names = [*self.columns.scalars]
        found = {name: (float(self.lower[i]), float(self.upper[i])) for i, name in enumerate(names)}
        return found | {"|w|": (1.0, 1.0) if float(self.sphere) else (0.0, float(self.ball))}

    @property
    def bounds(self) -> Bounds:
        """For scipy: None where there is no bound."""
        pairs = zip(np.asarray(self.lower), np.asarray(self.upper), strict=True)
        return [(None if math.isinf(low) else float(low), None if math.isinf(up) else float(up)) for low, up in pairs]


def allowed(problem: Problem, columns: Coordinates, theta: np.ndarray, within: object) -> Allowed:
    """The neurons of a problem, within bounds; ``theta`` are those of ρ, which tell the values of fixed scalars."""
    limits = limits_of(columns, within)
    lower = np.full(columns.D, -math.inf)
    lower[columns.is_radius()] = 0.0
    upper = np.full(columns.D, math.inf)
    for i, (name, moves) in enumerate(zip(columns.scalars, problem.neuron.trained, strict=True)):
        if not moves and len(theta):
            lower[i], upper[i] = float(theta[:, i].min()), float(theta[:, i].max())
        elif name in limits:
            lower[i], upper[i] = -limits[name], limits[name]
    sphere = float(problem.neuron.inner == "sphere")
    ball = limits.get("w", math.inf)
    return Allowed(jnp.asarray(lower), jnp.asarray(upper), jnp.asarray(ball), jnp.asarray(sphere), columns)


def limits_of(columns: Coordinates, within: Any) -> dict[str, float]:
    """The bounds of the blocks, checked."""
    good = within is None or isinstance(within, Mapping)
    require(good, "within must be a dictionary of bounds of blocks", within, 'try within={"a": 5.0}')
    for name, bound in (within or {}).items():
        require_known("block", name, columns.blocks)
        good = is_finite(bound) and bound > 0
        require(good, f"the bound of {name} must be a positive number", bound, f"try {name} = 5.0")
    return {name: float(bound) for name, bound in (within or {}).items()}
