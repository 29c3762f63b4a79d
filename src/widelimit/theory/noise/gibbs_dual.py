"""The free energy in feature form: a finite concave problem.

    F(ρ_*) = max_v  −β⁻¹ log Z(v) − Σ_q (v_q y_q + v_q²/(2 p_q)) + noise²/2
    Z(v) = ∫ exp(−β (Σ_q v_q Φ_q(θ) + λ v(θ))) μ(dθ)
    ∇ = F(ρ_v) − y − v/p,    ∇² = −β Cov_{ρ_v} Φ − diag(1/p)

Scheme: Newton with a line search on residuals scaled by √p, integrals on given nodes. The primal value F(ρ_v) minus the
dual one is ≥ 0, and 0 at the optimum only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from widelimit.potentials.damped_newton import Budget, Direction, minimise
from widelimit.potentials.least_squares import LeastSquares

BUDGET = Budget(steps=60, shortest=1e-9, rounding=1e-14)
ENOUGH = 1e-26  # gain of the dual that Newton's method still promises


@dataclass(frozen=True)
class Integrals:
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
        """The function of v that is maximised."""
        return -self.weights(v)[1] / self.beta + self.fit.dual(v)

    def primal(self, v: np.ndarray) -> tuple[float, float]:
        """F(ρ_v) and R(ρ_v)."""
        weights, log_z = self.weights(v)
        mean = weights @ self.features
        risk = float(self.fit.risk(mean))
        entropy = -self.beta * (mean @ v + weights @ self.penalty) - log_z
        return risk / 2 + float(weights @ self.penalty + entropy / self.beta), risk

    def gap(self, v: np.ndarray) -> float:
        """Primal minus dual value."""
        return max(self.primal(v)[0] - self.dual(v), 0.0)

    def solve(self, v: np.ndarray) -> np.ndarray:
        """Newton's method from v; the problem is concave, so that the line search cannot fail."""
        found = minimise(v, lambda v: -self.dual(v), self._ascent, lambda v, size, step: v + size * step, BUDGET)
        return found.point

    def _ascent(self, v: np.ndarray) -> Direction:
        weights, _ = self.weights(v)
        mean = weights @ self.features
        slope = self.fit.residual(mean) - v
        some = weights > 0
        spread = (self.features[some] - mean) * np.sqrt(weights[some])[:, None]
        curvature = self.beta * spread.T @ spread + np.eye(len(v))
        step = np.linalg.solve(curvature, slope)
        gain = float(slope @ step)
        return Direction(step, -gain, gain < ENOUGH * (1 + abs(self.dual(v))))
