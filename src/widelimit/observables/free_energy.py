"""Entropy, free energy, and how fast it falls: each function here makes an observer, a function of ρ.

    entropy       S(ρ) = −∫ ρ log ρ                                      over the full space
    free energy   F(ρ) = ½ R(ρ) + λ ∫v dρ − S(ρ)/β                       without noise the energy alone
    Fisher        I(ρ) = ∫ |∇ log ρ|² dρ
    dissipation   𝒟(ρ) = 2 ∫ |∇(Ψ_λ + β^{-1} log ρ)|²_M dρ,              dF/dt = −ξ(t) 𝒟(ρ_t)

Schemes. Density: sums over cells, and over the faces between neighbours, order 2; 𝒟 with the flux of Scharfetter and
Gummel, Σ J (μ_i − μ_{i+1}): the identity then holds for FiniteVolume cell by cell. Cloud: the entropy by the distance
ε_i of every neuron to its k-th neighbour in reduced coordinates (Kozachenko and Leonenko),

    S ≈ ψ(n) − ψ(k) + log V_D + (D/n) Σ_i log ε_i + (1/n) Σ_i Σ_g log(S_g r_{g,i}^{d_g − 1}),      k = 4

for independent neurons of equal weight (V_D the volume of the unit ball); neurons in full coordinates count as all
their rotations. I and 𝒟 with noise need a density and refuse a cloud.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import digamma

from widelimit.arguments import instance_of
from widelimit.dynamics.finite_volume.fluxes import bernoulli
from widelimit.dynamics.rules import rules_of
from widelimit.errors import require
from widelimit.measures import Cloud, Density, Measure, measure_of
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.landscapes import landscape, reduce
from widelimit.problem.problem import Problem
from widelimit.spheres import log_sphere_area

spatial = OnFirstUse("scipy.spatial")

NEIGHBOUR = 4


def entropy(problem: Problem) -> Callable[[Measure], float]:
    """ρ ↦ −∫ ρ log ρ, exact for a `Density`, estimated for a `Cloud` of independent neurons.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(3, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> ball = wl.Density(([0.0, 1.0],), [1.0], ("r",), (3.0,))
    >>> round(wl.observables.entropy(problem)(ball), 6)  # log of its volume
    1.432412
    """
    _check(problem)
    finite = all(math.isfinite(g.d) for g in problem.groups)
    require(finite, "an entropy needs finitely many dimensions, a finite d", problem.data.d, "choose a finite d")

    def observer(rho: Measure) -> float:
        known = measure_of(rho, "an entropy")
        return known.entropy if isinstance(known, Density) else _estimated_entropy(problem, known)

    return observer


def free_energy(problem: Problem) -> Callable[[Measure], float]:
    """ρ ↦ F(ρ); with noise the entropy of a cloud is an estimate, see `entropy`.

    >>> import widelimit as wl
    >>> line = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    >>> problem = wl.Problem(wl.data.gaussian_classes(40, 0.5), line, wl.initial.gaussian(1.0), ridge=0.5)
    >>> wl.observables.free_energy(problem)(wl.Cloud([[2.0]], [1.0], ("r",)))
    1.5
    """
    _check(problem)
    measure_entropy = entropy(problem) if math.isfinite(problem.beta) else lambda rho: 0.0

    def observer(rho: Measure) -> float:
        return _landscape(problem, rho).energy(rho) - measure_entropy(rho) / problem.beta

    return observer


def fisher_information(problem: Problem) -> Callable[[Measure], float]:
    """ρ ↦ ∫ |∇ log ρ|² dρ of a `Density`.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(3, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> ball = wl.Density(([0.0, 1.0],), [1.0], ("r",), (3.0,))
    >>> wl.observables.fisher_information(problem)(ball)
    0.0
    """
    _check(problem)

    def observer(rho: Measure) -> float:
        density = _require_density(rho, "the Fisher information")
        logs = _logs(density)
        total = 0.0
        for c, gap, _ in _axes(density):
            low, high = _neighbours(density.masses, c)
            total += float(np.sum((low + high) / 2 * (_difference(logs, c) / gap) ** 2))
        return total

    return observer


def dissipation(problem: Problem) -> Callable[[Measure], float]:
    """ρ ↦ 𝒟(ρ), the rate at which the free energy falls on the clock ∫ξ dt; rates of the blocks must be constant.

    >>> import widelimit as wl
    >>> line, start = wl.neurons.ridge("x"), wl.initial.gaussian(1.0)
    >>> problem = wl.Problem(wl.data.single_index(5, "2*z"), line, start)
    >>> best = wl.Cloud([[2.0, 0.0]], [1.0], ("u", "r"))
    >>> round(wl.observables.dissipation(problem)(best), 9)
    0.0
    """
    _check(problem)
    require(problem.rates.is_constant, "the dissipation needs a mobility that is constant", problem.mobility,
            "give the blocks numbers")  # fmt: skip
    rates = np.asarray(rules_of(problem, reduced=True).rates(0.0))
    if math.isfinite(problem.beta):
        return lambda rho: _through_faces(problem, _require_density(rho, "the dissipation with noise"), rates)

    def observer(rho: Measure) -> float:
        land = _landscape(problem, rho)
        full = np.asarray(rules_of(problem, land.penalty.columns.is_reduced).rates(0.0))
        return float(2 * rho.mean(np.asarray(land.grad_psi(rho.theta, rho)) ** 2 @ full))

    return observer


def _through_faces(problem: Problem, rho: Density, rates: np.ndarray) -> float:
    """Σ J (μ_i − μ_{i+1}) over all faces."""
    psi = np.asarray(_landscape(problem, rho).psi(rho.theta, rho)).reshape(rho.masses.shape)
    mu = psi + _logs(rho) / problem.beta
    total = 0.0
    for c, gap, width in _axes(rho):
        steep = problem.beta * psi - (rho.log_volumes - np.log(width))
        x = np.diff(steep, axis=c)
        low, high = _neighbours(rho.masses / width, c)
        flux = 2 * rates[c] / (problem.beta * gap) * np.asarray(bernoulli(x) * low - bernoulli(-x) * high)
        total -= float(np.sum(flux * _difference(mu, c)))
    return total


def _axes(rho: Density) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Every coordinate along which mass can flow: its number, the distances of centres, the widths of cells."""
    for c, (edges, dimension) in enumerate(zip(rho.edges, rho.dimensions, strict=True)):
        if dimension != 0 and len(edges) > 2:
            shape = [-1 if axis == c else 1 for axis in range(rho.masses.ndim)]
            width = np.diff(edges)
            yield c, ((width[1:] + width[:-1]) / 2).reshape(shape), width.reshape(shape)


def _neighbours(values: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """The values on the low and the high side of every face of coordinate c."""
    ahead = np.moveaxis(values, c, 0)
    return np.moveaxis(ahead[:-1], 0, c), np.moveaxis(ahead[1:], 0, c)


def _difference(values: np.ndarray, c: int) -> np.ndarray:
    """What a value gains across every face of coordinate c; 0 beside cells without mass, where it is −∞."""
    low, high = _neighbours(values, c)
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, high, 0.0) - np.where(both, low, 0.0)


def _logs(rho: Density) -> np.ndarray:
    """log ρ of every cell, −∞ where there is no mass."""
    with np.errstate(divide="ignore"):
        return np.log(rho.masses) - rho.log_volumes


def _estimated_entropy(problem: Problem, rho: Cloud) -> float:
    """Kozachenko and Leonenko's estimate, in the volume of the full space."""
    is_full = tuple(rho.coordinates) != tuple(problem.reduced_coordinates)
    theta = np.asarray(reduce(problem, rho.theta) if is_full else rho.theta, float)
    n, D = theta.shape
    require(n > NEIGHBOUR, f"the entropy of a cloud needs more than {NEIGHBOUR} neurons", n, "use more")
    equal = bool(np.allclose(rho.weights, 1 / n, rtol=1e-9, atol=0))
    require(equal, "the entropy of a cloud needs neurons of equal weight", "different weights",
            "solve with FiniteVolume, or take the neurons of a ParticleFlow or NonlinearFlow")  # fmt: skip
    distances = spatial.KDTree(theta).query(theta, k=NEIGHBOUR + 1)[0][:, -1]
    require(bool((distances > 0).all()), "the entropy of a cloud needs neurons that differ", "equal ones", "add noise")
    ball = D / 2 * math.log(math.pi) - math.lgamma(D / 2 + 1)
    plain = digamma(n) - digamma(NEIGHBOUR) + ball + D * float(np.mean(np.log(distances)))
    first = D - len(problem.groups)
    shells = [
        log_sphere_area(g.d) + (g.d - 1) * float(np.mean(np.log(theta[:, first + i])))
        for i, g in enumerate(problem.groups)
    ]
    return float(plain + sum(shells))


def _landscape(problem: Problem, rho: Measure) -> Landscape:
    """The landscape in the coordinates of ρ."""
    measure_of(rho, "this observable")
    return landscape(problem, reduced=tuple(rho.coordinates) == tuple(problem.reduced_coordinates))


def _require_density(rho: Measure, what: str) -> Density:
    return instance_of(Density, rho, what, "solve with FiniteVolume or JKO")


def _check(problem: Problem) -> None:
    instance_of(Problem, problem, "this observable", "build one first")
