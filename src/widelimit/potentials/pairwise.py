"""Full landscape: the population risk of neurons in all their coordinates.

    V(θ) = −Σ_q p_q y_q a A_0(b + ⟨u, z_q⟩, s_q),     q the nodes of the data: classes, or values z of kept coordinates
    U(θ, θ') = Σ_c p_c a a' K(b, s_c; b', s'_c; corr_c),   corr_c = ⟨w, Σ_c w'⟩/(s_c s'_c)

K is the pairwise kernel of widelimit.potentials.pair_kernels: O(n n' d) for a Gram matrix, O(n n') for the rest.

Neurons in their own field need no closed form where Mehler's series is certified: the diagonal is exact, the rest is
cut at the first of ORDERS whose bound (widelimit.potentials.series_bounds) is below the tolerance, in R absolute, in
∇Ψ relative to the scale S there. A closed kernel takes over if none is; without one the last order is used, and a
warning states the bound.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials import pair_series
from widelimit.potentials.landscape_base import Landscape, each, length, split_columns
from widelimit.potentials.pair_kernels import SERIES_ORDER, kernel
from widelimit.potentials.pair_series import deviations, families, seen_by
from widelimit.potentials.series_bounds import bounds, climb
from widelimit.potentials.smoothing import value
from widelimit.problem.activations import General
from widelimit.problem.neurons import Ridge

ORDERS = (8, 16, 28, 40, 60, SERIES_ORDER)
HEADROOM = 10.0  # `near` asks for this much more than `holds`, so that neurons may move


@dataclass(frozen=True)
class PairwiseLandscape(Landscape):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, w_1, …, w_d.

    order   where `self_gradient` cuts Mehler's series; None: it uses the closed kernel
    """

    neuron: Ridge
    names: tuple[str, ...]
    tolerance: float = 1e-10
    order: int | None = None

    @property
    def coordinates(self) -> tuple[str, ...]:
        """a, b (those that exist) and the inner weights."""
        return self.names

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        a, b, w = split_columns(self.neuron, theta)
        (z, p, y), kept = self.data.nodes, self.data.kept
        cuts = np.cumsum([int(g.d) for g in self.data.groups])[:-1]
        radii = jnp.stack([length(part) for part in jnp.split(w[:, kept:], cuts, axis=1)], axis=1)
        s = length(radii[:, :, None] * jnp.asarray([g.tau for g in self.data.groups]))
        m = jnp.broadcast_to(b[:, None], s.shape)
        m = m + w[:, :kept] @ z.T if kept else m
        return -a * (value(self.neuron.activation, m, s) @ (p * y))

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        a, b, w = split_columns(self.neuron, theta)
        a2, b2, w2 = split_columns(self.neuron, other)
        total = jnp.zeros((len(a), len(a2)))
        assert self.data.mixture is not None
        for p, scale in zip(self.data.mixture.p, deviations(self.data), strict=True):
            s, s2, corr = _correlate(w * scale, w2 * scale)
            total += p * kernel(self.neuron.activation, b, s, b2, s2, corr)
        return a[:, None] * a2 * total

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_j weights_j U(θ, θ_j)."""
        return self.pair(theta, points) @ weights

    @partial(jax.jit, static_argnums=0)
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every neuron in the field of all of them, by the series if an order is set."""
        if self.order is None:
            return self.gradient(theta, theta, weights)
        scalars = self.neuron.scalars
        columns = split_columns(self.neuron, theta)
        total = self.ridge * theta
        for family in families(self.data):
            at = seen_by(family, *columns)
            scalar, by_w = pair_series.field(family, self.neuron.activation, self.order, at, weights, scalars)
            total += jnp.concatenate([*(scalar[name][:, None] for name in scalars), by_w], axis=1)
        if self.data.kept:
            total += jax.grad(lambda t: jnp.sum(self.external(t)))(theta)
        return total

    def near(self, theta: Array, weights: Array) -> PairwiseLandscape:
        """The landscape with the lowest order certified around θ; the worst of several replicas decides."""
        order, error = _certified(self, ORDERS, (np.inf, self.tolerance / HEADROOM), theta, weights)
        return replace(self, order=self._or_last(order, "gradient", error[1]))

    def holds(self, theta: Array, weights: Array) -> bool:
        """Whether the order is certified at θ, or there is no better one."""
        if self.order is None:
            return True
        order, error = _certified(self, (self.order,) * len(ORDERS), (np.inf, self.tolerance), theta, weights)
        is_last = self.order == ORDERS[-1] and self._is_open
        return order is not None or (is_last and self._or_last(order, "gradient", error[1]) is not None)

    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ), by the cheapest certified route."""
        order, error = _certified(self, ORDERS, (self.tolerance, np.inf), points, weights)
        order, plain = self._or_last(order, "risk", error[0]), replace(self, order=None)
        return _kernel_risk(plain, points, weights) if order is None else _series_risk(plain, order, points, weights)

    @property
    def moment(self) -> float:
        """E y²."""
        _, p, y = self.data.nodes
        return float(p @ y**2) + self.data.noise**2

    @property
    def _is_open(self) -> bool:
        """Whether the kernel lacks a closed form."""
        return isinstance(self.neuron.activation, General)

    def _or_last(self, order: int | None, what: str, error: float) -> int | None:
        """A certified order; else the last, if its error is small or there is no closed kernel to fall back on."""
        if order is not None:
            return order
        if not error <= self.tolerance and not self._is_open:
            return None
        if not error <= self.tolerance:
            warnings.warn(
                f"the {what} of nearly parallel neurons with a large norm is only known to {error:.1g} for this "
                "activation, whose pairwise kernel has no closed form",
                RuntimeWarning,
                stacklevel=3,
            )
        return ORDERS[-1]


def _correlate(w: Array, w2: Array) -> tuple[Array, Array, Array]:
    """Lengths of the rows of w and w', and the cosines between them."""
    s, s2 = length(w), length(w2)
    unit, unit2 = (x / jnp.where(t > 0, t, 1.0)[:, None] for x, t in ((w, s), (w2, s2)))
    return s, s2, jnp.clip(unit @ unit2.T, -1.0, 1.0)


