"""What a target on the sphere has of each degree: x uniform on |x|² = d in R^d, f a function of the first coordinates.

‖P_ℓ f‖²,   P_ℓ the projection on spherical harmonics of degree ℓ;     f = Σ_ℓ P_ℓ f

polynomial       exactly, in any number of variables: the sphere's Laplacian takes a homogeneous q of degree n to
                 λ_n q + d Δq, λ_n = −n(n + d − 2). From the highest degree N down,
                     P_N f = q_N + q_{N−2} + …,   q_N the part of f of degree N,   q_n = d Δq_{n+2}/(λ_N − λ_n)
anything else    in one to three variables: coefficients in the orthonormal polynomials of the law of z, those of
                 degree ℓ (widelimit.theory.learning.ball_polynomials), by quadrature
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from widelimit.errors import InputError, finite_or_none, is_whole, require, require_count
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.product_families import Index
from widelimit.problem.expressions import Expression
from widelimit.theory.learning.ball_polynomials import SphereAxis, ball_polynomials
from widelimit.theory.learning.hermite_spectrum import ORDERS, renamed
from widelimit.theory.learning.spectrum import EPS, WithError, square_sums, total, with_errors
from widelimit.theory.learning.target_variables import indices, monomials_of, target_of

if TYPE_CHECKING:
    from widelimit.problem.data.target import Evaluated
    from widelimit.theory.learning import axis_integrals, normal_rules
else:  # with JAX and SciPy, which polynomials do without
    axis_integrals = OnFirstUse("widelimit.theory.learning.axis_integrals")
    normal_rules = OnFirstUse("widelimit.theory.learning.normal_rules")

Polynomial = dict[Index, float]


@dataclass(frozen=True, eq=False)
class SphereSpectrum:
    """Norms by degree of a target on the sphere of radius √d.

    d              dimension
    names          of the variables
    degree_norms   ‖P_ℓ f‖² for ℓ = 0, 1, …, with errors
    norm           E f²
    complete       whether f has no higher degree

    >>> import widelimit as wl
    >>> [round(n.value, 12) for n in wl.gegenbauer("z1*z2 + 3", d=4).degree_norms]
    [9.0, 0.0, 0.666666666667]
    """

    d: int
    names: tuple[str, ...]
    degree_norms: tuple[WithError, ...]
    norm: WithError
    complete: bool

    def up_to(self, degree: int) -> WithError:
        """‖P_{≤ℓ} f‖²."""
        return total(self.degree_norms[: degree + 1])

    def beyond(self, degree: int) -> WithError:
        """‖P_{>ℓ} f‖², what kernels leave with d^ℓ ≪ n ≪ d^{ℓ+1} samples; never below 0."""
        value, error = self.up_to(degree)
        return WithError(max(self.norm.value - value, 0.0), self.norm.error + error)

    @property
    def information_exponent(self) -> float:
        """The least degree ≥ 1 that f has; infinite if there is none."""
        has = (degree for degree, n in enumerate(self.degree_norms) if degree and n.value > n.error)
        return min(has, default=math.inf)

    @property
    def degree(self) -> float:
        """The highest degree that f has; infinite if it was not seen to end."""
        has = [degree for degree, n in enumerate(self.degree_norms) if n.value > n.error]
        return max(has, default=0) if self.complete else math.inf

    @property
    def is_constant(self) -> bool:
        """Whether f is known to be a constant."""
        return self.complete and math.isinf(self.information_exponent)

    def document(self) -> dict[str, object]:
        """Everything by name."""
        return {
            "basis": "gegenbauer", "d": self.d, "variables": list(self.names), "complete": self.complete,
            "norm": self.norm._asdict(), "degree_norms": [n._asdict() for n in self.degree_norms],
            "information_exponent": finite_or_none(self.information_exponent), "degree": finite_or_none(self.degree),
        }  # fmt: skip

    def __repr__(self) -> str:
        shares = ", ".join(f"{degree}: {n}" for degree, n in enumerate(self.degree_norms) if n.value > n.error)
        return f"<SphereSpectrum, d = {self.d}: ‖P_ℓ f‖² = {{{shares}}}, E f² = {self.norm}>"


def gegenbauer(target: Evaluated, d: int, order: int | None = None, k: int | None = None) -> SphereSpectrum:
    """‖P_ℓ f‖² of a target on the sphere of radius √d in R^d.

    target   an expression in z or z1, z2, …, the first coordinates of x; or a function of rows (n, k)
    d        dimension, larger than the number of variables
    order    the highest degree to look at; by default all of a polynomial, 20 in one variable, fewer in more
    k        how many variables a function has (1)

    >>> import widelimit as wl
    >>> round(wl.gegenbauer("relu(z)", d=100).up_to(1).value, 3)  # 1/(2π) + 1/4 = 0.409 at d = ∞
    0.41
    """
    f, names = target_of(target, k)
    good = is_whole(d) and d >= max(len(names) + 1, 3)
    require(good, f"d must be a whole number of at least {max(len(names) + 1, 3)}", d, "try d=100")
    if order is not None:
        require_count("order", order, "10")
    if (terms := monomials_of(f, names)) is not None:
        norms = _of_polynomial(terms, int(d))
        highest = len(norms) - 1 if order is None else order
        kept, complete = tuple(norms[: highest + 1]), len(norms) - 1 <= highest
        return SphereSpectrum(int(d), names, kept, total(norms), complete)
    if len(names) > normal_rules.AXES:
        raise InputError(
            f"on the sphere a target that is no polynomial may have at most {normal_rules.AXES} variables, got "
            f"{len(names)}: write it as a polynomial, or use wl.hermite, its limit for large d."
        )
    highest = order or ORDERS[len(names)]
    plain = renamed(f) if isinstance(f, Expression) else f
    chosen = list(indices(len(names), highest))
    if len(names) == 1:
        one = axis_integrals.axis_integrals(plain, highest, SphereAxis(int(d)))
        values, errors = one.values, one.errors
    else:
        size = math.sqrt(d)
        basis = lambda z: ball_polynomials(z / size, chosen, d)  # noqa: E731
        values, errors = normal_rules.normal_means(plain, len(names), basis, float(d))
    pairs = with_errors(values, errors)
    sums = square_sums(dict(zip(chosen, pairs[:-1], strict=True)), highest)
    return SphereSpectrum(int(d), names, sums, pairs[-1], complete=False)


def _of_polynomial(f: Polynomial, d: int) -> list[WithError]:
    """‖P_ℓ f‖², ℓ = 0, …, degree of f."""
    left, highest = dict(f), max(map(sum, f), default=0)
    norms: list[WithError] = []
    for top in range(highest, -1, -1):
        q = {a: c for a, c in left.items() if sum(a) == top}
        harmonic = dict(q)
        for n in range(top - 2, -1, -2):
            gap = (n * (n + d - 2) - top * (top + d - 2)) / d
            q = {a: c / gap for a, c in _laplacian(q).items()}
            harmonic |= q
        for a, c in harmonic.items():
            left[a] = left.get(a, 0.0) - c
        norms.append(_square_mean(harmonic, d))
    return norms[::-1]


def _laplacian(q: Polynomial) -> Polynomial:
    found: dict[Index, float] = defaultdict(float)
    for a, c in q.items():
        for i, n in enumerate(a):
            if n >= 2:
                found[(*a[:i], n - 2, *a[i + 1 :])] += c * n * (n - 1)
    return dict(found)


def _square_mean(q: Polynomial, d: int) -> WithError:
    """E q², from the moments of the sphere."""
    classes: dict[Index, list[tuple[Index, float]]] = defaultdict(list)
    for a, c in q.items():
        classes[tuple(n % 2 for n in a)].append((a, c))
    value = size = 0.0
    for terms in classes.values():
        for (a, c), (b, e) in itertools.product(terms, repeat=2):
            term = c * e * sphere_moment(tuple(m + n for m, n in zip(a, b, strict=True)), d)
            value, size = value + term, size + abs(term)
    return WithError(max(value, 0.0), 32 * EPS * size)


def sphere_moment(exponents: Index, d: int) -> float:
    """E Π x_i^{a_i} for even exponents, x uniform on |x|² = d.

    >>> sphere_moment((2,), 7), sphere_moment((4,), 4)
    (1.0, 2.0)
    """
    doubles = math.prod(math.prod(range(n - 1, 0, -2)) for n in exponents)
    return doubles * math.prod(d / (d + 2 * j) for j in range(sum(exponents) // 2))
