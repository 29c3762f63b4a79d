"""How fast a solution reaches given atoms.

    distance(τ) = √( ∫ min_j |θ − θ_j*|² dρ_t )  ~  C exp(−c τ),       τ = ∫ξ dt

    θ_j*   the atoms

The rate c is fitted where the distance has fallen below a fiftieth of its first value, and is above the accuracy of
the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widelimit.arguments import instance_of
from widelimit.errors import require, shortened
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

SHARES = 0.02, 1e-5  # of the first distance, between which the fit sees the others
FEWEST = 5  # saves in the fit


@dataclass(frozen=True, eq=False)
class FlowRate:
    """The rate of a flow towards atoms, fitted, beside the one predicted.

    clock      τ of every save
    distance   to the nearest atoms, root mean square
    rate       c, fitted
    predicted  2 × the least eigenvalue of M^{1/2} ∇²Ψ M^{1/2}
    fitted     which saves the fit has seen
    misfit     largest |log(distance) − log(fit)| among them

    >>> t = np.linspace(0.0, 1.0, 3)
    >>> FlowRate(t, np.exp(-2 * t), 2.0, 1.9, t > 0.2, 0.0).ratio
    1.0526315789473684
    """

    clock: np.ndarray
    distance: np.ndarray
    rate: float
    predicted: float
    fitted: np.ndarray
    misfit: float

    @property
    def ratio(self) -> float:
        """The measured rate over the predicted one."""
        return self.rate / self.predicted

    def __repr__(self) -> str:
        return f"<FlowRate: {self.rate:.4g} measured, {self.predicted:.4g} predicted, misfit {self.misfit:.2g}>"


def flow_rate(
    solution: Solution, problem: Problem, atoms: np.ndarray, coordinates: tuple[str, ...], predicted: float
) -> FlowRate:
    """The rate at which a single run with saved neurons reaches the atoms."""
    instance_of(Solution, solution, "the rate of a flow", "solve with MeanField or ParticleFlow")
    good = not solution.is_density and solution.replicas is None and "theta" in solution.dataset
    require(good, "the rate of a flow needs one run of neurons", solution, "solve with MeanField or ParticleFlow")
    names = tuple(str(c) for c in solution.dataset["coordinate"].values)
    require(names == coordinates, f"the run must be saved in {shortened(coordinates)}", shortened(names),
            'solve with keep="full" or "reduced"')  # fmt: skip
    theta, weights = solution.dataset["theta"].values, solution.dataset["weights"].values
    square = np.min([np.sum((theta - atom) ** 2, axis=-1) for atom in atoms], axis=0)  # (time, n)
    distance = np.sqrt(square @ weights)
    clock = problem.schedule.clock(solution.times)
    fit = exponential_fit(clock, distance, SHARES, "a rate", "distance")
    return FlowRate(clock, distance, fit.rate, predicted, fit.fitted, fit.misfit)


class ExponentialFit(NamedTuple):
    """factor · exp(−rate τ), the saves that the fit has seen, and its largest error there, in the logarithm."""

    rate: float
    factor: float
    fitted: np.ndarray
    misfit: float


def exponential_fit(
    clock: np.ndarray, values: np.ndarray, shares: tuple[float, float], who: str, name: str
) -> ExponentialFit:
    """The exponential through values that lie between two shares of the first one."""
    high, low = shares
    fitted = (values < high * values[0]) & (values > low * values[0])
    wanted = f"{who} needs {FEWEST} saves while the {name} falls from {high:g} to {low:g} of the first"
    require(int(fitted.sum()) >= FEWEST, wanted, f"{fitted.sum()} of {len(values)}", "save more often, or run longer")
    slope, height = np.polyfit(clock[fitted], np.log(values[fitted]), 1)
    misfit = float(np.max(np.abs(np.log(values[fitted]) - height - slope * clock[fitted])))
    return ExponentialFit(-float(slope), float(np.exp(height)), fitted, misfit)
