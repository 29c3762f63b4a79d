"""The spectrum of a target that is known by samples only.

    f̂_α = (1/M) Σ_i y_i e_α(x_i),    standard error: the deviation of y e_α over √(M − 1)

The rows x_i are taken for draws of the law of which e_α is the family: standard normal, or uniform on the cube. A
coefficient counts as 0 unless it exceeds four standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from widelimit.errors import require
from widelimit.potentials.product_families import Index
from widelimit.theory.learning.spectrum import Spectrum, WithError, with_errors
from widelimit.theory.learning.target_variables import names_of

if TYPE_CHECKING:
    from widelimit.problem.data import Empirical

ROWS = 1 << 14  # looked at together
STANDARD_ERRORS = 4.0

Products = Callable[[np.ndarray, list[Index]], np.ndarray]  # rows x (n, k), indices (m) → e (n, m)


def spectrum_of_samples(law: Empirical, chosen: list[Index], products: Products, basis: str) -> Spectrum:
    """Means over samples, with standard errors."""
    x, y = np.asarray(law.x), np.asarray(law.y)
    n, k = x.shape
    require(n >= 2, "standard errors need two samples or more", n, "give more rows")
    first, second = np.zeros(len(chosen)), np.zeros(len(chosen))
    for low in range(0, n, ROWS):
        terms = y[low : low + ROWS, None] * products(x[low : low + ROWS], chosen)
        first, second = first + terms.sum(axis=0), second + (terms**2).sum(axis=0)
    mean = first / n
    error = np.sqrt(np.maximum(second / n - mean**2, 0.0) / (n - 1))
    norm = WithError(float((y**2).mean()), float((y**2).std() / math.sqrt(n - 1)))
    series = dict(zip(chosen, with_errors(mean, error), strict=True))
    return Spectrum(basis, names_of(k), series, norm, sum(chosen[-1]), complete=False, trusted=STANDARD_ERRORS)
