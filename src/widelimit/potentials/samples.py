"""Landscape of a finite set of samples.

    Φ_q(θ) = σ*(x_q; θ),   p_q = 1/M,   q = 1, …, M

    x_q, y_q   the rows of a data set: exact
               a fixed draw from a law without a formula: R has the standard error sd (y − f)²/√M, as for any test set

Any neuron qualifies; gradients are those of JAX.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import InputError, require
from widelimit.potentials.landscape_base import split_columns
from widelimit.potentials.least_squares import LeastSquares
from widelimit.problem.neurons import Custom, Neuron
from widelimit.problem.samples import Empirical

DRAW = 20_231  # seed of the fixed draw, apart from the seeds of runs


@dataclass(frozen=True)
class SampleLandscape(LeastSquares):
    """V, U, Ψ, ∇Ψ, R over a finite set of samples, in all coordinates of the neuron."""

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """x (M, d) and y (M,)."""
        if isinstance(self.data, Empirical):
            return self.data.x, self.data.y
        with jax.ensure_compile_time_eval():
            x, y = self.data.sample(jax.random.key(DRAW), self.data.samples, float)
        return np.asarray(x), np.asarray(y)

    @cached_property
    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """p and y."""
        y = self.rows[1]
        return np.full(len(y), 1 / len(y)), y

    @property
    def inputs(self) -> np.ndarray:
        """The samples."""
        return self.rows[0]

    def features(self, theta: Array) -> Array:
        """σ*(x_q; θ), (n, M)."""
        return neuron_values(self.neuron, theta, jnp.asarray(self.rows[0])).T

    @property
    def floor(self) -> float:
        """Nothing to add: the labels of the samples have their noise in them."""
        return 0.0

    def risk_error(self, rho: Any) -> float:
        """Standard error of the risk; 0 for a data set, which is its own law."""
        if isinstance(self.data, Empirical):
            return 0.0
        square = (self.rows[1] - np.asarray(self.mean_features(*self._measure(rho)))) ** 2
        return float(square.std(ddof=1) / math.sqrt(len(square)))


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


def neuron_values(neuron: Neuron, theta: Array, x: Array) -> Array:
    """σ*(x_j; θ_i), (samples, n)."""
    if isinstance(neuron, Custom):
        return jax.vmap(lambda row: jax.vmap(partial(neuron.function, row))(theta))(x)
    a, b, w = split_columns(neuron, theta)
    return a * neuron.activation(x @ w.T + b)
