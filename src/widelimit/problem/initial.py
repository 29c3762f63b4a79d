"""Initial laws ρ_0 of the neurons.

    gaussian(scale=κ)   w ~ N(0, κ²/d I)          radii: r_g = κ/√d · χ_{d_g}, independent
    sphere(radius=R)    w ~ uniform, |w| = R      radii: (r_1², r_2²) = R² (B, 1 − B), B ~ Beta(d_1/2, d_2/2)
    array(theta)        the neurons themselves

The first two are invariant under rotations of each group of directions, so each has a reduced form: a product of
independent factors in the coordinates a, b, u, r_1, r_2, …, each a list of atoms or a function of standard
normal scores x (the quantile function of the factor at Φ(x), which is smooth and exact far into both tails).
At d = ∞ radii and kept coordinates are deterministic: r_g = κ √(d_g/d), u = 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from scipy import stats
from scipy.special import ndtr

from widelimit.errors import is_finite, require, require_known
from widelimit.frozen import As, OfArrays, Value, argument, positive, static
from widelimit.problem.data.data_law import Group

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Factor:
    """One independent factor of a reduced law, over one or more neighbouring columns.

    atoms   rows (value of each column, …) with their weights, or None
    curve   standard normal scores (m, scores) → values (m, columns), or None
    """

    columns: int
    atoms: tuple[tuple[tuple[float, ...], float], ...] | None = None
    curve: Curve | None = None
    scores: int = 1


def _certain(*values: float) -> Factor:
    """One atom."""
    return Factor(len(values), atoms=((values, 1.0),))


class ScalarLaw(Value, ABC):
    """Where a scalar of a neuron starts."""

    @abstractmethod
    def factor(self) -> Factor:
        """Its factor of the reduced law."""

    @abstractmethod
    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""


class ConstantLaw(ScalarLaw):
    """Every neuron starts at the same value."""

    word: ClassVar[str] = "constant"

    value: float

    def validate(self) -> None:
        """A number."""
        require(is_finite(self.value), "a constant start must be a number", self.value, "try initial.constant(1.0)")

    def factor(self) -> Factor:
        """One atom."""
        return _certain(self.value)

    def sample(self, key: Array, n: int) -> Array:
        """n equal values."""
        return jnp.full((n,), self.value)


class Signs(ScalarLaw):
    """±size with equal probability."""

    word: ClassVar[str] = "signs"

    size: float = positive("1.0", default=1.0)

    def factor(self) -> Factor:
        """Two atoms."""
        return Factor(1, atoms=(((self.size,), 0.5), ((-self.size,), 0.5)))

    def sample(self, key: Array, n: int) -> Array:
        """n independent signs."""
        return self.size * jax.random.rademacher(key, (n,), float)


class Normal(ScalarLaw):
    """N(mean, std²)."""

    word: ClassVar[str] = "normal"

    mean: float = 0.0
    std: float = positive("1.0", default=1.0)

    def validate(self) -> None:
        """The mean may be any number."""
        require(is_finite(self.mean), "mean must be a number", self.mean, "try mean=0.0")

    def factor(self) -> Factor:
        """The score itself, shifted and scaled."""
        return Factor(1, curve=lambda x: self.mean + self.std * x)

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        return self.mean + self.std * jax.random.normal(key, (n,))


class Uniform(ScalarLaw):
    """Uniform on [low, high]."""

    word: ClassVar[str] = "uniform"

    low: float = -1.0
    high: float = 1.0

    def validate(self) -> None:
        """An interval."""
        require(
            is_finite(self.low) and is_finite(self.high) and self.low < self.high,
            "a uniform law needs low < high",
            (self.low, self.high),
            "try initial.uniform(-1, 1)",
        )

    def factor(self) -> Factor:
        """Φ of the score, shifted and scaled."""
        return Factor(1, curve=lambda x: self.low + (self.high - self.low) * ndtr(x))

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        return jax.random.uniform(key, (n,), minval=self.low, maxval=self.high)


constant, signs, normal, uniform = ConstantLaw, Signs, Normal, Uniform
Start = ScalarLaw | float | None


def _law(law: Start) -> ScalarLaw | None:
    if law is None or isinstance(law, ScalarLaw):
        return law
    require(is_finite(law), "the start of a scalar must be a number or one of initial.constant, signs, normal, uniform",
            law, "try initial.normal(0, 1)")  # fmt: skip
    return ConstantLaw(law)


class Gaussian(Value):
    """w ~ N(0, κ²/d I) with κ = scale; ``a`` and ``b`` are laws (or numbers) for the outer weight and the bias.

    scale  κ
    a, b   laws of the scalars that the neuron has
    """

    word: ClassVar[str] = "gaussian"

    scale: float = positive("0.4")
    a: As[Start, ScalarLaw | None] = argument(form=_law, default=None)
    b: As[Start, ScalarLaw | None] = argument(form=_law, default=None)

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        return self.scale / math.sqrt(d) * jax.random.normal(key, (n, d))

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for each kept coordinate of w ∈ R^d, one for each group."""
        return [*(self._kept(d) for _ in range(kept)), *(self._radius(g) for g in groups)]

    def _kept(self, d: float) -> Factor:
        if math.isinf(d):
            return _certain(0.0)
        return Factor(1, curve=lambda x: self.scale / math.sqrt(d) * x)

    def _radius(self, g: Group) -> Factor:
        spread = self.scale * math.sqrt(g.share)
        if math.isinf(g.d):
            return _certain(spread)
        return Factor(1, curve=lambda x: spread / math.sqrt(g.d) * _at_score("chi", x, g.d))


