"""Regularisers v(θ): what ridge λ multiplies in Ψ_λ = Ψ + λ v(θ).

    squares    v = ½ (α_a a² + α_b b² + α_w |w|²)        |θ|²/2 by default, or chosen blocks
    path       v = |a| |w|
    rounded    v = √(1 + |θ|²)
    function   any differentiable v(a, b, w)

In reduced coordinates w stands for (u, r_1, r_2, …), which has the same length: v must depend on w through u and the
lengths alone. `check_regulariser` refuses any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates, length
from widelimit.errors import InputError, is_finite, require
from widelimit.frozen import Frozen, Value, argument, static

__all__ = ["Regulariser", "path", "regulariser", "rounded", "squares"]


class Regulariser(Value, ABC):
    """v, a function of one neuron."""

    @abstractmethod
    def __call__(self, a: Array, b: Array, w: Array) -> Array:
        """v(θ) of one neuron: a and b numbers (0 where the neuron has none), w (inner,)."""


def _check_weight(name: str, weight: float) -> None:
    good = is_finite(weight) and weight >= 0
    require(good, f"the weight of {name} must be a number >= 0", weight, "try 1.0")


class Squares(Regulariser):
    """v(θ) = ½ (a·a² + b·b² + w·|w|²), with a weight >= 0 for each block.

    a, b, w   weights of the blocks

    >>> import jax.numpy as jnp
    >>> float(squares()(1.0, 0.0, jnp.array([2.0, 0.0])))
    2.5
    """

    word: ClassVar[str] = "squares"

    a: float = argument(_check_weight, default=1.0)
    b: float = argument(_check_weight, default=1.0)
    w: float = argument(_check_weight, default=1.0)

    def __call__(self, a: Array, b: Array, w: Array) -> Array:
        """v(θ)."""
        return 0.5 * (self.a * a * a + self.b * b * b + self.w * jnp.sum(w * w))


class Path(Regulariser):
    """v(θ) = |a| |w|, for homogeneous neurons.

    >>> import jax.numpy as jnp
    >>> float(path()(-2.0, 0.0, jnp.array([3.0, 4.0])))
    10.0
    """

    word: ClassVar[str] = "path"

    def __call__(self, a: Array, b: Array, w: Array) -> Array:
        """v(θ)."""
        return jnp.abs(a) * length(w, axis=0)


class Rounded(Regulariser):
    """v(θ) = √(1 + |θ|²): a cone far away, smooth at the origin.

    >>> import jax.numpy as jnp
    >>> float(rounded()(0.0, 0.0, jnp.array([0.0, 0.0])))
    1.0
    """

    word: ClassVar[str] = "rounded"

    def __call__(self, a: Array, b: Array, w: Array) -> Array:
        """v(θ)."""
        return jnp.sqrt(1 + a * a + b * b + jnp.sum(w * w))


class Given(Regulariser):
    """Any differentiable function v(a, b, w) that JAX can trace."""

    function: Callable[[Array, Array, Array], Array] = static()

    def __call__(self, a: Array, b: Array, w: Array) -> Array:
        """v(θ)."""
        return self.function(a, b, w)


squares, path, rounded = Squares, Path, Rounded
Choice = Regulariser | Callable[[Array, Array, Array], Array]


def regulariser(choice: Choice) -> Regulariser:
    """A regulariser from itself or from a function of a, b and w.

    >>> regulariser(squares(w=0.0))
    squares(w=0.0)
    """
    if isinstance(choice, Regulariser):
        return choice
    require(
        callable(choice) and not isinstance(choice, type),
        "a regulariser must be one of regularisers.squares, path, rounded, or a function of a, b and w",
        choice,
        "try regularisers.squares(w=0.0)",
    )
    return Given(choice)


class Penalty(Frozen):
    """λ v(θ) in some coordinates."""

    ridge: float
    regulariser: Regulariser
    columns: Coordinates

    def __call__(self, theta: Array) -> Array:
        """λ v of every neuron, (n,)."""
        a, b, w = self.columns.split(theta)
        a = a if "a" in self.columns.scalars else jnp.zeros_like(a)
        return self.ridge * jax.vmap(self.regulariser)(a, b, w)

    def gradient(self, theta: Array) -> Array:
        """λ ∇v of every neuron, (n, D)."""
        return jax.grad(lambda t: jnp.sum(self(t)))(theta)


def check_regulariser(v: Regulariser, full: Coordinates | None, reduced: Coordinates) -> None:
    """Refuse a function JAX cannot trace, or one that sees more of w than reduced coordinates keep."""
    if isinstance(v, Squares | Path | Rounded):
        return
    columns = reduced if full is None else full
    rows = jnp.asarray(np.random.default_rng(0).normal(size=(4, columns.D)))
    try:
        values = np.asarray(Penalty(1.0, v, columns)(rows))
        again = values if full is None else np.asarray(Penalty(1.0, v, reduced)(full.reduce(rows)))
    except Exception as error:  # whatever the function does with a tracer
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"a regulariser must be a function of a, b and w that JAX can trace, got {v!r} ({reason}): write it with "
            "jax.numpy."
        ) from None
    same = np.allclose(values, again, rtol=1e-9, atol=1e-12)
    require(same, "a regulariser must depend on w through its kept coordinates and lengths", repr(v),
            "use |w|, or a law without symmetry")  # fmt: skip


def __dir__() -> list[str]:
    return __all__
