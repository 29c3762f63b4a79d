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

from widelimit.frozen import As, argument, count, nonnegative, static
from widelimit.problem.data.data_law import SAMPLES
from widelimit.problem.data.resolved_law import ResolvedLaw
from widelimit.problem.data.target import Counts, Given, Target, check_nodes, parsed


class SphereLaw(ResolvedLaw):
    """y = h(x_1, …, x_k) + noise · G for x uniform on the sphere of radius √d.

    d        dimension, a whole number of at least k + 2, or ``math.inf``
    target   h, an expression in z (k = 1) or z1, …, zk, or a JAX-traceable function of an array (…, k)
    noise    standard deviation of the noise of the labels
    nodes    points for each of up to three kept axes, one number or one each; in all for more; if left out, as many
             as the target and the neurons need
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
    nodes: int | Counts | None = static(check_nodes, default=None)
    k: int | None = static(default=None)
    samples: int = count("4096", default=SAMPLES)

    @property
    def on_sphere(self) -> bool:
        """|x| = √d."""
        return math.isfinite(self.d)

    def deviations(self, z: np.ndarray) -> np.ndarray:
        """τ at every node."""
        return np.sqrt((self.d - (z**2).sum(axis=1)) / (self.d - self.kept)) if self.on_sphere else np.ones(len(z))

    def placed(self, g: Array) -> Array:
        """Normal points, brought to the sphere."""
        return math.sqrt(self.d) * g / jnp.linalg.norm(g, axis=1, keepdims=True)


sphere = SphereLaw
