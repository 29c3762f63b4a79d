"""Filtered principal components: the directions of an index model from rows with large labels.

    M = (1/n) Σ_i 1{|y_i| > τ} (x_i x_iᵀ − I),      x ~ N(0, I_d),   y = φ(z), z the coordinates in a hidden subspace

    E M = E 1{|φ(z)| > τ} (z zᵀ − I) on the subspace, 0 across it: its top eigenvectors are the directions

It looks at y through an indicator and not through E y p(x), so the information exponent of φ does not matter: with
p = P(|y| > τ) the noise of M has norm ≈ 2 √(p d/n), hence n of order d suffices, whatever the exponent.
Reference: [cm20].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from scipy.linalg import eigh

from widelimit.arguments import array_of
from widelimit.errors import is_finite, is_number, require, require_count, require_nonnegative
from widelimit.frozen import Value, argument, public_names
from widelimit.problem.activations import Activation
from widelimit.problem.data.unstructured import Empirical
from widelimit.theory.learning.online_sgd import Law, Question

SHARE = 0.05  # of the rows that are kept by default
FINER = 2 ** (1 / 4)  # from one number of rows to the next
MOST = 1 << 24  # numbers in the rows of one replica


@dataclass(frozen=True, eq=False, repr=False)
class Directions:
    """What `filtered_pca` found.

    directions    (k, d), orthonormal rows, that of the largest eigenvalue first
    eigenvalues   of M, (k,)
    threshold     τ
    kept          how many rows have |y| > τ

    >>> import numpy as np
    >>> import widelimit as wl
    >>> x = np.random.default_rng(0).standard_normal((2000, 20))
    >>> wl.filtered_pca(x, x[:, 0] ** 3 - 3 * x[:, 0]).kept
    100
    """

    directions: np.ndarray
    eigenvalues: np.ndarray
    threshold: float
    kept: int

    def overlap(self, truth: ArrayLike) -> float:
        """|P w|/|w| of a direction w (d,), P the projection on the directions that were found."""
        w = array_of("truth", truth, "(d,)", "give the direction that was hidden", finite=True)
        d = self.directions.shape[1]
        good = len(w) == d and bool(w.any())
        require(good, f"truth must be {d} numbers, not all 0", w.shape, "give the direction that was hidden")
        return float(np.linalg.norm(self.directions @ w) / np.linalg.norm(w))

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    def __repr__(self) -> str:
        k, d = self.directions.shape
        return f"<Directions: {k} of {d}, from {self.kept} rows with |y| > {self.threshold:.4g}>"


def filtered_pca(x: ArrayLike, y: ArrayLike, k: int = 1, threshold: float | None = None) -> Directions:
    """The k directions that the labels of Gaussian rows depend on.

    x, y        rows (n, d), standard normal, and labels (n,)
    k           how many directions
    threshold   τ; if left out, the largest that keeps one row in twenty

    >>> import numpy as np
    >>> import widelimit as wl
    >>> x = np.random.default_rng(0).standard_normal((2000, 20))
    >>> found = wl.filtered_pca(x, x[:, 0] ** 3 - 3 * x[:, 0])  # information exponent 3
    >>> found.overlap(np.eye(20)[0]) > 0.95
    True
    """
    rows = Empirical(x, y)
    d = rows.x.shape[1]
    require_count("k", k, "1")
    require(k <= d, f"k must be at most the number of columns, {d}", k, "look for fewer directions")
    if threshold is not None:
        require_nonnegative("threshold", threshold, "1.0")
    return _found(rows.x, rows.y, int(k), threshold)


def _found(x: np.ndarray, y: np.ndarray, k: int, threshold: float | None, share: float = SHARE) -> Directions:
    size, d = np.abs(y), x.shape[1]
    tau = _largest(size, share) if threshold is None else float(threshold)
    large = x[size > tau]
    shift = len(large) / len(y)
    values, vectors = eigh(large.T @ large / len(y), subset_by_index=[d - k, d - 1])
    return Directions(vectors.T[::-1], values[::-1] - shift, tau, len(large))


def _largest(size: np.ndarray, share: float) -> float:
    """The largest τ beyond which a share of the labels lies, at least one of them; 0 if all are equal."""
    ordered = np.sort(size)
    below = ordered[: max(len(ordered) - max(math.ceil(share * len(ordered)), 1), 0)]
    return float(below[-1]) if len(below) else 0.0


def _check_share(name: str, share: float) -> None:
    good = is_number(share) and 0 < share < 1
    require(good, f"{name} must be a number between 0 and 1", share, f"try {name}=0.05")


class FilteredPCA(Value):
    """`filtered_pca` as a learner: rows are added until the first direction has the overlap that is asked for.

    share   of the rows, those with the largest |y|, that are kept

    >>> import widelimit as wl
    >>> wl.FilteredPCA()
    FilteredPCA()
    """

    share: float = argument(_check_share, default=SHARE)

    def law(self, link: Activation) -> Law:
        """d, whatever the link."""
        return Law(1.0, 0)

    def samples(self, question: Question, d: int, rng: np.random.Generator) -> np.ndarray:
        """Rows until the overlap is at the level, (replicas,); infinite beyond what memory should hold."""
        return np.array([self._one(question, d, rng) for _ in range(question.replicas)])

    def _one(self, question: Question, d: int, rng: np.random.Generator) -> float:
        n = math.ceil(2 / self.share)
        x, y = np.empty((0, d)), np.empty(0)
        before = (float(n), 0.0)
        while n * d <= MOST:
            if n > len(y):
                more = rng.standard_normal((max(n - len(y), len(y)), d))
                labels = np.asarray(question.link(jnp.asarray(more[:, 0])))
                labels = labels + question.noise * rng.standard_normal(len(more))
                x, y = np.concatenate([x, more]), np.concatenate([y, labels])
            overlap = abs(float(_found(x[:n], y[:n], 1, None, self.share).directions[0, 0]))
            if overlap >= question.level:
                return _crossing(before, (float(n), overlap), question.level)
            before, n = (float(n), overlap), math.ceil(n * FINER)
        return math.inf


def _crossing(low: tuple[float, float], high: tuple[float, float], level: float) -> float:
    """Rows at which the overlap crosses a level, between two numbers of rows, linear in their logarithm."""
    (n, before), (more, after) = low, high
    part = (level - before) / (after - before) if n < more else 1.0
    assert is_finite(part)
    return float(n * (more / n) ** part)
