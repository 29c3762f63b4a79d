"""Hermite coefficients of a target of Gaussian inputs, z ~ N(0, I_k).

f̂_α = E f(z) Π_i h_{α_i}(z_i)

polynomial        exactly:  z^n = Σ_m n!/(2^m m! (n − 2m)!) He_{n−2m}(z),  He_k = √k! h_k
expression        a sum of products of functions of different variables (widelimit.theory.learning.separation), each
                  factor by quadrature: one variable adaptively, two or three by a rule that is cut at kinks, compared
                  with a rule of other size; more by random sets of points, with standard errors
any function      the same, as one factor
samples           f̂_α = mean of y Π_i h_{α_i}(x_i), with standard errors
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from widelimit.errors import require_count
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.product_families import Index, hermite_series
from widelimit.problem.expressions import Expression, Terms
from widelimit.theory.learning.sampled_spectrum import spectrum_of_samples
from widelimit.theory.learning.separation import separated
from widelimit.theory.learning.spectrum import EPS, Spectrum, WithError, whole_spectrum, with_errors
from widelimit.theory.learning.target_variables import indices, monomials_of, samples_of, target_of

if TYPE_CHECKING:
    from widelimit.potentials import hermite as polynomials
    from widelimit.problem.data import Empirical
    from widelimit.problem.data.target import Evaluated, Target
    from widelimit.theory.learning import axis_integrals, normal_rules
else:  # with JAX and SciPy, which polynomials do without
    polynomials = OnFirstUse("widelimit.potentials.hermite")
    axis_integrals = OnFirstUse("widelimit.theory.learning.axis_integrals")
    normal_rules = OnFirstUse("widelimit.theory.learning.normal_rules")

ORDERS = {1: 20, 2: 12, 3: 8}  # the highest degree looked at, by the number of variables
ORDER_OF_MORE = 6

Series = dict[Index, WithError]


def hermite(link: Evaluated | Empirical, order: int | None = None, k: int | None = None) -> Spectrum:
    """Hermite coefficients of a link or target, with their errors, norms by degree, and the information exponent.

    link    an expression in z or z1, z2, …; a function of an array of points (n,), or of rows (n, k); or samples,
            `wl.data.empirical(x, y)`, whose columns are taken for standard normal
    order   the highest degree to look at; by default all of a polynomial, 20 in one variable, fewer in more
    k       how many variables a function has (1)

    >>> import widelimit as wl
    >>> found = wl.hermite("relu(z)")
    >>> found.information_exponent, round(found.coefficients[(1,)].value, 12)
    (1, 0.5)
    >>> wl.hermite("z1*z2 + He3(z3)").information_exponent
    2
    """
    if order is not None:
        require_count("order", order, "10")
    if (samples := samples_of(link)) is not None:
        chosen = list(indices(samples.d, order or 3))
        return spectrum_of_samples(samples, chosen, polynomials.hermite_products, "hermite")
    target, names = target_of(link, k)
    if (terms := monomials_of(target, names)) is not None:
        return _of_polynomial(terms, names, order)
    highest = order or ORDERS.get(len(names), ORDER_OF_MORE)
    series, norm = _of_target(target, names, highest)
    return Spectrum("hermite", names, series, norm, highest, complete=False)


def _of_polynomial(terms: Terms, names: tuple[str, ...], order: int | None) -> Spectrum:
    """Exactly, up to rounding."""
    found, sizes = hermite_series(terms), hermite_series({exponents: abs(c) for exponents, c in terms.items()})
    degree = max((sum(index) for index in found), default=0)
    series = {index: WithError(c, 8 * EPS * sizes[index]) for index, c in found.items()}
    return whole_spectrum("hermite", names, series, degree, order)


def _of_target(target: Target, names: tuple[str, ...], order: int) -> tuple[Series, WithError]:
    """Coefficients and E f² of what is no polynomial."""
    if not isinstance(target, Expression):
        return _block(target, len(names), order)
    if len(names) == 1:
        return _block(renamed(target), 1, order)
    place = {name: i for i, name in enumerate(names)}
    total: dict[Index, list[float]] = {}
    for term in separated(target):
        series = {(0,) * len(names): WithError(term.coefficient, 0.0)}
        for block in term.blocks:
            factor = _block(renamed(block), len(block.names), order)[0]
            series = _multiplied(series, factor, [place[name] for name in block.names], order)
        for index, (value, error) in series.items():
            entry = total.setdefault(index, [0.0, 0.0])
            entry[0] += value
            entry[1] += error + EPS * abs(value)
    return {index: WithError(*entry) for index, entry in total.items()}, _norm(renamed(target), len(names))


def renamed(f: Expression) -> Expression:
    """The expression with its variables called z, or z1, z2, … without gaps."""
    order = {name: i for i, name in enumerate(f.names, 1)}
    return Expression(tuple((f"z{order[w]}" if len(order) > 1 else "z") if w in order else w for w in f.prefix))


def _multiplied(series: Series, factor: Series, places: list[int], order: int) -> Series:
    """The product with a function of variables that the series does not have yet."""
    found: Series = {}
    for index, (a, da) in series.items():
        for part, (b, db) in factor.items():
            if sum(index) + sum(part) <= order and (b or db):
                longer = list(index)
                for place, n in zip(places, part, strict=True):
                    longer[place] = n
                found[tuple(longer)] = WithError(a * b, abs(a) * db + da * abs(b) + da * db)
    return found


@lru_cache(maxsize=256)
def _block(f: Target, k: int, order: int) -> tuple[Series, WithError]:
    """Coefficients and E f² of a function of the first k variables."""
    if k == 1:
        one = axis_integrals.axis_integrals(f, order, axis_integrals.NormalAxis())
        pairs = with_errors(one.values, one.errors)
        return {(n,): pair for n, pair in enumerate(pairs[:-1])}, pairs[-1]
    chosen = list(indices(k, order))
    pairs = with_errors(*normal_rules.normal_means(f, k, lambda z: polynomials.hermite_products(z, chosen)))
    return dict(zip(chosen, pairs[:-1], strict=True)), pairs[-1]


@lru_cache(maxsize=64)
def _norm(f: Target, k: int) -> WithError:
    """E f² alone."""
    return with_errors(*normal_rules.normal_means(f, k, lambda z: np.empty((len(z), 0))))[-1]
