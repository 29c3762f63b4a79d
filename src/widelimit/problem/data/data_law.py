"""What every data law offers: samples, and the structure a reduction uses.

    x = (z, x_1, x_2, …),   z ∈ R^k the first k coordinates, kept;   x_g the groups of directions

    y depends on x through z and the class alone, and inside a group of d_g directions the law is rotation invariant
    with standard deviation τ_g. A node q is a value z_q of the kept coordinates, or a class, with its weight and label:

    E χ(y, z, …) = Σ_q p_q E[χ(y_q, z_q, …) | q]

    k   kept         number of kept coordinates
    g   groups       Group(d_g, share, τ_g at every node)
    q   quadrature   Nodes(z (Q, k), p (Q,), y (Q,))

A law without symmetry keeps all its coordinates and has no groups.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from widelimit.errors import InputError, is_number, require
from widelimit.frozen import Value

SAMPLES = 4096


class Group(NamedTuple):
    """Directions among which the data law is rotation invariant.

    d      number of directions d_g (may be infinite)
    share  d_g / d, which stays meaningful when both are infinite
    tau    standard deviation along each direction, one value per node
    """

    d: float
    share: float
    tau: tuple[float, ...]


class Nodes(NamedTuple):
    """Where expectations over classes and kept coordinates are taken: z (Q, k), weights p (Q,), labels y (Q,)."""

    z: np.ndarray
    p: np.ndarray
    y: np.ndarray


class Mixture(NamedTuple):
    """Centred Gaussian classes of x: probabilities, labels, and (directions, deviations in every class) in order."""

    p: tuple[float, ...]
    y: tuple[float, ...]
    groups: tuple[tuple[int, tuple[float, ...]], ...]


class Draw(NamedTuple):
    """Draws that stand for a law, equally many from each of its parts, one part after the other.

    x      (M, d)
    y      (M,), without the noise of the labels where it can be left out
    p      probabilities of the parts, (S,)
    floor  variance of the noise that was left out
    """

    x: Array
    y: Array
    p: Array
    floor: float = 0.0


class DataLaw(Value, ABC):
    """The law of (x, y). What is said here holds unless a field or a property of the law says otherwise."""

    @cached_property
    def d(self) -> float:
        """Dimension of x, may be infinite."""
        raise TypeError("a data law needs a field d")

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of the labels."""
        return 0.0

    @property
    def samples(self) -> int:
        """How many draws stand for the law where its risk has no formula."""
        return SAMPLES

    @property
    def risk_name(self) -> str:
        """What R is called in figures and tables."""
        return "population risk"

    @property
    def kept(self) -> int:
        """k, the number of kept coordinates, which come first."""
        return int(self.d)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The rotation-invariant groups of directions, after the kept coordinates."""
        return ()

    @property
    def quadrature(self) -> Nodes:
        """The nodes; not for laws without symmetry, whose samples take their place."""
        raise TypeError("a law without symmetry has no nodes")

    @property
    def other(self) -> DataLaw | None:
        """The same law with other nodes, to see the error of these; None where they are exact, or random."""
        return None

    @property
    def climbs(self) -> bool:
        """Whether the other nodes are better ones, to be used where these are not good enough."""
        return False

    @property
    def sets(self) -> int:
        """How many independent sets of random nodes there are; 1 where they are not random."""
        return 1

    @property
    def mixture(self) -> Mixture | None:
        """The Gaussian classes of x, if x is Gaussian; the labels are those of the nodes if coordinates are kept."""
        return None

    @property
    def no_reduction(self) -> str:
        """Why there is no exact landscape in reduced coordinates; empty if there is one."""
        return ""

    @property
    def on_sphere(self) -> bool:
        """Whether |x| is fixed: a group then sees the first coordinate of a sphere instead of a normal one."""
        return False

    @abstractmethod
    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""

    def draws(self, key: Array, n: int) -> Draw:
        """At least n draws in place of expectations, two or more from each part: here one part, the whole law."""
        x, y = self.sample(key, max(n, 2), float)
        return Draw(x, y, jnp.ones(1))

    def block(self, key: Array, index: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """The samples number index·n, …, (index + 1)·n − 1 of the stream that belongs to a key."""
        return self.sample(jax.random.fold_in(key, index), n, dtype)

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The law in symbols."""


def check_dimension(d: object, least: int = 1) -> None:
    """Raise an InputError unless d is a whole number, not too small, or infinite."""
    require(
        is_number(d) and d >= least and (math.isinf(d) or d == int(d)),
        f"d must be a whole number of at least {least} or math.inf",
        d,
        "try d=40",
    )


def require_finite(d: float, what: str) -> int:
    """The dimension, which must be finite for what is asked."""
    if math.isinf(d):
        raise InputError(
            f"{what} in full coordinates need a finite dimension, got inf: choose a finite d, or stay in reduced "
            "coordinates."
        )
    return int(d)


def normals(key: Array, shape: tuple[int, int], dtype: DTypeLike) -> Array:
    """Independent standard normals; in single precision two from each 64 random bits, which is what a hash yields."""
    if jnp.dtype(dtype) != jnp.float32:
        return jax.random.normal(key, shape, dtype)
    rows = -(-shape[0] // 2)
    words = jax.random.bits(key, (rows, shape[1]), "uint64")
    halves = [_normal_from_bits(half.astype("uint32")) for half in (words >> 32, words)]
    return jnp.concatenate([halves[0], halves[1][: shape[0] - rows]])


def _normal_from_bits(bits: Array) -> Array:
    """Φ^{-1} of the uniform number in the top 23 of 32 random bits."""
    mantissa = (bits >> 9) | jnp.uint32(0x3F800000)  # a float in [1, 2)
    uniform = 2 * jax.lax.bitcast_convert_type(mantissa, "float32") - 3
    return jnp.float32(math.sqrt(2)) * jax.lax.erf_inv(jnp.maximum(uniform, jnp.float32(-1 + 2**-24)))
