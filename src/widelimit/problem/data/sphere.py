"""Functions on the sphere.

    x uniform on the sphere |x|² = d in R^d,    y = h(x_1, …, x_k) + noise · G

Kept: z = (x_1, …, x_k), of density ∝ (1 − |z|²/d)^{(d−k−2)/2}. Given z the other coordinates are uniform on a sphere of
radius √(d − |z|²) in p = d − k dimensions: ⟨w, x⟩ = ⟨u, z⟩ + r τ √p T, τ = √((d − |z|²)/p), with T the first coordinate
of a uniform point of the unit sphere in R^p. As d → ∞ this is the index model of a Gaussian input.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike
from scipy import stats
from scipy.special import ndtr

from widelimit.errors import require_count
from widelimit.frozen import as_number, static
from widelimit.problem.data.data_law import (
    SAMPLES,
    DataLaw,
    Group,
    Nodes,
    check_dimension,
    check_nodes,
    check_noise,
    normals,
    require_finite,
    with_noise,
)
from widelimit.problem.data.nodes import (
    PER_AXIS,
    SOBOL,
    normal_nodes,
    sobol_normals,
    sphere_half,
    symmetric_rule,
    tensor,
)
from widelimit.problem.data.target import Given, arity_of, evaluate, label_sentence, labels, parsed


class SphereLaw(DataLaw):
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

    target: Given
    noise: float = 0.0
    nodes: int | None = static(default=None)
    k: int | None = static(default=None)
    samples: int = static(default=SAMPLES)

    def __post_init__(self) -> None:
        self.settle(target=parsed(self.target, self.k))
        check_dimension(self.d, self.kept + 1)
        check_noise(self.noise)
        check_nodes(self.nodes)
        require_count("samples", self.samples, "4096")
        self.settle(noise=as_number(self.noise))

    @property
    def kept(self) -> int:
        """The coordinates of the target."""
        return arity_of(self.target, self.k)

    @property
    def label_noise(self) -> float:
        """Standard deviation of the noise of the labels."""
        return self.noise

    @property
    def draws(self) -> int:
        """Draws that stand for the law in full coordinates."""
        return self.samples

    @property
    def groups(self) -> tuple[Group, ...]:
        """All other coordinates; the deviation depends on the node."""
        rest, square = self.d - self.kept, (self.quadrature.z**2).sum(axis=1)
        if math.isinf(self.d):
            return (Group(rest, 1.0, (1.0,) * len(square)),)
        return (Group(rest, rest / self.d, tuple(((self.d - square) / rest) ** 0.5)),)

    @cached_property
    def quadrature(self) -> Nodes:
        """Nodes of the law of z, labels h(z)."""
        k = self.kept
        z, p = normal_nodes(k, self.nodes) if math.isinf(self.d) else sphere_nodes(k, self.d, self.nodes)
        return Nodes(z, p, labels(self.target, z))

    @property
    def on_sphere(self) -> bool:
        """|x| = √d."""
        return math.isfinite(self.d)

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x uniform on |x| = √d, {label_sentence(self.target, self.kept, self.noise)}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        d = require_finite(self.d, "samples")
        x = normals(key, (n, d), dtype)
        x = math.sqrt(d) * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return x, with_noise(key, evaluate(self.target, x[:, : self.kept]).astype(dtype), self.noise)


sphere = SphereLaw


def sphere_nodes(k: int, d: float, points: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z (Q, k) and weights of the first k coordinates of a uniform point of the sphere |x|² = d in R^d.

    One axis after the other: given z_1, …, z_j the next coordinate is that of a sphere in d − j dimensions.
    """
    if k > max(PER_AXIS):
        return _sobol_on_sphere(k, d, *sobol_normals(k + 1, points or SOBOL))
    axes = [symmetric_rule(points or PER_AXIS[k], sphere_half, d - j) for j in range(k)]
    z, weights = tensor(axes)
    left = np.cumprod(np.concatenate([np.ones((len(z), 1)), 1 - z[:, :-1] ** 2], axis=1), axis=1)
    return math.sqrt(d) * z * np.sqrt(left), weights


def _sobol_on_sphere(k: int, d: float, x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = stats.chi2(d - k).ppf(ndtr(x[:, k]))
    g = x[:, :k]
    return math.sqrt(d) * g / np.sqrt((g**2).sum(axis=1) + rest)[:, None], weights
