"""Reduced landscape of a polynomial of three or more kept coordinates: Hermite features, without nodes.

    q = (α, j),  k = |α| + j ≤ ORDER,  j even,      s² = |u|² + r²
    Φ_q(θ) = √(k!/(α! j!) M_j(d − κ)) · Π_i (u_i/s)^{α_i} (r/s)^j · a A_k(b, s),      p_q = 1
    y_q = E y h_α(z) for j = 0, else 0

    u   kept coordinates of w, κ of them        h_α   Π h_{α_i}(z_i), orthonormal Hermite polynomials
    r   radius of the others                    M_j   moments of the angle of two random directions

A kept coordinate is a group of one direction whose sign is kept (widelimit.potentials.reduced_landscape). V is exact.
U lacks Σ_{k > ORDER} A_k A'_k E corr^k, at most e e' E |corr|^{ORDER+1} with e² = E σ² − Σ_{k ≤ ORDER} A_k²: this is
its error. Here corr = (⟨u, u'⟩ + r r' cos)/(s s') with the cosine of two random directions, whose moments are the M_j.
Relative to U, with three kept coordinates and |w| = 1, beside the grid of 12³ nodes that would be used otherwise, at
about fifty times the cost:

    |u|, r          0.7, 0.7                 0.95, 0.3                1, 0
    tanh            1e−9 (nodes 6e−7)        7e−6 (nodes 9e−6)        4e−5 (nodes 7e−5)
    relu            7e−9 (nodes 9e−7)        1e−4 (nodes 2e−5)        1e−3 (nodes 4e−4)

More digits for neurons that lie almost wholly in the kept coordinates: multi_index(..., nodes=24).
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import cache, reduce
from typing import TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import along, length
from widelimit.frozen import static
from widelimit.potentials.beyond_rules import Lost, lost, values_reach
from widelimit.potentials.feature_landscape import Basis, FeatureLandscape, apart, spread_of, weighted
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.labels import Order, hermite_coefficients
from widelimit.potentials.landscape import Rho
from widelimit.potentials.least_squares import on_device
from widelimit.potentials.reduced_landscape import largest_share
from widelimit.potentials.refinement import Rung
from widelimit.potentials.smoothing import smoothed, value
from widelimit.potentials.square_moments import mean_square
from widelimit.potentials.thin_layers import KeptNodes, missed
from widelimit.problem.activations import Activation
from widelimit.problem.data import DataLaw, MultiIndex
from widelimit.problem.data.kept_rule import PER_AXIS
from widelimit.problem.data.nodes import SCRAMBLINGS, normal_half, symmetric_rule, tensor
from widelimit.problem.data.target import polynomial_terms
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Penalty

ORDER = {3: 16, 4: 11, 5: 8, 6: 7}  # highest total order, by the number of kept coordinates


class PolynomialLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, u_1, …, u_κ, r at a cost of O(n Q).

    sigma   σ, in the form its smoothed versions are known for
    masses  weights of ``inputs``, the nodes at which f is known, (J,)
    roots   √(k!/(α! j!) M_j), (Q,)
    orders  which j there are for |α| = 0, 1, …; features run over α and then over j
    """

    sigma: Activation
    masses: Array
    roots: Array
    orders: tuple[Order, ...] = static()

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        a, b, w = self.penalty.columns.split(theta)
        w = w.at[:, -1].set(jnp.maximum(w[:, -1], 0.0))
        s = length(w)
        *powers, of_r = (_powers(c, len(self.orders)) for c in (w / jnp.where(s > 0, s, 1.0)[:, None]).T)
        smooth = a[:, None] * smoothed(self.sigma, max(t + j[-1] for t, j in enumerate(self.orders) if j), b, s)
        blocks = []
        for t, j in enumerate(self.orders):
            if j:
                exponents = np.array(_exponents(len(powers), t)).T
                monomials = reduce(operator.mul, (_columns(p, e) for p, e in zip(powers, exponents, strict=True)))
                rest = smooth[:, t + j[0] : t + j[-1] + 1 : 2] * of_r[:, j[0] : j[-1] + 1 : 2]
                blocks.append((monomials[:, :, None] * rest[:, None, :]).reshape(len(a), -1))
        return jnp.concatenate(blocks, axis=1) * self.roots

    def lost(self, theta: Array) -> Lost:
        """Relative error of the smoothed values of σ at every neuron."""
        s = np.linalg.norm(self.penalty.columns.split(np.asarray(theta))[2], axis=1)
        return Lost.same(lost(self.sigma, values_reach, s))

    @property
    def order(self) -> int:
        """The first that is left out."""
        return len(self.orders)

    def left_out(self, theta: Array) -> Array:
        """e e' E |corr|^{ORDER+1} of neurons with a = 1, (n, n); an odd power by Cauchy and Schwarz from the even ones
        beside it."""
        _, b, w = self.penalty.columns.split(theta)
        s = length(w)
        square = mean_square(self.sigma, b, s) - jnp.sum(smoothed(self.sigma, self.order - 1, b, s) ** 2, axis=1)
        e = jnp.sqrt(jnp.maximum(square, 0.0))
        unit = w / jnp.where(s > 0, s, 1.0)[:, None]
        inside, outside = unit[:, :-1] @ unit[:, :-1].T, jnp.outer(unit[:, -1], unit[:, -1])
        low, high = (_mean_power(inside, outside, n, self.penalty.columns.directions[0]) for n in _even(self.order))
        return jnp.outer(e, e) * jnp.sqrt(low * high)

    def project_error(self, rho: Rho, basis: Basis) -> np.ndarray:
        """The distance to twice as many nodes on every axis, or the spread of sets of random ones; and what no
        comparison shows."""
        points, weights = self.measure(rho)
        terms, k, e = self.projected(points, weights, basis), self.inputs.shape[1], self.lost(points).pairs
        if k > max(PER_AXIS):
            return spread_of(np.array_split(terms, SCRAMBLINGS)) + self.projection_lost(e, points, weights, basis)
        z, p = tensor([symmetric_rule(2 * PER_AXIS[k], normal_half)] * k)
        finer = replace(self, inputs=jnp.asarray(z), masses=jnp.asarray(p))
        _, b, w = self.penalty.columns.split(np.asarray(points))
        thin = missed(self.sigma, self.kept_nodes, b, w[:, :-1], np.maximum(w[:, -1], 0.0)).pairs
        lost = self.projection_lost(e + thin, points, weights, basis)
        return apart(terms, finer.projected(points, weights, basis)) + lost

    @property
    def masses_of_nodes(self) -> np.ndarray:
        """The weights of ``inputs``, (J,)."""
        return np.asarray(self.masses)

    @property
    def kept_nodes(self) -> KeptNodes:
        """The nodes at which f is known."""
        return KeptNodes(self.inputs, self.masses, jnp.ones_like(self.masses), None, math.inf, math.inf)

    def projected(self, points: Array, weights: Array, basis: Basis) -> np.ndarray:
        """p f g at every node."""
        return weighted(
            self.masses_of_nodes * np.asarray(self.network(points, weights)), basis(np.asarray(self.inputs))
        )

    @jax.jit
    def network(self, points: Array, weights: Array) -> Array:
        """E [f | z] at the nodes, (J,), one neuron at a time."""
        a, b, w = self.penalty.columns.split(points)

        def add(i: Array, total: Array) -> Array:
            m = b[i] + along(w[i, None, :-1], self.inputs)[0]
            return total + weights[i] * a[i] * value(self.sigma, m, jnp.broadcast_to(w[i, -1], m.shape))

        return jax.lax.fori_loop(0, len(points), add, jnp.zeros(len(self.inputs)))


