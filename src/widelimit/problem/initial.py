"""Initial laws ρ_0 of the neurons.

    gaussian(scale=κ)   w ~ N(0, κ²/d I)          radii: r_g = κ/√d · χ_{d_g}, independent
    sphere(radius=R)    w ~ uniform, |w| = R      radii: (r_1², r_2²) = R² (B, 1 − B), B ~ Beta(d_1/2, d_2/2)
    array(theta)        the neurons themselves

Both are invariant under rotations of each group of directions, so each also has a reduced form: a product of
independent factors in the coordinates a, b, u, r_1, r_2, …, each a list of atoms or a function of standard
normal scores x (the quantile function of the factor at Φ(x), which is smooth and exact far into both tails).
At d = ∞ radii and kept coordinates are deterministic: r_g = κ √(d_g/d), u = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from widelimit.errors import InputError, is_finite, require, require_positive
from widelimit.problem.law import Group

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Factor:
    """One independent factor of a reduced law, over one or more neighbouring columns.

    atoms   rows (value of each column, …) with their weights, or None
    curve   standard normal scores (m, scores) → values (m, columns), or None
    """

    columns: int
    atoms: tuple[tuple[tuple[float, ...], float], ...] | None = None
    curve: Callable[[Any], Any] | None = None
    scores: int = 1


@dataclass(frozen=True)
class ConstantLaw:
    """Always the same value."""

    value: float

    def factor(self) -> Factor:
        """One atom."""
        return Factor(1, atoms=(((self.value,), 1.0),))

    def sample(self, key: Array, n: int) -> Array:
        """n equal values."""
        import jax.numpy as jnp

        return jnp.full((n,), self.value)


@dataclass(frozen=True)
class Signs:
    """±size with probability ½ each."""

    size: float

    def factor(self) -> Factor:
        """Two atoms."""
        return Factor(1, atoms=(((self.size,), 0.5), ((-self.size,), 0.5)))

    def sample(self, key: Array, n: int) -> Array:
        """n independent signs."""
        import jax

        return self.size * jax.random.rademacher(key, (n,), float)


@dataclass(frozen=True)
class Normal:
    """N(mean, std²)."""

    mean: float
    std: float

    def factor(self) -> Factor:
        """The score itself, shifted and scaled."""
        return Factor(1, curve=lambda x: self.mean + self.std * x)

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        import jax

        return self.mean + self.std * jax.random.normal(key, (n,))


@dataclass(frozen=True)
class Uniform:
    """Uniform on [low, high]."""

    low: float
    high: float

    def factor(self) -> Factor:
        """Φ of the score, shifted and scaled."""
        from scipy.special import ndtr

        return Factor(1, curve=lambda x: self.low + (self.high - self.low) * ndtr(x))

    def sample(self, key: Array, n: int) -> Array:
        """n independent values."""
        import jax

        return jax.random.uniform(key, (n,), minval=self.low, maxval=self.high)


ScalarLaw = ConstantLaw | Signs | Normal | Uniform


def constant(value: float) -> ConstantLaw:
    """Every neuron starts at the same value."""
    require(is_finite(value), "a constant start must be a number", value, "try initial.constant(1.0)")
    return ConstantLaw(float(value))


def signs(size: float = 1.0) -> Signs:
    """±size with equal probability."""
    require_positive("size", size, "1.0")
    return Signs(float(size))


def normal(mean: float = 0.0, std: float = 1.0) -> Normal:
    """N(mean, std²)."""
    require(is_finite(mean), "mean must be a number", mean, "try mean=0.0")
    require_positive("std", std, "1.0")
    return Normal(float(mean), float(std))


def uniform(low: float = -1.0, high: float = 1.0) -> Uniform:
    """Uniform on [low, high]."""
    require(
        is_finite(low) and is_finite(high) and low < high,
        "a uniform law needs low < high",
        (low, high),
        "try initial.uniform(-1, 1)",
    )
    return Uniform(float(low), float(high))


@dataclass(frozen=True)
class Gaussian:
    """w ~ N(0, scale²/d I), see `gaussian`."""

    scale: float
    a: ScalarLaw | None = None
    b: ScalarLaw | None = None

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        import jax

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


@dataclass(frozen=True)
class Sphere:
    """w uniform on the sphere |w| = radius, see `sphere`."""

    radius: float
    a: ScalarLaw | None = None
    b: ScalarLaw | None = None

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        import jax
        import jax.numpy as jnp

        w = jax.random.normal(key, (n, d))
        return self.radius * w / jnp.linalg.norm(w, axis=1, keepdims=True)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for all: kept coordinates and radii are tied by |u|² + Σ r_g² = R²."""
        import numpy as np

        if (not kept and len(groups) == 1) or math.isinf(d):
            atom = (0.0,) * kept + tuple(self.radius * math.sqrt(g.share) for g in groups)
            return [Factor(kept + len(groups), atoms=((atom, 1.0),))]
        if kept:
            return [self._with_kept(kept, groups)]
        require(len(groups) == 2, "a spherical start is reduced for one or two groups of directions", len(groups),
                "use initial.gaussian")  # fmt: skip
        one, two = (g.d / 2 for g in groups)

        def curve(x: Any) -> Any:
            share = _at_score("beta", x, one, two)
            rest = _at_score("beta", -x, two, one)
            return self.radius * np.sqrt(np.concatenate([share, rest], axis=1))

        return [Factor(2, curve=curve)]

    def _with_kept(self, kept: int, groups: Sequence[Group]) -> Factor:
        import numpy as np

        def curve(x: Any) -> Any:
            radii = [_at_score("chi", x[:, kept + i, None], g.d) for i, g in enumerate(groups)]
            rows = np.concatenate([x[:, :kept], *radii], axis=1)
            return self.radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)

        return Factor(kept + len(groups), curve=curve, scores=kept + len(groups))


@dataclass(frozen=True, eq=False)
class Explicit:
    """The neurons themselves, see `array`."""

    theta: Any


InitialLaw = Gaussian | Sphere | Explicit


def gaussian(scale: float, a: ScalarLaw | float | None = None, b: ScalarLaw | float | None = None) -> Gaussian:
    """w ~ N(0, κ²/d I) with κ = scale; ``a`` and ``b`` are laws (or numbers) for the outer weight and the bias."""
    require_positive("scale", scale, "0.4")
    return Gaussian(float(scale), _law(a), _law(b))


def sphere(radius: float, a: ScalarLaw | float | None = None, b: ScalarLaw | float | None = None) -> Sphere:
    """w uniform on the sphere of the given radius; ``a`` and ``b`` as in `gaussian`."""
    require_positive("radius", radius, "1.0")
    return Sphere(float(radius), _law(a), _law(b))


def array(theta: Any) -> Explicit:
    """An explicit start, one row per neuron, columns a, b, w_1.. (those that exist), or a, b, r_1.. in reduced form."""
    import numpy as np

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
    return constant(law)


def _at_score(family: str, x: Any, *parameters: float) -> Any:
    """Quantile at Φ(x) of a scipy family, from whichever tail is the smaller."""
    import numpy as np
    from scipy import stats
    from scipy.special import ndtr

    law = getattr(stats, family)(*parameters)
    return np.where(x < 0, law.ppf(ndtr(np.minimum(x, 0))), law.isf(ndtr(-np.maximum(x, 0))))
