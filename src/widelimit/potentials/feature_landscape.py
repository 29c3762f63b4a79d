"""Landscapes that are least squares in a feature space.

    R(ρ) = Σ_q p_q (y_q − F_q)² + floor,   F = ∫ Φ dρ ∈ R^Q                     widelimit.potentials.least_squares
    ∇Ψ(θ; ρ) = Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λ ∇v(θ)

    Φ   features   (n, Q)

The field of N neurons is the vector F: everything costs O(n Q). Features are never stored for more than ``chunk``
neurons: time and θ are linear in n, everything else is bounded.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Self, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.frozen import static
from widelimit.potentials.chunks import by_chunks, each, sum_chunks
from widelimit.potentials.curvature import Curvature, dense
from widelimit.potentials.landscape import Landscape, Rho
from widelimit.potentials.landscape_values import all_of
from widelimit.potentials.least_squares import LeastSquares
from widelimit.potentials.refinement import ROUNDING, SAFETY, Errors

Basis = Callable[[np.ndarray], np.ndarray]  # g: nodes z (J, k) → (J,), or (J, several)
FEATURES_HELD = 2**23  # numbers, 64 MiB, that may be held
AT_ONCE = 2**20  # up to which features are kept from one use to the next instead of evaluated again
IN_CACHE = 2**18  # in a chunk, 2 MiB: many features leave fewer neurons to it


class FeatureLandscape(Landscape, eq=False):
    """V, U, Ψ, ∇Ψ, R from features, at a cost of O(n Q).

    fit      p, y and the floor
    inputs   values of the kept coordinates at which f is known, (J, k): the first feature of every node
    chunk    neurons whose features are held at one time, fewer if there are very many features
    sets     independent sets of random nodes, whose spread is the error; 1 if the nodes are not random
    """

    fit: LeastSquares[Array]
    inputs: Array
    chunk: int = static(default=2048, kw_only=True)
    sets: int = static(default=1, kw_only=True)

    @abstractmethod
    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q); traceable."""

    def on_nodes(self, nodes: np.ndarray) -> Self:
        """The landscape of some of the nodes, their weights brought to the sum 1."""
        fit, per_node = self.fit, len(self.fit.p) // len(self.inputs)
        p, y = (part.reshape(-1, per_node)[nodes].ravel() for part in (fit.p, fit.y))
        fit = LeastSquares(p * (len(self.inputs) / len(nodes)), y, fit.floor)
        return replace(self, fit=fit, inputs=self.inputs[nodes], sets=1)

    @property
    def nodes_of_sets(self) -> list[np.ndarray]:
        """Which nodes belong to each of the independent sets."""
        return np.array_split(np.arange(len(self.inputs)), self.sets)

    def errors_at(self, points: Array, weights: Array) -> Errors:
        """Standard errors of the means over sets of random nodes, or the distance to another landscape, with what
        orders left out may add."""
        if self.sets == 1:
            return self._with_left_out(super().errors_at(points, weights), points, weights)
        parts = [all_of(self.on_nodes(nodes), points, weights) for nodes in self.nodes_of_sets]
        V, U, gradient, _ = (np.std(part, axis=0, ddof=1) / math.sqrt(self.sets) for part in zip(*parts, strict=True))
        found = self._with_lost(Errors(V, U, gradient, 0.0), points, weights)
        return found._replace(risk=float(self.risk_error_of(points, weights)))

    def risk_error_of(self, points: Array, weights: Array) -> Array:
        """Standard error of the mean over sets of random nodes, or the distance to another landscape."""
        if self.sets == 1:
            found = super().risk_error_of(points, weights)
            return found if self.order is None else found + _left_out_of_risk(self, points, weights)
        parts = [self.on_nodes(nodes).risk_of(points, weights) for nodes in self.nodes_of_sets]
        return jnp.std(jnp.stack(parts), axis=0, ddof=1) / math.sqrt(self.sets) + self._risk_lost(points, weights)

    @property
    def order(self) -> int | None:
        """The first order left out of a series of U, where what is left out may exceed the tolerance; else None."""
        return None

    def left_out(self, theta: Array) -> Array:
        """A bound of what the orders above add to U of neurons with a = 1, (n, n)."""
        return jnp.zeros((len(theta), len(theta)))

    def _with_left_out(self, found: Errors, points: Array, weights: Array) -> Errors:
        """Errors with what the orders left out may add."""
        if self.order is None:
            return found
        a, p = self.penalty.columns.split(np.asarray(points))[0], np.asarray(weights)
        pairs = np.asarray(compiled_left_out(self, points))
        U, slopes = np.abs(np.outer(a, a)) * pairs, self.left_out_of_slopes(pairs, points, weights)
        return Errors(found.V, found.U + U, found.gradient + slopes, found.risk + float(p @ U @ p))

    def left_out_of_slopes(self, pairs: np.ndarray, points: Array, weights: Array) -> np.ndarray:
        """What the orders left out may add to ∇Ψ, (n, D), from what they add to U of neurons with a = 1: to ∂_a Ψ as
        much as to Ψ at a = 1, to other slopes order/s as much as to Ψ, some four times what relu and erf have at the
        worst."""
        columns = self.penalty.columns
        a, _, w = columns.split(np.asarray(points))
        s, by_a = np.linalg.norm(w, axis=1), pairs @ (np.abs(a) * np.asarray(weights))
        slopes = np.tile((np.abs(a) * by_a * (self.order or 0) / np.where(s > 0, s, 1.0))[:, None], len(columns.names))
        if "a" in columns.scalars:
            slopes[:, columns.names.index("a")] = by_a
        return slopes

    @property
    def size(self) -> int:
        """Q."""
        return len(self.fit.p)

    @property
    def held(self) -> int:
        """Neurons whose features are held at one time."""
        return max(1, min(self.chunk, IN_CACHE // len(self.fit.p)))

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        return by_chunks(lambda rows: self.fit.external(self.features(rows)), theta, self.held)

    def probe(self, theta: Array) -> Array:
        """V(θ)/√R# and √U(θ, θ)."""
        square = self.fit.risk(jnp.zeros_like(self.fit.y))

        def of_rows(rows: Array) -> Array:
            found = self.features(rows)
            return jnp.stack([self.fit.external(found) / jnp.sqrt(square), jnp.sqrt(found**2 @ self.fit.p)], axis=1)

        return by_chunks(of_rows, theta, self.held)

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        return self.fit.pair(self.features(theta), self.features(other))

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q Φ_q(θ) F_q."""
        F = self.mean_features(points, weights)
        return by_chunks(lambda rows: self.features(rows) @ (self.fit.p * F), theta, self.held)

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) Φ_q(θ) + λ v(θ)."""
        F = self.mean_features(points, weights)
        return by_chunks(lambda rows: self.fit.potential(self.features(rows), F), theta, self.held) + self.penalty(
            theta
        )

    @jax.jit
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_q p_q (F_q − y_q) ∇Φ_q(θ) + λ ∇v(θ)."""
        return self.field(points, weights)(theta)

    def field(self, points: Array, weights: Array) -> Callable[[Array], Array]:
        """The gradient as a function of θ, with F found once."""
        residual = self.fit.residual(self.mean_features(points, weights))

        def slope(rows: Array) -> Array:
            return jax.grad(lambda t: jnp.sum(self.features(t) @ residual))(rows)

        return lambda theta: by_chunks(slope, theta, self.held) + self.penalty.gradient(theta)

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """The gradient at the particles themselves; the features of few are evaluated once."""
        if len(theta) > min(self.chunk, AT_ONCE // self.size):
            return self.gradient(theta, theta, weights)
        features, pull = jax.vjp(self.features, theta)
        residual = self.fit.residual(weights @ features)
        return pull(jnp.broadcast_to(residual, features.shape))[0] + self.penalty.gradient(theta)

    def coupled(self, n: int) -> int:
        """Neurons meet in the features."""
        return min(self.size, super().coupled(n))

    def implicit_cost(self, n: int) -> float:
        """A few: the factors of `curvature` are as cheap as the features."""
        return 4.0

    def curvature(self, theta: Array, weights: Array) -> Curvature:
        """B_i = Σ_q v_q ∇²Φ_q(θ_i) + λ ∇²v(θ_i), L = p ∇Φ, R = w ∇Φ; dense if Q exceeds n D."""
        residual = self.fit.residual(weights @ self.features(theta))

        def gradient(t: Array) -> Array:
            return jax.grad(lambda t: jnp.sum(self.features(t) @ residual))(t) + self.penalty.gradient(t)

        axes = jnp.eye(theta.shape[1])
        slopes, blocks = (  # rows do not meet in either function, so one direction serves all of them
            jnp.stack([jax.jvp(f, (theta,), (jnp.broadcast_to(e, theta.shape),))[1] for e in axes], axis=axis)
            for f, axis in ((self.features, 1), (gradient, 2))
        )
        left, right = slopes * self.fit.p, slopes * weights[:, None, None]
        if theta.size >= self.size:
            return Curvature(blocks, left, right)
        pairs = jnp.einsum("idq,jeq->idje", left, right)
        n = jnp.arange(len(theta))
        return dense(pairs.at[n, :, n, :].add(blocks))

    @jax.jit
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ)."""
        return each(lambda points: self.fit.risk(self.mean_features(points, weights)), points)

    @jax.jit
    def mean_features(self, points: Array, weights: Array) -> Array:
        """F = Σ_j weights_j Φ(θ_j), (Q,)."""
        return sum_chunks(lambda part: part[0] @ self.features(part[1]), (weights, points), self.held)

    @jax.jit
    def all_features(self, theta: Array) -> Array:
        """Φ of many rows, (n, Q)."""
        return by_chunks(self.features, theta, self.held)

    def project(self, rho: Rho, basis: Basis) -> np.ndarray:
        """E f(x; ρ) g(z), with g one function of the kept coordinates z (J, k), or a column for each of several."""
        points, weights = self.measure(rho)
        return cast(FeatureLandscape, self.resolving(points)).projected(points, weights, basis).sum(axis=0)

    def project_error(self, rho: Rho, basis: Basis) -> np.ndarray:
        """How far `project` may be off: the distance to another landscape, or the spread of sets of random nodes; and
        what no comparison shows, |δ E f g| ≤ √(E g²) ∫ e √U(θ, θ) dρ with e the relative error of every neuron."""
        points, weights = self.measure(rho)
        land = cast(FeatureLandscape, self.resolving(points))
        terms, other = land.projected(points, weights, basis), cast(FeatureLandscape | None, land.other)
        lost = land.projection_lost(land.lost(points).pairs, points, weights, basis)
        if land.sets > 1:
            return spread_of([terms[nodes] for nodes in land.nodes_of_sets]) + lost
        others = terms if other is None else other.projected(points, weights, basis)
        return apart(terms, others) + lost

    def projection_lost(self, e: np.ndarray, points: Array, weights: Array, basis: Basis) -> np.ndarray:
        """√(E g²) Σ_j weights_j e_j √U(θ_j, θ_j) for relative errors e (n,)."""
        root = np.sqrt(weighted(self.masses_of_nodes, self.at_nodes(basis) ** 2).sum(axis=0))
        return root * float(np.asarray(weights) @ (e * np.asarray(self.probe(points))[:, 1]) if e.any() else 0.0)

    @property
    def masses_of_nodes(self) -> np.ndarray:
        """The weights of ``inputs``, (J,)."""
        return np.asarray(self.fit.p)[:: len(self.fit.p) // len(self.inputs)]

    def at_nodes(self, basis: Basis) -> np.ndarray:
        """g at the nodes, as f sees it there, (J,) or (J, several)."""
        return basis(np.asarray(self.inputs))

    def projected(self, points: Array, weights: Array, basis: Basis) -> np.ndarray:
        """p f g at every node."""
        f = np.asarray(self.mean_features(points, weights))[:: len(self.fit.p) // len(self.inputs)]
        return weighted(self.masses_of_nodes * f, self.at_nodes(basis))


@jax.jit
def compiled_left_out(landscape: FeatureLandscape, theta: Array) -> Array:
    """`FeatureLandscape.left_out`."""
    return landscape.left_out(theta)


@jax.jit
def _left_out_of_risk(landscape: FeatureLandscape, points: Array, weights: Array) -> Array:
    """∬ of what the orders left out may add to U."""

    def of_pairs(points: Array) -> Array:
        load = weights * jnp.abs(landscape.penalty.columns.split(points)[0])
        return load @ landscape.left_out(points) @ load

    return each(of_pairs, points)


def weighted(values: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Values (J,) times one function or several, (J, …)."""
    return values.reshape(-1, *(1,) * (g.ndim - 1)) * g


def apart(terms: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The error of a sum over nodes that is compared with that over others."""
    return SAFETY * np.abs(terms.sum(axis=0) - others.sum(axis=0)) + ROUNDING * np.abs(terms).sum(axis=0)


def spread_of(sets: list[np.ndarray]) -> np.ndarray:
    """The standard error of a sum over nodes in independent sets of equal mass."""
    sums = len(sets) * np.array([part.sum(axis=0) for part in sets])
    return sums.std(axis=0, ddof=1) / math.sqrt(len(sets))
