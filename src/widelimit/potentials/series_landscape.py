"""The landscape that neurons with three or more kept coordinates move on: nodes for the labels, a series for the rest.

    q = node j         Φ_q = a A_0(b + ⟨u, z_j⟩, r),   p_q = p_j,  y_q = y_j      widelimit.potentials.reduced_landscape
    q = (α, j ≥ 2)     the features of widelimit.potentials.hermite_series,  p_q = 1,  y_q = 0

In finite dimension the landscape on nodes has every order of the radius at every node: some 10⁵ features for each
neuron. Here nodes have the first order only, which is all that V sees, and the others, smaller by M_2 = 1/(d − κ), have
Hermite polynomials of z in the place of nodes. What is missing of these is part of the error, like the nodes'.
Public functions of a landscape have all digits of the nodes; with multi_index(..., nodes=24) neurons move on the nodes
too.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.potentials.beyond_rules import Lost
from widelimit.potentials.feature_landscape import Basis, FeatureLandscape
from widelimit.potentials.hermite_series import ORDER, HermiteSeries, Wanted
from widelimit.potentials.least_squares import LeastSquares
from widelimit.potentials.reduced_landscape import ReducedLandscape
from widelimit.potentials.refinement import EXACT, Refinement

WORTH = 4  # times fewer features than on nodes alone, at least


class SeriesLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R in the coordinates a, b, u_1, …, u_κ, r at a cost of O(n Q).

    nodes   the landscape of the first order
    series  the features of the others
    """

    nodes: ReducedLandscape
    series: HermiteSeries

    def features(self, theta: Array) -> Array:
        """Φ(θ), (n, Q)."""
        series = self.series.features(self.nodes.sigma, self.penalty.columns, theta)
        return jnp.concatenate([self.nodes.features(theta), series], axis=1)

    def on_nodes(self, nodes: np.ndarray) -> SeriesLandscape:
        """The landscape of some of the nodes, and of the whole series."""
        return _joined(self.nodes.on_nodes(nodes), self.series, self.refinement)

    def lost(self, theta: Array) -> Lost:
        """That of the nodes."""
        return self.nodes.lost(theta)

    @property
    def order(self) -> int:
        """The first order that is left out."""
        return self.series.first_left_out

    def left_out(self, theta: Array) -> Array:
        """What the orders left out may add to U of neurons with a = 1, (n, n)."""
        return self.series.left_out(self.nodes.sigma, self.penalty.columns, theta)

    @property
    def masses_of_nodes(self) -> np.ndarray:
        """The weights of ``inputs``, (J,)."""
        return self.nodes.masses_of_nodes

    def at_nodes(self, basis: Basis) -> np.ndarray:
        """g at the nodes."""
        return self.nodes.at_nodes(basis)

    def projected(self, points: Array, weights: Array, basis: Basis) -> np.ndarray:
        """p f g at every node."""
        return self.nodes.projected(points, weights, basis)


def with_series(land: ReducedLandscape, truncation: float) -> SeriesLandscape | None:
    """The landscape to move on in place of one on nodes, with nothing left out above a size; None where it would not be
    much cheaper."""
    columns, count = land.penalty.columns, len(land.orders)
    if columns.kept not in ORDER or count < WORTH or land.sphere is not None:
        return None
    series = Wanted(columns.kept, float(columns.directions[0]), truncation, on_nodes=True).series(
        land.sigma, "b" in columns.scalars
    )
    fit = LeastSquares(land.fit.p[::count], land.fit.y[::count], land.fit.floor)
    nodes = replace(land, fit=fit, roots=land.roots[:1], orders=land.orders[:1], moves_on=EXACT)

    def other() -> SeriesLandscape | None:
        return with_series(land.other, truncation) if isinstance(land.other, ReducedLandscape) else None

    found = _joined(nodes, series, Refinement(other, land.refinement.climbs, land.refinement.matters))
    return found if WORTH * found.size < land.size else None


def _joined(nodes: ReducedLandscape, series: HermiteSeries, refinement: Refinement) -> SeriesLandscape:
    more = len(series.roots)
    p, y = jnp.append(nodes.fit.p, jnp.ones(more)), jnp.append(nodes.fit.y, jnp.zeros(more))
    return SeriesLandscape(
        nodes.penalty, LeastSquares(p, y, nodes.fit.floor), nodes.inputs, nodes, series,
        chunk=nodes.chunk, sets=nodes.sets, tolerance=nodes.tolerance, refinement=refinement,
    )  # fmt: skip
