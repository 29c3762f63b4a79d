"""Walsh–Fourier coefficients of a target on the cube, z uniform on {±1}^k.

f̂_S = E f(z) Π_{i∈S} z_i,    S as an index α of zeros and ones

polynomial        exactly: z_i² = 1, so that only the parity of each exponent counts
anything else     f on all 2^k corners, and the fast Walsh–Hadamard transform
samples           means with standard errors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from widelimit.errors import require, require_count
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.product_families import Index, sign_products
from widelimit.problem.expressions import Expression, Terms
from widelimit.theory.learning.hermite_spectrum import renamed
from widelimit.theory.learning.sampled_spectrum import spectrum_of_samples
from widelimit.theory.learning.spectrum import EPS, Spectrum, WithError, whole_spectrum
from widelimit.theory.learning.target_variables import indices, monomials_of, samples_of, target_of

if TYPE_CHECKING:
    from widelimit.problem import host_values
    from widelimit.problem.data import Empirical
    from widelimit.problem.data.target import Evaluated, Target
else:  # with JAX and SciPy, which polynomials do without
    host_values = OnFirstUse("widelimit.problem.host_values")

MOST_SMALL = 4096  # coefficients that count as 0 and are kept
ROWS = 1 << 16


def walsh(target: Evaluated | Empirical, order: int | None = None, k: int | None = None) -> Spectrum:
    """Fourier coefficients on the cube {±1}^k, with their errors, norms by degree, and the information exponent.

    target   an expression in z1, z2, …; a function of rows (n, k) of ±1; or samples, `wl.data.empirical(x, y)`
    order    the highest degree to keep; by default all, 3 of samples
    k        how many variables a function has (1)

    >>> import widelimit as wl
    >>> [f"{c.value:g} {wl.walsh('max(z1, z2)').word(s)}" for s, c in wl.walsh("max(z1, z2)").nonzero.items()]
    ['0.5 1', '0.5 z1', '0.5 z2', '-0.5 z1*z2']
    """
    if order is not None:
        require_count("order", order, "3")
    if (samples := samples_of(target)) is not None:
        signs = bool((np.abs(samples.x) == 1).all())
        require(signs, "samples on the cube must have rows of +1 and -1", target, "try wl.hermite for Gaussian rows")
        chosen = [a for a in indices(samples.d, order or 3) if max(a) <= 1]
        return spectrum_of_samples(samples, chosen, sign_products, "walsh")
    found, names = target_of(target, k)
    terms = monomials_of(found, names)
    series = _of_corners(found, len(names)) if terms is None else _of_polynomial(terms)
    degree = max((sum(index) for index, c in series.items() if abs(c.value) > c.error), default=0)
    return whole_spectrum("walsh", names, series, degree, order)


def _of_polynomial(terms: Terms) -> dict[Index, WithError]:
    values: dict[Index, float] = {}
    sizes: dict[Index, float] = {}
    for exponents, c in terms.items():
        index = tuple(n % 2 for n in exponents)
        values[index] = values.get(index, 0.0) + c
        sizes[index] = sizes.get(index, 0.0) + abs(c)
    return {index: WithError(c, 8 * EPS * sizes[index]) for index, c in values.items()}


def _of_corners(target: Target, k: int) -> dict[Index, WithError]:
    """All coefficients; the small ones are left out where they are many."""
    f = renamed(target) if isinstance(target, Expression) else target
    powers = 1 << np.arange(k - 1, -1, -1)
    starts = range(0, 1 << k, ROWS)
    corners = ((np.arange(low, min(low + ROWS, 1 << k))[:, None] & powers) > 0 for low in starts)
    y = np.concatenate([host_values.host_values(f, 1.0 - 2.0 * part) for part in corners])
    require(bool(np.isfinite(y).all()), "a target must give one finite number at every corner", target,
            "avoid poles and logarithms of negative numbers")  # fmt: skip
    error = 8 * k * EPS * float(np.abs(y).max())
    for axis in range(k):
        pairs = y.reshape(1 << axis, 2, -1)
        y = np.stack([(pairs[:, 0] + pairs[:, 1]) / 2, (pairs[:, 0] - pairs[:, 1]) / 2], axis=1)
    y = y.ravel()
    small = np.flatnonzero((y != 0) & (np.abs(y) <= error))
    chosen = np.flatnonzero(np.abs(y) > error).tolist() + (small.tolist() if len(small) <= MOST_SMALL else [])
    return {tuple(int(bool(n & power)) for power in powers): WithError(float(y[n]), error) for n in chosen}
