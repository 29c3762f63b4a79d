"""The Gibbs law: where noisy dynamics settles.

    F(ρ) = ½ R(ρ) + λ ∫v dρ + β⁻¹ ∫ ρ log ρ          free energy
    ρ_* = exp(−β Ψ_λ(θ; ρ_*))/Z                              its only minimiser, a fixed point

With the residuals v_q = p_q (F_q − y_q) as unknowns this is a finite concave problem,
widelimit.theory.noise.gibbs_dual:

    F(ρ_*) = max_v  −β⁻¹ log Z(v) − Σ_q (v_q y_q + v_q²/(2 p_q)) + noise²/2
    Z(v) = ∫ exp(−β (Σ_q v_q Φ_q(θ) + λ v(θ))) μ(dθ)

    μ   Lebesgue measure of the full space: da db du Π_g S_g r_g^{d_g−1} dr_g, S_g the area of the sphere in R^{d_g}

Scheme: start from v = 0. Search the whole reach of every ρ_v met so far (widelimit.theory.noise.far_field) for the
panels in which one of them lives (widelimit.theory.noise.panels), solve the problem on these panels, and repeat until
ρ_v for the solution v lives on them: until log Z(v), from a search of its own with more nodes, is the same. Fewer
panels mean a smaller Z and a larger maximum, and panels that have mass at the maximum are kept, so that wells far apart
cannot take turns. Where features grow so fast that Newton's method gets stuck, it starts from less deep panels. A law
on a given grid is solved on its cells. With more than two reduced coordinates the law is drawn from by long noisy runs,
widelimit.theory.noise.gibbs_samples. Reference: [mmn18], section on noisy SGD.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from widelimit.agreement import until_two_agree
from widelimit.arguments import instance_of
from widelimit.errors import InputError, require, require_count
from widelimit.integrals import gauss, to_legendre
from widelimit.measures import Cloud, Density, Measure
from widelimit.observables.density import binned_density
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.theory.noise.far_field import Field, Rays
from widelimit.theory.noise.gibbs_dual import Integrals
from widelimit.theory.noise.gibbs_samples import sampled
from widelimit.theory.noise.panels import DEPTH, PER_PANEL, Lived, covering, refined

FAINT = 1e-200  # relative density below which a picture shows nothing
POINTS = {1: 256, 2: 80}  # for each coordinate
CHECKED = 24  # nodes of a panel in the search that checks
CLOSE = 1e-11  # to which both values of log Z agree
ROUNDING = 1e-14  # of Ψ
NOTHING = 1e-16  # mass of panels that a law can do without
SAME = 1e-11  # relative change of v that changes no panels
ROUNDS = 30
GROWTH = 4.0  # of the box in a round, where Ψ_v does not grow
FARTHEST = 100.0  # growth of the box beyond which there is no law
STUCK = 1e-6  # relative gap that Newton's method should not leave
SHALLOW = 2.0  # depth of the panels on which it must not
WITHIN = 64  # points of a bin at which a density is averaged


@dataclass(frozen=True, eq=False)
class Gibbs:
    """The law ρ_* ∝ exp(−βΨ_λ(·; ρ_*)), on the nodes of a quadrature, on the cells of a grid, or as a sample.

    rho          in reduced coordinates where the data allow them: a Cloud whose weights are the masses of the nodes, a
                 Density, or equal neurons
    log_density  (n,) log ρ_* at the nodes, as a density of the full space; None for a sample
    risk         R(ρ_*)
    free_energy  F(ρ_*); for a sample with the estimated entropy, NaN in more than six coordinates
    gap          bound of the error of the free energy: primal minus dual value, half the error of the risk, rounding;
                 on a quadrature also the mass that may lie outside its box, and the change of log Z when panels are
                 searched for anew and get more nodes; NaN for a sample; on a given grid it is that of the law on its
                 cells, without the error of the grid
    error        of the risk: for a sample the standard error over independent runs, drift and bias of finite width;
                 where nodes or draws stand for the data theirs; NaN on a given grid, whose own is not measured; else 0

    >>> import widelimit as wl
    >>> law = wl.Gibbs(wl.Cloud([[1.0]], [1.0], ("r",)), None, risk=0.5, free_energy=0.7, gap=1e-9, beta=20.0)
    >>> law.risk
    0.5
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

        On a quadrature: mass over weight at every node, its logarithm interpolated and averaged over the bin, because
        bins would show the nodes; 0 between panels. A law on a grid keeps its cells, a sample is binned.
        """
        require_count("bins", bins, "120")
        bins = int(bins)
        if isinstance(self.rho, Density):
            return self.rho.marginal(coordinate)
        column = self.rho.column(coordinate)
        seen = column[self.rho.weights > 1e-12]
        edges = np.linspace(seen.min(), seen.max(), bins + 1)
        if self.log_density is None:
            return edges, binned_density(self.rho, coordinate, edges)
        nodes, where = np.unique(column, return_inverse=True)
        fine = np.linspace(edges[0], edges[-1], 2 * bins * WITHIN + 1)[1::2]
        values = _interpolated(nodes, np.bincount(where, self.rho.weights), fine)
        return edges, values.reshape(bins, WITHIN).mean(axis=1)


def gibbs(
    problem: Problem, points: int | None = None, *, on: Density | None = None, n: int = 1000, seed: int = 0
) -> Gibbs:
    """The fixed point of a noisy problem.

    points   nodes for each of one or two reduced coordinates (on either side of 0) when the search for panels begins;
             it adds as many as it needs (default 256 in one dimension, 80 in two)
    on       a density, such as the last of a `FiniteVolume` run: the law on its cells, where that run comes to rest;
             how far the grid is off is not measured
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
    if on is not None:
        return _on_cells(Field(land, problem.beta), on, names)
    return _searched(_Search(Rays(Field(land, problem.beta)), points or POINTS[len(names)]), names)


