"""The density of one coordinate, e.g. of the radius r.

bins     ∫_bin ρ / width               any measure; the mass of a cell is spread evenly over it
smooth   ΔF / width, F the distribution function interpolated between the points
         for weighted points that follow a smooth law, where bins would show the points
"""

from __future__ import annotations

import numpy as np

from widelimit.errors import require
from widelimit.measures import Density, Measure


def binned_density(cloud: Measure, coordinate: str, edges: np.ndarray) -> np.ndarray:
    """Mass of each bin over its width, (bins,)."""
    edges = _checked(edges)
    if isinstance(cloud, Density):
        return _spread(cloud, coordinate, edges)
    mass, _ = np.histogram(cloud.column(coordinate), edges, weights=cloud.weights)
    return mass / np.diff(edges)


def smooth_density(cloud: Measure, coordinate: str, edges: np.ndarray) -> np.ndarray:
    """Slope of the interpolated distribution function over each bin, (bins,)."""
    edges = _checked(edges)
    if isinstance(cloud, Density):
        return _spread(cloud, coordinate, edges)
    values = cloud.column(coordinate)
    order = np.argsort(values, kind="stable")
    mass = np.asarray(cloud.weights)[order]
    middle = np.cumsum(mass) - mass / 2  # half of the outermost masses lies outside and is not shown
    return np.diff(np.interp(edges, values[order], middle)) / np.diff(edges)


def _spread(rho: Density, coordinate: str, edges: np.ndarray) -> np.ndarray:
    """Density of each bin, the mass of every cell spread evenly over it."""
    own, values = rho.marginal(coordinate)
    levels = np.concatenate([[0.0], np.cumsum(values * np.diff(own))])
    return np.diff(np.interp(edges, own, levels)) / np.diff(edges)


def _checked(edges: np.ndarray) -> np.ndarray:
    edges = np.asarray(edges, float)
    require(
        edges.ndim == 1 and len(edges) >= 2 and bool((np.diff(edges) > 0).all()),
        "bin edges must be two or more increasing numbers",
        edges.shape,
        "try numpy.linspace(0, 5, 51)",
    )
    return edges
