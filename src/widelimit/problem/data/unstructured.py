"""Laws known by samples only: a finite data set, or a function that draws.

    empirical   (x, y) uniform over the M rows of a data set; the risk is the mean over them, exactly
    sampler     any function key ↦ (x, y); the risk is estimated from a fixed draw, with a standard error

Nothing is kept and nothing is lost: no symmetry, no reduction.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from widelimit.errors import InputError, is_finite, require, require_count
from widelimit.frozen import static
from widelimit.problem.data.data_law import SAMPLES, DataLaw, Group, Nodes


class Unstructured(DataLaw):
    """A law without symmetry: every coordinate is kept."""

    @property
    def kept(self) -> int:
        """All coordinates."""
        return int(self.d)

    @property
    def groups(self) -> tuple[Group, ...]:
        """None."""
        return ()

    @property
    def quadrature(self) -> Nodes:
        """None: the samples take their place."""
        raise TypeError("a law without symmetry has no nodes")


class Empirical(Unstructured):
    """A finite data set, see `empirical`; ``source`` is the call of the file it was read from, if it was."""

    word: ClassVar[str] = "empirical"

    x: np.ndarray
    y: np.ndarray
    replacement: bool = static(default=True)
    source: tuple[tuple[str, object], ...] = static(default=())

    @cached_property
    def _content(self) -> tuple[object, ...]:
        """What tells two data sets apart."""
        digests = (hashlib.sha256(np.ascontiguousarray(part).tobytes()).digest() for part in (self.x, self.y))
        return self.x.shape, self.replacement, *digests

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        if self.source:
            return f"empirical({', '.join(f'{name}={value!r}' for name, value in self.source)})"
        order = "" if self.replacement else ", replacement=False"
        return f"empirical(<x of shape {self.x.shape}>, <y of shape {self.y.shape}>{order})"

    @property
    def draws(self) -> int:
        """The rows themselves."""
        return len(self.y)

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        how = "with" if self.replacement else "without"
        given = dict(self.source)
        words = [str(given.get("file", "")), *map(str, given.get("classes") or ())]  # type: ignore[call-overload]
        where = f" of {' '.join(words)}" if given else ""
        return f"(x, y) one of {len(self.y)} rows{where}, drawn {how} replacement"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n rows drawn with replacement."""
        return self._rows(jax.random.randint(key, (n,), 0, len(self.y)), dtype)

    def block(self, key: Array, index: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """Without replacement: the rows of epoch e are a random order of all, drawn from e's own key."""
        if self.replacement:
            return super().block(key, index, n, dtype)
        rows = len(self.y)
        place = index * n + jnp.arange(n)
        first = place[0] // rows
        epochs = first + jnp.arange(-(-n // rows) + 1)
        orders = jax.vmap(lambda e: jax.random.permutation(jax.random.fold_in(key, e), rows))(epochs)
        return self._rows(orders[place // rows - first, place % rows], dtype)

    def _rows(self, which: Array, dtype: DTypeLike) -> tuple[Array, Array]:
        return jnp.asarray(self.x, dtype)[which], jnp.asarray(self.y, dtype)[which]

    def split(self, fraction: float, seed: int = 0) -> tuple[Empirical, Empirical]:
        """Two data sets with a random ``fraction`` of the rows in the second: for training and for testing."""
        good = is_finite(fraction) and 0 < fraction < 1
        require(good, "the fraction of rows for testing must lie in (0, 1)", fraction, "try 0.25")
        order = np.random.default_rng(seed).permutation(len(self.y))
        cut = min(max(round(fraction * len(order)), 1), len(order) - 1)
        test, train = order[:cut], order[cut:]
        return (
            Empirical(self.d, self.x[train], self.y[train], self.replacement),
            Empirical(self.d, self.x[test], self.y[test], self.replacement),
        )


class Sampler(Unstructured):
    """A black box that draws (x, y), see `sampler`."""

    word: ClassVar[str] = "sampler"

    function: Callable[[Array, int], tuple[Array, Array]] = static()
    samples: int = static(default=SAMPLES)

    @property
    def draws(self) -> int:
        """Draws that stand for the law in the risk and the population gradient."""
        return self.samples

    @property
    def sentence(self) -> str:
        """The law in symbols."""
        return f"(x, y) drawn by {getattr(self.function, '__name__', 'a function')}"

    def sample(self, key: Array, n: int, dtype: DTypeLike) -> tuple[Array, Array]:
        """n fresh pairs: x of shape (n, d), y of shape (n,)."""
        try:
            x, y = (jnp.asarray(part) for part in self.function(key, n))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"a sampler must return x (n, d) and y (n,) for a JAX key and n, got {error}: see wl.data.sampler."
            ) from None
        want = (n, int(self.d)), (n,)
        require((x.shape, y.shape) == want, f"a sampler must return shapes {want}", (x.shape, y.shape), "check d")
        return x.astype(dtype), y.astype(dtype)


def empirical(x: ArrayLike, y: ArrayLike, replacement: bool = True) -> Empirical:
    """A finite data set: one row of x (M, d) and one label of y (M,) for each example.

    replacement   whether SGD draws rows with replacement, or goes through a new random order in every epoch

    >>> empirical([[0.0, 1.0], [1.0, 0.0]], [1, -1]).d
    2
    """
    try:
        rows, labels = np.array(x, float), np.array(y, float)
    except (TypeError, ValueError):
        rows, labels = np.empty(0), np.empty(0)
    good = rows.ndim == 2 and rows.size > 0 and labels.shape == (len(rows),)
    require(
        good and bool(np.isfinite(rows).all() and np.isfinite(labels).all()),
        "a data set needs finite numbers, x of shape (M, d) and y of shape (M,)",
        (_shape(x), _shape(y)),
        "reshape them",
    )
    rows.flags.writeable = labels.flags.writeable = False
    return Empirical(rows.shape[1], rows, labels, bool(replacement))


def _shape(values: ArrayLike) -> object:
    """The shape of something that may have none."""
    try:
        return np.shape(values)
    except ValueError:
        return "rows of different lengths"


def sampler(function: Callable[[Array, int], tuple[Array, Array]], d: int, samples: int = SAMPLES) -> Sampler:
    """A black box: ``function(key, n)`` returns x (n, d) and y (n,) from a JAX random key, traceably.

    samples   how many draws stand for the law in the risk and the population gradient; their error is stated

    >>> import jax
    >>> def parity(key, n):
    ...     x = jax.random.rademacher(key, (n, 5), float)
    ...     return x, x.prod(axis=1)
    >>> sampler(parity, 5).d
    5
    """
    require(callable(function), "sampler needs a function of a key and n", function, "see the docstring")
    require_count("d", d, "10")
    require_count("samples", samples, "4096")
    require(math.isfinite(d), "d must be finite", d, "try d=10")
    return Sampler(d, function, samples)
