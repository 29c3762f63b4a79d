"""The leap over all rotations of Gaussian inputs: how far the subspace that is known must be left at worst.

    isotropic leap = max over rotations Q of the leap of f(Q z)

    U_0 = {0};   L_i = least degree ≥ 1 outside of U_i that f has together with anything inside of U_i
    U_{i+1} = U_i + span of the directions of those components;    isotropic leap = max_i L_i

The second form needs no search. In a basis along U_1 ⊂ U_2 ⊂ … no index leaves U_i with fewer than L_i new degrees, so
the leap of that basis is max_i L_i or more. In any basis, coordinates that were learnt with steps of this length and
contain U_i but not U_{i+1} leave a component of degree at most L_i with a direction outside: the ordering goes on.

    f = Σ c_α h_α(z)   ↔   p(x) = Σ c_α x^α/√α!      rotating z in f is rotating x in p
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from widelimit.potentials.product_families import Index
from widelimit.theory.learning.spectrum import WithError

MOST_VARIABLES = 4
MOST_DEGREE = 12
ROUNDING = 1e-10  # relative, of components that are 0

Polynomial = dict[Index, float]


class IsotropicLeap(NamedTuple):
    """The largest leap over all rotations.

    leap        max_i L_i
    lengths     L_i, in the order in which subspaces are found
    subspaces   U_{i+1} as orthonormal rows, each containing the one before
    """

    leap: int
    lengths: tuple[int, ...]
    subspaces: tuple[np.ndarray, ...]


def isotropic_leap(coefficients: Mapping[Index, WithError], k: int) -> IsotropicLeap | None:
    """The isotropic leap of a Hermite series in k variables; None if there are too many variables or degrees."""
    degree = max(map(sum, coefficients))
    if k > MOST_VARIABLES or degree > MOST_DEGREE:
        return None
    p = {index: c.value / _root(index) for index, c in coefficients.items()}
    size = math.sqrt(sum(c.value**2 for c in coefficients.values()))
    noise = max(ROUNDING * size, sum(c.error for c in coefficients.values()))
    inside, lengths, subspaces = np.zeros((0, k)), list[int](), list[np.ndarray]()
    while len(inside) < k:
        basis = completed(inside)
        turned = {b: c for b, c in rotated(p, basis).items() if abs(c) * _root(b) > noise}
        m = len(inside)
        outside = [sum(b[m:]) for b in turned if sum(b[m:])]
        if not outside:
            break
        found = _directions({b: c for b, c in turned.items() if sum(b[m:]) == min(outside)}, m, k, noise)
        inside = np.concatenate([inside, found @ basis[m:]])
        lengths.append(min(outside))
        subspaces.append(inside)
    return IsotropicLeap(max(lengths), tuple(lengths), tuple(subspaces))


def rotated(p: Polynomial, basis: np.ndarray) -> Polynomial:
    """The coefficients of y ↦ p(Σ_j y_j basis_j)."""
    k = len(basis)
    units = [tuple(int(i == j) for i in range(k)) for j in range(k)]
    linear = [{units[j]: float(basis[j, i]) for j in range(k)} for i in range(k)]
    powers: dict[tuple[int, int], Polynomial] = {}

    def power(i: int, n: int) -> Polynomial:
        if n == 0:
            return {(0,) * k: 1.0}
        if (i, n) not in powers:
            powers[i, n] = _times(power(i, n - 1), linear[i])
        return powers[i, n]

    result: Polynomial = {}
    for index, c in p.items():
        term: Polynomial = {(0,) * k: c}
        for i, n in enumerate(index):
            term = _times(term, power(i, n)) if n else term
        for b, value in term.items():
            result[b] = result.get(b, 0.0) + value
    return result


def completed(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis that begins with the given orthonormal rows, (k, k)."""
    m, k = rows.shape
    _, _, v = np.linalg.svd(rows) if m else (None, None, np.eye(k))
    return np.concatenate([rows, v[m:]])


def _directions(terms: Polynomial, m: int, k: int, noise: float) -> np.ndarray:
    """Orthonormal rows that span the directions of forms in the last k − m variables, one form for each power of the
    others: all their partial derivatives of one order less, (found, k − m)."""
    rows: dict[tuple[Index, Index], np.ndarray] = {}
    for b, c in terms.items():
        outer = b[m:]
        for j in range(k - m):
            if outer[j]:
                rest = tuple(n - (i == j) for i, n in enumerate(outer))
                row = rows.setdefault((b[:m], rest), np.zeros(k - m))
                row[j] += c * _root(b) * math.sqrt(outer[j])
    _, sizes, v = np.linalg.svd(np.array(list(rows.values())), full_matrices=False)
    return v[: max(1, int((sizes > noise).sum()))]


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for (a, c), (b, e) in itertools.product(p.items(), q.items()):
        both = tuple(map(sum, zip(a, b, strict=True)))
        result[both] = result.get(both, 0.0) + c * e
    return result


def _root(index: Index) -> float:
    """√α!"""
    return math.sqrt(math.prod(map(math.factorial, index)))
