"""Full landscape: the population risk of neurons in all their coordinates.

    V(θ) = −Σ_c p_c y_c a A_0(b, s_c),          s_c = |Σ_c^{1/2} w|
    U(θ, θ') = Σ_c p_c a a' K(b, s_c; b', s'_c; corr_c),   corr_c = ⟨w, Σ_c w'⟩/(s_c s'_c)

K is the pairwise kernel of widelimit.potentials.pair_kernels. One Gram matrix per class serves values and gradients:
O(n n' d) for it, O(n n') for the rest.

The risk of a cloud needs no closed form where Mehler's series is certified: the diagonal is exact, the rest is cut at
the first of RISK_ORDERS whose Cauchy–Schwarz bound is below the tolerance, and a closed kernel takes over if none is.
Without a closed kernel the order goes up to 100, and a warning states the bound if that is not enough.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.landscape_base import Landscape, length, split_columns
from widelimit.potentials.pair_kernels import SERIES_ORDER, kernel, mehler, second_moment
from widelimit.potentials.smoothing import smoothed, value
from widelimit.problem.activations import General

RISK_ORDERS = (28, 60)


@dataclass(frozen=True)
class PairwiseLandscape(Landscape):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, w_1, …, w_d."""

    names: tuple[str, ...]
    tolerance: float = 1e-10

    @property
    def coordinates(self) -> tuple[str, ...]:
        """a, b (those that exist) and the inner weights."""
        return self.names

    def _scales(self) -> np.ndarray:
        """Standard deviation of every direction of x in every class, (classes, d)."""
        return np.concatenate([np.repeat(np.array([g.tau]), int(g.d), axis=0) for g in self.data.groups]).T

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        a, b, w = split_columns(self.neuron, theta)
        total = jnp.zeros_like(a)
        for p, y, scale in zip(self.data.probabilities, self.data.labels, self._scales(), strict=True):
            total -= p * y * a * value(self.neuron.activation, b, length(w * scale))
        return total

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        a, b, w = split_columns(self.neuron, theta)
        a2, b2, w2 = split_columns(self.neuron, other)
        total = jnp.zeros((len(a), len(a2)))
        for p, scale in zip(self.data.probabilities, self._scales(), strict=True):
            s, s2, corr = _correlate(w * scale, w2 * scale)
            total += p * kernel(self.neuron.activation, b, s, b2, s2, corr)
        return a[:, None] * a2 * total

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_j weights_j U(θ, θ_j)."""
        return self.pair(theta, points) @ weights

    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ), by the cheapest certified route."""
        closed = not isinstance(self.neuron.activation, General)
        for order in RISK_ORDERS if closed else (*RISK_ORDERS, SERIES_ORDER):
            risk, bound = _series_risk(self, order, points, weights)
            if float(bound) <= self.tolerance:
                return risk
        if closed:
            return _kernel_risk(self, points, weights)
        warnings.warn(
            f"the risk of nearly parallel neurons with a large norm is only known to {float(bound):.1g} for this "
            "activation, whose pairwise kernel has no closed form",
            RuntimeWarning,
            stacklevel=2,
        )
        return risk


def _correlate(w: Array, w2: Array) -> tuple[Array, Array, Array]:
    """Lengths of the rows of w and w', and the cosines between them."""
    s, s2 = length(w), length(w2)
    unit, unit2 = (x / jnp.where(t > 0, t, 1.0)[:, None] for x, t in ((w, s), (w2, s2)))
    return s, s2, jnp.clip(unit @ unit2.T, -1.0, 1.0)


@partial(jax.jit, static_argnums=0)
def _kernel_risk(landscape: PairwiseLandscape, points: Array, weights: Array) -> Array:
    moment = sum(p * y * y for p, y in zip(landscape.data.probabilities, landscape.data.labels, strict=True))
    external = weights @ landscape.external(points)
    return moment + 2 * external + weights @ landscape.mean_pair(points, points, weights)


@partial(jax.jit, static_argnums=(0, 1))
def _series_risk(landscape: PairwiseLandscape, order: int, points: Array, weights: Array) -> tuple[Array, Array]:
    """R(ρ) with Mehler's series cut at ``order`` off the diagonal, and a bound of the error."""
    a, b, w = split_columns(landscape.neuron, points)
    activation, load = landscape.neuron.activation, weights * a
    lengths, _, cosines = zip(*(_correlate(w * scale, w * scale) for scale in landscape._scales()), strict=True)
    s = jnp.stack(lengths)
    m = jnp.broadcast_to(b, s.shape)
    smooth, own = smoothed(activation, order, m, s), second_moment(activation, m, s)
    left = jnp.abs(load) * jnp.sqrt(jnp.maximum(own - jnp.sum(smooth**2, axis=-1), 0.0))
    risk = bound = jnp.zeros(())
    for c, (p, y) in enumerate(zip(landscape.data.probabilities, landscape.data.labels, strict=True)):
        corr = cosines[c] - jnp.diag(jnp.diag(cosines[c]))
        mean, rest = smooth[c, :, 0], smooth[c].at[:, 0].set(0.0)
        diagonal, off_diagonal = load**2 @ (own[c] - mean**2), load @ mehler(rest, rest, corr) @ load
        risk += p * ((y - load @ mean) ** 2 + off_diagonal + diagonal)
        bound += p * (left[c] @ jnp.abs(corr) ** (order + 1) @ left[c])
    return risk, bound
