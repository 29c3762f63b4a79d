"""A function as a sum of waves along directions: what Barron's norm counts, and what networks are sampled from.

    f(x) = f(0) + Σ_m ∫_0^{⟨u_m, x⟩} G_m cos(w_m t + ψ_m) dt,      C = Σ_m G_m

    u   directions   (M, k)   unit vectors
    w   frequencies  (M,)     ≥ 0; 0 is a linear function
    G   amplitudes   (M,)     ≥ 0, of the slope: |ω| |f̂(ω)| for a mass f̂ at ω = w u
    ψ   phases       (M,)

A density f̂(ω) becomes waves at the nodes of a rule in ω.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROWS = 1 << 22  # numbers held at a time


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves; see above."""

    directions: np.ndarray
    frequencies: np.ndarray
    amplitudes: np.ndarray
    phases: np.ndarray

    @classmethod
    def at(cls, omega: np.ndarray, masses: np.ndarray) -> Waves:
        """Masses of f̂ at frequencies ω (M, k); one at 0 is a constant and left out."""
        w = np.linalg.norm(omega, axis=1)
        kept = (w > 0) & (masses != 0)
        omega, masses, w = omega[kept], masses[kept], w[kept]
        return cls(omega / w[:, None], w, w * np.abs(masses), np.angle(masses) + np.pi / 2)

    @property
    def total(self) -> float:
        """C."""
        return float(self.amplitudes.sum())

    def __add__(self, other: Waves) -> Waves:
        return Waves(*(np.concatenate([mine, its]) for mine, its in zip(self._parts(), other._parts(), strict=True)))

    def _parts(self) -> list[np.ndarray]:
        return [self.directions, self.frequencies, self.amplitudes, self.phases]

    def along(self, direction: np.ndarray, scale: float) -> Waves:
        """Waves of one variable t as waves of ⟨v, x⟩ along a unit vector v, times a number."""
        turned = np.where(self.directions[:, :1] > 0, direction, -direction)
        phases = self.phases + (np.pi if scale < 0 else 0.0)
        return Waves(turned, self.frequencies, abs(scale) * self.amplitudes, phases)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """f(x) − f(0) at rows x, (n,)."""
        found = np.zeros(len(x))
        step = max(1, ROWS // max(len(x), 1))
        for low in range(0, len(self.frequencies), step):
            part = slice(low, low + step)
            t, w = x @ self.directions[part].T, self.frequencies[part]
            half = w * t / 2  # ∫_0^t cos(wτ + ψ)dτ = t sinc(wt/2) cos(wt/2 + ψ)
            found += (t * np.sinc(half / np.pi) * np.cos(half + self.phases[part])) @ self.amplitudes[part]
        return found


def no_waves(k: int) -> Waves:
    """Waves of a constant."""
    return Waves(np.zeros((0, k)), np.zeros(0), np.zeros(0), np.zeros(0))
