"""Products of orthonormal polynomials, e_α(z) = Π_i e_{α_i}(z_i), in which targets and networks are expanded.

    z ~ N(0, I_k)   e_n = h_n = He_n/√n!,    z^n = Σ_m n!/(2^m m! √((n − 2m)!)) h_{n−2m}(z)
    z ∈ {±1}^k      e_n(z) = z^n, n = 0 or 1

    α   index    (k,) whole numbers, of degree |α| = Σ_i α_i

Values of the first are in widelimit.potentials.hermite; nothing here needs JAX.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from widelimit.problem.expressions import Terms

Index = tuple[int, ...]


def all_indices(k: int, order: int, signs: bool = False) -> Iterator[Index]:
    """All α of k variables with |α| ≤ order, by degree; only those of zeros and ones where z_i = ±1."""
    draw = itertools.combinations if signs else itertools.combinations_with_replacement
    for degree in range(order + 1):
        for places in draw(range(k), degree):
            yield tuple(places.count(i) for i in range(k))


def hermite_series(terms: Terms) -> dict[Index, float]:
    """c_α of the polynomial Σ_α c_α Π_i h_{α_i}(z_i), by α.

    >>> hermite_series({(1, 2): 3.0})[(1, 0)]
    3.0
    """
    found: dict[Index, float] = {}
    for exponents, c in terms.items():
        parts = [_monomial(n) for n in exponents]
        for index in itertools.product(*parts):
            found[index] = found.get(index, 0.0) + c * math.prod(part[n] for part, n in zip(parts, index, strict=True))
    return found


def _monomial(n: int) -> dict[int, float]:
    """c_k of z^n = Σ_k c_k h_k; none is negative."""
    return {
        n - 2 * m: math.factorial(n) / (2**m * math.factorial(m) * math.sqrt(math.factorial(n - 2 * m)))
        for m in range(n // 2 + 1)
    }


def sign_products(z: np.ndarray, chosen: Sequence[Index]) -> np.ndarray:
    """Π_{i: α_i = 1} z_i at rows z (n, k), (n, number of indices)."""
    return np.stack([np.prod(z[:, np.flatnonzero(index)], axis=1) for index in chosen], axis=1)
