"""The Gibbs law: where noisy dynamics settles.

    F(ρ) = ½ R(ρ) + λ ∫v dρ + β⁻¹ ∫ ρ log ρ          free energy
    ρ_* = exp(−β Ψ_λ(θ; ρ_*))/Z                              its only minimiser, a fixed point

In feature form this is a finite concave problem: with the residuals v_q = p_q (F_q − y_q) as unknowns,

    F(ρ_*) = max_v  −β⁻¹ log Z(v) − Σ_q (v_q y_q + v_q²/(2 p_q)) + noise²/2
    Z(v) = ∫ exp(−β (Σ_q v_q Φ_q(θ) + λ v(θ))) μ(dθ)
    ∇ = F(ρ_v) − y − v/p,    ∇² = −β Cov_{ρ_v} Φ − diag(1/p)

    μ   Lebesgue measure of the full space: da db du Π_g S_g r_g^{d_g−1} dr_g, S_g the area of the sphere in R^{d_g}

Scheme: Newton with a line search on residuals scaled by √p, integrals on a tensor of Gauss–Legendre panels that grows
until it covers the mass, then tightens around it, or on the cells of a given grid. The primal value F(ρ_v) minus the
dual one is an error bar: it is ≥ 0, and 0 at the optimum only. With more than two reduced coordinates the law is drawn
from by long noisy runs, widelimit.theory.gibbs_samples. Reference: [mmn18], section on noisy SGD.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

from widelimit.coordinates import Coordinates
from widelimit.errors import InputError, require, require_count
from widelimit.measures import Cloud, Density, Measure, log_sphere_area
from widelimit.observables.density import binned_density
from widelimit.potentials.damped_newton import Budget, Direction, minimise
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.least_squares import LeastSquares
from widelimit.problem.data.nodes import tensor
from widelimit.problem.problem import Problem
from widelimit.theory.gibbs_samples import sampled

PER_PANEL = 16
POINTS = {1: 512, 2: 128}  # for each coordinate
EMPTY = 1e-18  # mass of an outer panel that counts as none
FAINT = 1e-200  # relative density of a node that is left out of a picture
BUDGET = Budget(steps=60, shortest=1e-9, rounding=1e-14)
ENOUGH = 1e-26  # gain of the dual that Newton's method still promises
GROWTH = 60
TIGHTENED = 3

Side = tuple[float, float]
Box = list[Side]


@dataclass(frozen=True, eq=False)
class Gibbs:
    """The law ρ_* ∝ exp(−βΨ_λ(·; ρ_*)), on the nodes of a quadrature, on the cells of a grid, or as a sample.

    rho          in reduced coordinates where the data allow them: a Cloud whose weights are the masses of the nodes, a
                 Density, or equal neurons
    log_density  (n,) log ρ_* at the nodes, as a density of the full space; None for a sample
    risk         R(ρ_*)
    free_energy  F(ρ_*); for a sample with the estimated entropy, NaN in more than six coordinates
    gap          upper bound of the error of the free energy on these nodes; NaN for a sample
    error        of the risk: for a sample the standard error over independent runs, drift and bias of finite width;
                 where draws stand for the data their standard error; else 0
    """

    rho: Measure = field(repr=False)
    log_density: np.ndarray | None = field(repr=False)
    risk: float
    free_energy: float
    gap: float
    beta: float
    error: float = 0.0

    def density(self, coordinate: str, bins: int = 120) -> tuple[np.ndarray, np.ndarray]:
        """Edges (bins + 1,) and the density of one coordinate in each bin (bins,).

        On a quadrature: mass over weight at every node, its logarithm interpolated to the middle of the bin, because
        bins would show the nodes. A law on a grid keeps its cells, a sample is binned.
        """
        if isinstance(self.rho, Density):
            return self.rho.marginal(coordinate)
        column = self.rho.column(coordinate)
        seen = column[self.rho.weights > 1e-12]
        edges = np.linspace(seen.min(), seen.max(), bins + 1)
        if self.log_density is None:
            return edges, binned_density(self.rho, coordinate, edges)
        nodes, where = np.unique(column, return_inverse=True)
        values = np.bincount(where, self.rho.weights) / _quadrature_weights(nodes)
        some = values > values.max() * FAINT
        return edges, np.exp(CubicSpline(nodes[some], np.log(values[some]))((edges[1:] + edges[:-1]) / 2))


@dataclass(frozen=True)
class _Field:
    """What does not depend on the quadrature."""

    land: FeatureLandscape
    beta: float

    @property
    def columns(self) -> Coordinates:
        return self.land.penalty.columns

    def integrals(self, nodes: np.ndarray, log_mass: np.ndarray) -> _Integrals:
        for g, d in enumerate(self.columns.directions):
            with np.errstate(divide="ignore"):
                log_mass = log_mass + log_sphere_area(d) + (d - 1) * np.log(nodes[:, self.columns.first_radius + g])
        return self.on_nodes(nodes, log_mass)

    def on_nodes(self, nodes: np.ndarray, log_mass: np.ndarray) -> _Integrals:
        root, fit = self.land.fit.whitened()
        theta = jnp.asarray(nodes)
        features = root * np.asarray(self.land.all_features(theta))
        return _Integrals(features, fit, log_mass, np.asarray(self.land.penalty(theta)), self.beta)


@dataclass(frozen=True)
class _Integrals:
    """The dual problem on one quadrature, in residuals v and features scaled by √p."""

    features: np.ndarray  # √p Φ, (n, Q)
    fit: LeastSquares[np.ndarray]
    log_mass: np.ndarray  # (n,)
    penalty: np.ndarray  # (n,)
    beta: float

    def weights(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """The masses of ρ_v and log Z(v)."""
        exponent = self.log_mass - self.beta * (self.features @ v + self.penalty)
        top = exponent.max()
        mass = np.exp(exponent - top)
        return mass / mass.sum(), top + math.log(mass.sum())

    def dual(self, v: np.ndarray) -> float:
        return -self.weights(v)[1] / self.beta + self.fit.dual(v)

    def primal(self, v: np.ndarray) -> tuple[float, float]:
        """F(ρ_v) and R(ρ_v)."""
        weights, log_z = self.weights(v)
        mean = weights @ self.features
        risk = float(self.fit.risk(mean))
        entropy = -self.beta * (mean @ v + weights @ self.penalty) - log_z
        return risk / 2 + float(weights @ self.penalty + entropy / self.beta), risk

    def solve(self, v: np.ndarray) -> np.ndarray:
        """Newton's method from v; the problem is concave, so that the line search cannot fail."""
        return minimise(v, lambda v: -self.dual(v), self._ascent, lambda v, size, step: v + size * step, BUDGET)

    def _ascent(self, v: np.ndarray) -> Direction:
        weights, _ = self.weights(v)
        mean = weights @ self.features
        centred = self.features - mean
        slope = self.fit.residual(mean) - v
        curvature = self.beta * (centred * weights[:, None]).T @ centred + np.eye(len(v))
        step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        return Direction(step, -gain, gain < ENOUGH * (1 + abs(self.dual(v))))


