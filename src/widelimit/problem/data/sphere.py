"""Functions on the sphere.

    x uniform on the sphere |x|² = d in R^d,    y = h(x_1, …, x_k) + noise · G

Kept: z = (x_1, …, x_k), of density ∝ (1 − |z|²/d)^{(d−k−2)/2}. Given z the other coordinates are uniform on a sphere of
radius √(d − |z|²) in p = d − k dimensions: ⟨w, x⟩ = ⟨u, z⟩ + r τ √p T, τ = √((d − |z|²)/p), with T the first coordinate
of a uniform point of the unit sphere in R^p. As d → ∞ this is the index model of a Gaussian input.
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import stats
from scipy.special import ndtr

from widelimit.frozen import As, argument, count, nonnegative, static
from widelimit.problem.data.data_law import SAMPLES
from widelimit.problem.data.nodes import (
    PER_AXIS,
    SOBOL,
    Rule,
    normal_nodes,
    sobol_normals,
    sphere_half,
    symmetric_rule,
    tensor,
)
from widelimit.problem.data.target import Given, Target, TargetLaw, check_nodes, parsed


class SphereLaw(TargetLaw):
    """y = h(x_1, …, x_k) + noise · G for x uniform on the sphere of radius √d.

    d        dimension, a whole number of at least k + 2, or ``math.inf``
    target   h, an expression in z (k = 1) or z1, …, zk, or a JAX-traceable function of an array (…, k)
    noise    standard deviation of the noise of the labels
    nodes    points for each of up to three kept axes; in all for more
    k        how many coordinates a function depends on; known from an expression
    samples  draws that stand for the law in full coordinates, where the risk has no formula

    >>> sphere(100, "z1*z2").kept
    2
    """

    word: ClassVar[str] = "sphere"
    inputs: ClassVar[str] = "x uniform on |x| = √d"
    others: ClassVar[int] = 2

    d: float = static()
    target: As[Given, Target] = argument(form=parsed)
    noise: float = nonnegative("0.1", default=0.0)
    nodes: int | None = static(check_nodes, default=None)
    k: int | None = static(default=None)
    samples: int = count("4096", default=SAMPLES)

    @property
    def on_sphere(self) -> bool:
        """|x| = √d."""
        return math.isfinite(self.d)

    @property
    def rule(self) -> Rule:
        """Nodes of the law of z."""
        return sphere_nodes(self.kept, self.d, self.nodes) if self.on_sphere else normal_nodes(self.kept, self.nodes)

    def deviations(self, z: np.ndarray) -> np.ndarray:
        """τ at every node."""
        return np.sqrt((self.d - (z**2).sum(axis=1)) / (self.d - self.kept)) if self.on_sphere else np.ones(len(z))

    def placed(self, g: Array) -> Array:
        """Normal points, brought to the sphere."""
        return math.sqrt(self.d) * g / jnp.linalg.norm(g, axis=1, keepdims=True)


sphere = SphereLaw


def sphere_nodes(k: int, d: float, points: int | None) -> Rule:
    """Nodes z (Q, k) and weights of the first k coordinates of a uniform point of the sphere |x|² = d in R^d.

    One axis after the other: given z_1, …, z_j the next coordinate is that of a sphere in d − j dimensions.
    """
    if k > max(PER_AXIS):
        return _sobol_on_sphere(k, d, *sobol_normals(k + 1, points or SOBOL))
    axes = [symmetric_rule(points or PER_AXIS[k], sphere_half, d - j) for j in range(k)]
    z, weights = tensor(axes)
    left = np.cumprod(np.concatenate([np.ones((len(z), 1)), 1 - z[:, :-1] ** 2], axis=1), axis=1)
    return math.sqrt(d) * z * np.sqrt(left), weights


def _sobol_on_sphere(k: int, d: float, x: np.ndarray, weights: np.ndarray) -> Rule:
    rest = stats.chi2(d - k).ppf(ndtr(x[:, k]))
    g = x[:, :k]
    return math.sqrt(d) * g / np.sqrt((g**2).sum(axis=1) + rest)[:, None], weights
