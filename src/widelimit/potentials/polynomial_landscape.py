"""Reduced landscape of a polynomial of three or more kept coordinates: Hermite features, without nodes.

    Φ_q(θ)   features of (α, j), |α| + j ≤ ORDER, of widelimit.potentials.hermite_series,      p_q = 1
    y_q = E y h_α(z) for j = 0, else 0

V is exact. U lacks the orders above, and what they may add is its error.
Relative to U, with three kept coordinates and |w| = 1, beside the grid of 12³ nodes that would be used otherwise, at
about fifty times the cost:

    |u|, r          0.7, 0.7                 0.95, 0.3                1, 0
    tanh            1e−9 (nodes 6e−7)        7e−6 (nodes 9e−6)        4e−5 (nodes 7e−5)
    relu            7e−9 (nodes 9e−7)        1e−4 (nodes 2e−5)        1e−3 (nodes 4e−4)

More digits for neurons that lie almost wholly in the kept coordinates: multi_index(..., nodes=24).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import along
from widelimit.potentials.beyond_rules import Lost, lost, values_reach
from widelimit.potentials.feature_landscape import Basis, FeatureLandscape, apart, spread_of, weighted
from widelimit.potentials.hermite_series import ORDER, HermiteSeries, Wanted, names_of
from widelimit.potentials.labels import hermite_coefficients
from widelimit.potentials.landscape import Rho
from widelimit.potentials.least_squares import on_device
from widelimit.potentials.product_families import Index
from widelimit.potentials.refinement import Rung
from widelimit.potentials.smoothing import value
from widelimit.potentials.thin_layers import KeptNodes, missed
from widelimit.problem.activations import Activation
from widelimit.problem.data import DataLaw, MultiIndex
from widelimit.problem.data.kept_rule import PER_AXIS
from widelimit.problem.data.nodes import SCRAMBLINGS, normal_half, symmetric_rule, tensor
from widelimit.problem.data.target import polynomial_terms
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Penalty


class PolynomialLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, u_1, …, u_κ, r at a cost of O(n Q).

    sigma   σ, in the form its smoothed versions are known for
    masses  weights of ``inputs``, the nodes at which f is known, (J,)
    series  the features
    """

    sigma: Activation
    masses: Array
    series: HermiteSeries

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        return self.series.features(self.sigma, self.penalty.columns, theta)

    def lost(self, theta: Array) -> Lost:
        """Relative error of the smoothed values of σ at every neuron."""
        s = np.linalg.norm(self.penalty.columns.split(np.asarray(theta))[2], axis=1)
        return Lost.same(lost(self.sigma, values_reach, s))

    @property
    def order(self) -> int:
        """The first order that is left out."""
        return self.series.first_left_out

    def left_out(self, theta: Array) -> Array:
        """What the orders left out may add to U of neurons with a = 1, (n, n)."""
        return self.series.left_out(self.sigma, self.penalty.columns, theta)

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
    sigma, y = neuron.sigma.form, _coefficients(data)
    wanted = Wanted(data.kept, data.groups[0].d, rung.truncation, frozenset(map(sum, y)))
    series = wanted.series(sigma, "b" in neuron.scalars)
    labels = [y.get(name, 0.0) for name in names_of(data.kept, series.orders)]
    fit = on_device(np.ones(len(labels)), np.array(labels), data.noise**2)
    z, p, _ = data.quadrature
    return PolynomialLandscape(penalty, fit, jnp.asarray(z), sigma, jnp.asarray(p), series, tolerance=rung.tolerance)


def is_polynomial(data: DataLaw) -> TypeGuard[MultiIndex]:
    """Whether this landscape is made for a law: three to six kept coordinates, default nodes, a low degree."""
    if not isinstance(data, MultiIndex) or data.nodes is not None or data.k not in ORDER:
        return False
    terms = polynomial_terms(data.target)
    return terms is not None and all(sum(exponents) <= ORDER[data.k] for exponents in terms)


def _coefficients(data: MultiIndex) -> dict[Index, float]:
    """E y h_α(z) by (α, 0)."""
    terms = polynomial_terms(data.target)
    assert terms is not None
    return {(*alpha, 0): y for alpha, y in hermite_coefficients(terms, data.kept).items()}
