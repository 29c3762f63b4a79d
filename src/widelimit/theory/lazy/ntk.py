"""The neural tangent kernel: what a network learns with while its neurons hardly move.

    K(x, x') = ∫ ⟨∇σ*(x; θ), M ∇σ*(x'; θ)⟩ ρ(dθ),      df/dt(x) = 2 E K(x, x') (y' − f(x'))

    x, x'  x, x2   (n, d), (n', d)   inputs           M   diag(m_a, m_b, m_w), mobilities
    K      matrix  (n, n')                            ∇   with respect to the blocks that are trained

σ* has no α in it, f = α ∫ σ* dρ has, and on our clock K is what moves f for every α. For the neuron σ* = a σ(h),
h = ⟨w, x⟩ + b, with A = σ(h) and S = a σ'(h), K = m_a E A A' + (m_b + m_w ⟨x, x'⟩) E S S'; where w moves along the
sphere |w| = 1, ⟨x, x'⟩ − ⟨w, x⟩⟨w, x'⟩ takes the place of ⟨x, x'⟩.

infinite width   Gaussian starts: closed forms, or the quadrature of pairwise kernels    widelimit.theory.lazy.ntk_limit
                 a law of b with a density that is not normal: Gauss nodes, twice as many until two rules agree
                 every other start, and deviations of h beyond the reach of the quadrature: draws, with a standard error
finite width     matrix products A Aᵀ, S Sᵀ and X Xᵀ, for a block of neurons and a tile of rows at a time, never the
                 Jacobian; of a custom neuron, a block of neurons has its gradients at a time
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from widelimit.agreement import in_a_row, until_two_agree
from widelimit.arguments import array_of, instance_of
from widelimit.errors import require, shortened
from widelimit.measures import Cloud
from widelimit.potentials.quadrature import check_traceable
from widelimit.potentials.sample_landscape import check_custom
from widelimit.problem.activations import Activation, General
from widelimit.problem.initial import Explicit, Gaussian, ScalarLaw, Sphere
from widelimit.problem.neurons import Custom, Ridge
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Schedule
from widelimit.theory.lazy.ntk_limit import TILE, BlockRates, Inputs, Means, bend_of, is_exact, levels_of, mirrored

NODES = (16, 32, 64, 128, 256)  # of the law of b, until two rules agree
AGREEMENT = 1e-12
SETS, PER_SET, DRAW = 16, 256, 20_233  # neurons drawn where nothing better is known, and the seed
ENTRIES = 1 << 22  # of a matrix of features or gradients


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A tangent kernel on given inputs; NumPy takes it for its matrix.

    matrix  K(x_i, x'_j), (n, n')
    error   0 for formulas, which are exact to about 1e-11, else of every entry: a standard error of draws, or the last
            changes of a quadrature
    how     "closed form", "quadrature", "draws, n = 4096" or "finite, n = 200"

    >>> import widelimit as wl
    >>> np.linalg.eigvalsh(wl.Kernel(np.diag([1.0, 3.0]), 0.0, "closed form"))
    array([1., 3.])
    """

    matrix: np.ndarray
    error: np.ndarray | float
    how: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<Kernel: {' × '.join(map(str, self.matrix.shape))}, {self.how}>"

    @property
    def effective_rank(self) -> float:
        """(tr K)²/tr K²: the number of eigenvalues if they are equal, 1 if there is one besides zeros."""
        square = self.matrix.ndim == 2 and np.array_equal(self.matrix, self.matrix.T)
        require(square, "the effective rank is that of a kernel of inputs with themselves", self.matrix.shape,
                "leave x2 out")  # fmt: skip
        size = float(np.sum(self.matrix**2))
        return float(np.trace(self.matrix)) ** 2 / size if size > 0 else 0.0


