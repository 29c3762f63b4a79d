"""Integrals over one coordinate, adaptively: kinks, jumps and integrable poles are found by bisection.

    c_k = E f p_k,  k ≤ K,     ‖f‖² = E f²,     p_k the orthonormal polynomials of the law of the coordinate z

    normal law   z = u, density φ(u), p_k = h_k
    sphere       the first coordinate of a uniform point of |x|² = d in R^d: z = √d sin(u/√d), density ∝ cos^{d−2}(u/√d)
                 in u, p_k Gegenbauer polynomials; in the limit d → ∞ the normal law
    g = f √density     what is integrated: g p_k √density and g², so that a large f meets a small density before it
                       overflows

Scheme: panels with Gauss–Legendre nodes; a panel is halved until it agrees with its halves to rounding, at most DEEPEST
times. The panels reach outwards until g² is negligible on two of them. Errors: the disagreement of the last halving,
and rounding. A function whose g² does not end, does not settle, or has its mass in the narrowest panels is not square
integrable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from widelimit.errors import InputError, shown
from widelimit.potentials.hermite import orthonormal_hermite
from widelimit.problem.activations.kinks import kinks_of_expression, switches
from widelimit.problem.data.target import Target
from widelimit.problem.expressions import Expression
from widelimit.problem.host_values import host_values

POINTS = 20
DEEPEST, LATE = 64, 40  # halvings; a panel so narrow that only a pole gives it mass
EDGES = np.array([0.0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160,
                  200, 240, 300])  # fmt: skip
ALWAYS = 16.0  # looked at, however small
NEGLIGIBLE = 1e-20  # of ‖f‖²
SETTLED = 0.1  # an error of ‖f‖² beyond this share: it does not exist
ROUNDING = 8 * np.finfo(float).eps
MOST = 50_000  # panels
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
    x, w = np.polynomial.legendre.leggauss(POINTS)

    def on(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integrals over panels, (panels, K + 2), and those of the absolute values."""
        half = (high - low)[:, None] / 2
        u = low[:, None] + half * (x + 1)
        z, root = axis.z(u), axis.root(u)
        with np.errstate(all="ignore"):
            g = host_values(f, z.reshape(-1, 1)).reshape(z.shape) * root
        if not (np.abs(g) < OVERFLOW).all():
            raise _refused(f)
        terms = np.concatenate([g[..., None] * axis.polynomials(z, order) * root[..., None], g[..., None] ** 2], -1)
        weights = (half * w)[..., None]
        return (terms * weights).sum(axis=1), (np.abs(terms) * weights).sum(axis=1)

    low, high = _reach(on, axis.end, f)
    for t in map(axis.u, kinks):
        inside = (low < t) & (t < high)
        low = np.concatenate([low, np.full(inside.sum(), t)])
        high = np.concatenate([np.where(inside, t, high), high[inside]])
    coarse, sizes = on(low, high)
    values, errors, absolute = np.zeros(order + 2), np.zeros(order + 2), sizes.sum(axis=0)
    for level in range(DEEPEST):
        middle = (low + high) / 2
        fine, more = on(np.concatenate([low, middle]), np.concatenate([middle, high]))
        absolute = np.maximum(absolute, more.sum(axis=0))
        left, right = np.split(fine, 2)
        apart = np.abs(left + right - coarse)
        norm = max(absolute[-1], 1e-300)
        scale = np.append(np.full(order + 1, math.sqrt(norm)), norm)
        rough = (apart > ROUNDING / 64 * scale).any(axis=1) & (level < DEEPEST - 1)
        values += (left + right)[~rough].sum(axis=0)
        errors += apart[~rough].sum(axis=0)
        if not rough.any():
            break
        low, high = np.concatenate([low[rough], middle[rough]]), np.concatenate([middle[rough], high[rough]])
        coarse = np.concatenate([left[rough], right[rough]])
        left_over = coarse[:, -1].sum()
        if len(low) > MOST or (level == LATE and left_over > SETTLED * (values[-1] + left_over)):
            raise _refused(f)
    if errors[-1] > SETTLED * values[-1]:
        raise _refused(f)
    return AxisIntegrals(values, errors + ROUNDING * absolute)


def _reach(on: Callable[..., tuple[np.ndarray, np.ndarray]], end: float, f: Target) -> tuple[np.ndarray, np.ndarray]:
    """Panels on both sides, outwards until g² is negligible, or the axis ends."""
    panels: list[tuple[float, float]] = []
    for side in (-1.0, 1.0):
        total, quiet, done = 0.0, 0, False
        for a, b in itertools.pairwise(EDGES.tolist()):
            low, high = sorted((side * a, side * min(b, end)))
            size = float(on(np.array([low]), np.array([high]))[1][0, -1])
            total += size
            quiet = quiet + 1 if size <= NEGLIGIBLE * total else 0
            panels.append((low, high))
            done = (quiet >= 2 and b >= ALWAYS) or b >= end
            if done:
                break
        if not done:
            raise _refused(f)
    lows, highs = np.array(panels).T
    return lows, highs


def _refused(f: Target) -> InputError:
    return InputError(
        f"a target must be square integrable, E f² < ∞, got {shown(f)}, which is not as far as quadrature can see: "
        "avoid poles, logarithms of negative numbers, and growth like exp(z**2/4)."
    )
