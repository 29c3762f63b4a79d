"""The risk of kernel regression before any sample is drawn: inputs on a sphere, degree by degree.

    K(x, x') = Σ_k λ_k B_k P_k(c),   ⟨x, x'⟩ = d c,   |x|² = |x'|² = d       a kernel that rotations do not change

    P_k  Gegenbauer's polynomials with P_k(1) = 1;  p_k = √B_k P_k is orthonormal in the law of c
    B_k  multiplicities (k,)    functions of degree k: 1, d, (d + 2)(d − 1)/2, …
    λ_k  eigenvalues    (k,)    E K p_k(c)/√B_k, on the Gauss nodes of the law of c
    μ    rest                   K(x, x) − Σ_k λ_k B_k: all degrees beyond those, learned by none of n samples
    λ    ridge

    Σ_k B_k λ_k/(λ_k + κ) + (μ + nλ)/κ = n                κ, the ridge that is felt;   L_k = λ_k/(λ_k + κ)
    R(n) = Σ_k (1 − L_k)² ‖P_k f*‖² / (1 − Σ_k B_k L_k²/n)

The second line is the mean over the samples of the risk of K(x, ·)(K + nλI)⁻¹ y, exact as B_k and n grow together; with
dozens of samples it is off by percents. What is not learned counts as noise of the labels, and the denominator
is how much of that noise is fitted. Where B_ℓ ≪ n ≪ B_{ℓ+1} it is ‖P_{>ℓ} f*‖², a staircase.
References: [sdk23], [gmmm21].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq

from widelimit.arguments import instance_of, numbers_of
from widelimit.errors import require, require_nonnegative
from widelimit.problem.initial import Gaussian, Sphere
from widelimit.problem.neurons import Ridge
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.ntk import ntk

BEYOND = 1e4  # a degree with so many functions for each sample is not learned
DEGREES = 200  # at most, where d is small
NODES = 100  # of the law of c, besides four for each degree
ROUNDING = 1e-11  # of K


class Eigenvalues(NamedTuple):
    """λ_k, B_k and μ of a kernel on the sphere |x|² = d."""

    eigenvalues: np.ndarray
    multiplicities: np.ndarray
    rest: float


def kernel_learning_curve(problem: Problem, powers: ArrayLike, sizes: ArrayLike, ridge: float = 0.0) -> np.ndarray:
    """The risk that kernel regression on n inputs drawn from the sphere |x|² = d will have, for every n in ``sizes``.

    problem  whose tangent kernel it is; its data give d only
    powers   ‖P_0 f*‖², ‖P_1 f*‖², …: how much of the target is of each degree, E f*² in sum
    sizes    numbers of samples n
    ridge    λ in K(x, ·)(K + nλI)⁻¹ y, as in `kernel_regression`

    It is a mean over samples in the limit of many functions of each degree; see docs/theory.md.

    >>> import widelimit as wl
    >>> start = wl.initial.gaussian(0.7, a=wl.initial.normal())
    >>> problem = wl.Problem(wl.data.sphere(24, "z1"), wl.neurons.ridge("exp(x)", outer="trained"), start)
    >>> wl.kernel_learning_curve(problem, [0, 1, 1, 1], [250, 1000, 10000]).round(1)  # 3 without samples
    array([2., 1., 0.])
    """
    instance_of(Problem, problem, "kernel_learning_curve", "build one first")
    p = np.array(numbers_of("powers", powers, "[0, 1, 1]"))
    require(bool((p >= 0).all()), "powers must be numbers >= 0", powers, "try [0, 1, 1]")
    n = np.array(numbers_of("sizes", sizes, "[100, 1000]"))
    require(bool((n >= 1).all()), "sizes must be numbers of samples, 1 or more", sizes, "try [100, 1000]")
    require_nonnegative("ridge", ridge, "0.1")
    found = spectrum(problem, n.max(), len(p))
    return np.array([_risk(found, p, size, ridge) for size in n])


def spectrum(problem: Problem, n: float, least: int = 1) -> Eigenvalues:
    """Of the tangent kernel of a problem, with every degree that n samples can see, and ``least`` of them or more."""
    d, law = problem.data.d, problem.unpaired.initial
    require(3 <= d < math.inf, "a sphere with degrees needs 3 <= d < inf", d, "choose another d")
    round_ = isinstance(problem.neuron, Ridge) and isinstance(law, Gaussian | Sphere)
    require(round_, "a kernel that rotations do not change needs ridge neurons and a start that is gaussian or sphere",
            law if isinstance(problem.neuron, Ridge) else problem.neuron, "choose such ones")  # fmt: skip
    B = _multiplicities(int(d), n * BEYOND, least)
    c, weights = _nodes(int(d), 4 * len(B) + NODES)
    x, x2 = np.zeros((1, int(d))), np.zeros((len(c) + 1, int(d)))
    x[0, 0] = math.sqrt(d)
    x2[:-1, 0], x2[:-1, 1], x2[-1] = math.sqrt(d) * c, math.sqrt(d) * np.sqrt(1 - c**2), x[0]
    kernel = ntk(problem, x, x2)
    require(not np.any(kernel.error), "a learning curve needs a kernel without an error", kernel.how,
            "choose a gaussian start, with laws of a and b that are normal or constant")  # fmt: skip
    *values, top = kernel.matrix[0]
    masses = np.sqrt(B) * (_polynomials(int(d), c, len(B)) * np.sqrt(B)[:, None] @ (weights * values))
    masses = np.where(masses > ROUNDING * top * np.sqrt(B), masses, 0.0)
    rest = top - masses.sum()
    return Eigenvalues(masses / B, B, rest if rest > ROUNDING * top * len(B) else 0.0)


def _risk(of: Eigenvalues, powers: np.ndarray, n: float, ridge: float) -> float:
    """R(n)."""
    L = _learned(of, n, of.rest + n * ridge)
    left = (1 - L[: len(powers)]) ** 2 @ powers
    fitted = of.multiplicities @ L**2 / n
    return float(left / (1 - fitted)) if fitted < 1 else (math.inf if left > 0 else 0.0)


def _learned(of: Eigenvalues, n: float, unseen: float) -> np.ndarray:
    """L_k, where μ + nλ is ``unseen``: 1 or 0 if κ = 0."""
    seen = of.eigenvalues > 0
    lam, B = of.eigenvalues[seen], of.multiplicities[seen]
    excess = B.sum() / n - 1
    found = np.zeros(len(seen))
    if unseen == 0 and excess <= 0:
        found[seen] = 1.0
        return found
    low = max(unseen / n, lam.min() * excess) if len(lam) else unseen / n  # the left side is n or more
    high = (B @ lam + unseen) / n  # and n or less
    log = brentq(lambda k: B @ (lam / (lam + math.exp(k))) + unseen / math.exp(k) - n,
                 math.log(low) - 1e-9, math.log(high) + 1e-9, xtol=1e-13)  # fmt: skip
    found[seen] = lam / (lam + math.exp(log))
    return found


def _multiplicities(d: int, most: float, least: int) -> np.ndarray:
    """B_0, B_1, … up to the first beyond ``most``; B_k = C(k + d − 1, k) − C(k + d − 3, k − 2)."""
    found = [1.0, float(d)]
    while len(found) < least or (found[-1] <= most and len(found) <= DEGREES):
        k = len(found)
        found.append(found[-1] * (2 * k + d - 2) * (k + d - 3) / (k * (2 * k + d - 4)))
    return np.array(found)


def _nodes(d: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss nodes and weights of c = ⟨x, x'⟩/d, from the recurrence of its orthonormal polynomials."""
    k = np.arange(1, count)
    beside = np.sqrt(k * (k + d - 3) / ((2 * k + d - 2) * (2 * k + d - 4)))
    c, vectors = eigh_tridiagonal(np.zeros(count), beside)
    return c, vectors[0] ** 2


def _polynomials(d: int, c: np.ndarray, count: int) -> np.ndarray:
    """P_k(c), (count, nodes)."""
    found = [np.ones_like(c), c]
    for k in range(1, count - 1):
        found.append(((2 * k + d - 2) * c * found[k] - k * found[k - 1]) / (k + d - 2))
    return np.array(found[:count])