def ntk(problem: Problem, x: ArrayLike, x2: ArrayLike | None = None, rho: Cloud | ArrayLike | None = None) -> Kernel:
    """The tangent kernel between inputs: of the start ρ_0 of infinitely many neurons, or of the neurons given.

    x, x2   inputs (n, d) and (n', d); x2 = x if left out
    rho     neurons in full coordinates: a `Cloud` such as ``solution.final``, or an array (n, D)

    It is the kernel of the blocks that are trained, each times its mobility, without the scale α: on the clock of the
    library df/dt(x) = 2 E K(x, x')(y' − f(x')) for every α.

    >>> import widelimit as wl
    >>> neuron, start = wl.neurons.ridge("relu", outer="trained"), wl.initial.gaussian(1.0, a=wl.initial.normal())
    >>> problem = wl.Problem(wl.data.gaussian_classes(2, 0.5), neuron, start)
    >>> k = wl.ntk(problem, [[1.0, 0.0], [0.0, 2.0]])
    >>> k.how, k.matrix.round(6).tolist()  # |x|²/(2d) + |x|²/2 on the diagonal
    ('closed form', [[0.75, 0.159155], [0.159155, 3.0]])
    """
    instance_of(Problem, problem, "ntk", "build one first")
    _check(problem)
    rates, inputs = _rates(problem), _inputs(problem, x, x2)
    start, neuron = problem.unpaired.initial, problem.neuron
    if rho is not None or isinstance(start, Explicit):
        network = _network(problem, rho)
        return Kernel(_finite(problem, inputs, rates, network), 0.0, f"finite, n = {len(network.weights)}")
    if isinstance(neuron, Ridge) and isinstance(start, Gaussian | Sphere):
        means = Means(neuron, start.scale if isinstance(start, Gaussian) else start.radius, start.a)
        alike = isinstance(start, Gaussian) or (start.b is None and bend_of(neuron.sigma.pair_form) is not None)
        if alike and means.reaches(inputs, start.b):
            return _limit(means, inputs, rates, start.b)
    return _drawn(problem, inputs, rates)


class _Network(NamedTuple):
    """Neurons (N, D) and their weights (N,)."""

    theta: np.ndarray
    weights: np.ndarray


def _limit(means: Means, inputs: Inputs, rates: BlockRates, b: ScalarLaw | None) -> Kernel:
    """K of infinitely many neurons; nodes of the law of b are added until they do not matter."""
    if is_exact(b):
        return Kernel(means.over(inputs, rates, levels_of(b, 0.0)), 0.0, means.how)
    rules = (means.over(inputs, rates, levels_of(b, 0.0, nodes, means.kinks)) for nodes in NODES)
    found = until_two_agree(in_a_row(rules, _relative), AGREEMENT)
    now, before, earlier = found.value
    left = np.abs(now - before) if found.agreed else np.maximum(np.abs(now - before), np.abs(before - earlier))
    return Kernel(now, left, "quadrature")


def _relative(before: np.ndarray, now: np.ndarray) -> float:
    """The largest change of an entry, in units of the largest entry."""
    return float(np.abs(now - before).max() / max(np.abs(now).max(), 1e-300))


def _drawn(problem: Problem, inputs: Inputs, rates: BlockRates) -> Kernel:
    """The mean over independent sets of neurons drawn from ρ_0, and its standard error."""
    first, total, squares = np.zeros(()), np.zeros(()), np.zeros(())
    for k, key in enumerate(jax.random.split(jax.random.key(DRAW), SETS)):
        theta = np.asarray(problem.sample_initial(key, PER_SET))
        found = _finite(problem, inputs, rates, _Network(theta, np.full(PER_SET, 1 / PER_SET)))
        first = found if k == 0 else first
        total, squares = total + (found - first), squares + (found - first) ** 2
    spread = np.maximum(squares / SETS - (total / SETS) ** 2, 0.0)
    return Kernel(first + total / SETS, np.sqrt(spread / (SETS - 1)), f"draws, n = {SETS * PER_SET}")


class _Features(NamedTuple):
    """What inputs x (n, d) see of some neurons, with the roots of their weights in it, (n, neurons).

    value  σ(h); of a custom neuron ∇σ*, (n, neurons·D), which stands alone
    slope  a σ'(h)
    along  a σ'(h) ⟨w, x⟩, for neurons on the sphere
    """

    x: np.ndarray
    value: np.ndarray
    slope: np.ndarray | None = None
    along: np.ndarray | None = None

    def product(self, other: _Features, rows: slice, columns: slice, rates: BlockRates) -> np.ndarray:
        """What the neurons add to some rows and columns of K."""
        total = rates.a * (self.value[rows] @ other.value[columns].T) if rates.a else np.zeros(())
        if self.slope is None or other.slope is None or not (rates.b or rates.w):
            return total
        weight = rates.b + rates.w * (self.x[rows] @ other.x[columns].T) if rates.w else rates.b
        total = total + weight * (self.slope[rows] @ other.slope[columns].T)
        if self.along is None or other.along is None:
            return total
        return total - rates.w * (self.along[rows] @ other.along[columns].T)


