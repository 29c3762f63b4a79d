"""Reduced landscape: the features that the symmetry of the data leaves.

    q = (node j, orders (k_g)),  m = b + ⟨u, z_j⟩,  s = √(Σ_g τ²_{g,j} r_g²),  k = Σ_g k_g, every k_g even
    Φ_q(θ) = √(k!/Π k_g! · Π M_{k_g}(d_g)) · Π (τ_{g,j} r_g/s)^{k_g} · a A_k(m, s)
    y_q = y_j for k = 0, else 0

    z_j   nodes of the kept coordinates, or classes, widelimit.problem.data.data_law;   u   the kept coordinates of w
    r_g   radii, the norms of w inside each rotation-invariant group of d_g directions
    M_k   moments of the angle of two random directions, widelimit.potentials.hermite

Orders are kept while k!/Π k_g! · Π M_{k_g}(d_g) · Π (k_g/k)^{k_g}, the largest value of their weight relative to E σ²,
exceeds the tolerance, up to order K = 60: in few dimensions (or few informative ones) the sum converges slowly. What is
left of U, at most Σ_j p_j e_j e'_j max_g M_{K+2}(d_g) with e² = E σ² − Σ_{k ≤ K} A_k², is then part of the error.
At d = ∞ only k = 0 remains; and also where |x| is fixed, because two independent directions then see independent
coordinates of x: A_0 is the mean over the sphere.
A radius below 0 counts as 0, so that mass which reaches a conical minimum at the origin stays there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import along, length
from widelimit.frozen import argument, static
from widelimit.potentials.beyond_rules import Lost, lost, values_reach
from widelimit.potentials.feature_landscape import Basis, FeatureLandscape
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.least_squares import on_device
from widelimit.potentials.mirrored import half_of
from widelimit.potentials.refinement import EXACT, Refinement, Rung
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.spherical import UnitSphere, sphere_mean, unit_sphere
from widelimit.potentials.square_moments import mean_square
from widelimit.potentials.thin_layers import KeptNodes, missed
from widelimit.problem.activations import Activation, Polynomial
from widelimit.problem.data.data_law import DataLaw, Group
from widelimit.problem.data.resolved_law import ResolvedLaw
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Penalty

LARGEST_ORDER = 60
BEYOND = 0.1  # share of E σ² above that order, at most: a step has a twentieth there
Orders = tuple[tuple[int, ...], ...]


class ReducedLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, u_1, …, r_1, … at a cost of O(n Q).

    sigma      σ, in the form its smoothed versions are known for
    tau        τ_{g,j}, (groups, nodes)
    roots      √(k!/Π k_g! Π M), (orders,)
    sphere     in which the one group lies where |x| is fixed, else None
    orders     the multi-orders (k_1, k_2, …) kept, lowest first
    label_slope  that of widelimit.problem.data.resolved_law; None unless kept coordinates have the same law in every
                 direction, which those at corners have not
    moves_on     the way to a cheaper landscape for neurons that move, widelimit.potentials.series_landscape
    parity       ς where only half of the nodes are there, widelimit.potentials.mirrored; else 0
    """

    sigma: Activation
    tau: Array
    roots: Array
    sphere: UnitSphere | None
    orders: Orders = static()
    label_slope: float | None = argument(default=None, kw_only=True)
    moves_on: Refinement = static(default=EXACT, kw_only=True)
    parity: int = static(default=0, kw_only=True)

    def on_nodes(self, nodes: np.ndarray) -> ReducedLandscape:
        """The landscape of some of the nodes, their weights brought to the sum 1."""
        return replace(super().on_nodes(nodes), tau=self.tau[:, nodes])

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        columns = self.penalty.columns
        a, b, rest = columns.split(theta)
        u, radii = rest[:, : columns.kept], rest[:, columns.kept :]
        parts = jnp.where(radii >= 0, radii, 0.0)[:, :, None] * self.tau  # τ r, (n, groups, nodes)
        s = parts[:, 0] if len(self.tau) == 1 else length(parts)
        m = jnp.broadcast_to(b[:, None], s.shape)
        m = m + along(u, self.inputs) if columns.kept else m
        if self.sphere is not None:
            return a[:, None] * sphere_mean(self.sigma, m, s, self.sphere)
        smooth = smoothed(self.sigma, sum(self.orders[-1]), m, s)
        found = smooth[:, :, jnp.asarray([sum(k) for k in self.orders])] * self.roots
        if len(self.tau) > 1:
            squares = (parts / jnp.where(s > 0, s, 1.0)[:, None]) ** 2
            found = found * _monomials(squares, self.orders)
        return a[:, None] * found.reshape(theta.shape[0], -1)

    def in_motion(self, theta: Array, headroom: float = 1.0) -> Landscape:
        """The landscape neurons move on: the cheaper one, if there is one."""
        cheaper = self.moves_on.landscape
        return super().in_motion(theta, headroom) if cheaper is None else cheaper.in_motion(theta, headroom)

    def moving_risk_error(self, points: Array, weights: Array) -> Array:
        """How far the risk on that landscape may be off."""
        cheaper = self.moves_on.landscape
        if cheaper is None:
            return super().moving_risk_error(points, weights)
        return cheaper.moving_risk_error(points, weights)

    def lost(self, theta: Array) -> Lost:
        """That of the smoothed values, where means over a sphere have rules of their own; and what the nodes miss."""
        columns = self.penalty.columns
        _, b, rest = columns.split(np.asarray(theta))
        u, radii = rest[:, : columns.kept], np.maximum(rest[:, columns.kept :], 0.0)
        if self.sphere is None:
            s = np.linalg.norm(radii * np.asarray(self.tau).max(axis=1), axis=1)
            found = Lost.same(lost(self.sigma, values_reach, s))
        else:
            found = super().lost(theta)
        if self.label_slope is None or not isinstance(self.other, ReducedLandscape):
            return found
        return found + missed(self.sigma, self.kept_nodes, b, u, radii[:, 0])

    @property
    def order(self) -> int | None:
        """The first order that is left out, if what is left out may exceed the tolerance; else None."""
        first = sum(self.orders[-1]) + 2
        if first <= LARGEST_ORDER or isinstance(self.sigma, Polynomial):
            return None
        seen = BEYOND * max(angle_moment(first, float(d)) for d in self.penalty.columns.directions)
        return first if seen > self.tolerance else None

    def left_out(self, theta: Array) -> Array:
        """Σ_j p_j e_j e'_j max_g M, (n, n): E |corr|^k is at most that of the group with the fewest directions."""
        columns = self.penalty.columns
        _, b, rest = columns.split(theta)
        u, radii = rest[:, : columns.kept], jnp.maximum(rest[:, columns.kept :], 0.0)
        s = length(radii[:, :, None] * self.tau)
        m = jnp.broadcast_to(b[:, None], s.shape) + (along(u, self.inputs) if columns.kept else 0.0)
        last = sum(self.orders[-1])
        square = mean_square(self.sigma, m, s) - jnp.sum(smoothed(self.sigma, last, m, s) ** 2, axis=-1)
        e = jnp.sqrt(jnp.maximum(square, 0.0))
        p = self.fit.p.reshape(s.shape[1], -1)[:, 0]
        most = jnp.max(jnp.stack([jnp.asarray(angle_moment(last + 2, d)) for d in columns.directions]))
        return most * (e * p) @ e.T

    def at_nodes(self, basis: Basis) -> np.ndarray:
        """g at the nodes; of half of them its part of the parity of f."""
        g = super().at_nodes(basis)
        return (g + self.parity * basis(-np.asarray(self.inputs))) / 2 if self.parity else g

    @property
    def kept_nodes(self) -> KeptNodes:
        """The nodes of the kept coordinates, all of them."""
        d = math.inf if self.sphere is None else float(self.sphere.p) + self.penalty.columns.kept
        z, p, tau = self.inputs, jnp.asarray(self.masses_of_nodes), self.tau[0]
        if self.parity:
            z, p, tau = (jnp.concatenate(both) for both in ((z, -z), (p / 2, p / 2), (tau, tau)))
        slope = math.inf if self.label_slope is None else float(self.label_slope)
        return KeptNodes(z, p, tau, self.sphere, d, slope)


