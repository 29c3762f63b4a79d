"""Integrals over one standard normal variable, adaptively: kinks, jumps and integrable poles are found by bisection.

    c_k = ∫ f h_k φ dz,  k ≤ K,     ‖f‖² = ∫ f² φ dz

    g = f √φ     what is integrated: (g h_k √φ) and g², so that a large f meets a small φ before it overflows

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

import numpy as np

from widelimit.errors import InputError, shown
from widelimit.potentials.hermite import orthonormal_hermite

POINTS = 20
DEEPEST, LATE = 64, 40  # halvings; a panel so narrow that only a pole gives it mass
EDGES = np.array([0.0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160,
                  200, 240, 300])  # fmt: skip
ALWAYS = 16.0  # looked at, however small
NEGLIGIBLE = 1e-20  # of ‖f‖²
SETTLED = 0.1  # an error of ‖f‖² beyond this share: it does not exist
ROUNDING = 8 * np.finfo(float).eps
MOST = 50_000  # panels


@dataclass(frozen=True)
class NormalIntegrals:
    """c_0, …, c_K and ‖f‖² as the last entry, (K + 2,), and their errors."""

    values: np.ndarray
    errors: np.ndarray


def normal_integrals(
    f: Callable[[np.ndarray], np.ndarray], order: int, cuts: tuple[float, ...], name: object
) -> NormalIntegrals:
    """The integrals of a function of z, (n,) to (n,), cut at given points; refuse one that has none."""
    x, w = np.polynomial.legendre.leggauss(POINTS)

    def on(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integrals over panels, (panels, K + 2), and those of the absolute values."""
        half = (high - low)[:, None] / 2
        z = low[:, None] + half * (x + 1)
        root = np.exp(-(z**2) / 4) / (2 * math.pi) ** 0.25
        with np.errstate(all="ignore"):
            g = f(z.ravel()).reshape(z.shape) * root
        if not np.isfinite(g).all():
            raise _refused(name)
        terms = np.concatenate([g[..., None] * orthonormal_hermite(z, order) * root[..., None], g[..., None] ** 2], -1)
        weights = (half * w)[..., None]
        return (terms * weights).sum(axis=1), (np.abs(terms) * weights).sum(axis=1)

    low, high = _reach(on, name)
    for t in cuts:
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
            raise _refused(name)
    if errors[-1] > SETTLED * values[-1]:
        raise _refused(name)
    return NormalIntegrals(values, errors + ROUNDING * absolute)


def _reach(on: Callable[..., tuple[np.ndarray, np.ndarray]], name: object) -> tuple[np.ndarray, np.ndarray]:
    """Panels on both sides, outwards until g² is negligible."""
    panels: list[tuple[float, float]] = []
    for side in (-1.0, 1.0):
        total, quiet = 0.0, 0
        for a, b in itertools.pairwise(EDGES.tolist()):
            low, high = sorted((side * a, side * b))
            size = float(on(np.array([low]), np.array([high]))[1][0, -1])
            total += size
            quiet = quiet + 1 if size <= NEGLIGIBLE * total else 0
            panels.append((low, high))
            if quiet >= 2 and b >= ALWAYS:
                break
        else:
            raise _refused(name)
    low, high = np.array(panels).T
    return low, high


def _refused(name: object) -> InputError:
    return InputError(
        f"a target must be square integrable, E f(G)² < ∞, got {shown(name)}, which is not as far as quadrature can "
        "see: avoid poles, logarithms of negative numbers, and growth like exp(z**2/4)."
    )
