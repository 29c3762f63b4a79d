"""Data laws: where (x, y) comes from.

    y = ±1 with probability ½ each,    x | y ~ N(0, Σ_y),
    Σ_y = (1 + yΔ)² on the informative directions, 1 on the others

    d   d             dimension of x, may be infinite
    Δ   delta         contrast of the two classes, in (0, 1)
    s₀  informative   number of informative directions (None: all of them)
    τ   tau           standard deviation of a group of directions in each class

Inside a group of directions the law is rotation invariant: this is what a reduction uses.
Reference: [mmn18], sections on centred isotropic and anisotropic Gaussians.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from widelimit.errors import is_finite, is_number, require

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Group:
    """Directions among which the data law is rotation invariant.

    d      number of directions d_g (may be infinite)
    share  d_g / d, which stays meaningful when both are infinite
    tau    standard deviation along each direction, one value per class
    """

    d: float
    share: float
    tau: tuple[float, ...]


@dataclass(frozen=True)
class GaussianClasses:
    """Two centred Gaussian classes, see `gaussian_classes`."""

    d: float
    delta: float
    informative: float | None = None

    def __post_init__(self) -> None:
        require(
            is_number(self.d) and self.d >= 1 and (math.isinf(self.d) or self.d == int(self.d)),
            "d must be a whole number of at least 1 or math.inf",
            self.d,
            "try d=40",
        )
        require(
            is_number(self.delta) and 0 < self.delta < 1,
            "delta must lie strictly between 0 and 1",
            self.delta,
            "try delta=0.5",
        )
        if self.informative is not None:
            self._check_informative(self.informative)

    def _check_informative(self, s: float) -> None:
        if math.isinf(self.d):
            require(
                is_number(s) and 0 < s < 1,
                "with d = inf, informative is the fraction of informative directions, strictly between 0 and 1",
                s,
                "try informative=0.2",
            )
            return
        require(
            is_finite(s) and s == int(s) and 1 <= s <= self.d,
            f"informative must be a whole number from 1 to d = {int(self.d)}",
            s,
            "lower it, raise d, or leave it out to make every direction informative",
        )

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Weight p_c of each class."""
        return (0.5, 0.5)

    @property
    def labels(self) -> tuple[float, ...]:
        """Label y_c of each class."""
        return (1.0, -1.0)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The rotation-invariant groups of directions, informative ones first."""
        contrast = (1 + self.delta, 1 - self.delta)
        s = self.informative
        if s is None or s == self.d:
            return (Group(self.d, 1.0, contrast),)
        share = s if math.isinf(self.d) else s / self.d
        rest = self.d if math.isinf(self.d) else self.d - s
        informative = self.d if math.isinf(self.d) else s
        return (Group(informative, share, contrast), Group(rest, 1 - share, (1.0, 1.0)))

    def sample(self, key: Array, n: int, dtype: Any) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        import jax
        import jax.numpy as jnp

        if math.isinf(self.d):
            raise_infinite("samples")
        which, noise = jax.random.split(key)
        positive = jax.random.bernoulli(which, 0.5, (n,))
        y = jnp.where(positive, 1, -1).astype(dtype)
        z = _normals(noise, (n, int(self.d)), dtype)
        scales = [
            jnp.broadcast_to(jnp.where(positive, g.tau[0], g.tau[1]).astype(dtype)[:, None], (n, int(g.d)))
            for g in self.groups
        ]
        return z * (scales[0][:, :1] if len(scales) == 1 else jnp.concatenate(scales, axis=1)), y


def _normals(key: Array, shape: tuple[int, int], dtype: Any) -> Array:
    """Independent standard normals; in single precision two from each 64 random bits, which is what a hash yields."""
    import jax
    import jax.numpy as jnp

    if jnp.dtype(dtype) != jnp.float32:
        return jax.random.normal(key, shape, dtype)
    rows = -(-shape[0] // 2)
    words = jax.random.bits(key, (rows, shape[1]), "uint64")
    halves = [_normal_from_bits(half.astype("uint32")) for half in (words >> 32, words)]
    return jnp.concatenate([halves[0], halves[1][: shape[0] - rows]])


def _normal_from_bits(bits: Array) -> Array:
    """Φ^{-1} of the uniform number in the top 23 of 32 random bits."""
    import jax
    import jax.numpy as jnp

    mantissa = (bits >> 9) | jnp.uint32(0x3F800000)  # a float in [1, 2)
    uniform = 2 * jax.lax.bitcast_convert_type(mantissa, "float32") - 3
    return jnp.float32(math.sqrt(2)) * jax.lax.erf_inv(jnp.maximum(uniform, jnp.float32(-1 + 2**-24)))


def gaussian_classes(d: float, delta: float, informative: float | None = None) -> GaussianClasses:
    """Two Gaussian classes x | y ~ N(0, Σ_y), y = ±1, told apart by their variance only.

    d            dimension, a whole number or ``math.inf``
    delta        Δ in (0, 1): standard deviations 1 + Δ and 1 − Δ on the informative directions
    informative  how many directions are informative; None means all (isotropic). With d = inf, their fraction.

    >>> gaussian_classes(d=320, delta=0.5, informative=60).groups[0].tau
    (1.5, 0.5)
    """
    return GaussianClasses(d, delta, informative)


def raise_infinite(what: str) -> None:
    """Say that something needs finitely many coordinates."""
    require(
        False,
        f"{what} in full coordinates need a finite dimension",
        math.inf,
        "choose a finite d, or stay in reduced coordinates",
    )
