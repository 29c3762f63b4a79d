"""Integrals over one coordinate, adaptively: kinks, jumps and integrable poles are found by bisection.

    c_k = E f p_k,  k ≤ K,     ‖f‖² = E f²,     p_k the orthonormal polynomials of the law of the coordinate z

    normal law   z = u, density φ(u), p_k = h_k
    sphere       the first coordinate of a uniform point of |x|² = d in R^d: z = √d sin(u/√d), density ∝ cos^{d−2}(u/√d)
                 in u, p_k Gegenbauer polynomials; in the limit d → ∞ the normal law
    g = f √density     what is integrated: g p_k √density and g², so that a large f meets a small density before it
                       overflows

Scheme: panels that are halved (widelimit.integrals), outwards until g² is negligible on two of them. A function whose
g² does not end, does not settle, or has its mass in the narrowest panels is not square integrable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from widelimit.errors import InputError, shown
from widelimit.integrals import integrate, panel_rule
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.problem.activations.kinks import kinks_of_expression, switches
from widelimit.problem.data.target import Target
from widelimit.problem.expressions import Expression
from widelimit.problem.host_values import host_values

EDGES = np.array([0.0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160,
                  200, 240, 300])  # fmt: skip
ALWAYS = 16.0  # looked at, however small
NEGLIGIBLE = 1e-20  # of ‖f‖²
SCANNED, NEAR = 64, 8  # panels in a unit of length, up to |u| = NEAR, that show narrow features
PRECISION = 1e-13  # of ‖f‖², relative, where these are looked for
SETTLED = 0.1  # an error of ‖f‖² beyond this share: it does not exist
OVERFLOW = 1e150  # of g, whose square is integrated


class Coordinate(Protocol):
    """A coordinate: its values z and the root of its density at u, and its polynomials p_0, …, p_K, (…, K + 1)."""

    @property
    def end(self) -> float:
        """The largest u."""

    def z(self, u: np.ndarray) -> np.ndarray:
        """z(u)."""

    def u(self, z: float) -> float:
        """The u at which z(u) has a given value."""

    def root(self, u: np.ndarray) -> np.ndarray:
        """√density."""

    def polynomials(self, z: np.ndarray, order: int) -> np.ndarray:
        """p_0, …, p_K."""


@dataclass(frozen=True)
class NormalAxis:
    """z ~ N(0, 1)."""

    end: float = math.inf

    def z(self, u: np.ndarray) -> np.ndarray:
        """u itself."""
        return u

    def u(self, z: float) -> float:
        """z itself."""
        return z

    def root(self, u: np.ndarray) -> np.ndarray:
        """√φ."""
        return np.exp(-(u**2) / 4) / (2 * math.pi) ** 0.25

    def polynomials(self, z: np.ndarray, order: int) -> np.ndarray:
        """h_0, …, h_K."""
        return orthonormal_hermite(z, order)


@dataclass(frozen=True)
class AxisIntegrals:
    """c_0, …, c_K and ‖f‖² as the last entry, (K + 2,), and their errors."""

    values: np.ndarray
    errors: np.ndarray


def axis_integrals(f: Target, order: int, axis: Coordinate) -> AxisIntegrals:
    """The integrals of a function of one variable; refuse one that has none."""
    kinks = kinks_of_expression(f) if isinstance(f, Expression) and switches(f) else ()

    def rooted(u: np.ndarray) -> np.ndarray:
        """g."""
        with np.errstate(all="ignore"):
            g = host_values(f, axis.z(u)[:, None]) * axis.root(u)
        if not (np.abs(g) < OVERFLOW).all():
            raise _refused(f)
        return g

    def terms(u: np.ndarray) -> np.ndarray:
        """g p_k √density and g², (n, K + 2)."""
        z, root, g = axis.z(u), axis.root(u), rooted(u)
        return np.concatenate([(g * root)[:, None] * axis.polynomials(z, order), g[:, None] ** 2], axis=1)

    def sizes(absolute: np.ndarray) -> np.ndarray:
        norm = max(absolute[-1], 1e-300)
        return np.append(np.full(order + 1, math.sqrt(norm)), norm)

    edges = _reach(lambda u: rooted(u) ** 2, axis.end, f)
    inside = [t for t in map(axis.u, kinks) if edges[0] < t < edges[-1]]
    near = min(NEAR, -edges[0], edges[-1])
    scan = np.unique([*edges, *inside, *np.linspace(-near, near, 2 * NEAR * SCANNED + 1)])
    square = integrate(lambda u: rooted(u) ** 2, scan, PRECISION)
    found = integrate(terms, np.unique([*edges, *inside, *np.setdiff1d(square.edges, scan)]), sizes=sizes)
    if any(max(one.errors[-1], one.narrow[-1]) > SETTLED * one.values[-1] for one in (square, found)):
        raise _refused(f)
    return AxisIntegrals(found.values, found.errors)


def _reach(square: Callable[[np.ndarray], np.ndarray], end: float, f: Target) -> np.ndarray:
    """Edges of panels on both sides, outwards until g² is negligible, or the axis ends."""
    edges: list[float] = []
    for side in (-1.0, 1.0):
        total, quiet, done = 0.0, 0, False
        for a, b in itertools.pairwise(EDGES.tolist()):
            nodes, weights = panel_rule(side * np.array([a, min(b, end)]))
            size = abs(float(square(nodes[0]) @ weights[0]))
            total += size
            quiet = quiet + 1 if size <= NEGLIGIBLE * total else 0
            edges += [side * a, side * min(b, end)]
            done = (quiet >= 2 and b >= ALWAYS) or b >= end
            if done:
                break
        if not done:
            raise _refused(f)
    return np.unique(edges)


def _refused(f: Target) -> InputError:
    return InputError(
        f"a target must be square integrable, E f² < ∞, got {shown(f)}, which is not as far as quadrature can see: "
        "avoid poles, logarithms of negative numbers, and growth like exp(z**2/4)."
    )
