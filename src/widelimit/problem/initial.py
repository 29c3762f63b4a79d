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
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from scipy import stats
from scipy.special import ndtr

from widelimit.errors import InputError, is_finite, require, require_positive
from widelimit.frozen import Value, as_number
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

    def __post_init__(self) -> None:
        require(is_finite(self.value), "a constant start must be a number", self.value, "try initial.constant(1.0)")
        self.settle(value=as_number(self.value))

    def factor(self) -> Factor:
        """One atom."""
        return Factor(1, atoms=(((self.value,), 1.0),))

    def sample(self, key: Array, n: int) -> Array:
        """n equal values."""
        return jnp.full((n,), self.value)


class Signs(ScalarLaw):
    """±size with equal probability."""

    word: ClassVar[str] = "signs"

    size: float = 1.0

    def __post_init__(self) -> None:
        require_positive("size", self.size, "1.0")
        self.settle(size=as_number(self.size))

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
    std: float = 1.0

    def __post_init__(self) -> None:
        require(is_finite(self.mean), "mean must be a number", self.mean, "try mean=0.0")
        require_positive("std", self.std, "1.0")
        self.settle(mean=as_number(self.mean), std=as_number(self.std))

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

    def __post_init__(self) -> None:
        require(
            is_finite(self.low) and is_finite(self.high) and self.low < self.high,
            "a uniform law needs low < high",
            (self.low, self.high),
            "try initial.uniform(-1, 1)",
        )
        self.settle(low=as_number(self.low), high=as_number(self.high))

    def factor(self) -> Factor:
        """Φ of the score, shifted and scaled."""
        return Factor(1, curve=lambda x: self.low + (self.high - self.low) * ndtr(x))

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        return jax.random.uniform(key, (n,), minval=self.low, maxval=self.high)


constant, signs, normal, uniform = ConstantLaw, Signs, Normal, Uniform


class Gaussian(Value):
    """w ~ N(0, κ²/d I) with κ = scale; ``a`` and ``b`` are laws (or numbers) for the outer weight and the bias.

    scale  κ
    a, b   laws of the scalars that the neuron has
    """

    word: ClassVar[str] = "gaussian"

    scale: float
    a: ScalarLaw | float | None = None
    b: ScalarLaw | float | None = None

    def __post_init__(self) -> None:
        require_positive("scale", self.scale, "0.4")
        self.settle(scale=as_number(self.scale), a=_law(self.a), b=_law(self.b))

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        return self.scale / math.sqrt(d) * jax.random.normal(key, (n, d))

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for each kept coordinate of w ∈ R^d, one for each group."""
        return [*(self._kept(d) for _ in range(kept)), *(self._radius(g) for g in groups)]

    def _kept(self, d: float) -> Factor:
        if math.isinf(d):
            return Factor(1, atoms=(((0.0,), 1.0),))
        return Factor(1, curve=lambda x: self.scale / math.sqrt(d) * x)

    def _radius(self, g: Group) -> Factor:
        spread = self.scale * math.sqrt(g.share)
        if math.isinf(g.d):
            return Factor(1, atoms=(((spread,), 1.0),))
        return Factor(1, curve=lambda x: spread / math.sqrt(g.d) * _at_score("chi", x, g.d))


class Sphere(Value):
    """w uniform on the sphere of the given radius; ``a`` and ``b`` as in `gaussian`.

    radius  |w|
    a, b    laws of the scalars that the neuron has
    """

    word: ClassVar[str] = "sphere"

    radius: float
    a: ScalarLaw | float | None = None
    b: ScalarLaw | float | None = None

    def __post_init__(self) -> None:
        require_positive("radius", self.radius, "1.0")
        self.settle(radius=as_number(self.radius), a=_law(self.a), b=_law(self.b))

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        w = jax.random.normal(key, (n, d))
        return self.radius * w / jnp.linalg.norm(w, axis=1, keepdims=True)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for all: kept coordinates and radii are tied by |u|² + Σ r_g² = R²."""
        if (not kept and len(groups) == 1) or math.isinf(d):
            atom = (0.0,) * kept + tuple(self.radius * math.sqrt(g.share) for g in groups)
            return [Factor(kept + len(groups), atoms=((atom, 1.0),))]
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


class Explicit(Value):
    """The neurons themselves, see `array`."""

    word: ClassVar[str] = "array"

    theta: np.ndarray

    @cached_property
    def _content(self) -> tuple[object, ...]:
        return self.theta.shape, self.theta.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explicit) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"array(<theta of shape {self.theta.shape}>)"


InitialLaw = Gaussian | Sphere | Explicit
gaussian, sphere = Gaussian, Sphere


def array(theta: ArrayLike) -> Explicit:
    """An explicit start, one row per neuron, columns a, b, w_1.. (those that exist), or a, b, r_1.. in reduced form."""
    try:
        values = np.array(theta, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    require(
        values.ndim == 2 and values.size > 0 and bool(np.isfinite(values).all()),
        "an explicit start must be a two-dimensional array of finite numbers, one row per neuron",
        getattr(theta, "shape", type(theta).__name__),
        "reshape it to (n, D)",
    )
    values.flags.writeable = False
    return Explicit(values)


def _law(law: ScalarLaw | float | None) -> ScalarLaw | None:
    if law is None or isinstance(law, ScalarLaw):
        return law
    if not is_finite(law):
        raise InputError(
            f"the start of a scalar must be a number or one of initial.constant, signs, normal, uniform, got {law!r}: "
            "try initial.normal(0, 1)."
        )
    return ConstantLaw(law)


def _at_score(family: str, x: np.ndarray, *parameters: float) -> np.ndarray:
    """Quantile at Φ(x) of a scipy family, from whichever tail is the smaller."""
    law = getattr(stats, family)(*parameters)
    return np.where(x < 0, law.ppf(ndtr(np.minimum(x, 0))), law.isf(ndtr(-np.maximum(x, 0))))