@dataclass
class _Search:
    """Panels for the laws ρ_v, over as much of the space as they can reach."""

    rays: Rays
    points: int
    length: float = 0.0
    depth: float = DEPTH

    @property
    def field(self) -> Field:
        return self.rays.field

    def panels(self, residuals: list[np.ndarray]) -> Lived:
        """The panels in which one of the laws lives, and which of them does."""
        laws = np.stack(residuals, axis=1)
        whole = covering(self.length, self.field.signed, self.points)
        return refined(whole, lambda theta: self.field.exponent(theta, laws), self.depth)

    def widened(self, v: np.ndarray) -> float:
        """Extend the box to the reach of ρ_v, and return the logarithm of the mass outside."""
        reach = self.rays.reach(v)
        self.length = max(self.length, reach.length if reach else GROWTH * self.length)
        return reach.log_tail if reach else math.inf

    def log_z(self, v: np.ndarray) -> float:
        """log Z(v) from panels of its own."""
        nodes, weights = self.panels([v]).panels.rule(CHECKED)
        exponent = self.field.exponent(nodes.reshape(-1, nodes.shape[-1]), v[:, None])[:, 0] + np.log(weights).ravel()
        return float(np.logaddexp.reduce(exponent))


class _Round(NamedTuple):
    """The law of residuals v on some nodes θ, and the logarithm of the share of mass that may lie outside their box.

    settled   whether another round would change nothing
    """

    integrals: Integrals
    v: np.ndarray
    theta: np.ndarray
    outside: float
    settled: bool


def _searched(search: _Search, names: tuple[str, ...]) -> Gibbs:
    """The law on the panels in which it lives."""
    here = search.field
    start = np.zeros(len(here.land.fit.p))
    search.widened(start)
    good = search.length > 0
    require(good, "the regulariser must grow with every coordinate for a Gibbs law", here.land.penalty.regulariser,
            "give every block a weight")  # fmt: skip
    last, missed, agreed = until_two_agree(_rounds(search, start), CLOSE + ROUNDING * here.beta)
    if last is None or not (agreed or last.settled):
        raise InputError(f"the Gibbs law must fit on a grid, got mass beyond {search.length:.3g}: raise the ridge.")
    law = _result(here, last.integrals, last.v, Cloud(last.theta, last.integrals.weights(last.v)[0], names))
    return replace(law, gap=law.gap + (missed + float(np.logaddexp(0.0, last.outside))) / here.beta)


