"""Features of a neuron in Hermite polynomials of the kept coordinates, without nodes.

    q = (α, j),  k = |α| + j ≤ K,  j even,      s² = |u|² + r²
    Φ_q(θ) = √(k!/(α! j!) M_j(d − κ)) · Π_i (u_i/s)^{α_i} (r/s)^j · a A_k(b, s) = √M_j E [a A_j(b + ⟨u, z⟩, r) h_α(z)]
    Σ_{|α| + j = k} Φ_q Φ'_q = a a' A_k A'_k E corr^k,      corr = (⟨u, u'⟩ + r r' cos)/(s s')

    u   kept coordinates of w, κ of them        h_α   Π h_{α_i}(z_i), orthonormal Hermite polynomials
    r   radius of the others                    M_j   E cos^j of the angle of two random directions of R^{d−κ}

A kept coordinate is a group of one direction whose sign is kept (widelimit.potentials.reduced_landscape). What orders
above K = ORDER would add to U of neurons with a = 1 is at most

    Σ_{K < k ≤ L} |A_k A'_k E corr^k| + e e' E |corr|^{L+1},      e² = E σ² − Σ_{k ≤ L} A_k²,   L = LONG

Features of j = 0 may be left to nodes: then E corr^k − (⟨u, u'⟩/(s s'))^k is in the place of E corr^k.
"""

from __future__ import annotations

import math
import operator
from functools import cache, reduce

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates, length
from widelimit.frozen import Frozen, static
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.product_families import Index
from widelimit.potentials.reduced_landscape import largest_share
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.square_moments import mean_square
from widelimit.problem.activations import Activation
from widelimit.problem.data.nodes import sphere_half, symmetric_rule

ORDER = {3: 16, 4: 11, 5: 8, 6: 7}  # highest total order, by the number of kept coordinates
LONG = 40  # highest order whose share is computed although it is left out
ANGLES = LONG // 2 + 2  # nodes of the cosine in that share: its powers up to LONG + 1 are exact
MARGIN = 1.5  # for slopes, which are taken from it: without, it is what is missing to a few digits


