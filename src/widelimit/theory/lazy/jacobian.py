"""First and second derivative of a network in its parameters, by products only.

    f(θ) = Σ_i w_i Φ(θ_i) ∈ L²,    ‖f‖² = Σ_q p_q f_q²,     Θ_i = √w_i θ_i,    |Θ|² = Σ_i w_i |θ_i|²

    J u = Σ_i √w_i ∇Φ(θ_i) √m u_i,        J Jᵀ the tangent kernel of the weighted data law
    D²f(u, u) = Σ_i ∇²Φ(θ_i)[√m u_i, √m u_i]:    ‖D²f‖ = max_i max_{|u| = 1} ‖∇²Φ(θ_i)[√m u, √m u]‖

    w   weights of the neurons, 1/n      m   mobility of the columns (D,), 0 for what is not trained
    p   weights of the data (Q,)         Φ   features (n, Q), the scale α included

Norms of operators: Lanczos (scipy) on J Jᵀ; for D²f the power method u ← ∇²⟨g, Φ⟩ u/|…|, g = D²f(u, u)/‖…‖, which
climbs to a local maximum, from several starts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.sparse.linalg import LinearOperator, eigsh

from widelimit.dynamics.rules import rules_of
from widelimit.errors import require
from widelimit.frozen import Frozen
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.tangent_landscape import feature_landscape
from widelimit.problem.problem import Problem

STARTS = 4
CLIMBS = 60
LANCZOS = 1e-9  # relative residual


class Norm(NamedTuple):
    """A norm, and how far it may be off."""

    value: float
    error: float


class Derivative(Frozen, eq=False):
    """J and D²f of the networks of a problem; see above."""

    land: FeatureLandscape
    rates: Array

    def along(self, theta: Array, u: Array, weights: Array) -> Array:
        """√p J u, (Q,)."""
        found = jax.jvp(lambda t: jnp.sqrt(weights) @ self.land.features(t), (theta,), (jnp.sqrt(self.rates) * u,))[1]
        return jnp.sqrt(self.land.fit.p) * found

    def back(self, theta: Array, g: Array, weights: Array) -> Array:
        """Jᵀ g for g in units of √p, (n, D)."""
        pull = jax.vjp(lambda t: jnp.sqrt(weights) @ self.land.features(t), theta)[1]
        return jnp.sqrt(self.rates) * pull(jnp.sqrt(self.land.fit.p) * g)[0]

    def gram(self, theta: Array, weights: Array, minus: Array | None = None) -> LinearOperator:
        """J Jᵀ on R^Q; of the difference of two Jacobians if another θ is given."""
        size = len(self.land.fit.p)

        def product(g: np.ndarray) -> np.ndarray:
            return np.asarray(_gram(self, theta, theta if minus is None else minus, jnp.asarray(g.ravel()), weights))

        return LinearOperator((size, size), matvec=product, dtype=float)

    def gram_matrix(self, theta: Array, weights: Array, minus: Array | None = None) -> np.ndarray:
        """The same as a matrix, (Q, Q)."""
        operator = self.gram(theta, weights, minus)
        return np.stack([operator @ unit for unit in np.eye(operator.shape[0])])

    def norm(self, theta: Array, weights: Array, minus: Array | None = None) -> Norm:
        """‖J‖, or ‖J − J'‖."""
        operator = self.gram(theta, weights, minus)
        if operator.shape[0] < 3:  # Lanczos needs room
            largest = np.linalg.eigvalsh(self.gram_matrix(theta, weights, minus))[-1]
            return Norm(float(np.sqrt(max(largest, 0.0))), 0.0)
        found, vector = eigsh(operator, k=1, which="LA", tol=LANCZOS, v0=np.ones(operator.shape[0]))
        value = max(float(found[0]), 0.0)
        residual = float(np.linalg.norm(operator @ vector[:, 0] - value * vector[:, 0]))
        root = np.sqrt(value)
        return Norm(float(root), residual / (2 * root) if root > 0 else 0.0)

    def bend(self, theta: Array) -> Norm:
        """‖D²f‖: the largest value found, and by how much the starts disagree at the neuron where it was found."""
        key, rows = jax.random.key(0), theta.shape
        starts = jax.random.normal(key, (STARTS, *rows))
        found = np.asarray(_climbed(self, theta, starts))  # (starts, n)
        best = int(np.argmax(found.max(axis=0)))
        top = np.sort(found[:, best])
        return Norm(float(top[-1]), float(top[-1] - top[-2]))


@jax.jit
def _gram(one: Derivative, theta: Array, minus: Array, g: Array, weights: Array) -> Array:
    """(J − J') (J − J')ᵀ g, or J Jᵀ g if both are the same."""
    differ = jnp.any(theta != minus)
    back = one.back(theta, g, weights) - jnp.where(differ, one.back(minus, g, weights), 0.0)
    return one.along(theta, back, weights) - jnp.where(differ, one.along(minus, back, weights), 0.0)


@jax.jit
def _climbed(one: Derivative, theta: Array, starts: Array) -> Array:
    """‖∇²Φ(θ_i)[u, u]‖ at the local maxima that the power method finds, (starts, n)."""
    root, mass = jnp.sqrt(one.rates), jnp.sqrt(one.land.fit.p)

    def features(row: Array) -> Array:
        return mass * one.land.features(row[None])[0]

    def twice(row: Array, u: Array) -> Array:
        """∇²Φ[√m u, √m u], (Q,)."""
        slope = partial(jax.jvp, features)
        return jax.jvp(lambda r: slope((r,), (root * u,))[1], (row,), (root * u,))[1]

    def climb(row: Array, start: Array) -> Array:
        def step(_: int, u: Array) -> Array:
            bent = twice(row, u)
            g = bent / jnp.where(jnp.linalg.norm(bent) > 0, jnp.linalg.norm(bent), 1.0)
            turned = jax.jvp(jax.grad(lambda r: g @ features(r)), (row,), (root * u,))[1] * root
            size = jnp.linalg.norm(turned)
            return jnp.where(size > 0, turned / jnp.where(size > 0, size, 1.0), u)

        first = start * (one.rates > 0)
        last = jax.lax.fori_loop(0, CLIMBS, step, first / jnp.linalg.norm(first))
        return jnp.linalg.norm(twice(row, last))

    return jax.lax.map(lambda u: jax.lax.map(lambda both: climb(*both), (theta, u)), starts)


def derivative(problem: Problem, reduced: bool) -> Derivative:
    """The derivatives of the networks of a problem; the mobility must be numbers."""
    constant = problem.mobility.is_constant
    require(constant, "derivatives need rates of the blocks that are numbers", problem.mobility, "drop the schedules")
    rates = rules_of(replace(problem, alpha=1.0), reduced).rates(0.0)
    require(bool(jnp.any(rates > 0)), "derivatives need a block that is trained", problem.mobility, "raise a rate")
    return Derivative(feature_landscape(problem, reduced), rates)