def _rounds(search: _Search, v: np.ndarray) -> Iterator[tuple[_Round | None, float]]:
    """Laws on the panels of those before them, and by how much log Z of each is off."""
    met, farthest = [v], FARTHEST * search.length
    for _ in range(ROUNDS):
        panels, lives = search.panels(met)
        nodes, weights = panels.rule()
        theta = nodes.reshape(-1, nodes.shape[-1])
        integrals = _integrals(search.field, theta, np.log(weights).ravel() + search.field.log_volume(theta))
        v = integrals.solve(met[-1])
        if integrals.gap(v) > STUCK * (1 + abs(integrals.dual(v))):
            search.depth /= 2
            if search.depth < SHALLOW:
                break
            continue
        search.depth = DEPTH
        log_tail, log_z = search.widened(v), integrals.weights(v)[1]
        if math.isfinite(log_tail):
            settled = bool(np.linalg.norm(v - met[-1]) <= SAME * np.linalg.norm(v))
            yield _Round(integrals, v, theta, log_tail - log_z, settled), abs(search.log_z(v) - log_z)
            if settled:
                return
        elif search.length > farthest:
            break
        mass = integrals.weights(v)[0].reshape(len(nodes), -1).sum(axis=1)
        met = [old for old, there in zip(met, lives.T, strict=True) if mass[there].sum() > NOTHING] + [v]
    yield None, math.inf


def _integrals(here: Field, theta: np.ndarray, log_mass: np.ndarray) -> Integrals:
    features, penalty = here.evaluated(theta)
    return Integrals(features, here.land.fit.whitened()[1], log_mass, penalty, here.beta)


def _on_cells(here: Field, cells: Density, names: tuple[str, ...]) -> Gibbs:
    """The law on the cells of a grid, each with the density at its centre."""
    good = isinstance(cells, Density) and cells.coordinates == names
    require(good, f"the cells must be a wl.Density over {', '.join(names)}", cells, "pass solution.final")
    integrals = _integrals(here, cells.theta, cells.log_volumes.ravel())
    v = integrals.solve(np.zeros(len(integrals.fit.p)))
    weights, _ = integrals.weights(v)
    law = _result(here, integrals, v, replace(cells, masses=weights.reshape(cells.masses.shape)))
    return replace(law, error=math.nan)


def _result(here: Field, integrals: Integrals, v: np.ndarray, rho: Measure) -> Gibbs:
    """The law with its risk as the landscape reports it: on fresh draws where draws stand for the data."""
    free_energy, fitted = integrals.primal(v)
    log_density = -here.beta * (integrals.features @ v + integrals.penalty) - integrals.weights(v)[1]
    points, masses = here.measure(rho)
    land = here.land.in_motion(points)
    risk, error = float(land.risk_of(points, masses)), float(land.risk_error_of(points, masses))
    gap = float(integrals.gap(v)) + error / 2 + ROUNDING * (1 + abs(free_energy))  # F has ½R in it
    return Gibbs(rho, log_density, risk, free_energy + (risk - fitted) / 2, gap, here.beta, error)


def _require_no_grid(points: object, on: object, names: tuple[str, ...]) -> None:
    require(points is None and on is None, "a grid for the Gibbs law needs one or two reduced coordinates", names[:6],
            "drop points and on: the law is then simulated")  # fmt: skip


def _check(problem: Problem, points: object) -> None:
    instance_of(Problem, problem, "gibbs", "build one first")
    require(math.isfinite(problem.beta), "the Gibbs law needs noise, a finite beta", problem.beta, "try beta=100.0")
    require(problem.ridge > 0, "the Gibbs law needs a ridge > 0 to have mass one", problem.ridge, "try ridge=0.1")
    free = problem.neuron.inner == "free" and all(problem.neuron.trained)
    require(free, "the Gibbs law needs neurons that move freely", problem.neuron, "train every block, inner='free'")
    if points is not None:
        require_count("points", points, "256")
    finite = all(math.isfinite(g.d) for g in problem.groups)
    require(finite, "the Gibbs law needs a finite dimension", math.inf, "choose a finite d")


def _interpolated(nodes: np.ndarray, mass: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The density at x from the masses of the nodes of whole panels, by its logarithm on each panel; 0 between them."""
    unit, w = gauss(PER_PANEL)
    panels = nodes.reshape(-1, PER_PANEL)
    middle, half = panels.mean(axis=1), np.ptp(panels, axis=1) / np.ptp(unit)
    values = mass.reshape(-1, PER_PANEL) / (half[:, None] * w)
    orders = np.log(np.maximum(values, FAINT * values.max())) @ to_legendre(PER_PANEL).T
    here = np.maximum(np.searchsorted(middle - half, x, side="right") - 1, 0)
    inside = (x - middle[here]) / half[here]
    found = np.sum(np.polynomial.legendre.legvander(np.clip(inside, -1, 1), PER_PANEL - 1) * orders[here], axis=1)
    return np.where(np.abs(inside) <= 1, np.exp(found), 0.0)
