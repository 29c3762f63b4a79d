"""Index models: labels that depend on a few directions of a Gaussian input.

    x ~ N(0, I_d),    y = φ(z) + noise · G,    z = (x_1, …, x_k)

    d   d      dimension of x, may be infinite
    k   k      number of directions the label depends on; the first k axes, which loses no generality
    φ   link   an expression or a JAX-traceable function

Kept: z. One group: the other d − k directions.  Reference: [agj21].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from widelimit.errors import require, require_count
from widelimit.problem.expressions import Expression, expression
from widelimit.problem.law import (
    DataLaw,
    Group,
    Mixture,
    Nodes,
    check_dimension,
    check_noise,
    normals,
    require_finite,
    with_noise,
)

if TYPE_CHECKING:
    from jax import Array

Link = Expression | Callable[[Any], Any]


@dataclass(frozen=True)
class IndexModel(DataLaw):
    """A label that depends on k directions of a Gaussian input, see `single_index` and `multi_index`.

    points   nodes for each kept axis (in all, beyond three), None for the default
    """

    k: int
    link: Link
    noise: float = 0.0
    points: int | None = None

    def __post_init__(self) -> None:
        require_count("k", self.k, "2")
        check_dimension(self.d, self.k)
        check_noise(self.noise)
        check_points(self.points)

    @property
    def kept(self) -> int:
        """The directions of the link."""
        return self.k

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All other directions."""
        rest = self.d - self.k
        share = 1.0 if math.isinf(self.d) else rest / self.d
        return (Group(rest, share, (1.0,) * len(self.nodes.p)),)

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes of the normal law of z, labels φ(z)."""
        from widelimit.problem.nodes import normal_nodes

        z, p = normal_nodes(self.k, self.points)
        return Nodes(z, p, labels(self.link, z))

    @property
    def mixture(self) -> Mixture:
        """One class; its labels are those of the nodes."""
        return Mixture((1.0,), (0.0,), ((int(self.d), (1.0,)),))

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"x ~ N(0, I), {label_sentence(self.link, self.k, self.noise)}"

    def sample(self, key: Array, n: int, dtype: Any) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        x = normals(key, (n, require_finite(self.d, "samples")), dtype)
        return x, with_noise(key, evaluate(self.link, x[:, : self.k]).astype(dtype), self.noise)


def single_index(d: float, link: str | Link, noise: float = 0.0, nodes: int | None = None) -> IndexModel:
    """y = φ(x_1) + noise · G for x ~ N(0, I_d).

    d      dimension, a whole number or ``math.inf``
    link   φ, an expression in z such as ``"He1(z) - 0.5*He3(z)"`` or a JAX-traceable function
    noise  standard deviation of the noise of the labels
    nodes  how many points stand for the law of z

    >>> single_index(100, "He3(z)").sentence
    'x ~ N(0, I), y = He3(z), z = x_1'
    """
    return IndexModel(d, 1, parsed(link, 1), noise, nodes)


def multi_index(d: float, k: int, link: str | Link, noise: float = 0.0, nodes: int | None = None) -> IndexModel:
    """y = φ(x_1, …, x_k) + noise · G for x ~ N(0, I_d).

    link   φ, an expression in z1, …, zk or a JAX-traceable function of an array (…, k)
    nodes  points for each of up to three axes; in all for more

    >>> multi_index(100, 2, "sign(z1)*abs(z2)").kept
    2
    """
    require_count("k", k, "2")
    return IndexModel(d, k, parsed(link, k), noise, nodes)


def parsed(link: Any, most: int | None = None) -> Link:
    """A link as an expression or a function, of at most so many variables."""
    if not isinstance(link, str | Expression):
        good = callable(link)
        require(good, "a link or target must be an expression or a function", link, "try 'He1(z) - 0.5*He3(z)'")
        return link
    found = expression(link)
    arity = max(found.arity, 1)
    require(
        most is None or arity <= most,
        f"the expression may depend on z1 to z{most} only",
        str(found),
        f"raise k to {arity} or drop the other variables",
    )
    return found


def check_points(points: Any) -> None:
    """Raise an InputError unless a number of nodes is None or an even number: the rules mirror a half line."""
    if points is not None:
        require_count("nodes", points, "64")
        require(points % 2 == 0, "nodes must be an even number of at least 2", points, "try nodes=64")


def evaluate(link: Link, z: Any) -> Any:
    """φ at the rows of z (…, k)."""
    indexed = link.indexed if isinstance(link, Expression) else z.shape[-1] > 1
    return link(z if indexed else z[..., 0])


def labels(link: Link, z: Any) -> Any:
    """φ at nodes (Q, k), as numbers."""
    import jax
    import numpy as np

    with jax.ensure_compile_time_eval():  # they are constants, also when first asked for inside a compiled function
        values = np.asarray(evaluate(link, z), float)
    require(
        values.shape == (len(z),) and bool(np.isfinite(values).all()),
        "a link must give one finite number for every z",
        str(link),
        "avoid poles and logarithms of negative numbers",
    )
    return values


def label_sentence(link: Link, k: int, noise: float) -> str:
    """How y comes from x."""
    name = str(link) if isinstance(link, Expression) else getattr(link, "__name__", "φ") + "(z)"
    indexed = k > 1 or (isinstance(link, Expression) and link.indexed)
    what = "z = x_1" if not indexed else "z1 = x_1" if k == 1 else f"z1..z{k} = x_1..x_{k}"
    return f"y = {name}{f' + {noise:g} G' if noise else ''}, {what}"
