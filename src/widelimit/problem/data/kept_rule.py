"""Nodes and weights of the kept coordinates z ∈ R^k: expectations of labels and of features are sums over them.

    z ~ N(0, I_k), or the first k coordinates of a uniform point of the sphere |x|² = d in R^d

    k ≤ 3    one axis after the other. On the sphere, given z_1, …, z_{j−1}, the next is √(d − Σ_{i<j} z_i²) T with T
             the first coordinate of a unit sphere in d − j + 1 dimensions. An axis has a Gauss rule of each half line,
             or panels between the breaks of the target (widelimit.problem.data.breaks).
    k > 3    scrambled Sobol points, a few independent sets of them

A rule that is cut at 0, or where the target bends, does not see what a network does closer to the cut than its first
node, and neither does one with twice the points. So a finer rule of a single axis has panels that shrink towards every
cut, each an eighth of the next, down to 10⁻⁶ of the axis, and parts of them as it becomes finer still. Of several axes
it would have too many points: what is missed there is found along the direction of each neuron,
widelimit.potentials.thin_layers.

Unless their number is given, the points of each axis are doubled until E y and E y² no longer change and, with two or
three axes, agree with those of random points within their standard errors: the labels are then resolved. Whether
features are resolved too is seen by a landscape, which compares two laws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtr

from widelimit.agreement import in_a_row, until_two_agree
from widelimit.problem.data.breaks import Breaks, breaks_of
from widelimit.problem.data.nodes import (
    PANEL,
    SCRAMBLINGS,
    Rule,
    normal_half,
    panels,
    shuffled_normals,
    sphere_half,
    symmetric_rule,
)
from widelimit.problem.data.target import Target, polynomial_terms, values_at

PER_AXIS = {1: 64, 2: 32, 3: 12}
MOST_PER_AXIS = {1: 4096, 2: 256, 3: 48}
MOST_NODES = 2**19
SHUFFLED = 8192
SCANNED = 2**16  # random points that tell whether a rule of two or three axes sees what there is
CERTAIN = 6.0  # standard errors
LARGEST_GAUSS = 128
FEWEST_PANELS = 8
SHRINKING = 8.0 ** -np.arange(2, 8)  # distances to a cut, in lengths of the axis
REACH = 12.0  # of an axis cut into panels: φ(12) is 2e-32
RESOLVED = 1e-11  # relative change of E y and E y² that is none

Counts = tuple[int, ...]


def kept_rule(target: Target, d: float, counts: Counts) -> Rule:
    """Nodes z (Q, k) and weights (Q,) for a target on R^k, d = ∞, or on the sphere in R^d."""
    k = len(counts)
    if k > max(PER_AXIS):
        return _shuffled(k, d, counts[0])
    return iterated_rule(breaks_of(target, k), d, counts)


def counts_of(target: Target, k: int, d: float, nodes: int | Counts | None) -> Counts:
    """Points of each axis, for more than three axes in all: those asked for, or as many as the target needs."""
    if nodes is not None:
        return nodes if isinstance(nodes, tuple) else (nodes,) * k
    if k > max(PER_AXIS):
        return (SHUFFLED,) * k
    terms = polynomial_terms(target)
    if terms is not None:  # a rule is exact for z^j with j < points: for y² as well
        degrees = [max((e[i] for e in terms if i < len(e)), default=0) for i in range(k)]
        return tuple(PER_AXIS[k] * 2 ** math.ceil(math.log2(max(1.0, (2 * n + 2) / PER_AXIS[k]))) for n in degrees)
    breaks, counts = breaks_of(target, k), (PER_AXIS[k],) * k
    scan = _scanned(target, k, d) if k > 1 else None  # panels of one axis are as narrow as they need to be

    def change(coarse: _Resolved, fine: _Resolved) -> float:
        return _change(coarse, fine) if scan is None or scan.agrees(fine.moments) else math.inf

    for axis in range(k):
        doubled = [counts]
        while doubled[-1][axis] < MOST_PER_AXIS[k]:
            doubled.append(tuple(2 * n if i == axis else n for i, n in enumerate(doubled[-1])))
        rules = (_Resolved(c, _moments(target, iterated_rule(breaks, d, c))) for c in doubled)
        found = until_two_agree(in_a_row(rules, change), RESOLVED)
        counts = (found.value.before if found.agreed else found.value.now).counts
    return counts


class _Resolved(NamedTuple):
    """Points of each axis, and E y and E y² with them."""

    counts: Counts
    moments: np.ndarray


class _Scan(NamedTuple):
    """E y and E y² from random points, and their standard errors."""

    moments: np.ndarray
    errors: np.ndarray

    def agrees(self, moments: np.ndarray) -> bool:
        """Whether others are the same within the errors."""
        rounding = RESOLVED * (math.sqrt(abs(self.moments[1])) + np.abs(self.moments))
        return bool((np.abs(moments - self.moments) <= CERTAIN * self.errors + rounding).all())


def _scanned(target: Target, k: int, d: float) -> _Scan:
    z, p = _shuffled(k, d, SCANNED)
    sets = zip(np.split(z, SCRAMBLINGS), np.split(p * SCRAMBLINGS, SCRAMBLINGS), strict=True)
    parts = np.array([_moments(target, one) for one in sets])
    return _Scan(parts.mean(axis=0), parts.std(axis=0, ddof=1) / math.sqrt(SCRAMBLINGS))


def _change(coarse: _Resolved, fine: _Resolved) -> float:
    """The larger change of E y and E y², relative to themselves and to √(E y²)."""
    size = math.sqrt(abs(fine.moments[1])) + np.abs(fine.moments)
    apart = np.abs(fine.moments - coarse.moments)
    return float(np.max(np.where(apart > 0, apart / np.maximum(size, 1e-300), 0.0)))


def other_counts(counts: Counts) -> Counts:
    """Points of a rule to compare with: twice as many on each axis, or half as many where those would be too many."""
    if len(counts) == 1:
        return (2 * max(counts[0], PER_AXIS[1]),)
    doubled = math.prod(2 * n for n in counts) <= MOST_NODES
    return tuple(2 * n if doubled else max(2, n // 4 * 2) for n in counts)


def iterated_rule(breaks: Breaks, d: float, counts: Counts) -> Rule:
    """The rule with so many points on every axis, more where it is cut."""
    k = len(counts)
    z, p = np.zeros((1, k)), np.ones(1)
    for place, axis in enumerate(breaks.order):
        left = np.sqrt(d - (z**2).sum(axis=1)) if math.isfinite(d) else np.full(len(z), REACH)
        cuts = breaks.on_axis(place, z, left)
        if k == 1 and counts[axis] > PER_AXIS[1]:
            near = left[0] * _shrinking(max(1, counts[axis] // (2 * PER_AXIS[1])))
            cuts = np.clip([t + near for t in (0.0, *cuts[0])], -left[0], left[0]).reshape(1, -1)
        if k == 1 and breaks.edges:
            cuts = np.concatenate([cuts, np.clip([breaks.edges], -left[0], left[0])], axis=1)
        if cuts.shape[1] == 0 and counts[axis] <= LARGEST_GAUSS:
            law = (sphere_half, d - place) if math.isfinite(d) else (normal_half,)
            t, w = (part[None] for part in symmetric_rule(counts[axis], *law))
            value = left[:, None] * t if math.isfinite(d) else t
        else:
            value, w = axis_panels(cuts, left, d - place, counts[axis])
        value, w = (np.broadcast_to(part, (len(z), part.shape[1])) for part in (value, w))
        z = np.repeat(z, value.shape[1], axis=0)
        z[:, axis] = value.ravel()
        p = (p[:, None] * w).ravel()
    return z, p


def _shrinking(parts: int) -> np.ndarray:
    """Edges of the panels around a cut, in lengths of the axis, each of them in so many parts."""
    places = np.interp(np.arange(parts * (len(SHRINKING) - 1) + 1) / parts, np.arange(len(SHRINKING)), SHRINKING)
    return np.concatenate([-places, [0.0], places])


def axis_panels(cuts: np.ndarray, left: np.ndarray, dimension: float, count: int) -> Rule:
    """About ``count`` points, and panels cut at (rows, cuts), of an axis that ends at ±left (rows,): a normal one, or
    left · T with T the first coordinate of the unit sphere in so many dimensions; (rows, points)."""
    cuts = np.clip(cuts, -left[:, None], left[:, None])
    if math.isinf(dimension):
        return panels(_with_edges(cuts, REACH, count), lambda x: np.exp(-0.5 * x * x))
    value, w = _panels_on_sphere(cuts / left[:, None], dimension, count)
    return left[:, None] * value, w


def _panels_on_sphere(cuts: np.ndarray, dimension: float, count: int) -> Rule:
    """Panels in the angle of T = sin v, of density cos(v)^{dimension − 2}."""
    reach = min(math.pi / 2, REACH / math.sqrt(max(dimension - 2, 1)))
    angles = np.clip(np.arcsin(np.clip(cuts, -1, 1)), -reach, reach)
    v, w = panels(_with_edges(angles, reach, count), lambda v: np.cos(v) ** (dimension - 2))
    return np.sin(v), w


def _with_edges(cuts: np.ndarray, reach: float, count: int) -> np.ndarray:
    """The cuts of every row among those of ±reach into about count/PANEL panels, narrower in the middle."""
    number = max(FEWEST_PANELS, count // PANEL)
    s = np.linspace(-1.0, 1.0, number + number % 2 + 1)
    edges = np.broadcast_to(reach * s * (1 + s * s) / 2, (len(cuts), len(s)))
    return np.sort(np.concatenate([edges, cuts], axis=1), axis=1)


def _moments(target: Target, rule: Rule) -> np.ndarray:
    """E y and E y²; 0 for a target that is none, which is refused where it is used."""
    y = values_at(target, rule[0])
    if y.shape != rule[1].shape or not np.isfinite(y).all():
        return np.zeros(2)
    return np.array([rule[1] @ y, rule[1] @ y**2])


def _shuffled(k: int, d: float, points: int) -> Rule:
    if math.isinf(d):
        return shuffled_normals(k, points)
    x, weights = shuffled_normals(k + 1, points)
    rest = 2 * gammaincinv((d - k) / 2, ndtr(x[:, k]))
    g = x[:, :k]
    return math.sqrt(d) * g / np.sqrt((g**2).sum(axis=1) + rest)[:, None], weights