def reduced_landscape(data: DataLaw, neuron: Ridge, penalty: Penalty, rung: Rung) -> ReducedLandscape:
    """The features of a data law; every number in them is data."""
    sigma, groups, tau = neuron.sigma.form, data.groups, np.array([g.tau for g in data.groups], float)
    parity = sigma.parity if "b" not in neuron.scalars and data.sets == 1 else 0
    half = half_of(data.quadrature, tau, parity)
    (z, p, y), unseen = (data.quadrature, 0.0) if half is None else half[1:]
    orders = orders_of(data, sigma, rung)
    first = np.array([float(sum(k) == 0) for k in orders])
    fit = on_device(np.repeat(p, len(orders)), np.outer(y, first).ravel(), data.noise**2 + unseen)
    roots = jnp.asarray([math.sqrt(multi_weight(k, groups)) for k in orders])
    sphere = unit_sphere(groups[0].d, rung.on_sphere) if data.on_sphere else None
    land = ReducedLandscape(
        penalty, fit, jnp.asarray(z), sigma, jnp.asarray(tau if half is None else tau[:, half.kept]), roots, sphere,
        orders, sets=data.sets, tolerance=rung.tolerance, parity=0 if half is None else parity,
    )  # fmt: skip
    return replace(land, label_slope=data.label_slope if isinstance(data, ResolvedLaw) else None)


