"""Neurons that reach w = 0 where σ has a kink: there Ψ is a cone, and no velocity is that of its apex.

    S(ŵ) = lim_{η → 0} ∂_η Ψ(1, ηŵ; ρ)          the slope of Ψ at w = 0 in a direction ŵ, of a neuron with a = 1
    a S(ŵ) ≥ 0 for all ŵ                        w stays at 0
    else                                        w leaves along the ŵ with the least a S(ŵ), at the speed −2 m_w a S(ŵ)

    ŵ   directions of (u, r), r ≥ 0: a fan of K of them, one fan for all neurons, since S is the same for all

While a neuron comes near 0 it turns towards the flattest direction at a rate ~ 1/|w|: a solver that follows it through
0 would go to and fro for ever. So one that came closer than SNAP is put at 0. Only without a bias, as b + ⟨w, x⟩ leaves
the kink with b, and in reduced coordinates with kept ones: radii alone have a rule of their own
(widelimit.dynamics.rules).
The fan has a slope at its probes, neurons of no weight at |w| = NEAR. A direction between them is missed by 1 − cos of
its angle to the nearest: 0.002 of S with one kept coordinate, up to 0.06 with two and 0.2 with three, so that a neuron
may leave somewhat late there.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.frozen import Frozen
from widelimit.on_first_use import OnFirstUse
from widelimit.problem.neurons import Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Squares

stats = OnFirstUse("scipy.stats")

SNAP = 1e-7  # |w| below which a neuron is at 0: the solver knows its place to 1e−8 of 1 or so
NEAR = 1e-6  # |w| of the probes
JUMP = 1e-3  # of σ' at 0, relative to σ', that is a kink
SIDE = 1e-9  # where σ' is looked at on both sides of 0
FEW = 25  # directions of a half circle
MANY = 128  # of a half sphere, besides the axes


class Apex(Frozen, eq=False):
    """The fan of directions at w = 0.

    columns      of θ
    directions   ŵ, (K, columns of w)
    """

    columns: Coordinates
    directions: Array

    def is_there(self, theta: Array) -> Array:
        """Which neurons are at w = 0, (…, n, 1)."""
        return jnp.all(self._inner(theta) == 0, axis=-1, keepdims=True)

    def fixed(self, theta: Array) -> Array:
        """Which numbers are inner weights of these, (…, n, D)."""
        return self.is_there(theta) & self._is_inner(theta)

    def arrived(self, theta: Array, before: Array) -> Array:
        """θ after a step, with neurons at 0 that came too close to it to be followed."""
        now, then = (jnp.max(jnp.abs(self._inner(x)), axis=-1, keepdims=True) for x in (theta, before))
        close = (now < SNAP) & (now < then)  # one that leaves is not brought back
        return jnp.where(close & self._is_inner(theta), 0.0, theta)

    def held(self, theta: Array, velocity: Array) -> Array:
        """A velocity without the inner weights of neurons at 0."""
        return jnp.where(self.fixed(theta), 0.0, velocity)

    def probes(self) -> Array:
        """Neurons with a = 1 close to 0 in every direction, (K, D)."""
        ones = jnp.ones((len(self.directions), len(self.columns.scalars)))
        return jnp.concatenate([ones, NEAR * self.directions], axis=1)

    def leaving(self, theta: Array, velocity: Array, slopes: Array, rates: Array) -> Array:
        """A velocity, with that of neurons at 0 where a direction leads down; slopes are ∇Ψ at the probes, (K, D)."""
        first = len(self.columns.scalars)
        S = jnp.sum(self.directions * slopes[:, first:], axis=1)
        a = theta[..., :1] if "a" in self.columns.scalars else jnp.ones_like(theta[..., :1])
        down = a * S  # (…, n, K)
        least, which = jnp.min(down, axis=-1, keepdims=True), jnp.argmin(down, axis=-1)
        away = -2 * rates[first:] * jnp.minimum(least, 0.0) * self.directions[which]
        padded = jnp.concatenate([jnp.zeros_like(theta[..., :first]), away], axis=-1)
        return jnp.where(self.fixed(theta), padded, velocity)

    def _inner(self, theta: Array) -> Array:
        return theta[..., len(self.columns.scalars) :]

    def _is_inner(self, theta: Array) -> Array:
        return jnp.arange(theta.shape[-1]) >= len(self.columns.scalars)


def apex_of(problem: Problem, columns: Coordinates) -> Apex | None:
    """The apex of neurons in these coordinates; None where Ψ is smooth at w = 0, or nothing can stay there."""
    free = columns.is_reduced and columns.kept and "b" not in columns.scalars and problem.neuron.inner != "sphere"
    plain = not problem.ridge or isinstance(problem.regulariser, Squares)
    if not free or not plain or problem.is_noisy or not has_kink(problem):
        return None
    return Apex(columns, jnp.asarray(fan(columns.kept, len(columns.directions))))


def has_kink(problem: Problem) -> bool:
    """Whether the slope of σ jumps at 0."""
    neuron = problem.network
    if not isinstance(neuron, Ridge):
        return False
    sigma = neuron.sigma
    slope = np.asarray(jax.vmap(jax.grad(lambda h: jnp.sum(sigma(h))))(jnp.array([-SIDE, SIDE])))
    return bool(abs(slope[1] - slope[0]) > JUMP * np.abs(slope).max())


def fan(kept: int, radii: int) -> np.ndarray:
    """Directions of (u, r) with r ≥ 0, (K, kept + radii): even on a half circle, else axes and Sobol points.

    >>> fan(1, 1)[[0, 12, 24]].round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    """
    if (kept, radii) == (1, 1):
        angle = np.linspace(0.0, np.pi, FEW)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    normal = stats.qmc.MultivariateNormalQMC(np.zeros(kept + radii), seed=0).random(MANY)
    every = np.concatenate([np.eye(kept + radii), -np.eye(kept + radii)[:kept], normal])
    every[:, kept:] = np.abs(every[:, kept:])
    return every / np.linalg.norm(every, axis=1, keepdims=True)
