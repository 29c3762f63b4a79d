"""What noise costs: the Gibbs law against the inverse temperature.

    E(ρ) = ½ R(ρ) + λ ∫v dρ
    E(ρ_β) − inf E ≤ ∫ Ψ_λ(·; ρ_β) dρ_β − inf_θ Ψ_λ(θ; ρ_β)            E is convex along mixtures
    E(ρ_β) − inf E = O(D/β)                                            to be seen as a slope

The right-hand side of the second line is a certificate: every β gives a lower bound of inf E, and the largest of them
is the reference of all. The infimum over θ is searched on a grid over the box of the law, down to r = 0 and half as
wide again, then by a local minimiser.  Reference: [mmn18].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from widelimit.errors import require, require_positive
from widelimit.measures import Measure
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem.problem import Problem
from widelimit.theory.gibbs import gibbs

SEARCHED = {1: 4001, 2: 201}  # points for each coordinate


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
    require(isinstance(problem, Problem), "cooling needs a wl.Problem", type(problem).__name__, "build one first")
    listed = list(betas)
    for beta in listed:
        require_positive("beta", beta, "100.0")
    ordered = len(listed) >= 2 and listed == sorted(set(listed))
    require(ordered, "cooling needs two or more increasing values of beta", listed, "try [10.0, 100.0, 1000.0]")
    few = len(problem.reduced_coordinates) in SEARCHED
    require(few, "cooling needs one or two reduced coordinates", problem.reduced_coordinates[:6], "see wl.gibbs")
    land = landscape(problem, reduced=True)
    laws = [gibbs(replace(problem, beta=float(beta))) for beta in listed]
    energy = np.array([land.energy(law.rho) for law in laws])
    certificate = np.array([_certificate(land, law.rho, len(problem.groups)) for law in laws])
    return Cooling(
        np.array(listed, float), np.array([law.risk for law in laws]), energy,
        np.array([law.free_energy for law in laws]), certificate, float(np.max(energy - certificate)), problem.D,
    )  # fmt: skip


def _certificate(land: Landscape, rho: Measure, radii: int) -> float:
    """∫ Ψ dρ − inf Ψ."""
    theta = np.asarray(rho.theta)
    low, high = theta.min(axis=0), theta.max(axis=0)
    middle, reach = (low + high) / 2, 0.75 * (high - low)
    low, high = middle - reach, middle + reach
    low[len(low) - radii :] = 0.0
    sides = [np.linspace(a, b, SEARCHED[len(low)]) for a, b in zip(low, high, strict=True)]
    nodes = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], axis=1)
    values = np.asarray(land.psi(nodes, rho))
    best = nodes[int(np.argmin(values))]
    bounds = [(0.0, None) if c >= len(low) - radii else (None, None) for c in range(len(low))]
    found = minimize(
        lambda x: float(land.psi(x, rho)[0]), best, jac=lambda x: np.asarray(land.grad_psi(x, rho)[0]), bounds=bounds,
        method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    lowest = min(float(values.min()), float(found.fun))
    return max(float(rho.mean(np.asarray(land.psi(theta, rho)))) - lowest, 0.0) if math.isfinite(lowest) else math.inf