def orders_of(data: DataLaw, sigma: Activation, rung: Rung) -> Orders:
    """The multi-orders a landscape keeps."""
    if data.on_sphere:
        return ((0,) * len(data.groups),)
    if isinstance(sigma, Polynomial):  # A_k = 0 beyond the degree
        return tuple(k for k in _all_orders(data.groups, sigma.degree) if multi_weight(k, data.groups))
    return multi_orders(data.groups, rung.truncation, LARGEST_ORDER * rung.doubled)


def _monomials(squares: Array, orders: tuple[tuple[int, ...], ...]) -> Array:
    """Π_g cos_g^{k_g} for every multi-order, (n, classes, orders), from the squared cosines (n, groups, classes)."""
    halves = np.array(orders) // 2  # (orders, groups)
    powers = jnp.stack([squares**j for j in range(halves.max() + 1)], axis=-1)
    product = jnp.ones(())
    for g, half in enumerate(halves.T):
        product = product * powers[:, g][:, :, half]
    return product


def multi_weight(orders: tuple[int, ...], groups: tuple[Group, ...]) -> float:
    """k!/Π k_g! · Π M_{k_g}(d_g)."""
    choose = math.factorial(sum(orders)) / math.prod(math.factorial(k) for k in orders)
    return choose * math.prod(angle_moment(k, g.d) for k, g in zip(orders, groups, strict=True))


def multi_orders(groups: tuple[Group, ...], tolerance: float, largest: int = LARGEST_ORDER) -> Orders:
    """Every multi-order up to the largest whose weight can exceed the tolerance, lowest total order first."""
    every = _all_orders(groups, largest)
    return tuple(k for k in every if largest_share(k) * multi_weight(k, groups) > tolerance)


def is_cut_short(groups: tuple[Group, ...], tolerance: float) -> bool:
    """Whether orders above LARGEST_ORDER can exceed the tolerance."""
    last = (k for k in _all_orders(groups, LARGEST_ORDER) if sum(k) == LARGEST_ORDER)
    return max(largest_share(k) * multi_weight(k, groups) for k in last) > tolerance


def _all_orders(groups: tuple[Group, ...], largest: int) -> list[tuple[int, ...]]:
    """Every (k_1, k_2, …) of even orders with a sum of at most ``largest``, lowest sum first."""
    choices = itertools.product(range(0, largest + 1, 2), repeat=len(groups))
    return sorted((k for k in choices if sum(k) <= largest), key=sum)


def largest_share(orders: tuple[int, ...]) -> float:
    """max Π p_g^{k_g} over p_g ≥ 0, Σ p_g = 1, the squared cosines: attained at p_g = k_g/k."""
    total = sum(orders)
    return math.prod((k / total) ** k for k in orders if k) if total else 1.0
