"""Laws whose label is a function of the first coordinates, and that function.

    y = h(z) + noise · G,    z = (x_1, …, x_k)

    h   target   an expression, whose numbers JAX traces, or an opaque function, which is part of the code
    k   kept     how many coordinates it depends on

Kept: z. One group: the other d − k directions. A law says how x is drawn and which nodes stand for z.

Where draws stand for the law, each of the first k axes is cut into s slices of equal probability, and each of the s^k
cells is drawn equally often: only what is left inside the cells is random.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtri
from jax.typing import DTypeLike

import widelimit.problem.expression_arrays  # noqa: F401, makes expressions known to JAX
from widelimit.errors import require, require_count
from widelimit.frozen import Frozen, static
from widelimit.problem.data.data_law import DataLaw, Draw, Group, Nodes, check_dimension, normals, require_finite
from widelimit.problem.data.nodes import Rule
from widelimit.problem.expressions import Expression, Terms, expression
from widelimit.problem.host_values import host_values

PER_CELL = 32  # draws: the variance inside the outermost cells, which hold the tails, must be known


class Opaque(Frozen):
    """A function JAX can trace but a file cannot hold."""

    function: Callable[..., Array] = static()

    def __call__(self, z: Array | np.ndarray) -> Array:
        """h(z)."""
        return self.function(z)

    def __str__(self) -> str:
        return f"{getattr(self.function, '__name__', 'φ')}(z)"

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


Counts = tuple[int, ...]
Target = Expression | Opaque
Given = str | Expression | Opaque | Callable[..., Array]
Evaluated = Given | Callable[..., Any]  # where nothing is traced, so that NumPy may compute it


def parsed(target: Given) -> Target:
    """A target from a text or a function."""
    if isinstance(target, str | Expression):
        return expression(target)
    good = callable(target)
    require(good, "a link or target must be an expression or a function", target, "try 'He1(z) - 0.5*He3(z)'")
    return target if isinstance(target, Opaque) else Opaque(target)


def polynomial_terms(target: Target) -> Terms | None:
    """The monomials of a target, if it is a polynomial."""
    return target.monomials if isinstance(target, Expression) else None


def check_arity(target: Target, most: int | None) -> None:
    """Raise an InputError unless an expression has at most so many variables, and a function says how many it has."""
    if not isinstance(target, Expression):
        require(most is not None, "a function needs k, the number of its coordinates", most, "try k=2")
        return
    arity = max(target.arity, 1)
    require(
        most is None or arity <= most,
        f"the expression may depend on z1 to z{most} only",
        str(target),
        f"raise k to {arity} or drop the other variables",
    )


def evaluate(target: Target, z: Array | np.ndarray) -> Array:
    """h at the rows of z (…, k)."""
    indexed = target.indexed if isinstance(target, Expression) else z.shape[-1] > 1
    return target(z if indexed else z[..., 0])


def values_at(target: Target, z: np.ndarray) -> np.ndarray:
    """h at known points, the rows of z (n, k): for an expression nothing is compiled."""
    if isinstance(target, Expression):
        return host_values(target, z)
    with jax.ensure_compile_time_eval():  # they are constants, also when first asked for inside a compiled function
        return np.asarray(evaluate(target, z), float)


def check_nodes(name: str, nodes: object) -> None:
    """Raise an InputError unless a number of nodes, or each of several, is None or even: rules mirror a half line."""
    for count in nodes if isinstance(nodes, list | tuple) and nodes else (nodes,):
        if count is not None:
            require_count(name, count, "64")
            require(count % 2 == 0, "nodes must be an even number of at least 2", nodes, "try nodes=64")


class TargetLaw(DataLaw):
    """y = h(z) + noise · G; see above."""

    others: ClassVar[int] = 1  # how many directions there must be besides those of z
    inputs: ClassVar[str]  # the law of x in symbols

    @cached_property
    def target(self) -> Target:
        """h, which an index model calls its link."""
        return self.__dict__["link"]

    @cached_property
    def k(self) -> int | None:
        """How many coordinates h depends on; None if that is known from an expression."""
        return None

    @property
    def kept(self) -> int:
        """The coordinates of the target."""
        return self.k if self.k is not None else max(getattr(self.target, "arity", 1), 1)

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The nodes of z and their weights."""

    def coordinates(self, key: Array, shape: tuple[int, int], dtype: DTypeLike) -> Array:
        """Independent coordinates, (n, d): standard normals unless a law says otherwise."""
        return normals(key, shape, dtype)

    def quantile(self, u: Array) -> Array:
        """Such a coordinate from a uniform number."""
        return ndtri(u)

    def slices(self, n: int) -> int:
        """s, into how many slices n draws cut each axis of z."""
        return max(1, int((n / PER_CELL) ** (1 / self.kept) + 1e-9))

    def placed(self, g: Array) -> Array:
        """Inputs x from independent coordinates g, (n, d)."""
        return g

    def validate(self) -> None:
        """h has as many variables as it may have, and d leaves room for them."""
        if self.k is not None:
            require_count("k", self.k, "2")
        check_arity(self.target, self.k)
        check_dimension(self.d, self.kept + self.others)

    @cached_property
    def quadrature(self) -> Nodes:
        """Nodes of z, labels h(z)."""
        z, p = self.rule
        y = values_at(self.target, z)
        require(
            y.shape == p.shape and bool(np.isfinite(y).all()),
            "a link must give one finite number for every z",
            str(self.target),
            "avoid poles and logarithms of negative numbers",
        )
        return Nodes(z, p, y)

    def draws(self, key: Array, n: int) -> Draw:
        """At least n draws with their labels h(z), equally many for each cell of z."""
        k, s, d = self.kept, self.slices(n), require_finite(self.d, "samples")
        each = max(2, -(-n // s**k))
        cells = jnp.repeat(jnp.indices((s,) * k).reshape(k, -1).T, each, axis=0)
        u = (cells + jax.random.uniform(jax.random.fold_in(key, 1), cells.shape)) / s
        first = self.quantile(jnp.clip(u, 2.0**-53, 1 - 2.0**-53))
        x = self.placed(self.coordinates(key, (len(u), d), float).at[:, :k].set(first))
        y = evaluate(self.target, x[:, :k]).astype(float)
        return Draw(x, y, jnp.full(s**k, 1 / s**k), self.noise**2)

    def deviations(self, z: np.ndarray) -> np.ndarray:
        """Standard deviation of the other coordinates at the nodes z (Q, k), (Q,)."""
        return np.ones(len(z))

    @property
    def groups(self) -> tuple[Group, ...]:
        """All other directions."""
        rest = self.d - self.kept
        share = 1.0 if math.isinf(self.d) else rest / self.d
        return (Group(rest, share, tuple(self.deviations(self.quadrature.z).tolist())),)

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        k, h = self.kept, self.target
        indexed = k > 1 or (isinstance(h, Expression) and h.indexed)
        z = "z = x_1" if not indexed else "z1 = x_1" if k == 1 else f"z1..z{k} = x_1..x_{k}"
        return f"{self.inputs}, y = {h}{f' + {self.noise:g} G' if self.noise else ''}, {z}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        x = self.placed(self.coordinates(key, (n, require_finite(self.d, "samples")), dtype))
        y = evaluate(self.target, x[:, : self.kept]).astype(dtype)
        return x, y + jnp.asarray(self.noise, dtype) * jax.random.normal(jax.random.fold_in(key, 1), y.shape, dtype)