class HermiteSeries(Frozen, eq=False):
    """Which features there are, and what the others would add.

    roots     √(k!/(α! j!) M_j), (Q,)
    cosines   nodes of the cosine of two random directions, (2, ANGLES): values and weights
    orders    which j there are for |α| = 0, 1, …; features run over α and then over j
    on_nodes  whether features of j = 0 are left to nodes
    """

    roots: Array
    cosines: Array
    orders: tuple[Index, ...] = static()
    on_nodes: bool = static()

    def features(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        a, b, w = columns.split(theta)
        s, unit = _polar(w)
        highest = max(t + j[-1] for t, j in enumerate(self.orders) if j)
        *powers, of_r = (_powers(column, highest + 1) for column in unit.T)
        smooth = a[:, None] * smoothed(sigma, highest, b, s)
        blocks = []
        for t, j in enumerate(self.orders):
            if j:
                which = np.array(exponents(len(powers), t)).T
                monomials = reduce(operator.mul, (_columns(p, e) for p, e in zip(powers, which, strict=True)))
                rest = smooth[:, t + j[0] : t + j[-1] + 1 : 2] * of_r[:, j[0] : j[-1] + 1 : 2]
                blocks.append((monomials[:, :, None] * rest[:, None, :]).reshape(len(a), -1))
        return jnp.concatenate(blocks, axis=1) * self.roots

    @property
    def first_left_out(self) -> int:
        """K + 1."""
        return len(self.orders)

    def left_out(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """The bound above, (n, n). Powers of corr have the sign of ⟨u, u'⟩^k, so that |E corr^k| = E (|⟨u, u'⟩| + r r'
        cos)^k/(s s')^k."""
        _, b, w = columns.split(theta)
        s, unit = _polar(w)
        A = smoothed(sigma, LONG, b, s)
        e = jnp.sqrt(jnp.maximum(mean_square(sigma, b, s) - jnp.sum(A**2, axis=1), 0.0))
        inside, outside = jnp.abs(unit[:, :-1] @ unit[:, :-1].T), jnp.outer(unit[:, -1], unit[:, -1])
        first = self.first_left_out

        def at_angle(i: Array, total: Array) -> Array:
            cos, mass = self.cosines[:, i]
            corr = inside + outside * cos

            def add(k: Array, so_far: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
                found, power, alone = so_far
                share = power - alone if self.on_nodes else power
                return found + jnp.abs(jnp.outer(A[:, k], A[:, k])) * share, power * corr, alone * inside

            start = jnp.zeros_like(inside), corr**first, inside**first
            found, power, _ = jax.lax.fori_loop(first, LONG + 1, add, start)
            return total + mass * (found + jnp.outer(e, e) * jnp.abs(power))

        return MARGIN * jnp.maximum(jax.lax.fori_loop(0, ANGLES, at_angle, jnp.zeros_like(inside)), 0.0)


class Wanted(Frozen):
    """Which features of κ kept coordinates are worth having, see `series`.

    kept        κ
    d           directions of the radius
    truncation  size of the features that are left out
    terms       |α| of the features with j = 0 that are kept whatever their size
    on_nodes    whether features of j = 0 are left to nodes
    """

    kept: int
    d: float
    truncation: float
    terms: frozenset[int] = frozenset()
    on_nodes: bool = False

    def series(self, sigma: Activation, biased: bool) -> HermiteSeries:
        """Those of total order up to ORDER that σ has."""
        most, least, orders = ORDER[self.kept], 2 if self.on_nodes else 0, []
        seen = _seen(sigma, most, biased)
        for t in range(most + 1):
            sizes = {j: max(map(self._size, self._of(t, j))) for j in range(least, most - t + 1, 2)}
            last = [j for j, size in sizes.items() if size > self.truncation and seen[t + j]]
            orders.append(tuple(range(least, max([0 if t in self.terms else -1, *last]) + 1, 2)))
        names = names_of(self.kept, tuple(orders))
        roots = jnp.sqrt(jnp.array([_weight(name, self.d) for name in names]))
        return HermiteSeries(roots, jnp.asarray(_cosines(self.d)), tuple(orders), self.on_nodes)

    def _of(self, t: int, j: int) -> list[Index]:
        return [(*alpha, j) for alpha in exponents(self.kept, t)]

    def _size(self, name: Index) -> float:
        return largest_share(name) * _weight(name, self.d)


def names_of(kept: int, orders: tuple[Index, ...]) -> list[Index]:
    """(α, j) of every feature, in their order."""
    return [(*alpha, j) for t, js in enumerate(orders) for alpha in exponents(kept, t) for j in js]


@cache
def exponents(slots: int, total: int) -> tuple[Index, ...]:
    """Every α with |α| = total."""
    if slots == 1:
        return ((total,),)
    return tuple((i, *rest) for i in range(total + 1) for rest in exponents(slots - 1, total - i))


def _polar(w: Array) -> tuple[Array, Array]:
    """s and (u, r)/s; a radius below 0 counts as 0."""
    w = w.at[:, -1].set(jnp.maximum(w[:, -1], 0.0))
    s = length(w)
    return s, w / jnp.where(s > 0, s, 1.0)[:, None]


def _cosines(d: float) -> np.ndarray:
    """Nodes and weights of the cosine of two random directions of R^d, (2, ANGLES)."""
    if math.isinf(d) or d == 1:
        half = np.arange(ANGLES) < ANGLES // 2
        return np.stack([np.where(half, -1.0, 1.0) * (d == 1), np.full(ANGLES, 1 / ANGLES)])
    return np.stack(symmetric_rule(ANGLES, sphere_half, float(d)))


def _powers(x: Array, count: int) -> Array:
    """1, x, x², …, (n, count)."""
    return jnp.stack([x**k for k in range(count)], axis=1)


def _columns(table: Array, which: np.ndarray) -> Array:
    """table[:, which] as a product with zeros and ones, whose transpose is as quick."""
    return table @ jnp.asarray(np.eye(table.shape[1])[:, which])


def _weight(order: Index, d: float) -> float:
    """k!/(α! j!) · M_j(d)."""
    return math.factorial(sum(order)) / math.prod(map(math.factorial, order)) * angle_moment(order[-1], d)


def _seen(sigma: Activation, order: int, biased: bool) -> np.ndarray:
    """Which orders of σ are not 0 for every s; an even or odd σ without bias lacks half of them."""
    s = jnp.geomspace(0.1, 100.0, 12)
    m = jnp.linspace(-1.0, 1.0, 12) if biased else jnp.zeros(12)
    return np.abs(np.asarray(smoothed(sigma, order, m, s))).max(axis=0) > 1e-13
