"""What every landscape offers, whatever its coordinates.

R(ρ) = R# + 2 ∫ V dρ + ∬ U dρ dρ
Ψ(θ; ρ) = V(θ) + ∫ U(θ, θ') ρ(dθ') + λ v(θ)
E(ρ) = ½ R(ρ) + λ ∫ v dρ,   F(ρ) = E(ρ) + β^{-1} ∫ ρ log ρ

θ   theta   (n, D)   one row per neuron, columns named by ``coordinates``
ρ   rho              a Cloud or a Density in the same coordinates, or an array (n', D) of equally weighted neurons
v   penalty          λ v, |θ|² λ/2 by default

A landscape is data: compiled functions take it as an argument, so that other numbers in it cost nothing. One that is
not exact is compared with another one, see widelimit.potentials.refinement.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from widelimit.agreement import until_two_agree
from widelimit.arguments import array_of, instance_of
from widelimit.errors import is_number, require, shortened
from widelimit.frozen import Frozen, argument, static
from widelimit.measures import Density, Measure
from widelimit.potentials.beyond_rules import Lost, with_lost
from widelimit.potentials.curvature import Curvature, dense
from widelimit.potentials.landscape_values import (
    all_of,
    compiled_energy,
    compiled_external,
    compiled_pair,
    compiled_psi,
    disagreement,
    with_entropy,
)
from widelimit.potentials.refinement import (
    AFFORDABLE,
    EXACT,
    HEADROOM,
    MOVING,
    ROUNDING,
    SAFETY,
    Errors,
    Refinement,
    may_agree_by_chance,
)
from widelimit.problem.regularisers import Penalty

Rho = Measure | ArrayLike
NO_ERROR = Errors(np.zeros(()), np.zeros(()), np.zeros(()), 0.0)


class Landscape(Frozen, ABC, eq=False):
    """V, U, Ψ, ∇Ψ and R of one data law and one neuron."""

    offers: ClassVar[tuple[str, ...]] = ("coordinates", "V", "U", "psi", "grad_psi", "risk", "risk_error", "errors",
                                         "energy", "free_energy")  # fmt: skip
    penalty: Penalty
    tolerance: float = argument(default=1e-10, kw_only=True)
    refinement: Refinement = static(default=EXACT, kw_only=True)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of θ."""
        return self.penalty.columns.names

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {shortened(self.coordinates)}>"

    @abstractmethod
    def external(self, theta: Array) -> Array:
        """V(θ), (n,); traceable."""

    @abstractmethod
    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ'), (n, n'); traceable."""

    @abstractmethod
    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """∫ U(θ, θ') ρ(dθ'), (n,); traceable."""

    @abstractmethod
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ) for points (n, D), or of every replica (R, n, D), and weights (n,)."""

    @abstractmethod
    def probe(self, theta: Array) -> Array:
        """V(θ)/√R#, and √ of what U(θ, θ) is on the same nodes, (n, 2); traceable."""

    @property
    def other(self) -> Landscape | None:
        """The landscape this one is compared with to see its error, as a rule a finer one; None if there is none."""
        return self.refinement.landscape

    def V(self, theta: ArrayLike) -> Array:
        """V(θ) = −E y σ*(x; θ), (n,)."""
        rows = self.rows(theta)
        return compiled_external(self.resolving(rows), rows)

    def U(self, theta: ArrayLike, other: ArrayLike) -> Array:
        """U(θ, θ') = E σ*(x; θ) σ*(x; θ'), (n, n')."""
        rows, others = self.rows(theta), self.rows(other)
        return compiled_pair(self.resolving(rows).resolving(others), rows, others)

    def psi(self, theta: ArrayLike, rho: Rho) -> Array:
        """Ψ(θ; ρ), half the first variation of the risk, with the regulariser, (n,)."""
        rows, (points, weights) = self.rows(theta), self.measure(rho)
        return compiled_psi(self.resolving(rows).resolving(points), rows, points, weights)

    def grad_psi(self, theta: ArrayLike, rho: Rho) -> Array:
        """∇_θ Ψ(θ; ρ), (n, D)."""
        rows, (points, weights) = self.rows(theta), self.measure(rho)
        return self.resolving(rows).resolving(points).gradient(rows, points, weights)

    def risk(self, rho: Rho) -> float:
        """R(ρ), without the regulariser."""
        points, weights = self.measure(rho)
        return float(self.resolving(points).risk_of(points, weights))

    def energy(self, rho: Rho) -> float:
        """E(ρ) = ½ R(ρ) + λ ∫ v dρ."""
        points, weights = self.measure(rho)
        land = self.resolving(points)
        return float(compiled_energy(land, land.risk_of(points, weights), points, weights))

    def free_energy(self, rho: Density, beta: float) -> float:
        """F(ρ); without noise the energy alone."""
        instance_of(Density, rho, "a free energy", "solve with FiniteVolume or JKO")
        require(is_number(beta) and beta > 0, "beta must be positive, math.inf for no noise", beta, "try beta=1000.0")
        return with_entropy(self.energy(rho), rho, beta)

    def risk_error(self, rho: Rho) -> float:
        """How far R(ρ) may be off."""
        points, weights = self.measure(rho)
        return float(self.risk_error_on(self.climbing(points), points, weights))

    def risk_error_on(self, lands: list[Landscape], points: Array, weights: Array) -> Array:
        """How far R may be off on the last of landscapes that `climbing` found."""
        found = lands[-1].risk_error_of(points, weights)
        if not may_agree_by_chance(lands, disagreement, points, self.tolerance):
            return found
        one, other = (land.risk_of(points, weights) for land in lands[-2:])
        return jnp.maximum(found, SAFETY * jnp.abs(one - other))

    def risk_error_of(self, points: Array, weights: Array) -> Array:
        """How far `risk_of` may be off, for points (n, D), or of every replica (R, n, D); 0 if below the tolerance."""
        lost = self._risk_lost(points, weights)
        if not self.refinement.matters or self.other is None:
            return lost
        return lost + SAFETY * jnp.abs(self.risk_of(points, weights) - self.other.risk_of(points, weights))

    def lost(self, theta: Array) -> Lost:
        """Relative errors that no comparison shows, see widelimit.potentials.beyond_rules and thin_layers."""
        return Lost.same(np.zeros(len(theta)))

    def _risk_lost(self, points: Array, weights: Array) -> Array:
        """What the errors of `lost` may add to R(ρ), for points (n, D) or (R, n, D)."""
        if not self.lost(points.reshape(-1, points.shape[-1])).any():
            return jnp.zeros(points.shape[:-2])
        found = [self._with_lost(NO_ERROR, cloud, weights).risk for cloud in points.reshape(-1, *points.shape[-2:])]
        return jnp.asarray(np.reshape(found, points.shape[:-2]), float)

    def _with_lost(self, found: Errors, points: Array, weights: Array) -> Errors:
        """The errors, and what is lost."""
        e = self.lost(points)
        if not e.any():
            return found
        square = float(self.risk_of(points, 0 * weights))
        return with_lost(found, all_of(self, points, weights), e, np.asarray(weights), square)

    def reporting(self, key: Array) -> Self:
        """The landscape that estimates its risk from the draws of a key; itself where the risk needs no draw."""
        return self

    def errors(self, rho: Rho) -> Errors:
        """How far `V`, `U`, `grad_psi` and `risk` may be off at the points of ρ, in the field of ρ."""
        points, weights = self.measure(rho)
        lands = self.climbing(points)
        found = lands[-1].errors_at(points, weights)
        if not may_agree_by_chance(lands, disagreement, points, self.tolerance):
            return found
        pair = (all_of(land, points, weights) for land in lands[-2:])
        return Errors(*(np.maximum(own, SAFETY * np.abs(a - b)) for own, a, b in zip(found, *pair, strict=True)))

    def errors_at(self, points: Array, weights: Array) -> Errors:
        """How far V, U, ∇Ψ and R may be off for points and weights, on this very landscape."""
        here = all_of(self, points, weights)
        there = here if self.other is None else all_of(self.other, points, weights)
        V, U, gradient, risk = (SAFETY * np.abs(np.asarray(a) - b) for a, b in zip(here, there, strict=True))
        size = np.sqrt(np.abs(np.diagonal(here.U)))
        most = np.abs(here.gradient).max(axis=0) + 1e-3 * np.abs(here.gradient).max()
        scales = size, np.outer(size, size), most, size.max() ** 2 + abs(here.risk)
        found = Errors(*(own + ROUNDING * of for own, of in zip((V, U, gradient, float(risk)), scales, strict=True)))
        return self._with_lost(found, points, weights)

    @property
    def size(self) -> int:
        """How many numbers are computed for every neuron, roughly."""
        return 1

    def resolving(self, theta: Array, allowed: float | None = None, most: float = math.inf) -> Landscape:
        """The first of this landscape and its finer ones that agrees with the next at every row of θ (…, n, D).

        allowed   difference of V and U, relative to √(R# U) and U; the tolerance of the landscape if left out
        most      numbers computed for all neurons together on the landscape to climb to
        """
        return self.climbing(theta, allowed, most)[-1]

    def climbing(self, theta: Array, allowed: float | None = None, most: float = math.inf) -> list[Landscape]:
        """This landscape and its finer ones up to that of `resolving`."""
        bound = self.tolerance if allowed is None else allowed
        return until_two_agree(self.refinement.climbed(self, disagreement, theta, most), bound).value

    def in_motion(self, theta: Array, headroom: float = 1.0) -> Landscape:
        """The landscape neurons move on, and their risk is taken on: as accurate as solvers are, where affordable."""
        return self.resolving(theta, MOVING / headroom, AFFORDABLE)

    def moving_risk_error(self, points: Array, weights: Array) -> Array:
        """How far the risk on that landscape may be off, a number or (R,)."""
        return self.risk_error_on(self.climbing(points, MOVING, AFFORDABLE), points, weights)

    @jax.jit
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """∇Ψ at every row of theta in the field of Σ_j weights_j δ(points_j), (n, D)."""
        return jax.grad(lambda t: jnp.sum(self.psi_of(t, points, weights)))(theta)

    def field(self, points: Array, weights: Array) -> Callable[[Array], Array]:
        """∇Ψ of neurons (n, D) in the field of a measure; what does not depend on them is found once. Traceable."""
        return lambda theta: self.gradient(theta, points, weights)

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every particle of ρ = Σ_j weights_j δ(θ_j) in the field of that same ρ, (n, D)."""
        return self.gradient(theta, theta, weights)

    def coupled(self, n: int) -> int:
        """In how many numbers n neurons meet: the rank of what is not a block in `curvature`."""
        return n * self.penalty.columns.D

    def implicit_cost(self, n: int) -> float:
        """An implicit step, in explicit ones of six velocities: one velocity for each column of `curvature`."""
        return max(4.0, n * self.penalty.columns.D / 6)

    def curvature(self, theta: Array, weights: Array) -> Curvature:
        """The derivative of `self_gradient`; traceable. One column at a time: together they would fill the memory."""
        _, linear = jax.linearize(lambda t: self.self_gradient(t, weights), theta)
        columns = jax.lax.map(lambda unit: linear(unit.reshape(theta.shape)), jnp.eye(theta.size))
        return dense(jnp.moveaxis(columns, 0, -1).reshape(*theta.shape, *theta.shape))

    def near(self, theta: Array, weights: Array) -> Landscape:
        """The cheapest landscape that is accurate around θ, to begin a move on.

        theta   (n, D), or (R, n, D) with replicas, the worst of which decides; values, not traced arrays
        """
        return self.in_motion(theta, HEADROOM)

    def better(self, moved: Array, weights: Array) -> Landscape | None:
        """A finer landscape on which to repeat a move, if this one is not accurate at its end; None if it is."""
        finer = self.in_motion(moved)
        return None if finer is self else finer

    def psi_of(self, theta: Array, points: Array, weights: Array) -> Array:
        """Ψ, traceable."""
        return self.external(theta) + self.mean_pair(theta, points, weights) + self.penalty(theta)

    def energy_of(self, points: Array, weights: Array) -> Array:
        """E for points and weights, as the flow descends it: its slope is Ψ. Traceable where `risk_of` is."""
        return compiled_energy(self, self.risk_of(points, weights), points, weights)

    def rows(self, theta: ArrayLike) -> Array:
        """θ as an array (n, D), checked."""
        rows = array_of("theta", theta, "(n, D) or (D,)", "give one row per neuron")
        rows = rows[None] if rows.ndim == 1 else rows
        expected = f"theta must have shape (n, {len(self.coordinates)}), columns {shortened(self.coordinates)}"
        good = rows.shape[1] == len(self.coordinates) and len(rows) > 0
        require(good, expected, rows.shape, "check whether the landscape is the full or the reduced one")
        return jnp.asarray(rows)

    def measure(self, rho: Rho) -> tuple[Array, Array]:
        """The points and weights of ρ, checked."""
        if isinstance(rho, Measure):
            same = tuple(rho.coordinates) == self.coordinates
            require(same, f"ρ must have the coordinates {shortened(self.coordinates)}", shortened(rho.coordinates),
                    "check whether the landscape is the full or the reduced one")  # fmt: skip
            return self.rows(rho.theta), jnp.asarray(rho.weights, float)
        rows = self.rows(rho)
        return rows, jnp.full(rows.shape[0], 1 / rows.shape[0])
