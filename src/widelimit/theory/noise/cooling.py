"""What noise costs: the Gibbs law against the inverse temperature.

    E(ρ) = ½ R(ρ) + λ ∫v dρ
    E(ρ_β) − inf E ≤ ∫ Ψ_λ(·; ρ_β) dρ_β − inf_θ Ψ_λ(θ; ρ_β)            E is convex along mixtures
    E(ρ_β) − inf E = O(D/β)                                            to be seen as a slope

The right-hand side of the second line is the certificate of ρ_β (widelimit.theory.fixed_points.certificate): every β
gives a lower bound of inf E, and the largest of them is the reference of all. In one radius it is a theorem; in two
coordinates inf Ψ is searched for, and a well narrower than the points are apart could be missed.  Reference: [mmn18].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widelimit.arguments import instance_of, numbers_of
from widelimit.errors import require, require_positive
from widelimit.problem.problem import Problem
from widelimit.theory.fixed_points.certificate import certificate
from widelimit.theory.noise.gibbs import POINTS, gibbs


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

    >>> beta = np.array([10.0, 1000.0])
    >>> flat = np.zeros(2)
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
        """Slope of log excess against log(D/β) over the colder half, of two β over both."""
        half = min(len(self.beta) // 2, len(self.beta) - 2)
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
    laws = [gibbs(replace(problem, beta=float(beta))) for beta in listed]
    cold = replace(problem, beta=math.inf)
    found = [certificate(cold, law.rho) for law in laws]
    energy, gap = np.array([[one.value, one.gap] for one in found]).T
    return Cooling(
        np.array(listed, float), np.array([law.risk for law in laws]), energy,
        np.array([law.free_energy for law in laws]), gap, float(np.max(energy - gap)), problem.D,
    )  # fmt: skip
