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
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from widelimit.errors import require, require_count
from widelimit.problem.expressions import Expression
from widelimit.problem.index_models import Link, evaluate, label_sentence, labels, parsed
from widelimit.problem.law import (
    SAMPLES,
    DataLaw,
    Group,
    Nodes,
    check_dimension,
    check_noise,
    require_finite,
    with_noise,
)

if TYPE_CHECKING:
    from jax import Array

MOST_KEPT = 12


@dataclass(frozen=True)
class Hypercube(DataLaw):
    """A sparse function of a uniform corner, see `hypercube`."""

    k: int
    target: Link
    noise: float = 0.0
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        require(
            self.k <= MOST_KEPT,
            f"a sparse target may depend on at most {MOST_KEPT} coordinates",
            self.k,
            "use fewer variables",
        )
        check_dimension(self.d, self.k)
        check_noise(self.noise)
        require_count("samples", self.samples, "4096")

    @property
    def kept(self) -> int:
        """The coordinates of the target."""
        return self.k

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All other coordinates."""
        share = 1.0 if math.isinf(self.d) else (self.d - self.k) / self.d
        return (Group(self.d - self.k, share, (1.0,) * 2**self.k),)

    @cached_property
    def nodes(self) -> Nodes:
        """The corners of the kept coordinates, labels h(z)."""
        from widelimit.problem.nodes import corners

        z, p = corners(self.k)
        return Nodes(z, p, labels(self.target, z))

    @property
    def no_reduction(self) -> str:
        """Only d = ∞ is exact."""
        return "" if math.isinf(self.d) else "on the hypercube it is exact at d = math.inf only"

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x uniform on {{±1}}^d, {label_sentence(self.target, self.k, self.noise)}"

    def sample(self, key: Array, n: int, dtype: Any) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        import jax

        x = jax.random.rademacher(key, (n, require_finite(self.d, "samples")), dtype)
        return x, with_noise(key, evaluate(self.target, x[:, : self.k]).astype(dtype), self.noise)


def hypercube(
    d: float, target: str | Link, noise: float = 0.0, *, k: int | None = None, samples: int = SAMPLES
) -> Hypercube:
    """y = h(x_1, …, x_k) + noise · G for x uniform on {±1}^d.

    d        dimension, a whole number or ``math.inf``
    target   h, an expression such as ``"z1 + z1*z2 + z1*z2*z3"``, or a JAX-traceable function of an array (…, k)
    noise    standard deviation of the noise of the labels
    k        how many coordinates a function depends on; known from an expression
    samples  draws that stand for the law at finite d, where the risk has no formula

    >>> hypercube(100, "z1 + z1*z2 + z1*z2*z3").kept
    3
    """
    return Hypercube(d, *with_arity(target, k), noise, samples)


def with_arity(target: Any, k: int | None) -> tuple[int, Link]:
    """How many coordinates a target depends on, and the target."""
    if k is not None:
        require_count("k", k, "2")
    found = parsed(target, k)
    if k is None:
        require(isinstance(found, Expression), "a function needs k, the number of its coordinates", k, "try k=2")
        k = max(getattr(found, "arity", 0), 1)
    return k, found