def gibbs(
    problem: Problem, points: int | None = None, *, on: Density | None = None, n: int = 1000, seed: int = 0
) -> Gibbs:
    """The fixed point of a noisy problem.

    points   nodes for each of one or two reduced coordinates (default 512 in one dimension, 128 in two)
    on       a density, such as the last of a `FiniteVolume` run: the law on its cells, where that run comes to rest
    n        neurons of each of the runs that draw from the law in more than two coordinates
    seed     of those runs

    >>> import widelimit as wl
    >>> line = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    >>> blind = wl.Problem(wl.data.gaussian_classes(40, 0.5), line, wl.initial.gaussian(1.0), ridge=0.5, beta=20.0)
    >>> law = wl.gibbs(blind)
    >>> round(float(law.rho.mean(law.rho.column("r") ** 2)), 9)  # d/(βλ)
    4.0
    """
    _check(problem, points)
    names = problem.reduced_coordinates
    if len(names) > 2 or problem.no_reduction:
        _require_no_grid(points, on, names)
        drawn = sampled(problem, n, seed)
        return Gibbs(drawn.rho, None, drawn.risk, drawn.free_energy, math.nan, problem.beta, drawn.error)
    land = landscape(problem, reduced=True)
    assert isinstance(land, FeatureLandscape)
    here = _Field(land, problem.beta)
    if on is not None:
        return _on_cells(here, on, names)
    panels = max(1, -(-(points or POINTS[len(names)]) // PER_PANEL))
    first_radius = here.columns.first_radius
    spread = math.sqrt(1 / (problem.beta * problem.ridge))
    box = [(-4 * spread, 4 * spread) if c < first_radius else (0.0, 4 * spread) for c in range(len(names))]
    v = np.zeros(len(land.fit.p))
    for _ in range(GROWTH):
        nodes, integrals, v = _solved(here, box, panels, v)
        wished = [
            _grown(side, mass, c >= first_radius) for c, (side, mass) in enumerate(_panels(box, nodes, integrals, v))
        ]
        if wished == box:
            break
        box = wished
    else:
        where = dict(zip(names, box, strict=True))
        raise InputError(f"the Gibbs law must fit on a grid, got mass in all of {where}: raise the ridge.")
    for _ in range(TIGHTENED):
        box = [_tightened(side, mass) for side, mass in _panels(box, nodes, integrals, v)]
        nodes, integrals, v = _solved(here, box, panels, v)
    return _result(here, integrals, v, Cloud(nodes, integrals.weights(v)[0], names))


def _on_cells(here: _Field, cells: Density, names: tuple[str, ...]) -> Gibbs:
    """The law on the cells of a grid, each with the density at its centre."""
    good = isinstance(cells, Density) and cells.coordinates == names
    require(good, f"the cells must be a wl.Density over {', '.join(names)}", cells, "pass solution.final")
    integrals = here.on_nodes(cells.theta, cells.log_volumes.ravel())
    v = integrals.solve(np.zeros(len(integrals.fit.p)))
    weights, _ = integrals.weights(v)
    return _result(here, integrals, v, replace(cells, masses=weights.reshape(cells.masses.shape)))


def _solved(here: _Field, box: Box, panels: int, v: np.ndarray) -> tuple[np.ndarray, _Integrals, np.ndarray]:
    """Nodes on a box, the dual problem there, and its solution from v."""
    nodes, weights = tensor([_rule(*side, panels) for side in box])
    integrals = here.integrals(nodes, np.log(weights))
    return nodes, integrals, integrals.solve(v)


def _panels(box: Box, nodes: np.ndarray, integrals: _Integrals, v: np.ndarray) -> list[tuple[Side, np.ndarray]]:
    """Every side of the box with the mass of each of its panels."""
    weights, _ = integrals.weights(v)
    count = round(len(nodes) ** (1 / len(box))) // PER_PANEL
    masses = [
        np.histogram(nodes[:, c], np.linspace(*side, count + 1), weights=weights)[0] for c, side in enumerate(box)
    ]
    return list(zip(box, masses, strict=True))


def _grown(side: Side, mass: np.ndarray, is_radius: bool) -> Side:
    """A side that is longer where its last panel holds mass; a radius ends at 0."""
    low, high = side
    longer = (high - low) / 2
    return low - longer if mass[0] > EMPTY and not is_radius else low, high + longer if mass[-1] > EMPTY else high


def _tightened(side: Side, mass: np.ndarray) -> Side:
    """The part of a side that holds mass, and one panel more at both ends."""
    edges, full = np.linspace(*side, len(mass) + 1), np.flatnonzero(mass > EMPTY)
    return float(edges[max(full[0] - 1, 0)]), float(edges[min(full[-1] + 2, len(mass))])


def _result(here: _Field, integrals: _Integrals, v: np.ndarray, rho: Measure) -> Gibbs:
    """The law with its risk as the landscape reports it: on fresh draws where draws stand for the data."""
    free_energy, fitted = integrals.primal(v)
    log_density = -here.beta * (integrals.features @ v + integrals.penalty) - integrals.weights(v)[1]
    gap = max(free_energy - integrals.dual(v), 0.0)
    risk, error = here.land.risk(rho), here.land.risk_error(rho)
    return Gibbs(rho, log_density, risk, free_energy + (risk - fitted) / 2, gap, here.beta, error)


def _require_no_grid(points: Any, on: Any, names: tuple[str, ...]) -> None:
    require(points is None and on is None, "a grid for the Gibbs law needs one or two reduced coordinates", names[:6],
            "drop points and on: the law is then simulated")  # fmt: skip


def _check(problem: Problem, points: Any) -> None:
    require(isinstance(problem, Problem), "gibbs needs a wl.Problem", type(problem).__name__, "build one first")
    require(math.isfinite(problem.beta), "the Gibbs law needs noise, a finite beta", problem.beta, "try beta=100.0")
    require(problem.ridge > 0, "the Gibbs law needs a ridge > 0 to have mass one", problem.ridge, "try ridge=0.1")
    free = problem.neuron.inner == "free" and all(problem.neuron.trained)
    require(free, "the Gibbs law needs neurons that move freely", problem.neuron, "train every block, inner='free'")
    if points is not None:
        require_count("points", points, "512")
    finite = all(math.isfinite(g.d) for g in problem.groups)
    require(finite, "the Gibbs law needs a finite dimension", math.inf, "choose a finite d")


def _quadrature_weights(nodes: np.ndarray) -> np.ndarray:
    """Weights of the nodes of `_rule`."""
    x, w = np.polynomial.legendre.leggauss(PER_PANEL)
    panels = nodes.reshape(-1, PER_PANEL)
    return (np.ptp(panels, axis=1)[:, None] / np.ptp(x) * w).ravel()


def _rule(low: float, high: float, panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights on equal panels."""
    x, w = np.polynomial.legendre.leggauss(PER_PANEL)
    edges = np.linspace(low, high, panels + 1)
    half = (high - low) / panels / 2
    return ((edges[1:] + edges[:-1])[:, None] / 2 + half * x).ravel(), np.tile(half * w, panels)
