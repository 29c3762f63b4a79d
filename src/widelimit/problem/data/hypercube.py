"""Sparse functions on the hypercube.

    x uniform on {±1}^d,    y = h(x_1, …, x_k) + noise · G

    d   d        dimension of x, may be infinite
    h   target   an expression in z1, …, zk; k is the highest index in it

Kept: z = (x_1, …, x_k), all 2^k corners. The other coordinates enter a pre-activation through Σ_{i>k} w_i x_i, which is
normal with standard deviation r = |(w_{k+1}, …, w_d)| as d → ∞: there, and only there, the reduction is exact.
Reference: [abam22].
"""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from widelimit.errors import require
from widelimit.frozen import As, argument, count, nonnegative, static
from widelimit.problem.data.data_law import SAMPLES
from widelimit.problem.data.nodes import Rule, corners
from widelimit.problem.data.target import Given, Target, TargetLaw, parsed

MOST_KEPT = 12


class Hypercube(TargetLaw):
    """y = h(x_1, …, x_k) + noise · G for x uniform on {±1}^d.

    d        dimension, a whole number or ``math.inf``
    target   h, an expression such as ``"z1 + z1*z2 + z1*z2*z3"``, or a JAX-traceable function of an array (…, k)
    noise    standard deviation of the noise of the labels
    k        how many coordinates a function depends on; known from an expression
    samples  draws that stand for the law at finite d, where the risk has no formula

    >>> hypercube(100, "z1 + z1*z2 + z1*z2*z3").kept
    3
    """

    word: ClassVar[str] = "hypercube"
    inputs: ClassVar[str] = "x uniform on {±1}^d"

    d: float = static()
    target: As[Given, Target] = argument(form=parsed)
    noise: float = nonnegative("0.1", default=0.0)
    k: int | None = static(default=None)
    samples: int = count("4096", default=SAMPLES)

    def validate(self) -> None:
        """The corners must not be too many."""
        super().validate()
        require(
            self.kept <= MOST_KEPT,
            f"a sparse target may depend on at most {MOST_KEPT} coordinates",
            self.kept,
            "use fewer variables",
        )

    @property
    def rule(self) -> Rule:
        """The corners of the kept coordinates."""
        return corners(self.kept)

    @property
    def no_reduction(self) -> str:
        """Only d = ∞ is exact."""
        exact = "on the hypercube it is exact at d = ∞ only"
        return "" if math.isinf(self.d) else f"{exact}; use d = inf, or full coordinates, as ParticleFlow and SGD do"

    def slices(self, n: int) -> int:
        """The two signs: all corners of z count exactly, and only the other coordinates are drawn."""
        return 2

    def quantile(self, u: Array) -> Array:
        """−1 in the lower half, 1 in the upper one."""
        return jnp.where(u < 0.5, -1.0, 1.0)

    def coordinates(self, key: Array, shape: tuple[int, int], dtype: DTypeLike) -> Array:
        """Independent signs."""
        return jax.random.rademacher(key, shape, dtype)


hypercube = Hypercube
