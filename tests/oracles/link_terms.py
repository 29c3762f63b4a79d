"""Labels of an index model, y = φ(z), z ~ N(0, I_k), as sums of products over orthogonal directions.

    φ(z) = Σ_terms c Π_i f_i(z_i)

    Rough(value, marks)   a factor that is smooth between its marks only, or no polynomial
    a list of numbers     the coefficients of a polynomial factor, lowest first

and the moments a landscape needs of a neuron h = b + ⟨u, z⟩ + r g, g ~ N(0, 1):

    E y σ(h),   E y σ'(h),   E y σ'(h) z_i,   E y σ'(h) g

Rough directions are integrated one after the other on panels. Polynomial ones need no nodes: with ρ t the rest of h and
c_i = E z_i t, E[Π He_{j_i}(z_i) | t] = Π c_i^{j_i} He_n(t), n = Σ j_i, so that E[Π p_i(z_i) | t] is a polynomial of t.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from normal_panels import expectation, hermite_values, hits, normal_rule


@dataclass(frozen=True)
class Rough:
    """A factor given by its values."""

    value: object
    marks: tuple = ()


@dataclass(frozen=True)
class Link:
    """φ of k coordinates: the expression the library reads, and the same in terms (c, {i: factor})."""

    text: str
    k: int
    terms: tuple
    turn: object = None  # rows: the directions the factors are functions of, the axes if left out
    noise: float = field(default=0.0)

    @property
    def square(self):
        """E y² of the labels."""
        return self.noise**2 + sum(
            c * c2 * math.prod(_mean(f.get(i, [1.0]), f2.get(i, [1.0])) for i in range(self.k))
            for c, f in self.terms
            for c2, f2 in self.terms
        )

    def __call__(self, z):
        """φ(z) at the rows of z (…, k)."""
        z = z if self.turn is None else z @ np.asarray(self.turn).T
        return sum(c * math.prod(_values(f, z[..., i]) for i, f in factors.items()) for c, factors in self.terms)


def _values(factor, x):
    return factor.value(x) if isinstance(factor, Rough) else np.polynomial.Polynomial(factor)(x) + 0 * x


def _mean(f, g):
    cuts = [m for part in (f, g) if isinstance(part, Rough) for m in part.marks]
    return expectation(lambda x: _values(f, x) * _values(g, x), cuts)


def _conditional(factors, cosines):
    """Hermite coefficients in t of E[Π p_i(z_i) | t] for normal z_i with E z_i t = cosines_i."""
    product = np.ones(1)
    for p, c in zip(factors, cosines, strict=True):
        series = np.polynomial.Polynomial(p).convert(kind=np.polynomial.HermiteE).coef
        product = np.convolve(product, [e * c**j for j, e in enumerate(series)])
    return product * np.sqrt([math.factorial(k) for k in range(len(product))])


def _times_z(p):
    return [0.0, *p]


def label_moments(link, sigma, b, u, r):
    """E y σ(h), E y σ'(h), E y σ'(h) z (k,) and E y σ'(h) g."""
    turn = np.eye(link.k) if link.turn is None else np.asarray(link.turn, float)
    along = turn @ np.asarray(u, float)
    total = np.zeros(3 + link.k)
    for c, factors in link.terms:
        total += c * _term(factors, sigma, b, along, r)
    return total[0], total[1], turn.T @ total[2:-1], total[-1]


