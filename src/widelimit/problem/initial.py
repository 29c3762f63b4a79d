"""Initial laws ρ_0 of the neurons.

    gaussian(scale=κ)   w ~ N(0, κ²/d I)          radii: r_g = κ/√d · χ_{d_g}, independent
    sphere(radius=R)    w ~ uniform, |w| = R      radii: (r_1², r_2²) = R² (B, 1 − B), B ~ Beta(d_1/2, d_2/2)
    array(theta)        the neurons themselves
    blocks(sizes, laws) neighbouring columns of a custom neuron, one law for each block of them
    paired(start)       every neuron (a, b, w) of another law together with (−a, b, w): f(x; ρ_0) = 0

The first two are invariant under rotations of each group of directions, so each has a reduced form: a product of
independent factors in the coordinates a, b, u, r_1, r_2, …, each a list of atoms or a function of standard
normal scores x (the quantile function of the factor at Φ(x), which is smooth and exact far into both tails).
At d = ∞ radii and kept coordinates are deterministic: r_g = κ √(d_g/d), u = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from scipy.special import betainccinv, betaincinv, gammainccinv, gammaincinv, ndtr

from widelimit.arguments import array_of, numbers_of
from widelimit.errors import require, require_known
from widelimit.frozen import As, OfArrays, Value, argument, positive, static
from widelimit.problem.data.data_law import Group
from widelimit.problem.scalar_starts import (
    Factor,
    ScalarLaw,
    Start,
    certain,
    constant,
    either_sign,
    normal,
    signs,
    start_law,
    uniform,
)

__all__ = [
    "InitialLaw", "ScalarLaw", "array", "blocks", "constant", "gaussian", "normal", "paired", "signs", "sphere",
    "uniform",
]  # fmt: skip


class Gaussian(Value):
    """w ~ N(0, κ²/d I) with κ = scale; ``a`` and ``b`` are laws (or numbers) for the outer weight and the bias.

    scale  κ
    a, b   laws of the scalars that the neuron has

    >>> gaussian(0.4, a=normal(0.0, 1.0))
    gaussian(scale=0.4, a=normal())
    """

    word: ClassVar[str] = "gaussian"

    scale: float = positive("0.4")
    a: As[Start, ScalarLaw | None] = argument(form=start_law, default=None)
    b: As[Start, ScalarLaw | None] = argument(form=start_law, default=None)

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        return self.scale / math.sqrt(d) * jax.random.normal(key, (n, d))

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for each kept coordinate of w ∈ R^d, one for each group."""
        return [*(self._kept(d) for _ in range(kept)), *(self._radius(g) for g in groups)]

    def _kept(self, d: float) -> Factor:
        if math.isinf(d):
            return certain(0.0)
        return Factor(1, curve=lambda x: self.scale / math.sqrt(d) * x)

    def _radius(self, g: Group) -> Factor:
        spread = self.scale * math.sqrt(g.share)
        if math.isinf(g.d):
            return certain(spread)
        return Factor(1, curve=lambda x: spread / math.sqrt(g.d) * _chi(x, g.d))


