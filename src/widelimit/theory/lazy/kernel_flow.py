"""Training in the limit of a large scale: least squares with a fixed kernel, solved exactly.

    df/dt(x) = (2ξ(t)/M) Σ_j K(x, x_j) (y_j − f(x_j)),      f = f_0 at t = 0

    x_j, y_j  x, y         (M, d), (M,)   the data that are trained on
    K         kernel       (M, M)         the tangent kernel of the start, widelimit.theory.lazy.ntk
    μ_k, q_k  eigenvalues  (M,)           of K/M, in increasing order, and their vectors

    τ = ∫ξ dt,   c_k = ⟨q_k, y − f_0⟩:   R(t) = (1/M) Σ_k e^{−4 μ_k τ} c_k²
                                         f(x; t) = f_0(x) + (1/M) Σ_j K(x, x_j) Σ_k g(μ_k) c_k q_kj
    flow         g(μ) = (1 − e^{−2μτ})/μ,   1/μ at t = ∞;   0 where μ = 0, directions that K does not see
    regression   g(μ) = 1/(μ + λ), which is K(x, ·)(K + MλI)⁻¹ y

Eigenvalues below M times the rounding of the largest count as 0. This is the flow of the network as α → ∞, where noise
and ridge of the problem, which enter at the orders 1/α and 1/α², are gone; a paired start has f_0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jax.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpocon

from widelimit.arguments import answer_of, array_of, instance_of
from widelimit.errors import is_finite, is_number, require, require_nonnegative
from widelimit.frozen import public_names
from widelimit.measures import Cloud
from widelimit.problem.data import Empirical
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Function, check_schedule
from widelimit.theory.lazy.ntk import Kernel, ntk

Output = Callable[[np.ndarray], ArrayLike]
GONE = 800.0  # e^{−800} underflows


class _Modes(NamedTuple):
    """μ_k in increasing order, 0 where it is not resolved; q_k, one in each column; c_k."""

    eigenvalues: np.ndarray
    vectors: np.ndarray
    coefficients: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class KernelFlow:
    """The flow of the outputs of a network of infinite scale α on data, under its tangent kernel.

    problem  whose neuron, start, mobility and schedule count, and whose data if they are rows
    x, y     rows (M, d) and labels (M,) to train on, in place of those of the problem
    f0       outputs before training: a number, or a function of inputs (n, d) with values (n,)
    rho      neurons whose kernel it is, in full coordinates; that of ρ_0 at infinite width if left out

    >>> import math
    >>> import widelimit as wl
    >>> neuron, rows = wl.neurons.ridge("x"), wl.data.empirical([[1.0, 0.0], [0.0, 2.0]], [1.0, -1.0])
    >>> flow = wl.KernelFlow(wl.Problem(rows, neuron, wl.initial.gaussian(1.0)))  # K(x, x') = ⟨x, x'⟩
    >>> flow.risk([0.0, 0.5, math.inf]).round(6)  # (e^{−2t} + e^{−8t})/2
    array([1.      , 0.193098, 0.      ])
    >>> flow.predict([[1.0, 1.0]], math.inf).round(6)
    array([0.5])
    """

    problem: Problem
    x: Any = None
    y: Any = None
    f0: float | Output = 0.0
    rho: Cloud | ArrayLike | None = None

    def __post_init__(self) -> None:
        problem = instance_of(Problem, self.problem, "KernelFlow", "build one first")
        given = self.x is not None or self.y is not None
        good = given or isinstance(problem.data, Empirical)
        require(
            good, "a kernel flow needs rows of data", problem.data, "give x and y, or a problem with data.empirical"
        )
        data = Empirical(self.x, self.y) if given else problem.data
        require(data.d == problem.data.d, f"x must have d = {problem.data.d:g} columns", data.d, "check the inputs")
        good = is_finite(self.f0) or callable(self.f0)
        require(good, "f0 must be a number or a function of inputs (n, d)", self.f0, "try 0.0")
        vars(self).update(x=data.x, y=data.y)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<KernelFlow: {len(self.y)} rows>"

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    @cached_property
    def kernel(self) -> Kernel:
        """K on the data."""
        return ntk(self.problem, self.x, rho=self.rho)

    @property
    def eigenvalues(self) -> np.ndarray:
        """μ_k, in increasing order: the residual falls like e^{−2 μ_k t} along q_k."""
        return self._modes.eigenvalues

    def risk(self, times: ArrayLike) -> np.ndarray:
        """The risk on the data at a time or at several, math.inf included."""
        tau, shape = self._clock(times)
        mu, _, c = self._modes
        left = np.exp(-4 * _products(mu, tau)) * c**2
        return left.sum(axis=1).reshape(shape)[()] / len(c)

    def predict(self, x: ArrayLike, t: float) -> np.ndarray:
        """f(x; t) at inputs (n, d), for a time t >= 0 that may be math.inf."""
        good = is_number(t) and t >= 0
        require(good, "t must be a number >= 0, or math.inf", t, "try t=1.0")
        return self._outputs(x, self._clock(t)[0])[0]

    def test_risk(self, times: ArrayLike, x: ArrayLike, y: ArrayLike) -> np.ndarray:
        """The risk on other rows x (n, d) and labels y (n,), at a time or at several, math.inf included."""
        tau, shape = self._clock(times)
        data = Empirical(x, y)
        return np.mean((data.y - self._outputs(data.x, tau)) ** 2, axis=1).reshape(shape)[()]

    test_risk.__test__ = False  # type: ignore[attr-defined]  # of a network: no test of pytest

    @cached_property
    def _modes(self) -> _Modes:
        mu, vectors = np.linalg.eigh(self.kernel.matrix / len(self.y))
        least = len(mu) * np.finfo(float).eps * mu[-1]
        return _Modes(np.where(mu > least, mu, 0.0), vectors, vectors.T @ (self.y - self._start(self.x)))

    def _outputs(self, x: ArrayLike, tau: np.ndarray) -> np.ndarray:
        """f at inputs (n, d) for several values of the clock, (T, n)."""
        mu, safe = self._modes.eigenvalues, np.where(self.eigenvalues > 0, self.eigenvalues, 1.0)
        return self._combined(x, -np.expm1(-2 * _products(mu, tau)) / safe)

    def _combined(self, x: ArrayLike, g: np.ndarray) -> np.ndarray:
        """f_0(x) + (1/M) Σ_j K(x, x_j) Σ_k g_k c_k q_kj for rows g (T, M), (T, n)."""
        rows = ntk(self.problem, x, self.x, self.rho).matrix
        _, vectors, c = self._modes
        return self._start(np.asarray(x, float)) + (g * c) @ (rows @ vectors).T / len(c)

    def _start(self, x: np.ndarray) -> np.ndarray:
        """f_0(x), (n,)."""
        if not callable(self.f0):
            return np.full(len(x), float(self.f0))
        found = array_of("f0(x)", answer_of(self.f0, "f0", x), "(n,)", "return one number per input", finite=True)
        require(len(found) == len(x), f"f0(x) must have shape ({len(x)},)", found.shape, "return one number per input")
        return found

    def _clock(self, times: object) -> tuple[np.ndarray, tuple[int, ...]]:
        """∫ξ dt up to every time, (T,), and the shape of the times."""
        do = "try [0.0, 1.0, math.inf]"
        found = array_of("times", times, "() or (T,)", do)
        require(bool((found >= 0).all()), "times must be numbers >= 0, or math.inf", times, do)
        xi, finite = self.problem.schedule, found[np.isfinite(found)]
        if isinstance(xi, Function):
            require(finite.size == found.size, "a schedule that is a function needs finite times", times, "drop inf")
            check_schedule(xi, float(max(finite.max(initial=0.0), 1e-300)))
        return xi.clock(found.ravel()), found.shape


def _products(mu: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """μ_k τ, (T, M): 0 where μ = 0 even at τ = ∞, and no more than what leaves nothing of e^{−μτ}."""
    found = np.zeros((len(tau), len(mu)))
    found[:, mu > 0] = np.minimum(tau[:, None], GONE / mu[mu > 0]) * mu[mu > 0]
    return found


def kernel_regression(
    problem: Problem, x: ArrayLike, ridge: float = 0.0, rho: Cloud | ArrayLike | None = None
) -> np.ndarray:
    """Outputs at inputs x (n, d) of kernel regression on the data of a problem with its tangent kernel.

    ridge   λ in K(x, ·)(K + MλI)⁻¹ y; with 0 it is the smallest function that fits best
    rho     neurons whose kernel it is, in full coordinates; that of ρ_0 at infinite width if left out

    >>> import widelimit as wl
    >>> neuron, rows = wl.neurons.ridge("x"), wl.data.empirical([[1.0, 0.0], [0.0, 2.0]], [1.0, -1.0])
    >>> problem = wl.Problem(rows, neuron, wl.initial.gaussian(1.0))
    >>> wl.kernel_regression(problem, [[1.0, 1.0]], ridge=0.5).round(6)  # 1/2 − 2/5
    array([0.1])
    """
    require_nonnegative("ridge", ridge, "0.1")
    flow = KernelFlow(problem, rho=rho)
    if ridge == 0:
        _require_one_label(flow.x, flow.y)
    solved = _solved(flow.kernel.matrix, flow.y, len(flow.y) * ridge)
    if solved is not None:
        return ntk(problem, x, flow.x, rho).matrix @ solved
    mu = flow.eigenvalues
    g = np.where(mu > 0, 1 / np.where(mu > 0, mu + ridge, 1.0), 0.0)
    return flow._combined(x, g[None])[0]


def _solved(kernel: np.ndarray, y: np.ndarray, shift: float) -> np.ndarray | None:
    """(K + shift I)⁻¹ y by a Cholesky factor, far faster than eigenvectors; None where an eigenvalue may count as 0."""
    matrix = kernel + shift * np.eye(len(y))
    try:
        factor, low = cho_factor(matrix, overwrite_a=False, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    share, _ = dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="L" if low else "U")
    return cho_solve((factor, low), y) if share > len(y) * np.finfo(float).eps else None


def _require_one_label(x: np.ndarray, y: np.ndarray) -> None:
    """Refuse inputs that occur twice with different labels."""
    which = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((y, which))
    double = np.flatnonzero((np.diff(which[order]) == 0) & (np.diff(y[order]) != 0))
    rows = sorted(order[double[0] : double[0] + 2].tolist()) if double.size else []
    require(not rows, "regression without a ridge needs one label for each input", f"two for that of the rows {rows}",
            "take ridge > 0, or KernelFlow.predict(x, math.inf), which averages them")  # fmt: skip
