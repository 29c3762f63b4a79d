"""The relative scale of a network: how lazy it will be, from its start alone.

    κ(θ) = ‖f(θ) − f*‖ · ‖D²f(θ)‖ / ‖Df(θ)‖²

    ‖·‖   of functions: over the data law; of derivatives: operator norms, widelimit.theory.lazy.jacobian
    f*    E[y | x], so that the noise of the labels does not count

Lazy when κ ≪ 1. κ ∝ 1/α at a centred start (f(θ_0) = 0), κ ∝ 1/λ^r for r-homogeneous neurons scaled by λ; otherwise the
first factor grows with α and κ does not fall to 0. Kinks of σ, where D²f is no function, are not counted: κ of ReLU is
that of the products of a and w, and κ = 0 says nothing where a is fixed too. At a fixed
time ‖f_t − f̄_t‖/‖f_0 − f*‖ ≲ t² κ.
Reference: [cob19].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jax import Array

from widelimit.arguments import instance_of, require_seed
from widelimit.errors import require_count
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscape import Rho
from widelimit.problem.problem import Problem
from widelimit.solving.streams import stream
from widelimit.theory.lazy.jacobian import Norm, derivative


@dataclass(frozen=True)
class RelativeScale:
    """κ with its three factors.

    kappa      ‖f − f*‖ ‖D²f‖/‖Df‖²
    error      how far it may be off: Lanczos, the starts of the power method, and the draws behind ‖f − f*‖
    residual   ‖f − f*‖
    slope      ‖Df‖
    bend       ‖D²f‖, a local maximum, from below

    >>> RelativeScale(kappa=0.125, error=0.0, residual=0.5, slope=2.0, bend=1.0)
    <RelativeScale: κ = 0.125 ± 0>
    """

    kappa: float
    error: float
    residual: float
    slope: float
    bend: float

    def __repr__(self) -> str:
        return f"<RelativeScale: κ = {self.kappa:.3g} ± {self.error:.1g}>"


def relative_scale(problem: Problem, n: int = 100, *, rho: Rho | None = None, seed: int = 0) -> RelativeScale:
    """κ(θ_0) of a network of n neurons drawn from the start, or of a given one.

    n      number of neurons
    rho    the network itself, in full coordinates, instead of a draw
    seed   of the draw: the neurons are those of SGD with the same seed

    What the kinks of σ add to D²f is not counted.

    >>> import widelimit as wl
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> problem = wl.Problem(wl.data.single_index(4, "z"), wl.neurons.ridge("tanh", "trained"), start, alpha=2.0)
    >>> wl.relative_scale(problem, n=10).kappa > 0
    True
    """
    instance_of(Problem, problem, "relative_scale", "build one first")
    require_count("n", n, "100")
    require_seed(seed)
    network = problem.at_width(n)
    given = network.sample_initial(stream(seed, "initial"), n) if rho is None else rho
    of = derivative(network, reduced=False)
    theta, weights = of.land.measure(given)
    slope, bend, first = of.norm(theta, weights), of.bend(theta), _residual(of.land, theta, weights)
    kappa = first.value * bend.value / slope.value**2
    error = kappa * (_relative(first) + _relative(bend) + 2 * _relative(slope))
    return RelativeScale(kappa, error, first.value, slope.value, bend.value)


def _relative(norm: Norm) -> float:
    return norm.error / norm.value if norm.value > 0 else 0.0


def _residual(land: FeatureLandscape, theta: Array, weights: Array) -> Norm:
    """‖f − f*‖ = √(R − variance of the noise)."""
    square = max(float(land.risk_of(theta, weights)) - float(land.fit.floor), 0.0)
    root, error = math.sqrt(square), float(land.risk_error_of(theta, weights))
    return Norm(root, error / (2 * root) if root > 0 else math.sqrt(error))