class Sphere(Value):
    """w uniform on the sphere of the given radius; ``a`` and ``b`` as in `gaussian`.

    radius  |w|
    a, b    laws of the scalars that the neuron has

    >>> sphere(1.0, a=1.0).a
    constant(value=1.0)
    """

    word: ClassVar[str] = "sphere"

    radius: float = positive("1.0")
    a: As[Start, ScalarLaw | None] = argument(form=start_law, default=None)
    b: As[Start, ScalarLaw | None] = argument(form=start_law, default=None)

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d)."""
        w = jax.random.normal(key, (n, d))
        return self.radius * w / jnp.linalg.norm(w, axis=1, keepdims=True)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """One factor for all: kept coordinates and radii are tied by |u|² + Σ r_g² = R²."""
        if (not kept and len(groups) == 1) or math.isinf(d):
            return [certain(*(0.0,) * kept, *(self.radius * math.sqrt(g.share) for g in groups))]
        if kept:
            return [self._with_kept(kept, groups)]
        require(len(groups) == 2, "a spherical start is reduced for one or two groups of directions", len(groups),
                "use initial.gaussian")  # fmt: skip
        one, two = (g.d / 2 for g in groups)

        def curve(x: np.ndarray) -> np.ndarray:
            share = _at_score((betaincinv, betainccinv), x, one, two)
            rest = _at_score((betaincinv, betainccinv), -x, two, one)
            return self.radius * np.sqrt(np.concatenate([share, rest], axis=1))

        return [Factor(2, curve=curve)]

    def _with_kept(self, kept: int, groups: Sequence[Group]) -> Factor:
        def curve(x: np.ndarray) -> np.ndarray:
            radii = [_chi(x[:, kept + i, None], g.d) for i, g in enumerate(groups)]
            rows = np.concatenate([x[:, :kept], *radii], axis=1)
            return self.radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)

        return Factor(kept + len(groups), curve=curve, scores=kept + len(groups))


class Explicit(OfArrays, eq=False):
    """The neurons themselves, one per row: columns a, b, w_1.. (those that exist), or a, b, u_1.., r_1.. if reduced.

    theta        (n, D)
    coordinates  "full" or "reduced"; told by the number of columns where that is enough

    >>> array([[1.0, 0.5], [0.0, 2.0]], coordinates="full").theta.shape
    (2, 2)
    """

    word: ClassVar[str] = "array"

    theta: As[ArrayLike, np.ndarray]
    coordinates: str | None = static(default=None)

    def validate(self) -> None:
        """An array of finite numbers; it is copied and cannot be written."""
        theta = array_of("theta of an explicit start", self.theta, "(n, D)", "give one row per neuron", finite=True)
        require(theta.size > 0, "an explicit start needs one neuron or more", theta.shape, "give one row per neuron")
        theta = theta.copy()
        if self.coordinates is not None:
            require_known("coordinates", self.coordinates, ("full", "reduced"))
        theta.flags.writeable = False
        self.settle(theta=theta)


def _block_law(law: Gaussian | Sphere | Start) -> Gaussian | Sphere | ScalarLaw:
    return law if isinstance(law, Gaussian | Sphere) else start_law(law) or constant(0.0)


class Blocks(Value):
    """The parameters θ of a custom neuron, block by block: neighbouring columns that start from one law.

    sizes  how many columns each block has, D in all
    laws   of the blocks: `gaussian` or `sphere` for the block as a vector, or one of `constant`, `signs`, `normal` and
           `uniform` (or a number) for each of its columns by itself

    >>> import jax
    >>> start = blocks([1, 3], [signs(), sphere(2.0)])  # θ_1 = ±1, |(θ_2, θ_3, θ_4)| = 2
    >>> theta = start.inner(jax.random.key(0), 5, 4)
    >>> [round(float(row @ row), 9) for row in theta]
    [5.0, 5.0, 5.0, 5.0, 5.0]
    """

    word: ClassVar[str] = "blocks"

    sizes: As[Sequence[int], tuple[int, ...]] = static()
    laws: tuple[Gaussian | Sphere | ScalarLaw, ...]
    a: ClassVar[None] = None
    b: ClassVar[None] = None

    def validate(self) -> None:
        """As many laws as blocks, which have no scalars a and b."""
        sizes = numbers_of("sizes", self.sizes, "sizes=[1, 10]")
        whole = all(size >= 1 and size == int(size) for size in sizes)
        require(whole, "sizes must be whole numbers of at least 1", self.sizes, "try sizes=[1, 10]")
        good = isinstance(self.laws, list | tuple) and len(self.laws) == len(sizes)
        require(good, f"laws must be a list of {len(sizes)}, one for each block", self.laws, "give as many as sizes")
        laws = tuple(map(_block_law, self.laws))
        plain = all(getattr(law, name, None) is None for law in laws for name in ("a", "b"))
        require(plain, "a custom neuron has no scalars a and b", self.laws, "give them blocks of their own")
        self.settle(sizes=tuple(int(size) for size in sizes), laws=laws)

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent neurons, (n, d)."""
        keys = jax.random.split(key, len(self.sizes))
        return jnp.concatenate([_drawn(*each, n) for each in zip(self.laws, keys, self.sizes, strict=True)], axis=1)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """The factors of every block."""
        found: list[Factor] = []
        for law, size in zip(self.laws, self.sizes, strict=True):
            found += [law.factor()] * size if isinstance(law, ScalarLaw) else law.reduced(size, size, ())
        return found


def _drawn(law: Gaussian | Sphere | ScalarLaw, key: Array, size: int, n: int) -> Array:
    """A block of n neurons, (n, size)."""
    return law.sample(key, n * size).reshape(n, size) if isinstance(law, ScalarLaw) else law.inner(key, n, size)


class Paired(Value):
    """Neurons in pairs (a, b, w) and (−a, b, w): the network is 0 at the start, and its features are those of a law.

    start   the law of one neuron of each pair: `gaussian` or `sphere`, with a law of a

    >>> paired(gaussian(1.0, a=1.0)).a.factor().atoms
    (((1.0,), 0.5), ((-1.0,), 0.5))
    """

    word: ClassVar[str] = "paired"

    start: Gaussian | Sphere

    def validate(self) -> None:
        """A law with an outer weight to turn."""
        good = isinstance(self.start, Gaussian | Sphere)
        require(good, "paired needs initial.gaussian or initial.sphere", self.start, "try paired(gaussian(1.0, a=1.0))")
        good = self.start.a is not None
        require(
            good, "a paired start needs a law of the outer weight a", self.start, "try paired(gaussian(1.0, a=1.0))"
        )

    @property
    def a(self) -> ScalarLaw:
        """The law of a, of either sign."""
        assert self.start.a is not None
        return either_sign(self.start.a)

    @property
    def b(self) -> ScalarLaw | None:
        """The law of b."""
        return self.start.b

    def inner(self, key: Array, n: int, d: int) -> Array:
        """n independent inner weights, (n, d), one for each pair."""
        return self.start.inner(key, n, d)

    def reduced(self, d: float, kept: int, groups: Sequence[Group]) -> list[Factor]:
        """The factors of the inner weights."""
        return self.start.reduced(d, kept, groups)


InitialLaw = Gaussian | Sphere | Explicit | Blocks | Paired
gaussian, sphere, array, blocks, paired = Gaussian, Sphere, Explicit, Blocks, Paired


def _chi(x: np.ndarray, d: float) -> np.ndarray:
    """Quantile at Φ(x) of |g|, g ~ N(0, I_d)."""
    return np.sqrt(2 * _at_score((gammaincinv, gammainccinv), x, d / 2))


def _at_score(tails: tuple[Callable, Callable], x: np.ndarray, *parameters: float) -> np.ndarray:
    """Quantile at Φ(x) from the inverses of the lower and the upper tail, whichever is the smaller."""
    lower, upper = tails
    return np.where(x < 0, lower(*parameters, ndtr(np.minimum(x, 0))), upper(*parameters, ndtr(-np.maximum(x, 0))))


def __dir__() -> list[str]:
    return __all__
