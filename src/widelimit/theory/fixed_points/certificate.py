"""How far a network is from the best of any width.

    E(ρ) = ½ R(ρ) + λ ∫v dρ,     Ψ = Ψ_0 + λ v,     g = ∫ Ψ(·; ρ) dρ − inf_θ Ψ(θ; ρ)
    E(ρ) − inf E ≤ g                                                R is convex along mixtures of measures
    E(ρ) − inf E ≤ ½ R_0 (1 − c)² + P (1 − c) + c g,   0 ≤ c ≤ 1    for v ≥ 0, least at c = (R_0 + P − g)/R_0

    R_0 = R(ρ) less the noise of the labels,   P = λ ∫v dρ

The second line is the dual value of ½R + λ∫v at c times the residuals of ρ: inf (cΨ_0 + λ v) ≥ c inf Ψ for v ≥ 0. It is
never above the first (c = 1), and never above E itself. Where Ψ falls without end (trained outer weights without a
regulariser), c = 0 and it says no more than inf R ≥ the noise of the labels; a class of networks with bounded weights,
``within``, has a certificate then. Where the regulariser grows as fast as Ψ_0 falls (a ReLU with trained outer weights
and a ridge), the largest c with cΨ_0 + λ v ≥ 0 gives the dual value, as for the lasso.

A network in full coordinates has R(ρ) = R(ρ̄) + [R(ρ) − R(ρ̄)], ρ̄ all its rotations
(widelimit.theory.fixed_points.symmetry): the bound is that of ρ̄ in reduced coordinates, plus the bracket. With noise
the objective is the free energy F = E + β⁻¹ ∫ρ log ρ, and the dual value is that of the Gibbs law.  References:
[mmn18], [cb18].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from widelimit.arguments import instance_of
from widelimit.errors import InputError, finite_or_none, require, require_count
from widelimit.measures import Cloud, Density, Measure
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape, reduce
from widelimit.potentials.refinement import SAFETY
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Path, Rounded, Squares
from widelimit.theory.fixed_points.given_measures import Given, measure_in
from widelimit.theory.fixed_points.infimum import Infimum, Probe, probe
from widelimit.theory.fixed_points.neuron_classes import allowed
from widelimit.theory.fixed_points.symmetry import Excess, excess_of
from widelimit.theory.noise.gibbs import gibbs

POINTS = 4096
SUPPORT = 8  # neurons of ρ from which a minimiser starts
TIGHT = 1e-3  # of E: a looser bound is worth a second search
WORDS = {"R": "risk R", "E": "energy E = R/2 + λ∫v", "F": "free energy F"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """An upper bound of how far ρ is from the best network of any width.

    objective  "R"; "E" with a regulariser; "F" with noise
    value      of the objective at ρ
    gap        upper bound of value − inf
    mean       ∫ Ψ dρ
    infimum    inf Ψ: a lower bound if `rigorous`, else the lowest value found; −∞ if there is none
    neuron     where Ψ is lowest, in the coordinates: the neuron that violates optimality; None with noise
    coordinates  of the neuron
    method     "intervals", "starts" or "gibbs"
    rigorous   whether the gap is a theorem, up to rounding and the ``error``
    points     at which Ψ was evaluated; starts: local minimisers
    tolerance  width of the bracket of inf Ψ, where it is one; NaN after a search
    box        bounds of the class of neurons, by block
    excess     R(ρ) − R(ρ̄) of a network in full coordinates, contained in the gap
    error      how far value and gap may be off: nodes, orders or draws that stand for the data, and draws of the
               excess; 0 where that is below 1e−10 of E σ*²

    >>> import widelimit as wl
    >>> line = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    >>> blind = wl.Problem(wl.data.gaussian_classes(40, 0.5), line, wl.initial.gaussian(1.0), ridge=0.5)
    >>> found = wl.certificate(blind, [[2.0]])  # E = ½(1 + E f²) + λ r²/2, and Ψ is least at r = 0
    >>> found.objective, round(found.gap, 6), found.neuron.tolist()
    ('E', 1.0, [0.0])
    """

    objective: str
    value: float
    gap: float
    mean: float
    infimum: float
    neuron: np.ndarray | None
    coordinates: tuple[str, ...]
    method: str
    rigorous: bool
    points: int = 0
    starts: int = 0
    tolerance: float = math.nan
    box: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    excess: float = 0.0
    error: float = 0.0

    @property
    def lower(self) -> float:
        """Lower bound of the objective over all networks."""
        return self.value - self.gap

    @property
    def sentence(self) -> str:
        """The certificate and how it was searched for."""
        word = WORDS[self.objective]
        bound = f"{word} = {self.value:.6g} is within {self.gap:.3g} of the best of any width"
        how = {
            "intervals": f"a theorem: intervals in one radius, {self.points} points, bracket {self.tolerance:.1g}",
            "starts": f"a search: {self.points} points, {self.starts} local minimisers; a narrow well may be missed",
            "gibbs": "the dual value of the Gibbs law",
        }[self.method]
        endless = "; Ψ falls without end, so that only R ≥ 0 is used: bound the weights with within" \
            if math.isinf(self.infimum) and self.neuron is not None else ""  # fmt: skip
        turned = f"; of it {self.excess:.2g} for the directions of finitely many neurons" if self.excess else ""
        off = f"; numbers may be off by {self.error:.1g}" if self.error > 0 else ""
        return f"{bound} ({how}{endless}{turned}{off})."

    def document(self) -> dict[str, Any]:
        """Everything for JSON; what is not finite is None."""
        names = ("value", "gap", "lower", "mean", "infimum", "tolerance", "excess", "error")
        numbers = {name: finite_or_none(getattr(self, name)) for name in names}
        neuron = (
            None if self.neuron is None else dict(zip(self.coordinates, map(finite_or_none, self.neuron), strict=True))
        )
        box = {name: [finite_or_none(low), finite_or_none(high)] for name, (low, high) in self.box.items()}
        found = {"objective": self.objective, **numbers, "neuron": neuron, "method": self.method, "box": box}
        return found | {name: getattr(self, name) for name in ("rigorous", "points", "starts", "sentence")}

    def __str__(self) -> str:
        return self.sentence


def certificate(
    problem: Problem,
    rho: Given,
    *,
    within: Mapping[str, float] | None = None,
    points: int = POINTS,
) -> Certificate:
    """An upper bound of R(ρ) − inf R over networks of any width; of E with a regulariser, of F with noise.

    rho     a Cloud or a Density, in full or reduced coordinates, a Solution (its last measure), or an array (n, D) of
            equally weighted neurons
    within  bounds of blocks, such as {"a": 5.0}: the best network among those with |a| ≤ 5; also "b" and "w"
    points  of the search where there is no theorem

    >>> import widelimit as wl
    >>> ramp = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
    >>> problem = wl.Problem(wl.data.gaussian_classes(float("inf"), 0.8), ramp, wl.initial.gaussian(0.8))
    >>> found = wl.certificate(problem, [[1.0], [2.0]])
    >>> found.rigorous, found.gap >= 0.5 * found.value  # far from the best, which has R = 0
    (True, True)
    """
    instance_of(Problem, problem, "certificate", "build one first")
    require_count("points", points, "4096")
    cloud = measure_in(problem, rho)
    if problem.is_noisy:
        return _with_noise(problem, cloud, within)
    is_full = bool(problem.groups) and tuple(cloud.coordinates) != tuple(problem.reduced_coordinates)
    if not is_full or problem.no_reduction:
        return _certified(problem, cloud, within, points)
    full = Cloud(cloud.theta, cloud.weights, cloud.coordinates)
    rotated = Cloud(np.asarray(reduce(problem, full.theta)), full.weights, problem.reduced_coordinates)
    found = _certified(problem, rotated, within, points)
    half = 1.0 if found.objective == "R" else 0.5
    whole = landscape(problem, reduced=True).risk(rotated)
    return _with_excess(found, excess_of(problem, full, whole), half)


def _certified(problem: Problem, rho: Measure, within: object, points: int) -> Certificate:
    """The certificate in the coordinates of ρ."""
    is_reduced = not problem.no_reduction and tuple(rho.coordinates) == tuple(problem.reduced_coordinates)
    first = landscape(problem, reduced=is_reduced)
    assert isinstance(first, FeatureLandscape)
    theta = jnp.asarray(rho.theta, float)
    land = first.in_motion(theta)
    among = allowed(problem, land.penalty.columns, np.asarray(rho.theta), within)
    assert isinstance(land, FeatureLandscape)
    return examined(probe(land, among, points), rho).certificate


class Examined(NamedTuple):
    """A certificate, and what is known of inf Ψ behind it."""

    certificate: Certificate
    infimum: Infimum


def examined(here: Probe, rho: Measure) -> Examined:
    """The certificate of ρ in the coordinates of a landscape without noise."""
    land, theta = here.field.land, np.asarray(rho.theta, float)
    fit, weights = land.fit.whitened()[1], np.asarray(rho.weights, float)
    features, penalty = here.field.evaluated(theta)
    F, P = weights @ features, float(weights @ penalty)
    v = fit.residual(F)
    psi = features @ v + penalty
    lowest = here.infimum(v, theta[np.argsort(psi)[:SUPPORT]])
    if psi.min() < lowest.upper:
        lowest = lowest._replace(
            lower=min(lowest.lower, float(psi.min())), upper=float(psi.min()), neuron=theta[np.argmin(psi)]
        )
    mean = float(weights @ psi)
    gap = _gap(here, v, P, mean - lowest.lower)
    plain = float(land.penalty.ridge) == 0
    value = float(fit.risk(F)) / 2 + P
    found = Certificate(
        "R" if plain else "E", value * (2 if plain else 1), gap * (2 if plain else 1), mean, lowest.lower,
        lowest.neuron, land.coordinates, lowest.method, lowest.method == "intervals", lowest.points, lowest.starts,
        lowest.upper - lowest.lower if lowest.method == "intervals" and math.isfinite(lowest.lower) else math.nan,
        here.among.box, 0.0, _error(here, rho, lowest) * (2 if plain else 1),
    )  # fmt: skip
    return Examined(found, lowest)


def _gap(here: Probe, v: np.ndarray, P: float, g: float) -> float:
    """The least of the bounds of E(ρ) − inf E above."""
    penalty, fit_y, R_0 = here.field.land.penalty, here.field.land.fit.whitened()[1].y, float(v @ v)
    g = max(g, 0.0)
    if float(penalty.ridge) > 0 and not isinstance(penalty.regulariser, Squares | Path | Rounded):
        return g  # v may be negative
    finite = math.isfinite(g)
    c = min(max((R_0 + P - g) / R_0, 0.0), 1.0) if R_0 > 0 and finite else float(finite)
    plain = R_0 * (1 - c) ** 2 / 2 + P * (1 - c) + (c * g if finite else 0.0)
    if float(penalty.ridge) == 0 or here.radial or plain <= TIGHT * (R_0 / 2 + P):
        return plain
    c = 1 / max(1.0, -here.lowest_ratio(v))  # c Ψ_0 + λ v ≥ 0
    return min(plain, R_0 / 2 + P + c * float(v @ fit_y) + c * c * R_0 / 2)


def _error(here: Probe, rho: Measure, lowest: Infimum) -> float:
    """How far E and the gap may be off: another landscape, or the spread of random nodes, at ρ and the neuron."""
    land = here.field.land
    if not np.isfinite(lowest.neuron).all():
        return 0.0
    theta = np.concatenate([np.asarray(rho.theta, float), lowest.neuron[None]])
    weights = np.append(np.asarray(rho.weights, float), 0.0)

    def numbers(one: FeatureLandscape) -> np.ndarray:
        (features, penalty), fit = replace(here.field, land=one).evaluated(theta), one.fit.whitened()[1]
        F = weights @ features
        psi = features @ fit.residual(F) + penalty
        return np.array([fit.risk(F) / 2, weights @ psi - psi[-1]])

    if land.sets > 1:
        parts = [numbers(land.on_nodes(nodes)) for nodes in land.nodes_of_sets]
        return float(np.std(parts, axis=0, ddof=1).max() / math.sqrt(land.sets))
    if not land.refinement.matters or land.other is None:
        return 0.0
    assert isinstance(land.other, FeatureLandscape)
    return float(SAFETY * np.abs(numbers(land) - numbers(land.other)).max())


def _with_excess(found: Certificate, excess: Excess, share: float) -> Certificate:
    """The certificate of the network itself from that of all its rotations."""
    more = share * excess.value
    return Certificate(**{
        **vars(found), "value": found.value + more, "gap": found.gap + more, "excess": more,
        "error": found.error + share * excess.error, "rigorous": found.rigorous and excess.exact,
    })  # fmt: skip


def _with_noise(problem: Problem, rho: Measure, within: object) -> Certificate:
    """F(ρ) less the dual value of the Gibbs law on the same cells; the law without cells tells their error."""
    require(within is None, "a certificate with noise is about all neurons", within, "leave within out")
    if not isinstance(rho, Density):
        raise InputError(
            f"a certificate of the free energy needs a wl.Density, got a {type(rho).__name__}, which has no entropy: "
            "solve with FiniteVolume, or certify dataclasses.replace(problem, beta=math.inf)."
        )
    law = gibbs(problem)
    require(math.isfinite(law.gap), "a certificate of the free energy needs one or two reduced coordinates",
            problem.reduced_coordinates[:6], "certify dataclasses.replace(problem, beta=math.inf)")  # fmt: skip
    land, cells = landscape(problem, reduced=True), gibbs(problem, on=rho)  # the least F on the cells of the grid
    value = land.free_energy(rho, problem.beta)
    return Certificate(
        "F", value, max(value - cells.free_energy, 0.0) + cells.gap, float(rho.mean(land.psi(rho.theta, rho))),
        math.nan, None, land.coordinates, "gibbs", False, rho.n,
        error=abs(cells.free_energy - law.free_energy) + law.gap,
    )  # fmt: skip
