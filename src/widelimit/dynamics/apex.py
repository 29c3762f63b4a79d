"""Neurons that reach w = 0 where σ has a kink: there Ψ is a cone, and no velocity is that of its apex.

    S(ŵ) = lim_{η → 0} ∂_η Ψ(1, ηŵ; ρ)          the slope of Ψ at w = 0 in a direction ŵ, of a neuron with a = 1
    a S(ŵ) ≥ 0 for all ŵ                        w stays at 0
    else                                        w leaves along the ŵ with the least a S(ŵ), at the speed −2 m_w a S(ŵ)

    ŵ   directions of (u, r), r ≥ 0: a fan of K of them, then ever closer around the best for either sign of a; they
        serve all neurons, since S is the same for all

While a neuron comes near 0 it turns towards the flattest direction at a rate ~ 1/|w|: a solver that follows it through
0 would go to and fro for ever. So one that came closer than SNAP is put at 0. Only without a bias, as b + ⟨w, x⟩ leaves
the kink with b, and in reduced coordinates with kept ones: radii alone have a rule of their own
(widelimit.dynamics.rules).
S is taken at probes, neurons at |w| = NEAR. The best direction of the fan misses the least S by 1 − cos of its angle to
it: 0.002 with one kept coordinate, up to 0.07 with two and 0.15 with three. Rounds around it and down the slope of S
bring that to 1e−8 if the best of the fan lies in the deepest valley of S.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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
AROUND = 16  # directions around the best
STEPS = np.array([0.25, 0.5, 1.0])  # of those down the slope of S
ROUNDS = 10
WIDE = 0.6  # how far the first round reaches, to the neighbours in a fan; each further one half as far
TINY = 1e-300  # keeps 0/0 away

Field = Callable[[Array], Array]  # neurons (K, D) → ∇Ψ, (K, D)


class Seen(NamedTuple):
    """Directions ŵ (K, columns of w), S of them (K,) and its derivatives (K, columns of w); or one direction."""

    directions: Array
    S: Array
    slopes: Array

    def least(self, sign: Array) -> Seen:
        """The direction with the least ± S."""
        which = jnp.argmin(sign * self.S)
        return Seen(*(x[which] for x in self))


class Apex(Frozen, eq=False):
    """The fan of directions at w = 0.

    columns      of θ
    directions   ŵ, (K, columns of w)
    around       what is added to the best, (AROUND, columns of w)
    """

    columns: Coordinates
    directions: Array
    around: Array

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

    def leaving(self, theta: Array, velocity: Array, field: Callable[[], Field], rates: Array) -> Array:
        """A velocity, with that of neurons at 0 where a direction leads down; the field is made where it is needed."""
        there = self.is_there(theta)
        return jax.lax.cond(jnp.any(there), lambda: self._left(theta, velocity, field(), rates), lambda: velocity)

    def _left(self, theta: Array, velocity: Array, field: Field, rates: Array) -> Array:
        first = len(self.columns.scalars)
        directions, S = self.steepest(field)
        a = theta[..., :1] if "a" in self.columns.scalars else jnp.ones_like(theta[..., :1])
        side = (a[..., 0] < 0).astype(int)
        away = -2 * rates[first:] * jnp.minimum(a * S[side][..., None], 0.0) * directions[side]
        padded = jnp.concatenate([jnp.zeros_like(theta[..., :first]), away], axis=-1)
        return jnp.where(self.fixed(theta), padded, velocity)

    def steepest(self, field: Field) -> tuple[Array, Array]:
        """The directions of the least and of the largest S, (2, columns of w), and S there, (2,)."""
        fan = self._seen(self.directions, field)

        def found(sign: Array) -> Seen:
            def closer(k: Array, best: Seen) -> Seen:
                wide, down = WIDE * 0.5**k, self._down(best, sign)
                around = jnp.concatenate([self.around, STEPS[:, None] * down, 0 * down[None]])
                return self._seen(self._unit(best.directions + wide * around), field).least(sign)

            return jax.lax.fori_loop(0, ROUNDS, closer, fan.least(sign))

        best = jax.vmap(found)(jnp.array([1.0, -1.0]))
        return best.directions, best.S

    def _seen(self, directions: Array, field: Field) -> Seen:
        first = len(self.columns.scalars)
        probes = jnp.concatenate([jnp.ones((len(directions), first)), NEAR * directions], axis=1)
        slopes = field(probes)[:, first:]
        return Seen(directions, jnp.sum(directions * slopes, axis=1), slopes)

    def _down(self, at: Seen, sign: Array) -> Array:
        """The direction along the sphere in which ± S falls, not to r < 0."""
        down = -sign * (at.slopes - at.S * at.directions)
        is_radius = np.arange(len(down)) >= self.columns.kept
        down = jnp.where((at.directions == 0) & (down < 0) & is_radius, 0.0, down)
        return down / jnp.maximum(jnp.linalg.norm(down), TINY)

    def _unit(self, w: Array) -> Array:
        """Directions with r ≥ 0."""
        w = w.at[..., self.columns.kept :].set(jnp.maximum(w[..., self.columns.kept :], 0.0))
        return w / jnp.linalg.norm(w, axis=-1, keepdims=True)

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
    directions = fan(columns.kept, len(columns.directions))
    return Apex(columns, jnp.asarray(directions), jnp.asarray(_ball(directions.shape[1])))


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
    normal = _normal(kept + radii, MANY)
    every = np.concatenate([np.eye(kept + radii), -np.eye(kept + radii)[:kept], normal])
    every[:, kept:] = np.abs(every[:, kept:])
    return every / np.linalg.norm(every, axis=1, keepdims=True)


def _ball(width: int) -> np.ndarray:
    """Points in the unit ball, half of them the opposite of the others, (AROUND, width)."""
    normal = _normal(width, AROUND // 2)
    size = np.linspace(0.25, 1.0, AROUND // 2)[:, None]
    half = size * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return np.concatenate([half, -half])


def _normal(width: int, count: int) -> np.ndarray:
    """Sobol points of the normal law, (count, width)."""
    return stats.qmc.MultivariateNormalQMC(np.zeros(width), seed=0).random(count)