@partial(jax.jit, static_argnums=0)
def _kernel_risk(landscape: PairwiseLandscape, points: Array, weights: Array) -> Array:

    def one(points: Array) -> Array:
        external, pairs = landscape.external(points), landscape.mean_pair(points, points, weights)
        return landscape.moment + weights @ (2 * external + pairs)

    return each(one, points)


@partial(jax.jit, static_argnums=(0, 1))
def _series_risk(landscape: PairwiseLandscape, order: int, points: Array, weights: Array) -> Array:
    """R(ρ) with Mehler's series cut at ``order`` off the diagonal."""

    def one(points: Array) -> Array:
        activation, columns, total = landscape.neuron.activation, split_columns(landscape.neuron, points), jnp.zeros(())
        for family in families(landscape.data):
            total += pair_series.risk(family, activation, order, seen_by(family, *columns), weights)
        if landscape.data.kept:  # the labels belong to the nodes
            total += landscape.moment + 2 * weights @ landscape.external(points)
        return total

    return each(one, points)


def _certified(
    landscape: PairwiseLandscape, orders: tuple[int, ...], limits: tuple[float, float], theta: Array, weights: Array
) -> tuple[int | None, np.ndarray]:
    """The first order that is certified in every replica, if any is, and the largest bounds met last, of R and ∇Ψ/S."""
    plain = replace(landscape, order=None)  # compiled once for all orders
    positions, errors = _climb(plain, np.asarray(orders, float), np.asarray(limits), theta, weights)
    worst = np.asarray(errors).reshape(-1, 2).max(axis=0)
    return (orders[int(np.max(positions))] if (worst <= np.array(limits)).all() else None), worst


@partial(jax.jit, static_argnums=0)
def _climb(
    landscape: PairwiseLandscape, orders: Array, limits: Array, theta: Array, weights: Array
) -> tuple[Array, Array]:
    """The position of the first order whose bounds of R and ∇Ψ/S are within the limits, and these bounds."""

    def one(theta: Array) -> tuple[Array, Array]:
        neuron, columns = landscape.neuron, split_columns(landscape.neuron, theta)
        parts = [
            bounds(family, neuron.activation, seen_by(family, *columns), weights, neuron.scalars)
            for family in families(landscape.data)
        ]
        scale = jnp.max(sum(size for _, size in parts))

        def error(order: Array) -> Array:
            of_risk, of_gradient = (sum(terms) for terms in zip(*(beyond(order) for beyond, _ in parts), strict=True))
            return jnp.stack([of_risk, jnp.max(of_gradient) / jnp.where(scale > 0, scale, 1.0)])

        return climb(error, orders, limits)

    return each(one, theta)
