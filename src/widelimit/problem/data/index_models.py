"""Index models: labels that depend on a few directions of a Gaussian input.

    x ~ N(0, I_d),    y = φ(z) + noise · G,    z = (x_1, …, x_k)

    d   d      dimension of x, may be infinite
    k   kept   number of directions the label depends on; the first k axes, which loses no generality
    φ   link   an expression or a JAX-traceable function

Kept: z. One group: the other d − k directions.  Reference: [agj21].
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

from jax import Array
from jax.typing import DTypeLike

from widelimit.errors import require_count
from widelimit.frozen import as_number, static
from widelimit.problem.data.data_law import (
    DataLaw,
    Group,
    Mixture,
    Nodes,
    check_dimension,
    check_nodes,
    check_noise,
    normals,
    require_finite,
    with_noise,
)
from widelimit.problem.data.nodes import normal_nodes
from widelimit.problem.data.target import Given, evaluate, label_sentence, labels, parsed


class IndexModel(DataLaw):
    """A label that depends on k directions of a Gaussian input, see `single_index` and `multi_index`."""

    @property
    @abstractmethod
    def target(self) -> Given:
        """φ."""

    @property
    @abstractmethod
    def per_axis(self) -> int | None:
        """Nodes for each kept axis (in all, beyond three), None for the default."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """All other directions."""
        rest = self.d - self.kept
        share = 1.0 if math.isinf(self.d) else rest / self.d
        return (Group(rest, share, (1.0,) * len(self.quadrature.p)),)

    @cached_property
    def quadrature(self) -> Nodes:
        """Nodes of the normal law of z, labels φ(z)."""
        z, p = normal_nodes(self.kept, self.per_axis)
        return Nodes(z, p, labels(self.target, z))

    @property
    def mixture(self) -> Mixture:
        """One class; its labels are those of the nodes."""
        return Mixture((1.0,), (0.0,), ((int(self.d), (1.0,)),))

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x ~ N(0, I), {label_sentence(self.target, self.kept, self.label_noise)}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        x = normals(key, (n, require_finite(self.d, "samples")), dtype)
        return x, with_noise(key, evaluate(self.target, x[:, : self.kept]).astype(dtype), self.label_noise)


class SingleIndex(IndexModel):
    """y = φ(x_1) + noise · G for x ~ N(0, I_d).

    d      dimension, a whole number or ``math.inf``
    link   φ, an expression in z such as ``"He1(z) - 0.5*He3(z)"`` or a JAX-traceable function
    noise  standard deviation of the noise of the labels
    nodes  how many points stand for the law of z

    >>> single_index(100, "He3(z)").sentence
    'x ~ N(0, I), y = He3(z), z = x_1'
    """

    word: ClassVar[str] = "single_index"

    link: Given
    noise: float = 0.0
    nodes: int | None = static(default=None)

    def __post_init__(self) -> None:
        check_dimension(self.d, 1)
        check_noise(self.noise)
        check_nodes(self.nodes)
        self.settle(link=parsed(self.link, 1), noise=as_number(self.noise))

    @property
    def kept(self) -> int:
        """The direction of the link."""
        return 1

    @property
    def target(self) -> Given:
        """φ."""
        return self.link

    @property
    def per_axis(self) -> int | None:
        """Nodes of the kept axis."""
        return self.nodes

    @property
    def label_noise(self) -> float:
        """Standard deviation of the noise of the labels."""
        return self.noise


class MultiIndex(IndexModel):
    """y = φ(x_1, …, x_k) + noise · G for x ~ N(0, I_d).

    d      dimension, a whole number or ``math.inf``
    k      number of directions the label depends on
    link   φ, an expression in z1, …, zk or a JAX-traceable function of an array (…, k)
    noise  standard deviation of the noise of the labels
    nodes  points for each of up to three axes; in all for more

    >>> multi_index(100, 2, "sign(z1)*abs(z2)").kept
    2
    """

    word: ClassVar[str] = "multi_index"

    k: int = static()
    link: Given
    noise: float = 0.0
    nodes: int | None = static(default=None)

    def __post_init__(self) -> None:
        require_count("k", self.k, "2")
        check_dimension(self.d, self.k)
        check_noise(self.noise)
        check_nodes(self.nodes)
        self.settle(link=parsed(self.link, self.k), noise=as_number(self.noise))

    @property
    def kept(self) -> int:
        """The directions of the link."""
        return self.k

    @property
    def target(self) -> Given:
        """φ."""
        return self.link

    @property
    def per_axis(self) -> int | None:
        """Nodes for each kept axis (in all, beyond three)."""
        return self.nodes

    @property
    def label_noise(self) -> float:
        """Standard deviation of the noise of the labels."""
        return self.noise


single_index, multi_index = SingleIndex, MultiIndex
