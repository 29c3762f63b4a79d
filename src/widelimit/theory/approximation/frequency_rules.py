"""∫ |ω| |f̂(ω)| dω by quadrature, in one to three dimensions, of a transform on the nodes of a tensor rule.

    f̂ known in closed form         widelimit.theory.approximation.wave_packets
    f̂ of any function that decays   (2π)^{−k} ∫ f(x) e^{−i⟨ω, x⟩} dx, the trapezoidal rule on a box that f has left: its
                                     error is spectral, and a finer or wider grid shows it

Rule in ω: Gauss–Legendre panels, short where a lump of f̂ is narrow and geometrically shorter towards ω = 0, where |ω|
has its kink. In one dimension they are halved where f̂ changes its sign, so that |f̂| bends (widelimit.integrals). In two
and three |f̂| bends along curves and surfaces, which no halving of axes meets, and a transform is only quick on a tensor
grid: finer rules on the whole box, until two agree or the last is reached (widelimit.agreement). The error is the
larger of the last two distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from widelimit.agreement import in_a_row, until_two_agree
from widelimit.integrals import integrate, panel_rule
from widelimit.theory.approximation.waves import Waves
from widelimit.theory.learning.spectrum import WithError

EVEN = {1: 120, 2: 6, 3: 3}  # panels of a lump on an axis
OCTAVES = {1: 1, 2: 10, 3: 6}
RULES = {
    1: ((1, 16),),
    2: ((1, 10), (2, 10), (4, 10)),
    3: ((1, 4), (2, 4), (2, 6)),
}  # parts of a panel, and their nodes
GRID = {1: 640, 2: 384, 3: 96}  # points of an axis of x
ROUGH = 1e-12  # relative disagreement of a panel with its halves
LEFT = 1e-9  # of the largest value: f has left the box
BOXES = (6.0, 9.0, 14.0, 22.0, 35.0, 56.0, 90.0)
ENDED = 1e-7  # relative, of the transform at the end of its axes

Lumps = Sequence[tuple[float, float]]  # on an axis: centre and half width of each part of f̂
Rule = tuple[np.ndarray, np.ndarray]  # nodes and weights
Transform = Callable[[Sequence[np.ndarray]], np.ndarray]  # nodes of every axis → f̂ on their tensor grid


class FirstMoment(NamedTuple):
    """∫ |ω||f̂| dω with its error, and the waves at the nodes."""

    total: WithError
    waves: Waves


def first_moment(transform: Transform, lumps: Sequence[Lumps], still: Sequence[float] = ()) -> FirstMoment:
    """The moment over the lumps of every axis; ``still`` are frequencies of further axes, which carry point masses."""
    m, aside = len(lumps), math.hypot(*still)
    edges = [_edges(axis, m) for axis in lumps]
    if m == 1:
        found = integrate(lambda omega: np.hypot(omega, aside) * np.abs(transform([omega])), edges[0], ROUGH)
        total = WithError(float(found.values[0]), float(found.errors[0]))
        return FirstMoment(total, _on_nodes(transform, [_nodes(found.edges, *RULES[1][0])], still))
    rules = (_on_nodes(transform, [_nodes(axis, *rule) for axis in edges], still) for rule in RULES[m])
    now, before, earlier = until_two_agree(in_a_row(rules, _relative), ROUGH).value
    left = max(abs(now.total - before.total), abs(before.total - earlier.total))
    return FirstMoment(WithError(now.total, left + 1e-14 * now.total), now)


def _relative(before: Waves, now: Waves) -> float:
    return abs(now.total - before.total) / max(now.total, 1e-300)


def _nodes(edges: np.ndarray, parts: int, nodes: int) -> Rule:
    """Gauss nodes on equal parts of every panel."""
    inner = edges[:-1, None] + np.diff(edges)[:, None] * np.arange(parts) / parts
    omega, weights = panel_rule(np.append(inner.ravel(), edges[-1]), nodes)
    return omega.ravel(), weights.ravel()


def _on_nodes(transform: Transform, axes: Sequence[Rule], still: Sequence[float]) -> Waves:
    masses = transform([omega for omega, _ in axes]).ravel()
    grids = np.meshgrid(*(omega for omega, _ in axes), indexing="ij")
    shares = np.meshgrid(*(w for _, w in axes), indexing="ij")
    weights = np.prod(np.stack([g.ravel() for g in shares]), axis=0)
    omega = np.stack([g.ravel() for g in grids] + [np.full(masses.size, value) for value in still], axis=1)
    return Waves.at(omega, weights * masses)


def _edges(lumps: Lumps, m: int) -> np.ndarray:
    """Edges of the panels of an axis: EVEN of them on a lump, as short as the narrowest lump there asks for."""
    low, high = np.array([(centre - half, centre + half) for centre, half in lumps]).T
    units = (high - low) / EVEN[m]
    edges = [float(low.min())]
    while edges[-1] < high.max():
        over, later = (low <= edges[-1]) & (edges[-1] < high), low[low > edges[-1]]
        step = float(units[over].min(initial=math.inf))
        edges.append(min(edges[-1] + step, *later, high.max()) if over.any() else later.min())
    unit = float(units.min())
    near = [sign * unit * 2.0**-n for n in range(OCTAVES[m]) for sign in (-1, 1)]
    even = np.array(edges)
    return np.unique([*even[np.abs(even) > unit], *(t for t in (0.0, *near) if edges[0] < t < edges[-1])])


def sampled_moment(f: Callable[[np.ndarray], np.ndarray], k: int) -> FirstMoment | None:
    """The moment of a function of rows (n, k) that decays; None if it does not, or is too rough for the grid."""
    found: list[FirstMoment] = []
    for box, n in zip(_boxes(f, k), (GRID[k], GRID[k] * 3 // 4), strict=False):
        step = 2 * box / n
        x = (np.arange(n) - n // 2) * step
        y = f(np.stack([g.ravel() for g in np.meshgrid(*[x] * k, indexing="ij")], axis=1)).reshape((n,) * k)
        reach = _band(y, step) if np.isfinite(y).all() else None
        if reach is None:
            return None
        found.append(first_moment(_sums(y, x, step), [[(0.0, reach)]] * k))
    if not found:
        return None
    totals = [moment.total.value for moment in found]
    error = found[0].total.error + max(totals) - min(totals)
    return FirstMoment(WithError(totals[0], error), found[0].waves)


def _boxes(f: Callable[[np.ndarray], np.ndarray], k: int) -> list[float]:
    """The smallest box whose boundary f has left, and a wider one; none if it does not decay."""
    for box in BOXES:
        ray = np.concatenate([np.linspace(-box, box, 41), [box, -box]])
        faces = np.stack([g.ravel() for g in np.meshgrid(*[ray] * k, indexing="ij")], axis=1)
        size = np.abs(f(faces))
        outer = np.abs(faces).max(axis=1) >= box * 0.999
        if 0 < size.max() < math.inf and size[outer].max() <= LEFT * size.max():
            return [box, 1.25 * box]
    return []


def _band(y: np.ndarray, step: float) -> float | None:
    """How far the transform reaches; None if that is not inside of the grid's band."""
    size = np.abs(np.fft.fftn(y))
    omega = np.abs(2 * np.pi * np.fft.fftfreq(y.shape[0], step))
    rings = np.max(np.stack(np.meshgrid(*[omega] * y.ndim, indexing="ij")), axis=0)
    beyond = rings[size > 1e-13 * size.max()].max()
    if size[rings > 0.9 * omega.max()].max() > ENDED * size.max():
        return None
    return float(min(beyond + 4 * omega[1], 0.95 * omega.max()))


def _sums(y: np.ndarray, x: np.ndarray, step: float) -> Transform:
    def transform(axes: Sequence[np.ndarray]) -> np.ndarray:
        found = y.astype(complex)
        for omega in axes:
            phases = np.exp(-1j * np.outer(x, omega)) * step / (2 * math.pi)
            found = np.tensordot(found, phases, axes=(0, 0))
        return found

    return transform
