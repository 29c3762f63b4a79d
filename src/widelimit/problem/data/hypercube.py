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
from functools import cached_property
from typing import ClassVar

import jax
from jax import Array
from jax.typing import DTypeLike

from widelimit.errors import require, require_count
from widelimit.frozen import as_number, static
from widelimit.problem.data.data_law import (
    SAMPLES,
    DataLaw,
    Group,
    Nodes,
    check_dimension,
    check_noise,
    require_finite,
    with_noise,
)
from widelimit.problem.data.nodes import corners
from widelimit.problem.data.target import Given, arity_of, evaluate, label_sentence, labels, parsed

MOST_KEPT = 12


class Hypercube(DataLaw):
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

    target: Given
    noise: float = 0.0
    k: int | None = static(default=None)
    samples: int = static(default=SAMPLES)

    def __post_init__(self) -> None:
        self.settle(target=parsed(self.target, self.k))
        require(
            self.kept <= MOST_KEPT,
            f"a sparse target may depend on at most {MOST_KEPT} coordinates",
            self.kept,
            "use fewer variables",
        )
        check_dimension(self.d, self.kept)
        check_noise(self.noise)
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
        """Draws that stand for the law at finite d."""
        return self.samples

    @property
    def groups(self) -> tuple[Group, ...]:
        """All other coordinates."""
        share = 1.0 if math.isinf(self.d) else (self.d - self.kept) / self.d
        return (Group(self.d - self.kept, share, (1.0,) * 2**self.kept),)

    @cached_property
    def quadrature(self) -> Nodes:
        """The corners of the kept coordinates, labels h(z)."""
        z, p = corners(self.kept)
        return Nodes(z, p, labels(self.target, z))

    @property
    def no_reduction(self) -> str:
        """Only d = ∞ is exact."""
        return "" if math.isinf(self.d) else "on the hypercube it is exact at d = math.inf only"

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x uniform on {{±1}}^d, {label_sentence(self.target, self.kept, self.noise)}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        x = jax.random.rademacher(key, (n, require_finite(self.d, "samples")), dtype)
        return x, with_noise(key, evaluate(self.target, x[:, : self.kept]).astype(dtype), self.noise)


hypercube = Hypercube
