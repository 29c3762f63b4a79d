"""Landscape of a network that is linearised at its start.

    f̄(x) = α ∫ σ̄*(x; θ, θ⁰) dρ,      σ̄*(x; θ, θ⁰) = σ*(x; θ⁰) + ⟨∇σ*(x; θ⁰), θ − θ⁰⟩
    Φ̄(θ, θ⁰) = Φ(θ⁰) + ∇Φ(θ⁰)(θ − θ⁰)                                       the same in features

    rows   (n, 2D): θ beside its start θ⁰, which never moves

The tangent model is a network like any other whose neurons remember where they started; its risk is quadratic in θ, and
is no function of the measure of θ alone. Where the landscape of a problem has no features (a Gaussian input in full
coordinates) draws stand for the law.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.beyond_rules import Lost
from widelimit.potentials.chunks import each
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import Refinement
from widelimit.potentials.sample_landscape import SampleLandscape, sample_landscape
from widelimit.problem.neurons import Linearised, Neuron, halves
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Penalty


class StartedPenalty(Penalty):
    """λ v(θ) of rows that hold θ⁰ as well."""

    def __call__(self, theta: Array) -> Array:
        """λ v of every neuron, (n,)."""
        return super().__call__(halves(theta)[0])


class TangentLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R of the linearised network, from the features of the network itself.

    base   its landscape
    """

    base: FeatureLandscape

    def features(self, theta: Array) -> Array:
        """Φ̄(θ, θ⁰), (n, Q)."""
        now, start = halves(theta)
        value, change = jax.jvp(self.base.features, (start,), (now - start,))
        return value + change

    def on_nodes(self, nodes: np.ndarray) -> TangentLandscape:
        """The landscape of some of the nodes."""
        return replace(super().on_nodes(nodes), base=self.base.on_nodes(nodes))

    def lost(self, theta: Array) -> Lost:
        """That of the network at its start."""
        return self.base.lost(halves(theta)[1])

    @property
    def order(self) -> int | None:
        """The first order that is left out, of the network itself."""
        return self.base.order

    def left_out(self, theta: Array) -> Array:
        """What the orders left out may add to U, as the network has it at its start, (n, n)."""
        return self.base.left_out(halves(theta)[1])

    def left_out_of_slopes(self, pairs: np.ndarray, points: Array, weights: Array) -> np.ndarray:
        """What they may add to ∇Ψ, (n, 2D): θ⁰ has no slope."""
        start = halves(points)[1]
        return np.pad(self.base.left_out_of_slopes(pairs, start, weights), ((0, 0), (0, start.shape[1])))


def tangent_landscape(problem: Problem, reduced: bool) -> TangentLandscape | SampleLandscape:
    """The landscape of the linearised network."""
    land = feature_landscape(problem, reduced)
    if not isinstance(land, SampleLandscape):
        return _linearised(land)
    return replace(land, penalty=_started(land.penalty), neuron=Linearised.trusted(neuron=land.neuron))


def feature_landscape(problem: Problem, reduced: bool) -> FeatureLandscape:
    """The landscape of the network itself, with features: where it has none, draws stand for the law."""
    land = landscape(problem, reduced)
    return land if isinstance(land, FeatureLandscape) else sample_landscape(problem.data, problem.network, land.penalty)


def _linearised(land: FeatureLandscape) -> TangentLandscape:
    def other() -> TangentLandscape | None:
        return _linearised(land.other) if isinstance(land.other, FeatureLandscape) else None

    refinement = Refinement(other, land.refinement.climbs, land.refinement.matters)
    return TangentLandscape(
        _started(land.penalty), land.fit, land.inputs, land,
        chunk=land.chunk, sets=land.sets, tolerance=land.tolerance, refinement=refinement,
    )  # fmt: skip


def _started(penalty: Penalty) -> StartedPenalty:
    return StartedPenalty(penalty.ridge, penalty.regulariser, penalty.columns)


@jax.jit
def apart(land: TangentLandscape | SampleLandscape, theta: Array, rows: Array, weights: Array) -> Array:
    """‖f − f̄‖ = √(E (f − f̄)²) of neurons θ (n, D) and linearised ones (θ̄, θ⁰) (n, 2D), or of every replica, (R,).

    Where draws stand for the law these are the ones that are descended on.
    """
    network = land.base if isinstance(land, TangentLandscape) else replace(land, neuron=_inside(land))

    def one(both: Array) -> Array:
        f, tangent = network.mean_features(both[:, : theta.shape[-1]], weights), both[:, theta.shape[-1] :]
        return jnp.sqrt(land.fit.p @ (f - land.mean_features(tangent, weights)) ** 2)

    return each(one, jnp.concatenate([theta, rows], axis=-1))


def _inside(land: SampleLandscape) -> Neuron:
    assert isinstance(land.neuron, Linearised)
    return land.neuron.neuron
