"""Mean squares of an activation and of its slope, seen through Gaussian noise.

    E σ(m + sG)²,   E σ'(m + sG)²,      G ~ N(0, 1)

Piecewise linear, z_j = (t_j − m)/s, γ_j the jump of σ'² at t_j, without cancellation between far knots:
    E σ² = σ(m)² + 2s Σ_j σ(t_j) δ_j ψ(|z_j|) + s² [σ'(m)² + Σ_j γ_j sgn(z_j) Ω(|z_j|)],   Ω(z) = E (G − z)_+²
    E σ'² = σ'(m)² + Σ_j γ_j sgn(z_j) Φ̄(|z_j|)
erf:                E σ² = 1 − 8 T(√2 m/√(1 + 2s²), 1/c),   E σ'² = (4/π) e^{−2m²/c²}/c,   c² = 1 + 4s²,  T Owen's
polynomial:         E σ² = Σ_k A_k²
sin, exp, polynomial:    σ' is of the same kind
part, σ = c ς(αx + β):   c² E ς² and (cα)² E ς'² at αm + β, |α| s
The logistic family is in widelimit.potentials.logistic; general functions are integrated in
widelimit.potentials.quadrature; the other E σ² are kernels at correlation 1.

Arrays: m and s of one shape, which is that of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from itertools import accumulate, pairwise

import jax
import jax.numpy as jnp
from jax import Array

from widelimit.potentials import logistic
from widelimit.potentials.hermite import short_sum
from widelimit.potentials.normal import density, hinge, tail
from widelimit.potentials.pair_kernels import Pair, kernel
from widelimit.potentials.quadrature import square_of_slope
from widelimit.potentials.smoothing import knot_scores, seen_inside, slope_of, slopes, smoothed, value
from widelimit.problem.activations import (
    Activation,
    ErrorFunction,
    ExponentialFunction,
    General,
    Hinges,
    Logistic,
    Part,
    Polynomial,
    Sinusoid,
)


@singledispatch
def mean_square(activation: Activation, m: Array, s: Array) -> Array:
    """E σ(m + sG)²."""

    def own(m: Array, s: Array) -> Array:
        return kernel(activation, Pair(m[None], s[None], m[None], s[None], jnp.ones((1, 1))))[0, 0]

    return jax.vmap(own)(m.ravel(), s.ravel()).reshape(m.shape)


@singledispatch
def mean_square_slope(activation: Activation, m: Array, s: Array) -> Array:
    """E σ'(m + sG)²."""
    raise TypeError(f"no slope is known for {activation!r}")


def _squared_slopes(activation: Hinges) -> Hinges:
    """The piecewise linear function whose slope is σ'²."""
    squares = [slope * slope for slope in accumulate(activation.jumps, initial=activation.slope)]
    jumps = tuple(after - before for before, after in pairwise(squares))
    return Hinges.trusted(knots=activation.knots, jumps=jumps, intercept=0.0, slope=squares[0])


@mean_square.register
def _(activation: Hinges, m: Array, s: Array) -> Array:
    gap, z, jumps = knot_scores(activation, m, s)
    x, side, squares = jnp.abs(z), jnp.where(gap < 0, -1.0, 1.0), _squared_slopes(activation)
    rising, at_knots = (
        jnp.reshape(x, jumps.shape) for x in (jnp.asarray(squares.jumps), activation(jnp.asarray(activation.knots)))
    )
    local = squares.slope + short_sum(rising * jnp.where(gap < 0, 1.0, 0.0))
    beyond = (1 + x * x) * tail(x) - x * density(x)
    bends = 2 * s * short_sum(at_knots * jumps * hinge(x))
    return activation(m) ** 2 + bends + s * s * (local + short_sum(rising * side * beyond))


@mean_square_slope.register
def _(activation: Hinges, m: Array, s: Array) -> Array:
    return slopes(_squared_slopes(activation), m, s, 1)[..., 0]


@mean_square.register
def _(activation: ErrorFunction, m: Array, s: Array) -> Array:
    return 1 - 8 * logistic.owen(math.sqrt(2) * m / jnp.sqrt(1 + 2 * s * s), 1 / jnp.sqrt(1 + 4 * s * s))


@mean_square.register
def _(activation: Polynomial, m: Array, s: Array) -> Array:
    return jnp.sum(smoothed(activation, activation.degree, m, s) ** 2, axis=-1)


@mean_square_slope.register
def _(activation: ErrorFunction, m: Array, s: Array) -> Array:
    square = 1 + 4 * s * s
    return 4 / math.pi * jnp.exp(-2 * m * m / square) / jnp.sqrt(square)


@mean_square_slope.register
def _(activation: Sinusoid, m: Array, s: Array) -> Array:
    return mean_square(Sinusoid(activation.quarter + 1), m, s)


@mean_square_slope.register
def _(activation: ExponentialFunction, m: Array, s: Array) -> Array:
    return mean_square(activation, m, s)


@mean_square.register
def _(activation: Part, m: Array, s: Array) -> Array:
    return activation.coefficient**2 * mean_square(activation.activation, *seen_inside(activation, m, s))


@mean_square_slope.register
def _(activation: Part, m: Array, s: Array) -> Array:
    inner = mean_square_slope(activation.activation, *seen_inside(activation, m, s))
    return (activation.coefficient * activation.scale) ** 2 * inner


@mean_square_slope.register
def _(activation: Polynomial, m: Array, s: Array) -> Array:
    return mean_square(slope_of(activation), m, s)


@mean_square.register
def _(activation: Logistic, m: Array, s: Array) -> Array:
    return logistic.mean_square(activation.kind, m, s)


@mean_square_slope.register
def _(activation: Logistic, m: Array, s: Array) -> Array:
    return logistic.mean_square_slope(activation.kind, m, s)


@mean_square.register
def _(activation: General, m: Array, s: Array) -> Array:
    return value(General(Squared(activation), activation.bends, f"{activation.name}²"), m, s)


@mean_square_slope.register
def _(activation: General, m: Array, s: Array) -> Array:
    return square_of_slope(activation, m, s)


@dataclass(frozen=True)
class Squared:
    """x ↦ σ(x)², equal and hashed by σ so that its quadrature is planned once."""

    activation: Activation

    def __call__(self, x: Array) -> Array:
        """σ(x)²."""
        return self.activation(x) ** 2
