"""Laws known by samples only: a finite data set, or a function that draws.

    empirical   (x, y) uniform over the M rows of a data set; the risk is the mean over them, exactly
    sampler     any function key ↦ (x, y); the risk is estimated from draws, with a standard error

Nothing is kept and nothing is lost: no symmetry, no reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from widelimit.arguments import array_of, require_seed
from widelimit.errors import InputError, is_finite, require
from widelimit.frozen import As, OfArrays, argument, count, static, yes_or_no
from widelimit.problem.data.data_law import SAMPLES, DataLaw


class Empirical(OfArrays, DataLaw, eq=False):
    """A finite data set: one row of x (M, d) and one label of y (M,) for each example.

    replacement   whether SGD draws rows with replacement, or goes through a new random order in every epoch
    source        (key, value) pairs of the table in a spec file that reads these rows; empty for rows from memory

    >>> empirical([[0.0, 1.0], [1.0, 0.0]], [1, -1]).d
    2
    """

    word: ClassVar[str] = "empirical"

    x: As[ArrayLike, np.ndarray]
    y: As[ArrayLike, np.ndarray] = argument(default=None)
    replacement: bool = yes_or_no(default=True)
    source: tuple[tuple[str, object], ...] = static(default=(), compare=False)

    def validate(self) -> None:
        """Arrays of finite numbers that fit together; they are copied and cannot be written."""
        rows = "give an array of one row for each example; spec files name a file of rows (docs/spec.md)"
        x = array_of("x of a data set", self.x, "(M, d)", rows, finite=True).copy()
        y = array_of("y of a data set", self.y, "(M,)", "give one label for each row", finite=True).copy()
        require(x.size > 0 and len(x) == len(y), "a data set needs finite numbers, x of shape (M, d) and y (M,)",
                (x.shape, y.shape), "give one label for every row")  # fmt: skip
        x.flags.writeable = y.flags.writeable = False
        self.settle(x=x, y=y, replacement=bool(self.replacement))

    @cached_property
    def d(self) -> int:
        """Columns of x."""
        return self.x.shape[1]

    def __repr__(self) -> str:
        if self.source:
            return super().__repr__()
        more = "" if self.replacement else ", replacement=False"
        rows, columns = (f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((len(self.y), "row"), (self.d, "column")))
        return f"empirical(<{rows} of {columns}>{more})"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that read the file, if the rows came from one; else the rows themselves."""
        return dict(self.source) or super().arguments

    @property
    def risk_name(self) -> str:
        """R is a mean over the rows."""
        return "risk on the given rows"

    @property
    def samples(self) -> int:
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
        require_seed(seed)
        require(len(self.y) > 1, "a data set must have two rows or more to be split", len(self.y), "add rows")
        order = np.random.default_rng(seed).permutation(len(self.y))
        cut = min(max(round(fraction * len(order)), 1), len(order) - 1)
        test, train = order[:cut], order[cut:]
        one, other = (Empirical(self.x[rows], self.y[rows], self.replacement) for rows in (train, test))
        return one, other


class Sampler(DataLaw):
    """A black box: ``function(key, n)`` returns x (n, d) and y (n,) from a JAX random key, traceably.

    samples   how many draws stand for the law in the risk and the population gradient; their error is stated

    >>> import jax
    >>> def parity(key, n):
    ...     x = jax.random.rademacher(key, (n, 5), float)
    ...     return x, x.prod(axis=1)
    >>> sampler(parity, 5).d
    5
    """

    word: ClassVar[str] = "sampler"

    function: Callable[[Array, int], tuple[Array, Array]] = static()
    d: int = count("10")
    samples: int = count("4096", default=SAMPLES)

    def validate(self) -> None:
        """A function."""
        good = callable(self.function)
        require(good, "sampler needs a function of a key and n", self.function, "see the docstring")

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


empirical, sampler = Empirical, Sampler
