"""The columns of θ as a value.

full      a, b, w_1, …, w_d                  those of a and b that exist, then the inner weights
reduced   a, b, u_1, …, u_k, r_1, r_2, …     w keeps its first k coordinates, and its length r_g in every group g

d_g   directions   behind each radius; they matter where noise or volumes do
"""

from __future__ import annotations

from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from widelimit.errors import require
from widelimit.frozen import Frozen, static

Rows = TypeVar("Rows", Array, np.ndarray)


class Split(NamedTuple, Generic[Rows]):
    """The columns of neurons: a (n,) and b (n,), 1 and 0 where absent, and w (n, …) or u and the radii."""

    a: Rows
    b: Rows
    w: Rows


class Coordinates(Frozen):
    """Names and meaning of the columns.

    scalars     "a", "b": those that exist
    kept        inner columns that stay as they are
    directions  d_g of every radius, in reduced coordinates
    widths      columns of every group, in full coordinates
    letter      of the inner weights in full coordinates
    """

    scalars: tuple[str, ...] = static()
    kept: int = static()
    directions: tuple[float, ...] = ()
    widths: tuple[int, ...] = static(default=())
    letter: str = static(default="w")

    @property
    def is_reduced(self) -> bool:
        """Whether some columns are radii."""
        return bool(self.directions)

    @property
    def inner(self) -> int:
        """Number of columns after the scalars."""
        return self.kept + sum(self.widths) + len(self.directions)

    @property
    def D(self) -> int:
        """Number of columns."""
        return len(self.scalars) + self.inner

    @property
    def first_radius(self) -> int:
        """Number of columns before the radii."""
        return self.D - len(self.directions)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks: a, b (those that exist) and w."""
        return (*self.scalars, "w")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Columns of every block."""
        return (*(1 for _ in self.scalars), self.inner)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        if not self.is_reduced:
            return (*self.scalars, *(f"{self.letter}_{i}" for i in range(1, self.inner + 1)))
        return (*self.scalars, *_numbered("u", self.kept), *_numbered("r", len(self.directions)))

    def is_radius(self) -> np.ndarray:
        """Which columns are radii, (D,)."""
        return np.arange(self.D) >= self.first_radius

    def split(self, theta: Rows) -> Split[Rows]:
        """a, b and the other columns; of an array of NumPy as arrays of NumPy."""
        columns = dict(zip(self.scalars, theta.T[: len(self.scalars)], strict=True))
        of: ModuleType = np if isinstance(theta, np.ndarray) else jnp
        a = columns.get("a", of.ones(theta.shape[0], theta.dtype))
        b = columns.get("b", of.zeros(theta.shape[0], theta.dtype))
        return Split(a, b, theta[:, len(self.scalars) :])

    def reduce(self, rows: ArrayLike) -> Array:
        """Full coordinates (n, D) to reduced ones; θ itself where there is no group to reduce."""
        theta = jnp.asarray(rows)
        require(
            theta.ndim == 2 and theta.shape[1] == self.D,
            f"reduce needs neurons in full coordinates, shape (n, {self.D})",
            theta.shape,
            "check whether they are reduced already",
        )
        if not self.widths:
            return theta
        kept = len(self.scalars) + self.kept
        cuts = np.cumsum(self.widths)[:-1]
        radii = [length(w)[:, None] for w in jnp.split(theta[:, kept:], cuts, axis=1)]
        return jnp.concatenate([theta[:, :kept], *radii], axis=1)


def length(x: Array, axis: int = 1) -> Array:
    """|x| over an axis, the second by default, with derivative 0 at the origin."""
    square = jnp.sum(x * x, axis=axis)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def along(u: Array, z: Array) -> Array:
    """⟨u_i, z_q⟩ for rows of few columns, (n, Q).

    Written out: a matrix product with so short an inner side gives wrong numbers when XLA fuses it with a sum on a CPU.
    """
    return sum((u[:, i, None] * z[:, i] for i in range(u.shape[1])), jnp.zeros((len(u), len(z))))


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    return (letter,) if count == 1 else tuple(f"{letter}_{i}" for i in range(1, count + 1))
