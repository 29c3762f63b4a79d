"""Is a measure a fixed point of the flow?

    ρ is stationary   ⇔   supp ρ ⊂ {∇Ψ(·; ρ) = 0}

    largest   max |∇Ψ(θ; ρ)| over the support            mean   ∫ |∇Ψ| dρ
    speed     ∫ |∇Ψ|² dρ:   dE/dτ = −2 ∫ |∇Ψ|² dρ along the flow with M = 1, E = ½R + λ∫v dρ, τ = ∫ξ dt

What holds neurons back counts as no gradient (widelimit.theory.fixed_points.support): columns without a mobility, the
normal part on the sphere, and at r = 0 a slope that points inwards. A fixed point may still be unstable
(widelimit.theory.fixed_points.stability) or far from the best network. Without noise; with noise the fixed point is the
Gibbs law.  Reference: [mmn18].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widelimit.errors import require_positive, shortened
from widelimit.problem.problem import Problem
from widelimit.theory.fixed_points.given_measures import Given
from widelimit.theory.fixed_points.support import support_of


@dataclass(frozen=True, eq=False)
class Stationarity:
    """The gradient on the support of a measure.

    coordinates  of the columns
    theta        neurons of the support, (n, D)
    weights      their masses, (n,)
    gradient     ∇Ψ as far as it can move them, (n, D)
    errors       how far |∇Ψ| may be off, (n,)
    held         how many are held at r = 0 by a slope that points inwards
    tolerance    |∇Ψ| up to which a neuron counts as at rest

    >>> import widelimit as wl
    >>> line = wl.Problem(wl.data.single_index(5, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
    >>> wl.stationarity(line, wl.Cloud([[2.0, 0.0]], [1.0], ("u", "r"))).holds  # f(x) = 2 z: nothing is left to learn
    True
    """

    coordinates: tuple[str, ...]
    theta: np.ndarray
    weights: np.ndarray
    gradient: np.ndarray
    errors: np.ndarray
    held: int
    tolerance: float

    @property
    def sizes(self) -> np.ndarray:
        """|∇Ψ| of every neuron, (n,)."""
        return np.linalg.norm(self.gradient, axis=1)

    @property
    def largest(self) -> float:
        """max |∇Ψ| over the support."""
        return float(self.sizes.max())

    @property
    def mean(self) -> float:
        """∫ |∇Ψ| dρ."""
        return float(self.weights @ self.sizes / self.weights.sum())

    @property
    def speed(self) -> float:
        """∫ |∇Ψ|² dρ."""
        return float(self.weights @ self.sizes**2 / self.weights.sum())

    @property
    def error(self) -> float:
        """How far `largest` may be off."""
        return float(self.errors.max())

    @property
    def share(self) -> float:
        """Mass of the neurons at rest."""
        return float(self.weights[self.sizes <= self.tolerance].sum() / self.weights.sum())

    @property
    def holds(self) -> bool:
        """Whether supp ρ ⊂ {∇Ψ = 0}, up to the tolerance."""
        return bool(self.largest <= self.tolerance)

    @property
    def worst(self) -> np.ndarray:
        """The neuron with the largest gradient, (D,)."""
        return self.theta[int(self.sizes.argmax())]

    def document(self) -> dict[str, object]:
        """The numbers by name."""
        return {
            "largest": self.largest, "mean": self.mean, "speed": self.speed, "error": self.error, "share": self.share,
            "held": self.held, "holds": self.holds, "tolerance": self.tolerance, "worst": self.worst.tolist(),
            "coordinates": list(self.coordinates),
        }  # fmt: skip

    def __repr__(self) -> str:
        word = "stationary" if self.holds else "not stationary"
        return (
            f"<Stationarity: {word}, max |∇Ψ| = {self.largest:.3g} ± {self.error:.1g}, mean {self.mean:.3g}, over "
            f"{len(self.theta)} neurons in {shortened(self.coordinates)}>"
        )


def stationarity(problem: Problem, rho: Given, *, tolerance: float = 1e-6) -> Stationarity:
    """The gradient on the support of ρ, and whether ρ is a fixed point of the flow.

    rho        a Cloud or a Density in full or reduced coordinates, a solution, or rows of neurons (n, D)
    tolerance  |∇Ψ| up to which a neuron counts as at rest

    >>> import widelimit as wl
    >>> line = wl.Problem(wl.data.single_index(5, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
    >>> wl.stationarity(line, [[1.0, 0.0]]).gradient  # ∇Ψ = u − 2 in the direction of the data
    array([[-1.,  0.]])
    """
    require_positive("tolerance", tolerance, "1e-6")
    found = support_of(problem, rho, "stationarity")
    gradient, errors = found.pulls()
    at_origin = found.columns.is_radius() & (found.theta == 0) & (found.slopes() > 0) & found.moves
    names = found.columns.names
    return Stationarity(names, found.theta, found.weights, gradient, errors, int(at_origin.any(axis=1).sum()),
                        float(tolerance))  # fmt: skip