class Sphere(Value):
    """w uniform on the sphere of the given radius; ``a`` and ``b`` as in `gaussian`.

    radius  |w|
    a, b    laws of the scalars that the neuron has
    """

    word: ClassVar[str] = "sphere"

    radius: float = positive("1.0")
    a: As[Start, ScalarLaw | None] = argument(form=_law, default=None)
    b: As[Start, ScalarLaw | None] = argument(form=_law, default=None)

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        w = jax.random.normal(key, (n, d))
        return self.radius * w / jnp.linalg.norm(w, axis=1, keepdims=True)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for all: kept coordinates and radii are tied by |u|² + Σ r_g² = R²."""
        if (not kept and len(groups) == 1) or math.isinf(d):
            return [_certain(*(0.0,) * kept, *(self.radius * math.sqrt(g.share) for g in groups))]
        if kept:
            return [self._with_kept(kept, groups)]
        require(len(groups) == 2, "a spherical start is reduced for one or two groups of directions", len(groups),
                "use initial.gaussian")  # fmt: skip
        one, two = (g.d / 2 for g in groups)

        def curve(x: np.ndarray) -> np.ndarray:
            share = _at_score("beta", x, one, two)
            rest = _at_score("beta", -x, two, one)
            return self.radius * np.sqrt(np.concatenate([share, rest], axis=1))

        return [Factor(2, curve=curve)]

    def _with_kept(self, kept: int, groups: Sequence[Group]) -> Factor:
        def curve(x: np.ndarray) -> np.ndarray:
            radii = [_at_score("chi", x[:, kept + i, None], g.d) for i, g in enumerate(groups)]
            rows = np.concatenate([x[:, :kept], *radii], axis=1)
            return self.radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)

        return Factor(kept + len(groups), curve=curve, scores=kept + len(groups))


class Explicit(OfArrays, eq=False):
    """The neurons themselves, one per row: columns a, b, w_1.. (those that exist), or a, b, u_1.., r_1.. if reduced.

    theta        (n, D)
    coordinates  "full" or "reduced"; told by the number of columns where that is enough
    """

    word: ClassVar[str] = "array"

    theta: As[ArrayLike, np.ndarray]
    coordinates: str | None = static(default=None)

    def validate(self) -> None:
        """An array of finite numbers; it is copied and cannot be written."""
        try:
            theta = np.array(self.theta, dtype=float)
        except (TypeError, ValueError):
            theta = np.empty(0)
        require(
            theta.ndim == 2 and theta.size > 0 and bool(np.isfinite(theta).all()),
            "an explicit start must be a two-dimensional array of finite numbers, one row per neuron",
            getattr(self.theta, "shape", type(self.theta).__name__),
            "reshape it to (n, D)",
        )
        if self.coordinates is not None:
            require_known("coordinates", self.coordinates, ("full", "reduced"))
        theta.flags.writeable = False
        self.settle(theta=theta)


InitialLaw = Gaussian | Sphere | Explicit
gaussian, sphere, array = Gaussian, Sphere, Explicit


def _at_score(family: str, x: np.ndarray, *parameters: float) -> np.ndarray:
    """Quantile at Φ(x) of a scipy family, from whichever tail is the smaller."""
    law = getattr(stats, family)(*parameters)
    return np.where(x < 0, law.ppf(ndtr(np.minimum(x, 0))), law.isf(ndtr(-np.maximum(x, 0))))