def polynomial_landscape(data: MultiIndex, neuron: Ridge, penalty: Penalty, rung: Rung) -> PolynomialLandscape:
    """The features of a polynomial target; every number in them is data."""
    sigma, most, y = neuron.sigma.form, ORDER[data.kept], _coefficients(data)
    seen, d = _seen(sigma, most, "b" in neuron.scalars), data.groups[0].d
    orders = []
    for t in range(most + 1):
        pairs = {j: [(*alpha, j) for alpha in _exponents(data.kept, t)] for j in range(0, most - t + 1, 2)}
        sizes = {j: max(largest_share(k) * _weight(k, d) for k in ks) for j, ks in pairs.items()}
        needed = 0 if any(sum(k) == t for k in y) else -1  # the target has such a term
        last = max([needed, *(j for j, size in sizes.items() if size > rung.truncation and seen[t + j])])
        orders.append(tuple(range(0, last + 1, 2)))
    kept = [(*alpha, j) for t, js in enumerate(orders) for alpha in _exponents(data.kept, t) for j in js]
    fit = on_device(np.ones(len(kept)), np.array([y.get(k, 0.0) for k in kept]), data.noise**2)
    z, p, _ = data.quadrature
    roots = jnp.sqrt(jnp.array([_weight(k, d) for k in kept]))
    return PolynomialLandscape(
        penalty, fit, jnp.asarray(z), sigma, jnp.asarray(p), roots, tuple(orders), tolerance=rung.tolerance
    )


