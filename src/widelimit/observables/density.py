"""The density of one coordinate, e.g. of the radius r.

bins     ∫_bin ρ / width               any measure; the mass of a cell is spread evenly over it
smooth   ΔF / width, F the distribution function interpolated between the points
         for weighted points that follow a smooth law, where bins would show the points
"""

from __future__ import annotations

import numpy as np

from widelimit.measures import Density, Measure, edges_of, measure_of


def binned_density(cloud: Measure, coordinate: str, edges: np.ndarray) -> np.ndarray:
    """Mass of each bin over its width, (bins,).

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",))
    >>> wl.observables.binned_density(rho, "r", [0.0, 2.0, 4.0])
    array([0.25, 0.25])
    """
    cloud, edges = measure_of(cloud, "binned_density"), edges_of(edges)
    if isinstance(cloud, Density):
        return _spread(cloud, coordinate, edges)
    mass, _ = np.histogram(cloud.column(coordinate), edges, weights=cloud.weights)
    return mass / np.diff(edges)


def smooth_density(cloud: Measure, coordinate: str, edges: np.ndarray) -> np.ndarray:
    """Slope of the interpolated distribution function over each bin, (bins,).

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0], [3.0]], [0.5, 0.5], ("r",))
    >>> wl.observables.smooth_density(rho, "r", [1.0, 2.0, 3.0])
    array([0.25, 0.25])
    """
    cloud, edges = measure_of(cloud, "smooth_density"), edges_of(edges)
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
