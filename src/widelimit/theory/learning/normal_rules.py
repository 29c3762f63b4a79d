"""Integrals over two or more standard normal variables, by rules that are compared.

    E f e  and  E f²  for functions e of a family,   z ~ N(0, I_k)

    k = 2, 3   the rule of the kept coordinates, cut where f bends or jumps (widelimit.problem.data.kept_rule), and one
               of other size; error: their difference, and rounding
    k ≥ 4      random sets of points; error: four standard errors of their mean

A square whose mean the two rules do not agree on, or which has its mass at the end of the axes, has none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from widelimit.errors import InputError, require, shown
from widelimit.problem.data.kept_rule import counts_of, kept_rule, other_counts
from widelimit.problem.data.nodes import SCRAMBLINGS
from widelimit.problem.data.target import Target
from widelimit.problem.host_values import host_values
from widelimit.theory.learning.sampled_spectrum import ROWS, STANDARD_ERRORS

AXES = 3  # with a rule of their own
RANDOM = 1 << 16  # points beyond
SETTLED = 1e-3  # relative change of E f², or share of it far out, beyond which it does not exist
FAR = 10.0  # the axes end at 12
ROUNDING = 8 * np.finfo(float).eps

Basis = Callable[[np.ndarray], np.ndarray]  # z (n, k) → e (n, m)


class NormalMeans(NamedTuple):
    """E f e, and E f² as the last entry; and their errors."""

    values: np.ndarray
    errors: np.ndarray


class _Sums(NamedTuple):
    """Σ p f e and Σ p f² over equal parts of the nodes, (parts, m + 1); Σ p |f e|; and the share of Σ p f² far out."""

    parts: np.ndarray
    sizes: np.ndarray
    far: float


def normal_means(f: Target, k: int, basis: Basis, d: float = math.inf) -> NormalMeans:
    """The means of a function of the first k coordinates; on the sphere |x|² = d if d is finite."""
    counts = counts_of(f, k, d, None) if k <= AXES else (RANDOM,) * k
    found = _sums(f, kept_rule(f, d, counts), basis)
    if k > AXES:
        sets = found.parts * SCRAMBLINGS
        errors = STANDARD_ERRORS * sets.std(axis=0, ddof=1) / math.sqrt(SCRAMBLINGS)
        return NormalMeans(sets.mean(axis=0), errors)
    other = _sums(f, kept_rule(f, d, other_counts(counts)), basis)
    values, others = found.parts.sum(axis=0), other.parts.sum(axis=0)
    apart = np.abs(values - others)
    far = max(found.far, other.far) if math.isinf(d) else 0.0
    if max(apart[-1] / max(values[-1], 1e-300), far) > SETTLED:
        raise InputError(
            f"a target must be square integrable, E f(z)² < ∞, and not too narrow for quadrature, got {shown(f)}, on "
            "whose square two rules differ: check where it grows, has poles, or differs from 0 in a small region only."
        )
    return NormalMeans(values, apart + ROUNDING * found.sizes)


def _sums(f: Target, rule: tuple[np.ndarray, np.ndarray], basis: Basis) -> _Sums:
    z, p = rule
    sums, sizes, far = [], np.zeros(1), 0.0
    for start, stop in itertools.pairwise(np.linspace(0, len(z), SCRAMBLINGS + 1).astype(int)):
        part = np.zeros(1)
        for low in range(start, stop, ROWS):
            rows = slice(low, min(low + ROWS, stop))
            y = host_values(f, z[rows])
            require(bool(np.isfinite(y).all()), "a target must give one finite number for every z", f,
                    "avoid poles and logarithms of negative numbers")  # fmt: skip
            terms = p[rows, None] * np.concatenate([y[:, None] * basis(z[rows]), y[:, None] ** 2], axis=1)
            part, sizes = part + terms.sum(axis=0), sizes + np.abs(terms).sum(axis=0)
            far += float(terms[np.abs(z[rows]).max(axis=1) > FAR, -1].sum())
        sums.append(part)
    return _Sums(np.array(sums), sizes, far / max(float(sizes[-1]), 1e-300))
