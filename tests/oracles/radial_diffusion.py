"""Noisy dynamics of a radius in two ways of its own: an exact law, and finite differences in time and space.

∂_t ρ = ∂_r [ 2 ρ ∂_r Ψ(r; ρ) − 2 β⁻¹ (d − 1)/r ρ + 2 β⁻¹ ∂_r ρ ]        ρ the density in dr, no flux at 0

linear neurons on centred classes: w is an Ornstein–Uhlenbeck process, w ~ N(0, v I),
v(t) = v(0) e^{−4λt} + (1 − e^{−4λt})/(βλ)
"""

import math

import numpy as np
from scipy.linalg import solve_banded


def ornstein_uhlenbeck_variance(start, ridge, beta, t):
    """v(t)."""
    left = math.exp(-4 * ridge * t)
    return start * left + (1 - left) / (beta * ridge)


def crank_nicolson(field, masses, edges, settings):
    """Masses of equal cells at t_end: centred fluxes, Crank–Nicolson with the field of the middle of the step.

    settings   (d, ridge, beta, t_end, steps)
    """
    d, ridge, beta, t_end, steps = settings
    centres, h = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    faces = edges[1:-1]
    phi = field.features(centres[:, None])[0]
    dphi = field.features(faces[:, None])[1][:, :, 0]

    def generator(m):
        """Bands of the linear map m ↦ dm/dt in the field of m."""
        slope = dphi @ (field.p * (m @ phi - field.y)) + ridge * faces
        drift = -2 * slope + 2 * (d - 1) / (beta * faces)
        out, back = drift / 2 / h + 2 / (beta * h * h), -drift / 2 / h + 2 / (beta * h * h)
        bands = np.zeros((3, len(m)))
        bands[0, 1:], bands[2, :-1] = back, out
        bands[1, :-1] -= out
        bands[1, 1:] -= back
        return bands

    dt, m = t_end / steps, np.array(masses, float)
    for _ in range(steps):
        new = m
        for _ in range(3):
            bands = generator((m + new) / 2)
            right = m + dt / 2 * _apply(bands, m)
            left = -dt / 2 * bands
            left[1] += 1
            new = solve_banded((1, 1), left, right)
        m = new
    return m


def _apply(bands, m):
    out = bands[1] * m
    out[:-1] += bands[0, 1:] * m[1:]
    out[1:] += bands[2, :-1] * m[:-1]
    return out
