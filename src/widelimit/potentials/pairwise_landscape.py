"""Full landscape: the population risk of neurons in all their coordinates.

    V(θ) = −E y σ*(x; θ)                              widelimit.potentials.labels
    U(θ, θ') = Σ_c p_c a a' K(b, s_c; b', s'_c; corr_c),   corr_c = ⟨w, Σ_c w'⟩/(s_c s'_c)

K is the pairwise kernel of widelimit.potentials.pair_kernels: O(n n' d) for a Gram matrix, O(n n') for the rest.

Neurons in their own field need no kernel where Mehler's series is certified: the diagonal is exact, the rest is cut at
the first of ORDERS whose bound (widelimit.potentials.series_bounds) is small enough: in R absolute, below the
tolerance; in ∇Ψ relative to the scale S there, below the error of the solvers. The kernel takes over if none is.
R begins with the orders that neurons in random directions would need, and doubles them until they suffice.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import length
from widelimit.frozen import static
from widelimit.potentials.beyond_rules import Lost, kernels_reach, lost
from widelimit.potentials.chunks import by_chunks, each
from widelimit.potentials.curvature import Curvature, dense
from widelimit.potentials.labels import Labels, OnNodes, labels_of
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.pair_kernels import RUN, SERIES_ORDER, Pair, kernel
from widelimit.potentials.pair_series import (
    LEAN_ORDER,
    CutRisk,
    Family,
    deviations,
    families,
    field,
    risk_parts,
    seen_by,
)
from widelimit.potentials.refinement import HEADROOM, MOVING, Errors, Rung
from widelimit.potentials.series_bounds import ORDERS, bounds, of_lean_passes
from widelimit.potentials.smoothing import slopes
from widelimit.potentials.square_moments import mean_square
from widelimit.potentials.thin_layers import missed
from widelimit.problem.activations import Activation
from widelimit.problem.data import DataLaw
from widelimit.problem.neurons import Ridge
from widelimit.problem.regularisers import Penalty

PAIRS = 2**22  # of neurons that the kernel is evaluated for at once, where only R is asked for
STEP = 6e-6  # of central differences, relative to the largest number: about the cube root of rounding


class PairwiseLandscape(Landscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, w_1, …, w_d.

    sigma         σ, in the form its smoothed versions are known for
    labels        y as V sees it
    classes       p_c, and the deviation of every direction of x in class c (d,)
    families      the classes, those with proportional covariances together
    label_square  R# = E y²
    runs          of RUN orders after which `self_gradient` cuts Mehler's series; None: it uses the kernel
    lean          whether few orders are prepared, the smaller terms of `self_gradient` in single precision
    """

    sigma: Activation
    labels: Labels
    classes: tuple[Array, Array]
    families: tuple[Family, ...]
    label_square: float
    runs: int | None = None
    lean: bool = static(default=False)

    def external(self, theta: Array) -> Array:
        """V(θ)."""
        return self.labels.external(self.sigma, self.penalty.columns, theta)

    def probe(self, theta: Array) -> Array:
        """V(θ)/√R# and √(E σ²) a of the widest class."""
        a, b, w = self.penalty.columns.split(theta)
        most = mean_square(self.sigma, b, jnp.max(self.classes[1]) * length(w))
        external = self.external(theta) / jnp.sqrt(self.label_square)
        return jnp.stack([external, jnp.abs(a) * jnp.sqrt(most)], axis=1)

    @property
    def size(self) -> int:
        """Nodes of the labels."""
        return self.labels.size

    def pair(self, theta: Array, other: Array) -> Array:
        """U(θ, θ')."""
        split = self.penalty.columns.split
        (a, b, w), (a2, b2, w2) = split(theta), split(other)

        def add(total: Array, one: tuple[Array, Array]) -> tuple[Array, None]:
            p, scale = one
            s, s2, corr = _correlate(w * scale, w2 * scale)
            return total + p * kernel(self.sigma, Pair(b, s, b2, s2, corr)), None

        return a[:, None] * a2 * jax.lax.scan(add, jnp.zeros((len(a), len(a2))), self.classes)[0]

    def mean_pair(self, theta: Array, points: Array, weights: Array) -> Array:
        """Σ_j weights_j U(θ, θ_j)."""
        return self.pair(theta, points) @ weights

    @jax.jit
    def gradient(self, theta: Array, points: Array, weights: Array) -> Array:
        """∇Ψ; where w = 0 the cosines have no slope, and ∇_w Ψ = a σ'(b) E (f − y) x + λ ∇_w v is written out."""
        columns = self.penalty.columns
        (a, b, w), (a2, b2, w2), first = columns.split(theta), columns.split(points), len(columns.scalars)
        pull = jnp.zeros(w.shape[1])
        for q, scale in zip(*self.classes, strict=True):  # E f x = Σ_c p_c Σ_j π_j a_j τ_c² w_j B_1
            slope = slopes(self.sigma, b2, length(w2 * scale), 1)[:, 0]
            pull += q * scale**2 * ((weights * a2 * slope) @ w2)
        pull = pull.at[: columns.kept].add(-self.labels.first)
        here = slopes(self.sigma, b, jnp.zeros_like(b), 1)
        at_origin = a[:, None] * here * pull + self.penalty.gradient(theta)[:, first:]
        found = super().gradient(theta, points, weights)
        is_origin = jnp.all(w == 0, axis=1, keepdims=True)
        return found.at[:, first:].set(jnp.where(is_origin, at_origin, found[:, first:]))

    @jax.jit
    def self_gradient(self, theta: Array, weights: Array) -> Array:
        """∇Ψ at every neuron in the field of all of them, by the series if its length is set."""
        if self.runs is None:
            return self.gradient(theta, theta, weights)
        columns = self.penalty.columns
        total = self.penalty.gradient(theta)
        for family in self.families:
            at = seen_by(family, self.sigma, *columns.split(theta), self.order)
            scalar, by_w = field(family, self.sigma, self.runs, at, weights, columns.scalars)
            total += jnp.concatenate([*(scalar[name][:, None] for name in columns.scalars), by_w], axis=1)
        if columns.kept:
            total += jax.grad(lambda t: jnp.sum(self.external(t)))(theta)
        return total

    def curvature(self, theta: Array, weights: Array) -> Curvature:
        """The derivative of `self_gradient`; traceable. By differences where the kernel is in use: where a neuron meets
        itself, at correlation 1, derivatives of its slopes are infinite and cancel only in a limit."""
        if self.runs is not None:
            return super().curvature(theta, weights)
        size = jnp.max(jnp.abs(theta))
        h = STEP * jnp.where(size > 0, size, 1.0)

        def column(unit: Array) -> Array:
            move = h * unit.reshape(theta.shape)
            return (self.self_gradient(theta + move, weights) - self.self_gradient(theta - move, weights)) / (2 * h)

        columns = jax.lax.map(column, jnp.eye(theta.size))
        return dense(jnp.moveaxis(columns, 0, -1).reshape(*theta.shape, *theta.shape))

    def near(self, theta: Array, weights: Array) -> PairwiseLandscape:
        """The landscape with the shortest series certified around θ; the worst of several replicas decides."""
        errors = self._errors(theta, weights)
        for lean, bound in ((True, of_lean_passes(errors)), (False, errors)):
            good = np.flatnonzero(bound <= MOVING / HEADROOM)
            if good.size:
                return replace(self, runs=int(good[0]) + 1, lean=lean)
        return replace(self, runs=len(errors) if errors[-1] <= MOVING else None, lean=False)

    def better(self, moved: Array, weights: Array) -> PairwiseLandscape | None:
        """The landscape with the shortest series certified where a move led; None if this one is, or none is better."""
        if self.holds(moved, weights):
            return None
        other = self.near(moved, weights)
        return None if (other.runs, other.lean) == (self.runs, self.lean) else other

    def holds(self, theta: Array, weights: Array) -> bool:
        """Whether the series is certified at θ, or not in use."""
        if self.runs is None:
            return True
        errors = self._errors(theta, weights)
        return bool((of_lean_passes(errors) if self.lean else errors)[self.runs - 1] <= MOVING)

    @property
    def order(self) -> int:
        """The highest order that is prepared."""
        return LEAN_ORDER if self.lean else SERIES_ORDER

    @property
    def _plain(self) -> PairwiseLandscape:
        """The landscape whose series has no length yet."""
        return replace(self, runs=None, lean=False)

    def _errors(self, theta: Array, weights: Array) -> np.ndarray:
        """Bounds of ∇Ψ/S for every length of the series, (orders,)."""
        bound = _gradient_errors(self._plain, theta, weights)
        return np.asarray(bound).reshape(-1, len(ORDERS)).max(axis=0)

    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ), by the cheapest certified route."""
        for lean in (True, False):
            risk, error = _series_risk(replace(self._plain, lean=lean), points, weights)
            if np.asarray(error).max() <= self.tolerance:
                return risk
        return _kernel_risk(self._plain, points, weights)

    def lost(self, theta: Array) -> Lost:
        """That of the pairwise kernel of σ, and what the nodes of labels miss."""
        _, b, w = self.penalty.columns.split(np.asarray(theta))
        found = Lost.same(
            lost(self.sigma, kernels_reach, np.asarray(self.classes[1]).max() * np.linalg.norm(w, axis=1))
        )
        labels, k = self.labels, self.penalty.columns.kept
        if k < 2 or not isinstance(self.other, PairwiseLandscape) or not isinstance(labels, OnNodes):
            return found
        r = np.linalg.norm(w[:, k:], axis=1)
        on_nodes, none = missed(self.sigma, labels.kept_nodes, b, w[:, :k], r), np.zeros(len(w))
        return found + Lost(on_nodes.values, none, none, on_nodes.slopes, none)

    def errors_at(self, points: Array, weights: Array) -> Errors:
        """How far V, U, ∇Ψ and R may be off, what the series of R leaves out included."""
        found = super().errors_at(points, weights)
        left = float(_series_risk(self._plain, points, weights)[1])
        return found._replace(risk=found.risk + (left if left <= self.tolerance else 0.0))


def pairwise_landscape(data: DataLaw, neuron: Ridge, penalty: Penalty, rung: Rung) -> PairwiseLandscape:
    """The landscape of a Gaussian input in full coordinates; every number in it is data."""
    assert data.mixture is not None
    labels, classes = labels_of(data), (jnp.asarray(data.mixture.p), jnp.asarray(deviations(data)))
    square = labels.square + data.noise**2
    return PairwiseLandscape(
        penalty, neuron.sigma.pair_form, labels, classes, families(data), square, tolerance=rung.tolerance
    )


def _correlate(w: Array, w2: Array) -> tuple[Array, Array, Array]:
    """Lengths of the rows of w and w', and the cosines between them."""
    s, s2 = length(w), length(w2)
    unit, unit2 = (x / jnp.where(t > 0, t, 1.0)[:, None] for x, t in ((w, s), (w2, s2)))
    return s, s2, jnp.clip(unit @ unit2.T, -1.0, 1.0)


