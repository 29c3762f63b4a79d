"""Sums and products of cosines, Gaussians and polynomials, and their Fourier transforms in closed form.

    f(x) = Σ_j c_j Π_i x_i^{n_i} exp(−q_i x_i²/2 + b_i x_i),     c, b complex, q ≥ 0        one wave packet for each j

    f(x) = ∫ f̂(ω) e^{i⟨ω, x⟩} dω.    On an axis with q > 0, with s = b − iω,
        (2πq)^{−1/2} e^{s²/(2q)} P_n(s),    P_0 = 1,  P_{n+1} = (s P_n + n P_{n−1})/q
    on an axis with q = 0, n = 0 and imaginary b, a point mass at ω = Im b; a power without a Gaussian has no transform
    that is a measure, and its packets are told apart as `polynomial`.

cos(⟨a, x⟩ + c) is two packets, exp of a quadratic form without mixed terms is one, products multiply out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from widelimit.problem.combinations import Unknown
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import ALGEBRA, CONSTANTS, OF_NUMBERS, VARIABLES, Item, fold, number

MOST = 4000  # packets

Key = tuple[tuple[int, ...], tuple[float, ...], tuple[complex, ...]]  # n, q, b on every axis


@dataclass(frozen=True)
class Packets:
    """Σ_j c_j times a packet, as {(n, q, b): c}, in k variables."""

    terms: dict[Key, complex]
    k: int

    def _lift(self, other: Packets | float) -> Packets:
        return other if isinstance(other, Packets) else constant(other, self.k)

    def __add__(self, other: Packets | float) -> Packets:
        more = self._lift(other).terms
        total = {key: self.terms.get(key, 0) + more.get(key, 0) for key in self.terms | more}
        return Packets({key: c for key, c in total.items() if c != 0}, self.k)

    def __mul__(self, other: Packets | float) -> Packets:
        more = self._lift(other).terms
        if len(self.terms) * len(more) > MOST:
            raise Unknown
        total: dict[Key, complex] = {}
        for (n, q, b), c in self.terms.items():
            for (m, p, e), a in more.items():
                key = (tuple(map(sum, zip(n, m, strict=True))), tuple(map(sum, zip(q, p, strict=True))),
                       tuple(map(sum, zip(b, e, strict=True))))  # fmt: skip
                total[key] = total.get(key, 0) + c * a
        return Packets({key: c for key, c in total.items() if c != 0}, self.k)

    __rmul__ = __mul__

    def __neg__(self) -> Packets:
        return self * -1.0

    def __sub__(self, other: Packets | float) -> Packets:
        return self + -self._lift(other)

    def __rsub__(self, other: float) -> Packets:
        return -self + other

    def __truediv__(self, other: Packets | float) -> Packets:
        return self * (1 / self._lift(other).value())

    def __pow__(self, power: int) -> Packets:
        return math.prod([self] * power, start=constant(1.0, self.k))

    def value(self) -> float:
        """The number that it is."""
        polynomial = self.polynomial()
        if any(map(any, polynomial)) or sum(polynomial.values()) == 0:
            raise Unknown
        return sum(polynomial.values())

    def polynomial(self) -> dict[tuple[int, ...], float]:
        """{powers: coefficient}, if it is a polynomial."""
        if any(any(q) or any(b) for _, q, b in self.terms):
            raise Unknown
        return {n: c.real for (n, _, _), c in self.terms.items()}


def constant(c: complex, k: int) -> Packets:
    """A number as a packet."""
    zero = (0.0,) * k
    return Packets({((0,) * k, zero, (0j,) * k): complex(c)} if c else {}, k)


def packets_of(f: Expression, k: int) -> Packets:
    """An expression as a sum of packets; Unknown if it is none.

    >>> from widelimit.problem.expressions import expression
    >>> len(packets_of(expression("cos(x)*exp(-x**2/2) + 2*x"), 1).terms)
    3
    """
    return fold(f.prefix, partial(_packets, k))


def _packets(k: int, item: Item, *parts: Packets) -> Packets:
    if isinstance(item, float) or item in CONSTANTS:
        return constant(number(item), k)
    if item in VARIABLES:
        place = max(VARIABLES[item], 1) - 1
        return Packets({(tuple(int(i == place) for i in range(k)), (0.0,) * k, (0j,) * k): 1.0 + 0j}, k)
    if item in ("cos", "sin"):
        shift, slope = _affine(parts[0].polynomial(), k)
        phase = np.exp(1j * shift) * (1 if item == "cos" else -1j)
        zero = ((0,) * k, (0.0,) * k)
        up, down = (tuple(sign * 1j * a for a in slope) for sign in (1, -1))
        return Packets({(*zero, up): complex(phase) / 2}, k) + Packets({(*zero, down): complex(np.conj(phase)) / 2}, k)
    if item == "exp":
        return _exponential(parts[0].polynomial(), k)
    value: Any
    value = number(item, *(part.value() for part in parts)) if item in OF_NUMBERS else ALGEBRA[item](*parts)
    return value if isinstance(value, Packets) else constant(value, k)


def _affine(polynomial: dict[tuple[int, ...], float], k: int) -> tuple[float, list[float]]:
    if any(sum(n) > 1 for n in polynomial):
        raise Unknown
    return polynomial.get((0,) * k, 0.0), [polynomial.get(tuple(int(i == j) for i in range(k)), 0.0) for j in range(k)]


def _exponential(polynomial: dict[tuple[int, ...], float], k: int) -> Packets:
    """exp of a quadratic form without mixed terms, not growing on any axis."""
    squares = [-2 * polynomial.get(tuple(2 * int(i == j) for i in range(k)), 0.0) for j in range(k)]
    shift, slope = _affine({n: c for n, c in polynomial.items() if sum(n) < 2}, k)
    known = sum(sum(n) < 2 or max(n) == 2 for n in polynomial) == len(polynomial)
    if not known or max(map(sum, polynomial), default=0) > 2 or min(squares) < 0:
        raise Unknown
    if any(a and not q for a, q in zip(slope, squares, strict=True)):
        raise Unknown
    key = ((0,) * k, tuple(squares), tuple(map(complex, slope)))
    return Packets({key: complex(math.exp(shift))}, k)


def axis_transform(n: int, q: float, b: complex, omega: np.ndarray) -> np.ndarray:
    """The transform of x^n exp(−q x²/2 + b x), q > 0."""
    s = b - 1j * omega
    before: np.ndarray = np.zeros_like(s)
    now: np.ndarray = np.exp(s**2 / (2 * q)) / math.sqrt(2 * math.pi * q)
    for m in range(n):
        before, now = now, (s * now + m * before) / q
    return now