def _finite(problem: Problem, inputs: Inputs, rates: BlockRates, network: _Network) -> np.ndarray:
    """K of given neurons; of inputs with themselves the upper triangle is computed."""
    n, columns = len(inputs.x), np.arange(len(inputs.x2))
    custom = isinstance(problem.neuron, Custom)
    found, rates = np.zeros((n, len(columns))), BlockRates(rates.w, 0.0, 0.0) if custom else rates
    for some in _blocks(network, ENTRIES // (max(n, len(columns)) * (problem.D if custom else 1))):
        one = _features(problem, some, inputs.x)
        two = one if inputs.same else _features(problem, some, inputs.x2)
        for start in range(0, n, TILE):
            rows, rest = slice(start, start + TILE), slice(start if inputs.same else 0, None)
            found[rows, rest] += one.product(two, rows, rest, rates)
    return mirrored(found) if inputs.same else found


def _blocks(network: _Network, most: int) -> Iterator[_Network]:
    """Neurons, an equal number at a time; the last ones are followed by neurons without weight."""
    n = len(network.theta)
    size = -(-n // -(-n // max(most, 1)))
    for start in range(0, n, size):
        theta, weights = (part[start : start + size] for part in network)
        yield _Network(np.resize(theta, (size, theta.shape[1])), np.pad(weights, (0, size - len(weights))))


def _features(problem: Problem, some: _Network, x: np.ndarray) -> _Features:
    neuron, root = problem.neuron, np.sqrt(some.weights)
    if isinstance(neuron, Custom):
        return _Features(x, np.asarray(_gradients(neuron, x, some.theta, root)))
    a, b, w = problem.full.split(np.asarray(some.theta))
    along = x @ w.T
    value, slope = (np.asarray(part) for part in _jet(neuron.sigma, along + b, a, root))
    return _Features(x, value, slope, slope * along if neuron.inner == "sphere" else None)


@jax.jit
def _jet(sigma: Activation, h: Array, a: Array, root: Array) -> tuple[Array, Array]:
    """σ(h) and a σ'(h), times the roots of the weights."""
    value, slope = jax.jvp(sigma, (h,), (jnp.ones_like(h),))
    return root * value, root * a * slope


@jax.jit
def _gradients(neuron: Custom, x: Array, theta: Array, root: Array) -> Array:
    """∇σ*(x_i; θ_j) times the roots of the weights, (n, neurons·D)."""
    slopes = jax.vmap(lambda row: jax.vmap(jax.grad(lambda one: neuron.value(row, one)))(theta))(x)
    return (root[:, None] * slopes).reshape(len(x), -1)


def _network(problem: Problem, rho: object) -> _Network:
    """The neurons given, or else those of an explicit start, in full coordinates."""
    law, names, do = problem.initial, problem.coordinates, "run in full coordinates, or leave rho out"
    wanted = f"the NTK needs neurons in full coordinates, {shortened(names)}"
    if rho is None and isinstance(law, Explicit):
        good = not (problem.groups and problem.starts_reduced)
        require(good, wanted, shortened(problem.reduced_coordinates), "start from full ones, or give rho")
        rho = law.theta
    if isinstance(rho, Cloud):
        require(rho.coordinates == names, wanted, shortened(rho.coordinates), do)
    theta = array_of("rho", rho.theta if isinstance(rho, Cloud) else rho, "(n, D)", do, finite=True)
    good = len(theta) > 0 and theta.shape[1] == problem.D
    require(good, f"{wanted}, an array (n, {problem.D})", theta.shape, do)
    return _Network(theta, rho.weights if isinstance(rho, Cloud) else np.full(len(theta), 1 / len(theta)))


def _inputs(problem: Problem, x: object, x2: object) -> Inputs:
    """Inputs of the width of the data, checked."""
    d = int(problem.data.d)
    found = []
    for name, rows in (("x", x), ("x2", x2))[: 1 if x2 is None else 2]:
        rows = array_of(name, rows, "(n, d)", "give one row per input", finite=True)
        good = len(rows) > 0 and rows.shape[1] == d
        require(good, f"{name} must have one row or more of d = {d} columns", rows.shape, "check the inputs")
        found.append(rows)
    return Inputs(found[0], found[-1], x2 is None)


def _rates(problem: Problem) -> BlockRates:
    """The mobilities of the blocks that are trained."""
    neuron = problem.neuron
    trained = {name for name, moves in zip(neuron.scalars, neuron.trained, strict=True) if moves} | {"w"}
    rates = [getattr(problem.mobility, name) if name in trained else 0.0 for name in BlockRates._fields]
    good = not any(isinstance(rate, Schedule) for rate in rates)
    require(good, "the NTK needs mobilities that are numbers", problem.mobility, "give those of the time you ask about")
    return BlockRates(*rates)


def _check(problem: Problem) -> None:
    """Refuse an infinite dimension, and functions that JAX cannot trace."""
    finite, neuron = math.isfinite(problem.data.d), problem.neuron
    require(finite, "the NTK needs inputs of a finite dimension", problem.data.d, "choose a finite d")
    if isinstance(neuron, Custom):
        check_custom(neuron, int(problem.data.d))
    elif isinstance(neuron.sigma.form, General):
        check_traceable(neuron.sigma.form)
