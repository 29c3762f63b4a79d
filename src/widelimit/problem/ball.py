"""Functions on the sphere.

    x uniform on the sphere |x|² = d in R^d,    y = h(x_1, …, x_k) + noise · G

Kept: z = (x_1, …, x_k), of density ∝ (1 − |z|²/d)^{(d−k−2)/2}. Given z the other coordinates are uniform on a sphere of
radius √(d − |z|²) in p = d − k dimensions: ⟨w, x⟩ = ⟨u, z⟩ + r τ √p T, τ = √((d − |z|²)/p), with T the first coordinate
of a uniform point of the unit sphere in R^p. As d → ∞ this is the index model of a Gaussian input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from widelimit.errors import require_count
from widelimit.problem.cube import with_arity
from widelimit.problem.index_models import Link, check_points, evaluate, label_sentence, labels
from widelimit.problem.law import (
    SAMPLES,
    DataLaw,
    Group,
    Nodes,
    check_dimension,
    check_noise,
    normals,
    require_finite,
    with_noise,
)

if TYPE_CHECKING:
    import numpy as np
    from jax import Array


@dataclass(frozen=True)
class SphereLaw(DataLaw):
    """A function of a few coordinates of a uniform point of the sphere, see `sphere`."""

    k: int
    target: Link
    noise: float = 0.0
    points: int | None = None
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        check_dimension(self.d, self.k + 1)
        check_noise(self.noise)
        check_points(self.points)
        require_count("samples", self.samples, "4096")

    @property
    def kept(self) -> int:
        """The coordinates of the target."""
        return self.k

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All other coordinates; the deviation depends on the node."""
        rest, square = self.d - self.k, (self.nodes.z**2).sum(axis=1)
        if math.isinf(self.d):
            return (Group(rest, 1.0, (1.0,) * len(square)),)
        return (Group(rest, rest / self.d, tuple(((self.d - square) / rest) ** 0.5)),)

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes of the law of z, labels h(z)."""
        from widelimit.problem.nodes import normal_nodes

        z, p = normal_nodes(self.k, self.points) if math.isinf(self.d) else sphere_nodes(self.k, self.d, self.points)
        return Nodes(z, p, labels(self.target, z))

    @property
    def on_ball(self) -> bool:
        """|x| = √d."""
        return math.isfinite(self.d)

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x uniform on |x| = √d, {label_sentence(self.target, self.k, self.noise)}"

    def sample(self, key: Array, n: int, dtype: Any) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        import jax.numpy as jnp

        d = require_finite(self.d, "samples")
        x = normals(key, (n, d), dtype)
        x = math.sqrt(d) * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return x, with_noise(key, evaluate(self.target, x[:, : self.k]).astype(dtype), self.noise)


def sphere(
    d: float, target: str | Link, noise: float = 0.0, nodes: int | None = None, *, k: int | None = None,
    samples: int = SAMPLES,
) -> SphereLaw:  # fmt: skip
    """y = h(x_1, …, x_k) + noise · G for x uniform on the sphere of radius √d.

    d        dimension, a whole number of at least k + 2, or ``math.inf``
    target   h, an expression in z (k = 1) or z1, …, zk, or a JAX-traceable function of an array (…, k)
    nodes    points for each of up to three kept axes; in all for more
    samples  draws that stand for the law in full coordinates, where the risk has no formula

    >>> sphere(100, "z1*z2").kept
    2
    """
    return SphereLaw(d, *with_arity(target, k), noise, nodes, samples)


def sphere_nodes(k: int, d: float, points: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z (Q, k) and weights of the first k coordinates of a uniform point of the sphere |x|² = d in R^d.

    One axis after the other: given z_1, …, z_j the next coordinate is that of a sphere in d − j dimensions.
    """
    import numpy as np

    from widelimit.problem.nodes import PER_AXIS, SOBOL, sobol_normals, sphere_half, symmetric_rule, tensor

    if k > max(PER_AXIS):
        return _sobol_on_sphere(k, d, *sobol_normals(k + 1, points or SOBOL))
    axes = [symmetric_rule(points or PER_AXIS[k], sphere_half, d - j) for j in range(k)]
    z, weights = tensor(axes)
    left = np.cumprod(np.concatenate([np.ones((len(z), 1)), 1 - z[:, :-1] ** 2], axis=1), axis=1)
    return math.sqrt(d) * z * np.sqrt(left), weights


def _sobol_on_sphere(k: int, d: float, x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np
    from scipy import stats
    from scipy.special import ndtr

    rest = stats.chi2(d - k).ppf(ndtr(x[:, k]))
    g = x[:, :k]
    return math.sqrt(d) * g / np.sqrt((g**2).sum(axis=1) + rest)[:, None], weights