def is_polynomial(data: DataLaw) -> TypeGuard[MultiIndex]:
    """Whether this landscape is made for a law: three to six kept coordinates, default nodes, a low degree."""
    if not isinstance(data, MultiIndex) or data.nodes is not None or data.k not in ORDER:
        return False
    terms = polynomial_terms(data.target)
    return terms is not None and all(sum(exponents) <= ORDER[data.k] for exponents in terms)


def _coefficients(data: MultiIndex) -> dict[Order, float]:
    """E y h_α(z) by (α, 0)."""
    terms = polynomial_terms(data.target)
    assert terms is not None
    return {(*alpha, 0): y for alpha, y in hermite_coefficients(terms, data.kept).items()}


@cache
def _exponents(slots: int, total: int) -> tuple[Order, ...]:
    """Every α with |α| = total."""
    if slots == 1:
        return ((total,),)
    return tuple((i, *rest) for i in range(total + 1) for rest in _exponents(slots - 1, total - i))


def _powers(x: Array, count: int) -> Array:
    """1, x, x², …, (n, count)."""
    return jnp.stack([x**k for k in range(count)], axis=1)


def _weight(order: Order, d: float) -> float:
    """k!/(α! j!) · M_j(d)."""
    return math.factorial(sum(order)) / math.prod(map(math.factorial, order)) * angle_moment(order[-1], d)


def _seen(sigma: Activation, order: int, biased: bool) -> np.ndarray:
    """Which orders of σ are not 0 for every s; an even or odd σ without bias lacks half of them."""
    s = jnp.geomspace(0.1, 100.0, 12)
    m = jnp.linspace(-1.0, 1.0, 12) if biased else jnp.zeros(12)
    return np.abs(np.asarray(smoothed(sigma, order, m, s))).max(axis=0) > 1e-13


def _even(order: int) -> tuple[int, int]:
    """The nearest even numbers: at most, and at least, the order."""
    return order - order % 2, order + order % 2


def _mean_power(inside: Array, outside: Array, n: int, d: float) -> Array:
    """E (inside + outside · cos)^n for an even n, with the cosine of two random directions of R^d."""
    terms = [math.comb(n, j) * angle_moment(j, d) * inside ** (n - j) * outside**j for j in range(0, n + 1, 2)]
    return sum(terms[1:], start=terms[0])


def _columns(table: Array, which: np.ndarray) -> Array:
    """table[:, which] as a product with zeros and ones, whose transpose is as quick."""
    return table @ jnp.asarray(np.eye(table.shape[1])[:, which])
