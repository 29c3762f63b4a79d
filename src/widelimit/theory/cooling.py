"""What noise costs: the Gibbs law against the inverse temperature.

    E(ρ) = ½ R(ρ) + λ ∫v dρ
    E(ρ_β) − inf E ≤ ∫ Ψ_λ(·; ρ_β) dρ_β − inf_θ Ψ_λ(θ; ρ_β)            E is convex along mixtures
    E(ρ_β) − inf E = O(D/β)                                            to be seen as a slope

The right-hand side of the second line is a certificate: every β gives a lower bound of inf E, and the largest of them
is the reference of all. It is a bound because the infimum runs over every θ. Beyond the reach of exp(−BΨ), for a large
B, the regulariser keeps Ψ above its infimum (widelimit.theory.far_field); inside, Ψ is searched on panels that are
halved wherever a neighbour of a node may be lowest (widelimit.theory.panels), and the lowest nodes are followed down
by a local minimiser. What this could miss is a well between two neighbouring nodes, narrower than they are apart: a few
per cent of |θ|.  Reference: [mmn18].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from widelimit.arguments import instance_of, numbers_of
from widelimit.errors import require, require_positive
from widelimit.measures import Measure
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.theory.far_field import Field, Rays
from widelimit.theory.gibbs import POINTS, gibbs
from widelimit.theory.panels import covering, refined

COLD = 1e4  # B, in units of 1/∫|Ψ| dρ
FOLLOWED = 10  # nodes from which a local minimum is sought


@dataclass(frozen=True, eq=False)
class Cooling:
    """The Gibbs law at several inverse temperatures, (β,) each.

    beta         increasing
    risk         R(ρ_β)
    energy       E(ρ_β)
    free_energy  F(ρ_β)
    certificate  upper bound of E(ρ_β) − inf E from ρ_β alone
    lowest       lower bound of inf E, from all β together
    D            parameters of a neuron

    >>> beta = np.array([10.0, 100.0, 1000.0])
    >>> flat = np.zeros(3)
    >>> round(Cooling(beta, flat, 3 / beta, flat, flat, 0.0, 6).exponent, 9)
    1.0
    """

    beta: np.ndarray
    risk: np.ndarray
    energy: np.ndarray
    free_energy: np.ndarray
    certificate: np.ndarray
    lowest: float
    D: int

    @property
    def excess(self) -> np.ndarray:
        """E(ρ_β) less the lower bound of inf E: an upper bound of what the noise costs."""
        return self.energy - self.lowest

    @property
    def exponent(self) -> float:
        """Slope of log excess against log(D/β) over the colder half."""
        half = len(self.beta) // 2
        return float(np.polyfit(np.log(self.D / self.beta[half:]), np.log(self.excess[half:]), 1)[0])


def cooling(problem: Problem, betas: Sequence[float]) -> Cooling:
    """The Gibbs law of a problem in one or two reduced coordinates at several β.

    >>> import widelimit as wl
    >>> line = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    >>> blind = wl.Problem(wl.data.gaussian_classes(40, 0.5), line, wl.initial.gaussian(1.0), ridge=0.5)
    >>> cold = wl.cooling(blind, [10.0, 100.0, 1000.0])
    >>> [round(float(x), 6) for x in cold.excess]  # D/(2β)
    [2.0, 0.2, 0.02]
    """
    instance_of(Problem, problem, "cooling", "build one first")
    listed = list(numbers_of("betas", betas, "[10.0, 100.0, 1000.0]"))
    for beta in listed:
        require_positive("beta", beta, "100.0")
    ordered = len(listed) >= 2 and listed == sorted(set(listed))
    require(ordered, "cooling needs two or more increasing values of beta", listed, "try [10.0, 100.0, 1000.0]")
    few = len(problem.reduced_coordinates) in POINTS
    require(few, "cooling needs one or two reduced coordinates", problem.reduced_coordinates[:6], "see wl.gibbs")
    land = landscape(problem, reduced=True)
    assert isinstance(land, FeatureLandscape)
    laws = [gibbs(replace(problem, beta=float(beta))) for beta in listed]
    energy, certificate = np.array([_certified(land, law.rho) for law in laws]).T
    return Cooling(
        np.array(listed, float), np.array([law.risk for law in laws]), energy,
        np.array([law.free_energy for law in laws]), certificate, float(np.max(energy - certificate)), problem.D,
    )  # fmt: skip


def _certified(land: FeatureLandscape, rho: Measure) -> tuple[float, float]:
    """E(ρ) and ∫ Ψ dρ − inf Ψ."""
    features, penalty = Field(land, 1.0).evaluated(np.asarray(rho.theta))
    fit, F = land.fit.whitened()[1], rho.mean(features)
    v = fit.residual(F)
    psi = features @ v + penalty
    scale = float(rho.mean(np.abs(psi)))
    lowest = _infimum(land, v, COLD / scale if scale > 0 else COLD)
    return float(fit.risk(F) / 2 + rho.mean(penalty)), max(float(rho.mean(psi)) - lowest, 0.0)


def _infimum(land: FeatureLandscape, v: np.ndarray, cold: float) -> float:
    """inf Ψ for residuals v, scaled by √p; −∞ if Ψ falls without end."""
    field = Field(land, cold, volumes=False)
    reach = Rays(field).reach(v)
    if reach is None:
        return -math.inf
    whole = covering(reach.length, field.signed, POINTS[len(field.signed)])
    nodes = refined(whole, lambda theta: field.exponent(theta, v[:, None]))[0].rule()[0]
    nodes = nodes.reshape(len(nodes), -1, nodes.shape[-1])
    values = -field.exponent(nodes.reshape(-1, nodes.shape[-1]), v[:, None]).reshape(nodes.shape[:2]) / cold
    bounds = [(None if sign else 0.0, None) for sign in field.signed]
    lowest = float(values.min())
    for block in np.argsort(values.min(axis=1))[:FOLLOWED]:
        start = nodes[block, int(np.argmin(values[block]))]
        found = minimize(
            lambda theta: field.slope(theta, v), start, jac=True, bounds=bounds, method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12},
        )  # fmt: skip
        lowest = min(lowest, float(found.fun))
    return lowest
