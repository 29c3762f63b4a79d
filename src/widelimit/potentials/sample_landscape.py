"""Landscape of a finite set of samples.

    Φ_q(θ) = σ*(x_q; θ),   p_q = 1/M,   q = 1, …, M

    x_q, y_q   the rows of a data set: exact
               a fixed draw from a law without a formula: R has the standard error sd (y − f)²/√M, as for any test set

Any neuron qualifies; gradients are those of JAX.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.coordinates import Coordinates
from widelimit.errors import InputError, require
from widelimit.frozen import static
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscape import Rho
from widelimit.potentials.least_squares import on_device
from widelimit.problem.data import DataLaw, Empirical
from widelimit.problem.neurons import Custom, Neuron
from widelimit.problem.regularisers import Penalty

DRAW = 20_231  # seed of the fixed draw, apart from the seeds of runs


class SampleLandscape(FeatureLandscape, eq=False):
    """V, U, Ψ, ∇Ψ, R over a finite set of samples, in all coordinates of the neuron.

    neuron  σ*
    exact   whether the samples are the law itself
    """

    neuron: Neuron
    exact: bool = static()

    def features(self, theta: Array) -> Array:
        """σ*(x_q; θ), (n, M)."""
        return neuron_values(self.neuron, self.penalty.columns, theta, self.inputs).T

    def risk_error(self, rho: Rho) -> float:
        """Standard error of the risk; 0 for a data set, which is its own law."""
        if self.exact:
            return 0.0
        square = np.asarray(self.fit.y - self.mean_features(*self.measure(rho))) ** 2
        return float(square.std(ddof=1) / math.sqrt(len(square)))


def sample_landscape(data: DataLaw, neuron: Neuron, penalty: Penalty) -> SampleLandscape:
    """The landscape of a data set, or of a fixed draw from a law; the noise of the labels is in them."""
    if isinstance(data, Empirical):
        x, y = jnp.asarray(data.x), np.asarray(data.y)
    else:
        x, y = data.sample(jax.random.key(DRAW), data.samples, float)  # type: ignore[assignment]
    fit = on_device(np.full(len(y), 1 / len(y)), np.asarray(y), 0.0)
    return SampleLandscape(penalty, fit, x, neuron.form, isinstance(data, Empirical))


def check_custom(neuron: Custom, d: int) -> None:
    """Refuse a neuron that is not one number, traceable by JAX."""
    try:
        shape = jax.eval_shape(neuron.function, *(jax.ShapeDtypeStruct((n,), float) for n in (d, neuron.D))).shape
    except Exception as error:  # whatever the function does with a tracer
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"a custom neuron must be a function of x and theta traceable by JAX, got one that is not ({reason}): "
            "write it with jax.numpy."
        ) from error
    require(shape == (), "a custom neuron must return one number, of shape ()", shape, "sum over its entries")


def neuron_values(neuron: Neuron, columns: Coordinates, theta: Array, x: Array) -> Array:
    """σ*(x_j; θ_i), (samples, n)."""
    if isinstance(neuron, Custom):
        return jax.vmap(lambda row: jax.vmap(partial(neuron.function, row))(theta))(x)
    a, b, w = columns.split(theta)
    return a * neuron.sigma(x @ w.T + b)
