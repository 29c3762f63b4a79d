"""Reduced landscape: the features that the symmetry of the data leaves.

    q = (node j, orders (k_g)),  m = b + ⟨u, z_j⟩,  s = √(Σ_g τ²_{g,j} r_g²),  k = Σ_g k_g, every k_g even
    Φ_q(θ) = √(k!/Π k_g! · Π M_{k_g}(d_g)) · Π (τ_{g,j} r_g/s)^{k_g} · a A_k(m, s)
    y_q = y_j for k = 0, else 0

    z_j   nodes of the kept coordinates, or classes, widelimit.problem.law;   u   the kept coordinates of w
    r_g   radii, the norms of w inside each rotation-invariant group of d_g directions
    M_k   moments of the angle of two random directions, widelimit.potentials.hermite

Orders are kept while k!/Π k_g! · Π M_{k_g}(d_g) · Π (k_g/k)^{k_g}, the largest value of their weight relative to E σ²,
exceeds the tolerance, up to order 60. In few dimensions (or few informative ones) the sum converges slowly; what may be
left, from 1e−6 of E σ² at d = 10 to a tenth at d = 2, is said in a warning. At d = ∞ only k = 0 remains; and also where
|x| is fixed, because two independent directions then see independent coordinates of x: A_0 is the mean over the sphere.
A radius below 0 counts as 0, so that mass which reaches a conical minimum at the origin stays there.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.landscape_base import length, split_columns
from widelimit.potentials.least_squares import LeastSquares
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.spherical import sphere_mean
from widelimit.problem.activations import Polynomial
from widelimit.problem.law import Group
from widelimit.problem.neurons import Ridge

LARGEST_ORDER = 60
WORTH_A_WARNING = 1e-6


@dataclass(frozen=True)
class FeatureLandscape(LeastSquares):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, u_1, …, r_1, … at a cost of O(n Q)."""

    neuron: Ridge
    tolerance: float = 1e-10

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The multi-orders (k_1, k_2, …) kept, lowest first."""
        activation, groups = self.neuron.activation, self.data.groups
        if self.data.on_ball:
            return ((0,) * len(groups),)
        if isinstance(activation, Polynomial):  # A_k = 0 beyond the degree
            return tuple(k for k in _all_orders(groups, activation.degree) if multi_weight(k, groups))
        return multi_orders(groups, self.tolerance)

    @cached_property
    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights p_q and labels y_q (Q,), the orders of a node side by side."""
        first = np.array([float(sum(k) == 0) for k in self.orders])
        _, p, y = self.data.nodes
        return np.repeat(p, len(self.orders)), np.outer(y, first).ravel()

    @property
    def inputs(self) -> np.ndarray:
        """The nodes."""
        return self.data.nodes.z

    @cached_property
    def _roots(self) -> np.ndarray:
        """√(k!/Π k_g! Π M), (orders,)."""
        return np.array([math.sqrt(multi_weight(k, self.data.groups)) for k in self.orders])

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        a, b, rest = split_columns(self.neuron, theta)
        u, radii = rest[:, : self.data.kept], rest[:, self.data.kept :]
        tau = jnp.asarray([g.tau for g in self.data.groups])  # (groups, nodes)
        parts = jnp.maximum(radii, 0.0)[:, :, None] * tau  # τ r, (n, groups, nodes)
        s = parts[:, 0] if len(tau) == 1 else length(parts)
        m = jnp.broadcast_to(b[:, None], s.shape)
        m = m + u @ self.data.nodes.z.T if self.data.kept else m
        if self.data.on_ball:
            return a[:, None] * sphere_mean(self.neuron.activation, m, s, self.data.groups[0].d)
        smooth = smoothed(self.neuron.activation, sum(self.orders[-1]), m, s)
        columns = smooth[:, :, jnp.asarray([sum(k) for k in self.orders])] * self._roots
        if len(tau) > 1:
            squares = (parts / jnp.where(s > 0, s, 1.0)[:, None]) ** 2
            columns = columns * _monomials(squares, self.orders)
        return a[:, None] * columns.reshape(theta.shape[0], -1)


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


def multi_orders(groups: tuple[Group, ...], tolerance: float) -> tuple[tuple[int, ...], ...]:
    """Every multi-order whose weight can exceed the tolerance, lowest total order first."""
    weights = {k: _largest_share(k) * multi_weight(k, groups) for k in _all_orders(groups, LARGEST_ORDER)}
    left = max(weight for k, weight in weights.items() if sum(k) == LARGEST_ORDER)
    if left > max(tolerance, WORTH_A_WARNING):
        warnings.warn(
            f"the sum over Hermite orders converges slowly in so few dimensions: cut at order {LARGEST_ORDER}, where "
            f"terms may still reach {left:.1g} of E σ²; use full coordinates for more digits",
            RuntimeWarning,
            stacklevel=2,
        )
    return tuple(k for k, weight in weights.items() if weight > tolerance)


def _all_orders(groups: tuple[Group, ...], largest: int) -> list[tuple[int, ...]]:
    """Every (k_1, k_2, …) of even orders with a sum of at most ``largest``, lowest sum first."""
    choices = itertools.product(range(0, largest + 1, 2), repeat=len(groups))
    return sorted((k for k in choices if sum(k) <= largest), key=sum)


def _largest_share(orders: tuple[int, ...]) -> float:
    """max Π p_g^{k_g} over p_g ≥ 0, Σ p_g = 1, the squared cosines: attained at p_g = k_g/k."""
    total = sum(orders)
    return math.prod((k / total) ** k for k in orders if k) if total else 1.0
