"""Barron's norm part by part: packets that share their frequencies, and polynomials on the ball.

point mass at ω                     C = |ω| |c|
c exp(−q|x|²/2) cos⟨a, x⟩, …        C = Σ |c| E|ω|, ω ~ N(a, q I) in R^k, where all have one sign:
                                    E|ω| = √(2q) Γ((k+1)/2)/Γ(k/2) · ₁F₁(−½; k/2; −|a|²/(2q))
other packets                       ∫ |ω||f̂| by quadrature of f̂ in closed form
polynomial of one variable          its slope reflected at ±r
polynomial of more                  a sum of powers c ⟨v, x⟩^n, each of C = |c| n |v|^n r^{n−1}: an upper bound
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import hyp1f1

from widelimit.errors import InputError
from widelimit.theory.approximation.frequency_rules import FirstMoment, first_moment
from widelimit.theory.approximation.reflection import reflected
from widelimit.theory.approximation.wave_packets import Key, axis_transform
from widelimit.theory.approximation.waves import Waves, no_waves
from widelimit.theory.learning.spectrum import WithError

MOST_AXES = 3
CLOSED, TRANSFORM, REFLECTION = "closed form", "quadrature of the transform", "reflection"
DEEP = 8.5  # deviations of a Gaussian: e^{−36}

Still = tuple[float | None, ...]  # the frequency of a point mass on each axis; None where there is a density
Powers = dict[tuple[int, ...], float]


@dataclass(frozen=True, eq=False)
class NormPart:
    """C of a part of a function; a maker of its waves; how C was found, and whether it is the smallest."""

    norm: WithError
    waves: Callable[[], Waves]
    route: str = CLOSED
    sharp: bool = True


def transformed_part(still: Still, terms: dict[Key, complex]) -> NormPart:
    """Packets whose transforms live on the same frequencies: free on some axes, ``still`` on the others."""
    free = [i for i, value in enumerate(still) if value is None]
    fixed = [i for i, value in enumerate(still) if value is not None]
    at = [value for value in still if value is not None]
    if not free:
        waves = Waves.at(np.array([at]), np.array([sum(terms.values())]))
        return NormPart(WithError(waves.total, 1e-15 * waves.total), lambda: waves)
    if len(free) > MOST_AXES:
        raise InputError(
            f"a Gaussian may have at most {MOST_AXES} variables, got {len(free)}: write a sum of functions of fewer."
        )

    def transform(axes: Any) -> np.ndarray:
        total: Any = 0.0
        for (n, q, b), c in terms.items():
            factors = [axis_transform(n[i], q[i], b[i], omega) for i, omega in zip(free, axes, strict=True)]
            total = total + c * _outer(factors)
        return total

    lumps = [sorted({(b[i].imag, (DEEP + n[i]) * math.sqrt(q[i])) for n, q, b in terms}) for i in free]
    order = np.argsort([*free, *fixed])

    def waves_of(moment: FirstMoment) -> Waves:
        """The waves of a moment, the columns of their directions in the order of the variables."""
        found = moment.waves
        return Waves(found.directions[:, order], found.frequencies, found.amplitudes, found.phases)

    exact = _closed(terms, len(still)) if not fixed else None
    if exact is not None:
        return NormPart(WithError(exact, 1e-14 * exact), lambda: waves_of(first_moment(transform, lumps, at)))
    moment = first_moment(transform, lumps, at)
    return NormPart(moment.total, lambda: waves_of(moment), TRANSFORM)


def _closed(terms: dict[Key, complex], k: int) -> float | None:
    """Σ c E|ω|, ω ~ N(a, q I), for Gaussians of one width and sign; None for others."""
    widths = {w for _, q, _ in terms for w in q}
    if any(any(n) for n, _, _ in terms) or any(len(set(q)) > 1 for _, q, _ in terms) or not widths:
        return None
    alone = len(terms) == 1
    signs = {complex(np.round(c / abs(c), 12)) for c in terms.values()}
    if not alone and (len(signs) > 1 or any(b.real for _, _, bs in terms for b in bs)):
        return None
    total = 0.0
    for (_, q, b), c in terms.items():
        size = abs(c) * math.exp(sum(v.real**2 for v in b) / (2 * q[0]))
        shift = sum(v.imag**2 for v in b) / (2 * q[0])
        mean = math.sqrt(2 * q[0]) * math.gamma((k + 1) / 2) / math.gamma(k / 2) * hyp1f1(-0.5, k / 2, -shift)
        total += size * float(mean)
    return total


def polynomial_part(terms: Powers, k: int, r: float) -> NormPart:
    """One variable: the slope reflected. More: a sum of powers of linear functions, by polarisation."""
    if k == 1:
        found = reflected(np.polynomial.Polynomial([terms.get((n,), 0.0) for n in range(max(terms)[0] + 1)]), r)
        top = abs(sum(c * n[0] * r ** (n[0] - 1) for n, c in terms.items()))
        low = abs(sum(c * n[0] * (-r) ** (n[0] - 1) for n, c in terms.items()))
        sharp = abs(found.total.value - max(top, low)) <= 1e-9 * max(top, low) + found.total.error
        exact = WithError(max(top, low), 0.0) if sharp else found.total
        return NormPart(exact, lambda: found.waves, CLOSED if sharp else REFLECTION, sharp)
    waves, total, powers = no_waves(k), 0.0, dict[int, Waves]()
    for v, n, c in polarised(terms, k):
        size = float(np.linalg.norm(v))
        if n not in powers:
            powers[n] = reflected(np.polynomial.Polynomial([0.0] * n + [1.0]), r).waves
        waves = waves + powers[n].along(v / size, c * size**n)
        total += abs(c) * n * size**n * r ** (n - 1)
    return NormPart(WithError(total, 1e-14 * total), lambda: waves, sharp=False)


class RidgePower(NamedTuple):
    """c ⟨v, x⟩^n."""

    v: np.ndarray
    n: int
    c: float


def polarised(terms: Powers, k: int) -> list[RidgePower]:
    """A polynomial as a sum of powers of linear functions: over signs ε with ε_1 = 1,

    x_{i_1} ⋯ x_{i_n} = 1/(2^{n−1} n!) Σ_ε Π_j ε_j ⟨Σ_j ε_j e_{i_j}, x⟩^n
    """
    found: dict[tuple[tuple[float, ...], int], float] = defaultdict(float)
    for alpha, c in terms.items():
        places = [i for i, n in enumerate(alpha) for _ in range(n)]
        n = len(places)
        for rest in itertools.product((1, -1), repeat=n - 1):
            v = np.zeros(k)
            for place, sign in zip(places, (1, *rest), strict=True):
                v[place] += sign
            if v.any():
                turn = float(np.sign(v[np.flatnonzero(v)[0]]))  # v and −v are one
                found[tuple((turn * v).tolist()), n] += (
                    turn**n * c * math.prod(rest) / (2 ** (n - 1) * math.factorial(n))
                )
    return [RidgePower(np.array(v), n, c) for (v, n), c in found.items() if c]


def _outer(factors: list[np.ndarray]) -> np.ndarray:
    total = factors[0]
    for factor in factors[1:]:
        total = np.multiply.outer(total, factor)
    return total
