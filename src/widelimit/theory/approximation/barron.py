"""Barron's norm: how many neurons a function needs at most.

    f(x) = ∫ e^{i⟨ω, x⟩} f̂(dω),     C = ∫ |ω| |f̂|(dω),     Δ = 2 r C

N step neurons reach the risk Δ²/N on |x| ≤ r (widelimit.theory.approximation.maurey) [b93], by any f̂ that represents f
on the ball:

    sums and products of    f̂ on the whole space is known, and C is a sum or an integral over it
    cosines, Gaussians      (widelimit.theory.approximation.barron_parts)
    polynomials             have no f̂ that is a measure on the whole space. On the ball they have one: a polynomial of
                            one variable is continued by reflecting its slope, C = n r^{n−1} for x^n, which no extension
                            beats. In more variables a sum of powers ⟨v, x⟩^n: an upper bound
    any function            that decays: f̂ on the whole space, numerically, in one to three variables. One that does
                            not, of one variable: its slope reflected, an upper bound of what the best extension has

C is infinite where a slope jumps, as for relu.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from widelimit.errors import InputError, finite_or_none, require, require_count, require_positive, shown
from widelimit.problem.activations.kinks import kinks_of_expression, switches
from widelimit.problem.combinations import Unknown
from widelimit.problem.data.target import Evaluated, Target, parsed
from widelimit.problem.expressions import Expression
from widelimit.problem.host_values import host_values
from widelimit.theory.approximation.barron_parts import (
    CLOSED,
    MOST_AXES,
    REFLECTION,
    Powers,
    Still,
    polynomial_part,
    transformed_part,
)
from widelimit.theory.approximation.frequency_rules import sampled_moment
from widelimit.theory.approximation.reflection import reflected
from widelimit.theory.approximation.wave_packets import Key, Packets, packets_of
from widelimit.theory.approximation.waves import Waves, no_waves
from widelimit.theory.learning.hermite_spectrum import renamed
from widelimit.theory.learning.spectrum import WithError, total

LARGEST = 1e6  # radius, and one over the smallest
SEEN = 1001  # points at which a function must be finite, 0 among them
EXACT, UPPER = "on the whole space", "upper bound, of an extension from the ball"


@dataclass(frozen=True, eq=False)
class Barron:
    """Barron's norm C = ∫|ω||f̂| of a function, and Δ = 2 r C.

    f, k       the function, and how many variables it has
    radius     r
    norm       C with its error; infinite if the slope of f jumps
    meaning    of which f̂: "on the whole space", or an upper bound from an extension
    route      how it was found: "closed form", "quadrature of the transform", "numerical transform" or "reflection"
    sources    makers of waves, one for each part of f; their sum is ``waves``

    >>> import widelimit as wl
    >>> wl.barron("cos(3*x)", radius=2.0).delta.value
    12.0
    """

    f: Target
    k: int
    radius: float
    norm: WithError
    meaning: str
    route: str
    sources: tuple[Callable[[], Waves], ...]

    @cached_property
    def waves(self) -> Waves:
        """f as a sum of waves, for sampling."""
        return sum((source() for source in self.sources), no_waves(self.k))

    @property
    def delta(self) -> WithError:
        """Δ = 2 r C."""
        return WithError(2 * self.radius * self.norm.value, 2 * self.radius * self.norm.error)

    def bound(self, n: int) -> float:
        """Δ²/N, the risk that N neurons reach.

        >>> import widelimit as wl
        >>> wl.barron("cos(x)", radius=0.5).bound(10)
        0.1
        """
        require_count("n", n, "100")
        return self.delta.value**2 / n

    def document(self) -> dict[str, object]:
        """The numbers by name."""
        return {
            "f": str(self.f), "radius": self.radius, "norm": finite_or_none(self.norm.value),
            "error": finite_or_none(self.norm.error), "delta": finite_or_none(self.delta.value),
            "meaning": self.meaning, "route": self.route,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Barron: C = {self.norm}, Δ = {self.delta} on |x| ≤ {self.radius:g}, {self.meaning} ({self.route})>"


def barron(f: Evaluated, radius: float, k: int | None = None) -> Barron:
    """C = ∫|ω||f̂(ω)|dω of a function, and Δ = 2 r C on the ball |x| ≤ r.

    f        an expression in x or x1, x2, …, or a function of an array of points (n,), or of rows (n, k)
    radius   r of the ball
    k        how many variables a function has (1)

    >>> import widelimit as wl
    >>> wl.barron("x**3", radius=2.0).norm.value  # 3 r²
    12.0
    >>> round(wl.barron("exp(-x**2/2)", radius=1.0).norm.value ** 2, 6)  # 2/π
    0.63662
    """
    require_positive("radius", radius, "1.0")
    require(1 / LARGEST <= radius <= LARGEST, f"radius must be from {1 / LARGEST:g} to {LARGEST:g}", radius, "scale x")
    target = parsed(f)
    if isinstance(target, Expression):
        require(k is None, "k is for functions: an expression says how many variables it has", k, "leave it out")
        require(bool(target.names), "a function needs a variable, x or x1, x2, …", str(target), "write one, such as x")
        target = renamed(target)
        count = len(target.names)
        try:
            return _of_packets(target, packets_of(target, count), float(radius))
        except Unknown:
            pass
    else:
        count = 1 if k is None else k
        require_count("k", count, "2")
    return _numerically(target, count, float(radius))


def _of_packets(f: Expression, packets: Packets, r: float) -> Barron:
    """Point masses, densities and polynomials, apart: their transforms live on different frequencies."""
    k, polynomial = packets.k, Powers()
    groups: dict[Still, dict[Key, complex]] = defaultdict(dict)
    for key, c in packets.terms.items():
        n, q, b = key
        still = tuple(b[i].imag if not q[i] else None for i in range(k))
        if any(n[i] and not q[i] for i in range(k)):
            if any(q) or any(b):
                raise Unknown
            polynomial[n] = c.real
        else:
            groups[still][key] = c
    parts = [transformed_part(still, terms) for still, terms in groups.items()]
    if polynomial:
        parts.append(polynomial_part(polynomial, k, r))
    norm = total(p.norm for p in parts)
    sharp = not polynomial or (k == 1 and len(parts) == 1 and parts[0].sharp)
    meaning = EXACT if not polynomial else "smallest of all extensions from the ball" if sharp else UPPER
    route = next((p.route for p in parts if p.route != CLOSED), CLOSED)
    return Barron(f, k, r, norm, meaning, route, tuple(p.waves for p in parts))


def _numerically(f: Target, k: int, r: float) -> Barron:
    require(
        k <= MOST_AXES, f"a numerical norm needs at most {MOST_AXES} variables", k, "write f with cosines and Gaussians"
    )
    moment = sampled_moment(lambda x: host_values(f, x), k)
    if moment is not None:
        return Barron(f, k, r, moment.total, EXACT, "numerical transform", (lambda: moment.waves,))
    if k > 1:
        raise InputError(
            f"a function of several variables must be smooth and decay, got {shown(f)}: multiply it by a Gaussian that "
            "is nearly 1 on the ball, such as exp(-(x1**2 + x2**2)/100)."
        )
    seen = host_values(f, r * np.linspace(-1, 1, SEEN)[:, None])
    require(bool(np.isfinite(seen).all()), "a function must be finite on |x| ≤ r", f, "avoid poles, lower the radius")
    cuts = kinks_of_expression(f) if isinstance(f, Expression) and switches(f) else ()
    found = reflected(lambda x: host_values(f, x[:, None]), r, cuts)
    return Barron(f, k, r, found.total, UPPER, REFLECTION, (lambda: found.waves,))
