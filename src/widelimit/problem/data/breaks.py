"""Where a target jumps or bends, axis by axis: rules of quadrature are cut there.

    h(z) of one axis        its kinks, those of an expression or of any function; and the edges of panels, as narrow as
                            E h and E h² need them (widelimit.integrals), for what is narrow without a kink
    h(z) of several axes    where a switch f of |f|, (f)_+, sign(f), step(f), max, min changes its sign:
                            fixed     f depends on one axis alone: the same points on it for all others
                            oblique   f depends on several: points of the last axis that depend on the others

The last axis is the one that most oblique switches depend on. A switch it does not appear in is not cut, and a function
that is no expression is taken for smooth in several axes: what that costs is seen when the rule is refined.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from widelimit.integrals import integrate
from widelimit.problem.activations.kinks import bisected, kinks_of_expression, kinks_of_function, switches
from widelimit.problem.data.target import Opaque, Target
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import VARIABLES
from widelimit.problem.host_values import host_values

SEEN = {2: 4096, 3: 512}  # intervals of the last of so many axes in which one change of sign is found
ZERO = 1e-12  # every rule is cut at 0
REACH = 12  # of an axis: φ(12) is 2e-32
SCANNED, WIDE = 64, 2  # panels in a unit of length: to see what there is, and of a function without narrow features
PRECISION = 1e-13  # of E h and E h², relative
MOST_EDGES = 256  # a function that needs more is rough everywhere: its rules are refined as a whole


class Breaks(NamedTuple):
    """Where to cut.

    order     the axes in the order in which they are integrated
    fixed     points on every axis, other than 0
    oblique   switches that cut the last axis
    edges     of narrow panels on a single axis
    """

    order: tuple[int, ...]
    fixed: tuple[tuple[float, ...], ...]
    oblique: tuple[Expression, ...]
    edges: tuple[float, ...] = ()

    def on_axis(self, place: int, z: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Cuts of the axis number ``place`` of the order, where the ones before it have the values z (rows, k), those
        of later axes being 0; (rows, cuts), in order, those outside of ±reach (rows,) moved to its end."""
        axis = self.order[place]
        found = np.broadcast_to(np.array(self.fixed[axis]), (len(z), len(self.fixed[axis])))
        if self.oblique and place == len(self.order) - 1:
            found = np.concatenate([found, *(_changes(f, axis, z, reach) for f in self.oblique)], axis=1)
        return np.sort(np.clip(found, -reach[:, None], reach[:, None]), axis=1)


def breaks_of(target: Target, k: int) -> Breaks:
    """Where a target of k coordinates is to be cut."""
    order = tuple(range(k))
    if k == 1 and isinstance(target, Opaque) and np.shape(target(np.zeros(2))) != (2,):
        return Breaks(order, ((),), ())  # no function of one number, which is refused where it is used
    if k == 1:
        kinks = (
            kinks_of_function(target.function) if isinstance(target, Opaque) else kinks_of_expression(_plain(target))
        )
        return Breaks(order, (_apart_from_zero(kinks),), (), narrow_edges(target, tuple(kinks)))
    if isinstance(target, Opaque):
        return Breaks(order, ((),) * k, ())
    found = switches(target)
    axes = [{VARIABLES[name] - 1 for name in f.names} for f in found]
    own = [(f, min(a)) for f, a in zip(found, axes, strict=True) if len(a) == 1]
    fixed = tuple(_apart_from_zero(t for f, a in own if a == i for t in _roots(f)) for i in range(k))
    oblique = [(f, a) for f, a in zip(found, axes, strict=True) if len(a) > 1]
    last = max(range(k), key=lambda i: (sum(i in a for _, a in oblique), i))
    return Breaks((*(i for i in order if i != last), last), fixed, tuple(f for f, a in oblique if last in a))


@lru_cache(maxsize=64)
def narrow_edges(target: Target, kinks: tuple[float, ...]) -> tuple[float, ...]:
    """Edges of panels between which E h and E h² of one normal coordinate are resolved, where wide panels do not do it.

    >>> from widelimit.problem.expressions import expression
    >>> narrow_edges(expression("tanh(3*z)"), ())
    ()
    """

    def terms(z: np.ndarray) -> np.ndarray:
        with jax.ensure_compile_time_eval():
            y = host_values(target, z[:, None])
        density = np.exp(-z * z / 2)
        return np.stack([y * density, y * y * density], axis=1)

    def refined(start: np.ndarray) -> np.ndarray:
        return np.setdiff1d(integrate(terms, start, PRECISION).edges, start)

    inside = [t for t in kinks if abs(t) < REACH]
    scan, wide = (np.unique([*np.linspace(-REACH, REACH, 2 * REACH * n + 1), *inside]) for n in (SCANNED, WIDE))
    if not np.isfinite(terms(scan)).all():
        return ()  # refused where it is used
    seen = refined(scan)
    if len(seen) > MOST_EDGES:
        return ()
    found = np.union1d(seen, refined(np.union1d(wide, seen)))
    return tuple(map(float, found)) if len(found) <= MOST_EDGES else ()


def _apart_from_zero(points: Iterable[float]) -> tuple[float, ...]:
    return tuple(sorted({t for t in points if abs(t) > ZERO}))


def _plain(f: Expression) -> Expression:
    """An expression of one variable, in z."""
    return Expression(tuple("z" if item in VARIABLES else item for item in f.prefix))


def _roots(f: Expression) -> tuple[float, ...]:
    """Where an expression of one variable changes its sign."""
    return kinks_of_expression(Expression(("abs", *_plain(f).prefix)))


def _changes(f: Expression, axis: int, z: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Where f changes its sign along an axis, (rows, most of them), filled up with the end of the axis."""
    seen = SEEN[z.shape[1]]
    grid = np.linspace(-1.0, 1.0, seen + 1) * reach[:, None]

    def positive(rows: np.ndarray, t: np.ndarray) -> np.ndarray:
        at = z[rows].copy()
        at[:, axis] = t
        return host_values(f, at) > 0

    everywhere = np.repeat(np.arange(len(z)), seen + 1)
    signs = positive(everywhere, grid.ravel()).reshape(grid.shape)
    rows, start = np.nonzero(signs[:, 1:] != signs[:, :-1])
    roots = bisected(lambda t: positive(rows, t), grid[rows, start], grid[rows, start + 1])
    counts = np.bincount(rows, minlength=len(z))
    found = np.repeat(reach[:, None], counts.max(initial=0), axis=1)
    found[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = roots
    return found
