"""Expressions on arrays of JAX, to which an expression is a pytree of its numbers: 0.5 and 0.6 in the same place share
compiled code.

Whatever only reads expressions, such as `widelimit complexity`, does without JAX: this is loaded at the first value.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import require
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import ALGEBRA, CONSTANTS, OF_NUMBERS, VARIABLES, Item, Table, fold
from widelimit.problem.host_values import host_values

OF_ARRAYS: Table = ALGEBRA | {  # at 0 the slopes of abs, sign, relu and step are 0
    **{name: getattr(jnp, name) for name in OF_NUMBERS if hasattr(jnp, name)},
    "erf": jax.scipy.special.erf,
    "relu": lambda x: jnp.where(x > 0, x, 0.0),
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "step": lambda x: jnp.where(x > 0, 1.0, 0.0),
    "max": jnp.maximum,
    "min": jnp.minimum,
}


def array_values(f: Expression, z: object) -> Array:
    """f at each entry of an array, or at each row of one if its variables are z1, z2, …; nothing is compiled for an
    array that is not traced."""
    z = jnp.asarray(z)
    z = z if jnp.issubdtype(z.dtype, jnp.floating) else z.astype(float)
    require(
        not f.indexed or (z.ndim >= 1 and z.shape[-1] >= f.arity),
        f"a function of {', '.join(f.names)} needs an array (…, k) with k >= {f.arity}",
        z.shape,
        "pass one column for each variable",
    )
    shape = z.shape[:-1] if f.indexed else z.shape
    if not any(isinstance(number, jax.core.Tracer) for number in (z, *f.prefix)):
        rows = np.asarray(z, float).reshape(math.prod(shape), z.shape[-1] if f.indexed else 1)
        return jnp.asarray(host_values(f, rows).reshape(shape), z.dtype)
    leaves = {name: z[..., VARIABLES[name] - 1] if f.indexed else z for name in f.names} | CONSTANTS

    def join(item: Item, *parts: Any) -> Any:
        if not isinstance(item, str):
            return item
        return OF_ARRAYS[item](*parts) if parts else leaves[item]

    value = fold(f.prefix, join)
    return jnp.broadcast_to(jnp.asarray(value, z.dtype), shape)


def _flatten(function: Expression) -> tuple[list[Any], tuple[Any, ...]]:
    """The numbers, and everything else with gaps where they stand."""
    numbers = [item for item in function.prefix if not isinstance(item, str)]
    return numbers, tuple(item if isinstance(item, str) else None for item in function.prefix)


def _unflatten(skeleton: tuple[Any, ...], numbers: Any) -> Expression:
    left = iter(numbers)
    return Expression(tuple(next(left) if item is None else item for item in skeleton))


jax.tree_util.register_pytree_node(Expression, _flatten, _unflatten)
