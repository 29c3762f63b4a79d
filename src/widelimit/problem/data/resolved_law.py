"""Laws of a target whose kept coordinates are integrated on nodes that can be refined."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from widelimit.errors import require
from widelimit.problem.activations.kinks import switches
from widelimit.problem.data.kept_rule import MOST_PER_AXIS, PER_AXIS, counts_of, kept_rule, other_counts
from widelimit.problem.data.nodes import SCRAMBLINGS, Rule
from widelimit.problem.data.target import Counts, TargetLaw, values_at
from widelimit.problem.expressions import Expression

NEAR, STEP = 2.0, 1e-5


class ResolvedLaw(TargetLaw):
    """A target of Gaussian coordinates, or of those of a sphere."""

    @cached_property
    def nodes(self) -> int | Counts | None:
        """Points for each kept axis (in all, beyond three), None for as many as the target needs."""
        return None

    def validate(self) -> None:
        """As many numbers of points as axes."""
        super().validate()
        if isinstance(self.nodes, list | tuple):
            self.settle(nodes=tuple(self.nodes))
            good = len(self.nodes) == self.kept
            require(good, f"nodes must be one number, or one for each of {self.kept} axes", self.nodes, "try nodes=32")

    @cached_property
    def counts(self) -> Counts:
        """Points of each kept axis."""
        return counts_of(self.target, self.kept, self._sphere, self.nodes)

    @property
    def rule(self) -> Rule:
        """Nodes of the law of z."""
        return kept_rule(self.target, self._sphere, self.counts)

    @property
    def other(self) -> ResolvedLaw | None:
        """The same law with twice the points on each axis, or half of them if those would be too many."""
        if self.sets > 1:
            return None
        return replace(self, nodes=other_counts(self.counts))  # type: ignore[call-arg]

    @property
    def climbs(self) -> bool:
        """Whether the other law is a better one, and may still be compared with one that is better."""
        return self.sets == 1 and 4 * max(self.counts) <= MOST_PER_AXIS[self.kept]

    @cached_property
    def label_slope(self) -> float:
        """The largest slope of the target at nodes |z| ≤ 2, relative to √(E y²); ∞ if it may jump: if it has a switch,
        or is a function that says nothing about itself."""
        if not isinstance(self.target, Expression) or switches(self.target):
            return math.inf
        z, p = self.rule
        near, y = z[np.linalg.norm(z, axis=1) <= NEAR], values_at(self.target, z)
        moves = [values_at(self.target, near + s * STEP * e) for e in np.eye(self.kept) for s in (-1, 1)]
        slopes = (np.stack(moves[1::2]) - np.stack(moves[::2])) / (2 * STEP)
        return float(np.linalg.norm(slopes, axis=0).max(initial=0.0) / math.sqrt(max(p @ y**2, 1e-300)))

    @property
    def sets(self) -> int:
        """Beyond three axes the nodes are independent sets of random ones."""
        return SCRAMBLINGS if self.kept > max(PER_AXIS) else 1

    @property
    def _sphere(self) -> float:
        """d where z belongs to a sphere in R^d, else ∞."""
        return self.d if self.on_sphere else math.inf