def _term(factors, sigma, b, u, r):
    """The moments of one product."""
    k = len(u)
    rough = [i for i in range(k) if isinstance(factors.get(i), Rough)]
    plain = [i for i in range(k) if i not in rough]
    polynomials = [*(list(factors.get(i, [1.0])) for i in plain), [1.0]]
    rest = np.array([*(u[i] for i in plain), r])
    width = float(np.linalg.norm(rest))
    cosines = rest / width if width > 0 else 0 * rest
    series = [_conditional(polynomials, cosines)]
    for j in range(len(polynomials)):
        raised = [_times_z(p) if i == j else p for i, p in enumerate(polynomials)]
        series.append(_conditional(raised, cosines))
    order = max(map(len, series)) - 1
    mean, weights, at = np.array([b]), np.ones(1), []
    for place, i in enumerate(rough):
        left = math.hypot(width, *(u[j] for j in rough[place + 1 :]))
        cuts = np.concatenate([np.broadcast_to(factors[i].marks, (len(mean), len(factors[i].marks))),
                               hits(sigma, mean, u[i], left)], axis=1)  # fmt: skip
        z, w = normal_rule(cuts)
        at = [np.repeat(x, z.shape[1]) for x in at] + [z.ravel()]
        mean = (mean[:, None] + u[i] * z).ravel()
        weights = (weights[:, None] * w * factors[i].value(z)).ravel()
    found = np.zeros(3 + k)
    for part in np.array_split(np.arange(len(mean)), max(1, len(mean) // 4000)):
        found += _inner(sigma, mean[part], weights[part], width, [x[part] for x in at], (rough, plain, series, order))
    return found


def _inner(sigma, mean, weights, width, at, shape):
    """The innermost integral over t, summed over the nodes of the rough directions."""
    rough, plain, series, order = shape
    t, w = normal_rule(hits(sigma, mean, width))
    h = mean[:, None] + width * t
    if width == 0:  # σ' from the right in the direction of t
        h = h + 1e-300 * t
    basis = hermite_values(order, t)
    value, slope = w * sigma.value(h), w * sigma.slope(h)
    polynomials = [basis[..., : len(c)] @ c for c in series]
    found = np.zeros(3 + len(rough) + len(plain))
    found[0] = weights @ (value * polynomials[0]).sum(axis=1)
    pushed = (slope * polynomials[0]).sum(axis=1)
    found[1] = weights @ pushed
    for i, z in zip(rough, at, strict=True):
        found[2 + i] = weights @ (z * pushed)
    for i, p in zip([*plain, len(rough) + len(plain)], polynomials[1:], strict=True):
        found[2 + i] = weights @ (slope * p).sum(axis=1)
    return found


def sign_of(x):
    return np.where(x > 0, 1.0, -1.0)


HALF = 1 / math.sqrt(2)
STEEP = (0.0, *(s * m / 5 for m in (1, 2, 4, 8, 20) for s in (-1, 1)))
HE8 = list(np.polynomial.HermiteE.basis(8).convert(kind=np.polynomial.Polynomial).coef)
SIGN, SIZE = Rough(sign_of, (0.0,)), Rough(np.abs, (0.0,))

LINKS = {
    link.text: link
    for link in (
        Link("z", 1, ((1.0, {0: [0, 1]}),)),
        Link("He2(z)", 1, ((1.0, {0: [-1, 0, 1]}),)),
        Link("He1(z) - 0.5*He3(z)", 1, ((1.0, {0: [0, 1 + 1.5, 0, -0.5]}),)),
        Link("tanh(2*z)", 1, ((1.0, {0: Rough(lambda x: np.tanh(2 * x), (-10, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4))}),)),
        Link("cos(z)", 1, ((1.0, {0: Rough(np.cos)}),)),
        Link("sign(z)", 1, ((1.0, {0: SIGN}),)),
        Link("abs(z)", 1, ((1.0, {0: SIZE}),)),
        Link("step(z-1)", 1, ((1.0, {0: Rough(lambda x: (x > 1) * 1.0, (1.0,))}),)),
        Link("z1*z2", 2, ((1.0, {0: [0, 1], 1: [0, 1]}),)),
        Link("z1 + z1*z2", 2, ((1.0, {0: [0, 1]}), (1.0, {0: [0, 1], 1: [0, 1]}))),
        Link("sign(z1)*abs(z2)", 2, ((1.0, {0: SIGN, 1: SIZE}),)),
        Link("tanh(z1)*z2", 2, ((1.0, {0: Rough(np.tanh, (-8, -4, -2, -1, 0, 1, 2, 4, 8)), 1: [0, 1]}),)),
        Link("sign(z1+z2)", 2, ((1.0, {0: SIGN}),), ((HALF, HALF), (-HALF, HALF))),
        Link("z1*z2*z3", 3, ((1.0, {0: [0, 1], 1: [0, 1], 2: [0, 1]}),)),
        Link(
            "z1 + z1*z2 + z1*z2*z3",
            3,
            ((1.0, {0: [0, 1]}), (1.0, {0: [0, 1], 1: [0, 1]}), (1.0, {0: [0, 1], 1: [0, 1], 2: [0, 1]})),
        ),
        Link("tanh(5*z1)*z2*z3", 3, ((1.0, {0: Rough(lambda x: np.tanh(5 * x), STEEP), 1: [0, 1], 2: [0, 1]}),)),
        Link("He8(z1)*z2*z3", 3, ((1.0, {0: HE8, 1: [0, 1], 2: [0, 1]}),)),
        Link("z1*z2*z3*z4", 4, ((1.0, {i: [0, 1] for i in range(4)}),)),
        Link("z1*z2*z3*z4*z5*z6", 6, ((1.0, {i: [0, 1] for i in range(6)}),)),
    )
}
