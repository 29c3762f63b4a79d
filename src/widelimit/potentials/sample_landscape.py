"""Landscape of a finite set of samples.

    Φ_q(θ) = σ*(x_q; θ),   q = 1, …, M

    data set   x_q, y_q are its rows and p_q = 1/M: exact
    any law    two independent sets of draws, m from each of its parts c (widelimit.problem.data.data_law): p_q = p_c/m

    descended on   V, U, Ψ, ∇Ψ: one fixed set
    reported       R = Σ_c p_c mean_c e + floor,   error² = Σ_c p_c² s_c²/m,   s_c² the variance of e = (y − f)² in c
                   where the law has groups e is the mean over x = (z, x') and its mirror image (z, −x'), m pairs, so
                   that what is odd in x' cancels; pairs would be of less use to descend on

The network has never met the draw its risk is reported on, so R has no bias and the error is that of R(ρ_t), whatever
the network did before. The draw is the same at all times and another one for each seed and replica; it is made anew
for each risk and never stored. A flow that descends on M samples arrives at another ρ_t than that of the law itself, by
an amount of order M^{−1/2}: a run has a twin on fewer samples (widelimit.dynamics.fewer_samples), and every number of
samples has a draw of its own.

Any neuron qualifies; gradients are those of JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import InputError, require
from widelimit.frozen import static
from widelimit.potentials.chunks import one_by_one
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscape_values import compiled_energy
from widelimit.potentials.least_squares import on_device
from widelimit.problem.data import DataLaw, Empirical
from widelimit.problem.neurons import Custom, Linearised, Neuron, halves
from widelimit.problem.regularisers import Penalty

DRAW = 20_231  # seed of the draw that is descended on; DRAW + 1 is that of the draw a risk outside of runs is taken on


TRIED = 200  # values of D with which a neuron that fails is tried
SETS = 16  # into which the draw is cut to see its error


class Estimate(NamedTuple):
    """A risk and its standard error."""

    risk: Array | float
    error: Array | float


class SampleLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R over a finite set of samples, in all coordinates of the neuron.

    neuron  σ*
    data    the law the samples were drawn from; None for a data set, which is its own law
    key     of the draws the risk is reported on
    paired  whether they have mirror images
    """

    neuron: Neuron | Linearised
    data: DataLaw | None
    key: Array
    paired: bool = static()

    def features(self, theta: Array) -> Array:
        """σ*(x_q; θ), (n, M)."""
        return neuron_values(self.neuron, self.penalty.columns, theta, self.inputs).T

    def reporting(self, key: Array) -> Self:
        """The landscape that estimates its risk from the draws of another key."""
        return replace(self, key=key)

    @jax.jit
    def risk_of(self, points: Array, weights: Array) -> Array:
        """R(ρ), estimated on fresh samples; exact for a data set."""
        return super().risk_of(points, weights) if self.data is None else self.estimate(points, weights).risk

    def risk_error_of(self, points: Array, weights: Array) -> Array:
        """Standard error of R(ρ); 0 for a data set."""
        return super().risk_error_of(points, weights) if self.data is None else self.estimate(points, weights).error

    @property
    def nodes_of_sets(self) -> list[np.ndarray]:
        """Each set has samples of every part of the law, which stand one after the other."""
        return [np.arange(i, len(self.inputs), self.sets) for i in range(self.sets)]

    def energy_of(self, points: Array, weights: Array) -> Array:
        """E on the samples that are descended on."""
        return compiled_energy(self, self.fit.risk(self.mean_features(points, weights)), points, weights)

    @jax.jit
    def estimate(self, points: Array, weights: Array) -> Estimate:
        """R(ρ) and its error for points (n, D), or of every replica (R, n, D), each on a draw of its own."""
        stack = points.reshape(-1, *points.shape[-2:])
        replicas = jnp.arange(len(stack)), stack
        found = one_by_one(lambda one: self._on_fresh_samples(one[0], one[1], weights), replicas)
        return Estimate(*(jnp.reshape(part, points.shape[:-2]) for part in found))

    def _on_fresh_samples(self, replica: Array, points: Array, weights: Array) -> Estimate:
        assert self.data is not None
        images = 2 if self.paired else 1
        draw = self.data.draws(jax.random.fold_in(self.key, replica), -(-self.data.samples // images))
        z, rest = jnp.split(draw.x, [self.data.kept], axis=1)
        x = jnp.concatenate([jnp.concatenate([z, sign * rest], axis=1) for sign in (1, -1)[:images]])
        f = replace(self, inputs=x).mean_features(points, weights).reshape(images, -1)
        square = ((draw.y - f) ** 2).mean(axis=0).reshape(len(draw.p), -1)  # (parts, m)
        spread = draw.p**2 @ square.var(axis=1, ddof=1) / square.shape[1]
        return Estimate(draw.p @ square.mean(axis=1) + draw.floor, jnp.sqrt(spread))


def sample_landscape(data: DataLaw, neuron: Neuron, penalty: Penalty) -> SampleLandscape:
    """The landscape of a data set, or of draws from a law."""
    own, other = (jax.random.fold_in(jax.random.key(DRAW + i), data.samples) for i in range(2))
    if isinstance(data, Empirical):
        fit = on_device(np.full(len(data.y), 1 / len(data.y)), data.y, 0.0)
        return SampleLandscape(penalty, fit, jnp.asarray(data.x), neuron.form, None, other, False)
    draw = data.draws(own, data.samples)
    m = len(draw.y) // len(draw.p)
    fit = on_device(np.repeat(np.asarray(draw.p) / m, m), np.asarray(draw.y), draw.floor)
    return SampleLandscape(
        penalty, fit, draw.x, neuron.form, data, other, bool(data.groups), sets=min(SETS, len(draw.y))
    )


def check_custom(neuron: Custom, d: int) -> None:
    """Refuse a neuron that is not one number, traceable by JAX, or that asks for another number of parameters."""
    try:
        shape = _answered(neuron.function, d, neuron.D)
    except Exception as error:  # whatever the function does with a tracer
        reason = str(error).partition("\n")[0].rstrip(".")[:200]
        others = [D for D in range(1, min(2 * d + 8, TRIED)) if _answers(neuron.function, d, D)]
        do = f"it works with D={others[0]}" if others else "write it with jax.numpy"
        if _answers(lambda x, theta: neuron.function(theta, x), d, neuron.D):
            do = "x comes first, then theta"
        raise InputError(
            f"a custom neuron must be a function of x ({d},) and theta ({neuron.D},) traceable by JAX, got one that "
            f"is not ({reason}): {do}."
        ) from error
    require(shape == (), "a custom neuron must return one number, of shape ()", shape, "sum over its entries")


def _answered(function: Callable[[Array, Array], Array], d: int, D: int) -> tuple[int, ...]:
    """The shape of what a neuron answers; an index beyond theta, which JAX would move inside, is an error."""
    shape = jax.eval_shape(function, *(jax.ShapeDtypeStruct((n,), float) for n in (d, D))).shape
    try:
        function(np.ones(d), np.ones(D))  # type: ignore[arg-type]
    except IndexError:
        raise
    except Exception:  # a function may ask for arrays of JAX
        return shape
    return shape


def _answers(function: Callable[[Array, Array], Array], d: int, D: int) -> bool:
    try:
        return _answered(function, d, D) == ()
    except Exception:
        return False


def neuron_values(neuron: Neuron | Linearised, columns: Coordinates, theta: Array, x: Array) -> Array:
    """σ*(x_j; θ_i), (samples, n)."""
    if isinstance(neuron, Linearised):
        now, start = halves(theta)
        values = partial(neuron_values, neuron.neuron, columns, x=x)
        at_start, change = jax.jvp(values, (start,), (now - start,))
        return at_start + change
    if isinstance(neuron, Custom):
        return jax.vmap(lambda row: jax.vmap(partial(neuron.value, row))(theta))(x)
    a, b, w = columns.split(theta)
    return a * neuron.sigma(x @ w.T + b)
