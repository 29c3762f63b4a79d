"""The Gibbs law of a radius, on a fine fixed grid, and the least energy of any law on a grid.

    ρ_* ∝ S_d r^{d−1} exp(−β (Σ_q p_q (F_q − y_q) Φ_q(r) + λ r²/2)),   F = ∫ Φ dρ_*,   S_d = 2 π^{d/2}/Γ(d/2)
    F(ρ) = ½ R(ρ) + (λ/2) ∫ r² dρ + β⁻¹ ∫ ρ log ρ

The fixed point is where the concave function of the residuals v_q = p_q (F_q − y_q)

    −β⁻¹ log Z(v) − Σ (v_q y_q + v_q²/(2 p_q))

is largest; a trust-region method finds it while β grows. Wells anywhere on the grid are seen from the start.
"""

import math
from dataclasses import dataclass

import numpy as np
from normal_panels import panels
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp


@dataclass(frozen=True)
class RadialGibbs:
    """The law on the nodes r (n,) with masses, its risk and free energy."""

    r: np.ndarray
    masses: np.ndarray
    log_density: np.ndarray
    risk: float
    free_energy: float


@dataclass(frozen=True)
class Dual:
    """The concave problem on a grid, in features and labels scaled by √p."""

    features: np.ndarray
    goal: np.ndarray
    volume: np.ndarray
    penalty: np.ndarray

    def masses(self, v, beta):
        exponent = self.volume - beta * (self.features @ v + self.penalty)
        top = logsumexp(exponent)
        return np.exp(exponent - top), top

    def down(self, v, beta):
        """The negative of the dual and its gradient."""
        m, top = self.masses(v, beta)
        return top / beta + v @ self.goal + v @ v / 2, self.goal + v - m @ self.features

    def bend(self, v, beta):
        m, _ = self.masses(v, beta)
        centred = self.features - m @ self.features
        return beta * (centred * m[:, None]).T @ centred + np.eye(len(v))

    def solve(self, beta):
        v = -self.goal
        for warm in np.geomspace(1.0, beta, 2 + max(0, round(2 * math.log10(beta)))):
            v = minimize(self.down, v, (warm,), "trust-exact", jac=True, hess=self.bend, options={"gtol": 1e-13}).x
        return v


def radial_gibbs(field, d, ridge, beta, grid):
    """The law of a field (`FeatureSum` of a radius alone); ``grid`` (reach, panels) covers [0, reach]."""
    r, w = panels(np.linspace(0.0, grid[0], grid[1] + 1), 6)
    phi = np.concatenate([field.features(part[:, None])[0] for part in np.array_split(r, 1 + len(r) // 500)])
    volume = math.log(2) + d / 2 * math.log(math.pi) - gammaln(d / 2) + (d - 1) * np.log(r) + np.log(w)
    dual = Dual(phi * np.sqrt(field.p), field.y * np.sqrt(field.p), volume, ridge * r * r / 2)
    v = dual.solve(beta)
    m, top = dual.masses(v, beta)
    log_density = -beta * (dual.features @ v + dual.penalty) - top
    risk = float(field.p @ (field.y - m @ phi) ** 2) + field.floor
    return RadialGibbs(r, m, log_density, risk, float(risk / 2 + m @ dual.penalty + m @ log_density / beta))


def least_energy(field, ridge, radii):
    """min of ½ R + (λ/2) ∫ r² dρ over laws ρ on the radii: a quadratic programme over masses."""
    radii = np.asarray(radii)
    phi, cost = field.features(radii[:, None])[0], ridge * radii**2 / 2

    def energy(m):
        gap = m @ phi - field.y
        return field.p @ gap**2 / 2 + m @ cost, phi @ (field.p * gap) + cost

    even = np.full(len(radii), 1 / len(radii))
    found = minimize(energy, even, jac=True, method="SLSQP", bounds=[(0, 1)] * len(radii),
                     constraints={"type": "eq", "fun": lambda m: m.sum() - 1, "jac": lambda m: np.ones_like(m)},
                     options={"maxiter": 1000, "ftol": 1e-14})  # fmt: skip
    return float(found.fun)
