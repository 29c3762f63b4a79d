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
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import length
from widelimit.frozen import static
from widelimit.potentials import pair_series
from widelimit.potentials.landscape import Landscape, Look, Move, Moved, each
from widelimit.potentials.pair_kernels import SERIES_ORDER, Pair, kernel
from widelimit.potentials.pair_series import Family, deviations, families, seen_by
from widelimit.potentials.series_bounds import bounds, climb
from widelimit.potentials.smoothing import value
from widelimit.problem.activations import Activation, General, Logistic
from widelimit.problem.data import DataLaw
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Penalty

ORDERS = (8, 16, 28, 40, 60, SERIES_ORDER)
HEADROOM = 10.0  # a landscape is certified with this much to spare where a move begins, so that neurons may move


class PairwiseLandscape(Landscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, w_1, …, w_d.

    sigma         σ, in the form its smoothed versions are known for
    nodes         z (Q, k), p (Q,) and y (Q,) of the data
    tau           deviations of the groups at every node, (groups, Q)
    classes       p_c, and the deviation of every direction of x in class c (d,)
    families      the classes, those with proportional covariances together
    label_square  R# = E y²
    tolerance     of R and ∇Ψ
    order         where `self_gradient` cuts Mehler's series; None: it uses the closed kernel
    """

    sigma: Activation
    nodes: tuple[Array, Array, Array]
    tau: Array
    classes: tuple[Array, Array]
    families: tuple[Family, ...]
    label_square: float
    tolerance: float
    order: int | None = static(default=None)

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        columns = self.penalty.columns
        a, b, w = columns.split(theta)
        (z, p, y), kept = self.nodes, columns.kept
        cuts = np.cumsum(columns.widths)[:-1]
        radii = jnp.stack([length(part) for part in jnp.split(w[:, kept:], cuts, axis=1)], axis=1)
        s = length(radii[:, :, None] * self.tau)
        m = jnp.broadcast_to(b[:, None], s.shape)
        m = m + w[:, :kept] @ z.T if kept else m
        return -a * (value(self.sigma, m, s) @ (p * y))

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        split = self.penalty.columns.split
        (a, b, w), (a2, b2, w2) = split(theta), split(other)
        total = jnp.zeros((len(a), len(a2)))
        for p, scale in zip(*self.classes, strict=True):
            s, s2, corr = _correlate(w * scale, w2 * scale)
            total += p * kernel(self.sigma, Pair(b, s, b2, s2, corr))
        return a[:, None] * a2 * total

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_j weights_j U(θ, θ_j)."""
        return self.pair(theta, points) @ weights

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every neuron in the field of all of them, by the series if an order is set."""
        if self.order is None:
            return self.gradient(theta, theta, weights)
        columns = self.penalty.columns
        total = self.penalty.gradient(theta)
        for family in self.families:
            at = seen_by(family, *columns.split(theta))
            scalar, by_w = pair_series.field(family, self.sigma, self.order, at, weights, columns.scalars)
            total += jnp.concatenate([*(scalar[name][:, None] for name in columns.scalars), by_w], axis=1)
        if columns.kept:
            total += jax.grad(lambda t: jnp.sum(self.external(t)))(theta)
        return total

    def carry(self, state: Moved, look: Look, move: Move) -> Moved:
        """``move`` with Mehler's series cut at the lowest order certified at both ends."""
        cheap = self.near(*look(state))
        moved = move(cheap, state)
        while bool(jnp.isfinite(look(moved)[0]).all()) and not cheap.holds(*look(moved)):
            better = self.near(*look(moved))
            if better.order == cheap.order:  # nothing better is known
                break
            cheap = better
            moved = move(cheap, state)
        return moved

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
        order = self._or_last(order, "risk", error[0])
        return _kernel_risk(self, points, weights) if order is None else _series_risk(self, order, points, weights)

    @property
    def _is_open(self) -> bool:
        """Whether the kernel lacks a closed form."""
        return isinstance(self.sigma, General | Logistic)

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


def pairwise_landscape(data: DataLaw, neuron: Ridge, penalty: Penalty, tolerance: float) -> PairwiseLandscape:
    """The landscape of a Gaussian input in full coordinates; every number in it is data."""
    assert data.mixture is not None
    z, p, y = data.quadrature
    return PairwiseLandscape(
        penalty, neuron.sigma.pair_form, (jnp.asarray(z), jnp.asarray(p), jnp.asarray(y)),
        jnp.asarray([g.tau for g in data.groups]), (jnp.asarray(data.mixture.p), jnp.asarray(deviations(data))),
        families(data), float(p @ y**2) + data.noise**2, float(tolerance),
    )  # fmt: skip


def _correlate(w: Array, w2: Array) -> tuple[Array, Array, Array]:
    """Lengths of the rows of w and w', and the cosines between them."""
    s, s2 = length(w), length(w2)
    unit, unit2 = (x / jnp.where(t > 0, t, 1.0)[:, None] for x, t in ((w, s), (w2, s2)))
    return s, s2, jnp.clip(unit @ unit2.T, -1.0, 1.0)


@jax.jit
def _kernel_risk(landscape: PairwiseLandscape, points: Array, weights: Array) -> Array:
    """R(ρ) from the closed kernel."""

    def one(points: Array) -> Array:
        external, pairs = landscape.external(points), landscape.mean_pair(points, points, weights)
        return landscape.label_square + weights @ (2 * external + pairs)

    return each(one, points)


@partial(jax.jit, static_argnames="order")
def _series_risk(landscape: PairwiseLandscape, order: int, points: Array, weights: Array) -> Array:
    """R(ρ) with Mehler's series cut at ``order`` off the diagonal."""
    columns = landscape.penalty.columns

    def one(points: Array) -> Array:
        total = jnp.zeros(())
        for family in landscape.families:
            total += pair_series.risk(family, landscape.sigma, order, seen_by(family, *columns.split(points)), weights)
        if columns.kept:  # the labels belong to the nodes
            total += landscape.label_square + 2 * weights @ landscape.external(points)
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


@jax.jit
def _climb(
    landscape: PairwiseLandscape, orders: Array, limits: Array, theta: Array, weights: Array
) -> tuple[Array, Array]:
    """The position of the first order whose bounds of R and ∇Ψ/S are within the limits, and these bounds."""
    columns = landscape.penalty.columns

    def one(theta: Array) -> tuple[Array, Array]:
        parts = [
            bounds(family, landscape.sigma, seen_by(family, *columns.split(theta)), weights, columns.scalars)
            for family in landscape.families
        ]
        scale = jnp.max(sum(size for _, size in parts))

        def error(order: Array) -> Array:
            of_risk, of_gradient = (sum(terms) for terms in zip(*(beyond(order) for beyond, _ in parts), strict=True))
            return jnp.stack([of_risk, jnp.max(of_gradient) / jnp.where(scale > 0, scale, 1.0)])

        return climb(error, orders, limits)

    return each(one, theta)