@jax.jit
def _kernel_risk(landscape: PairwiseLandscape, points: Array, weights: Array) -> Array:
    """R(ρ) from the kernel, some rows of its matrix at a time."""

    def one(points: Array) -> Array:
        rows = max(1, PAIRS // len(points))
        pairs = by_chunks(lambda theta: landscape.mean_pair(theta, points, weights), points, rows)
        return landscape.label_square + weights @ (2 * landscape.external(points) + pairs)

    return each(one, points)


@jax.jit
def _series_risk(landscape: PairwiseLandscape, points: Array, weights: Array) -> tuple[Array, Array]:
    """R(ρ) with Mehler's series off the diagonal, cut as soon as it is certified, if it ever is, and its bound."""
    columns, sigma, order = landscape.penalty.columns, landscape.sigma, landscape.order
    most = order // RUN

    def one(points: Array) -> tuple[Array, Array]:
        seen = [(family, seen_by(family, sigma, *columns.split(points), order)) for family in landscape.families]
        parts = [risk_parts(family, sigma, at, weights) for family, at in seen]
        usual = sum(part.left_out_at_random for part in parts) <= landscape.tolerance
        first = jnp.where(jnp.any(usual), jnp.argmax(usual) + 1, most)

        def is_short(tried: tuple[Array, CutRisk]) -> Array:
            runs, last = tried
            return (last.left_out > landscape.tolerance) & (runs <= most)

        def longer(tried: tuple[Array, CutRisk]) -> tuple[Array, CutRisk]:
            runs, _ = tried
            cut = [part.cut(runs) for part in parts]
            following = jnp.where(runs < most, jnp.minimum(2 * runs, most), most + 1)
            return following, CutRisk(*(jnp.sum(jnp.stack(column)) for column in zip(*cut, strict=True)))

        nothing = CutRisk(jnp.zeros(()), jnp.full((), jnp.inf))
        _, (total, error) = jax.lax.while_loop(is_short, longer, (first, nothing))
        if columns.kept:  # the labels belong to the nodes
            total += landscape.label_square + 2 * weights @ landscape.external(points)
        return total, error

    return each(one, points)


@jax.jit
def _gradient_errors(landscape: PairwiseLandscape, theta: Array, weights: Array) -> Array:
    """Bounds of ∇Ψ/S for every order in ORDERS."""
    columns = landscape.penalty.columns

    def one(theta: Array) -> Array:
        parts = [
            bounds(
                family,
                landscape.sigma,
                seen_by(family, landscape.sigma, *columns.split(theta)),
                weights,
                columns.scalars,
            )
            for family in landscape.families
        ]
        scale = jnp.max(sum(part.scale for part in parts))
        error = jnp.max(sum(part.gradient for part in parts), axis=1)
        return error / jnp.where(scale > 0, scale, 1.0)

    return each(one, theta)
