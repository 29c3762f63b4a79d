"""How labels see a neuron in full coordinates: V(θ) = −E y σ*(x; θ), and the moments of y.

on nodes        V = −Σ_q p_q y_q a A_0(b + ⟨u, z_q⟩, s_q),   q the classes, or values z of kept coordinates
polynomial      V = −a Σ_α y_α √(k!/α!) Π_i (u_i/s)^{α_i} A_k(b, s),   k = |α|,  s = |w|,  exactly
                y_α = E y h_α(z), with h_α = Π h_{α_i}(z_i) orthonormal

u   the kept coordinates of w
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates, along, length
from widelimit.frozen import Frozen, static
from widelimit.potentials.product_families import Index, hermite_series
from widelimit.potentials.smoothing import smoothed, value
from widelimit.potentials.thin_layers import KeptNodes
from widelimit.problem.activations import Activation
from widelimit.problem.data import DataLaw, IndexModel
from widelimit.problem.data.resolved_law import ResolvedLaw
from widelimit.problem.data.target import polynomial_terms
from widelimit.problem.expressions import Terms


class Labels(Frozen, ABC, eq=False):
    """The labels of a law; R# = E y² without the noise of the labels."""

    square: float

    @abstractmethod
    def external(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """V(θ), (n,)."""

    @property
    @abstractmethod
    def first(self) -> Array:
        """E y z, (k,)."""

    @property
    def size(self) -> int:
        """How many numbers are computed for every neuron."""
        return 1


class OnNodes(Labels, eq=False):
    """Nodes z (Q, k), p (Q,), y (Q,), and the deviations of the groups at every node, tau (groups, Q).

    slope   of y, as in widelimit.problem.data.resolved_law; ∞ if it may jump
    """

    z: Array
    p: Array
    y: Array
    tau: Array
    slope: float = math.inf

    def external(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """V(θ)."""
        a, b, w = columns.split(theta)
        kept, cuts = columns.kept, np.cumsum(columns.widths)[:-1]
        radii = jnp.stack([length(part) for part in jnp.split(w[:, kept:], cuts, axis=1)], axis=1)
        s = length(radii[:, :, None] * self.tau)
        m = jnp.broadcast_to(b[:, None], s.shape)
        m = m + along(w[:, :kept], self.z) if kept else m
        return -a * (value(sigma, m, s) @ (self.p * self.y))

    @property
    def kept_nodes(self) -> KeptNodes:
        """The nodes of the kept coordinates."""
        return KeptNodes(self.z, self.p, self.tau[0], None, math.inf, float(self.slope))

    @property
    def first(self) -> Array:
        """Σ_q p_q y_q z_q."""
        return (self.p * self.y) @ self.z

    @property
    def size(self) -> int:
        """Q."""
        return len(self.p)


class OfPolynomial(Labels, eq=False):
    """y_α (terms,) and the exponents α (terms, k) they belong to."""

    coefficients: Array
    exponents: tuple[Index, ...] = static()

    def external(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """V(θ)."""
        return -(self.parts(sigma, columns, theta) @ self.coefficients)

    def parts(self, sigma: Activation, columns: Coordinates, theta: Array) -> Array:
        """E σ*(x; θ) h_α(z) of every neuron, (n, terms); in reduced coordinates too."""
        a, b, w = columns.split(theta)
        s, degrees = length(w), np.array([sum(alpha) for alpha in self.exponents])
        unit = w[:, : columns.kept] / jnp.where(s > 0, s, 1.0)[:, None]
        powers = jnp.stack([unit**n for n in range(int(degrees.max()) + 1)], axis=1)  # (n, powers, k)
        monomials = jnp.prod(powers[:, np.array(self.exponents), np.arange(columns.kept)], axis=2)
        roots = [math.sqrt(math.factorial(sum(al)) / math.prod(map(math.factorial, al))) for al in self.exponents]
        seen = smoothed(sigma, int(degrees.max()), b, s)[:, degrees]
        return a[:, None] * monomials * seen * jnp.asarray(roots)

    @property
    def first(self) -> Array:
        """The coefficients of degree 1."""
        is_first = np.array([np.where(sum(al) == 1, al, 0) for al in self.exponents], float)
        return self.coefficients @ jnp.asarray(is_first)


def labels_of(data: DataLaw) -> Labels:
    """The labels of a Gaussian input: those of the nodes, or exactly those of a polynomial."""
    terms = polynomial_terms(data.target) if isinstance(data, IndexModel) else None
    if terms is not None:
        found = hermite_coefficients(terms, data.kept)
        y = np.array(list(found.values()))
        return OfPolynomial(float(y @ y), jnp.asarray(y), tuple(found))
    z, p, y = data.quadrature
    tau = jnp.asarray([g.tau for g in data.groups])
    slope = data.label_slope if isinstance(data, ResolvedLaw) else math.inf
    return OnNodes(float(p @ y**2), jnp.asarray(z), jnp.asarray(p), jnp.asarray(y), tau, slope)


def hermite_coefficients(terms: Terms, k: int) -> dict[Index, float]:
    """E y h_α(z) of a polynomial, by α; the mean, α = 0, is always among them."""
    padded = {(*exponents, *(0,) * (k - len(exponents))): c for exponents, c in terms.items()}
    return {(0,) * k: 0.0} | hermite_series(padded)
