"""Smoothed activations of general functions.

    A_0 = E σ(m + sG),      B_k = A_k/s = s^{k−1}/√k! ∂_m^k E σ(m + sG),      E σ'(m + sG)²

    m, s   mean and deviation, one shape
    b      unit of a row of the table, widelimit.potentials.moment_table:  B_k = (s/b)^{k−1}/(b √k!) · b^k ∂_m^k E σ

Everything that depends on σ alone is computed once: a table of moments, certified to 1e−12 against finer rules, from
which the orders up to 16 follow by two short series. Points outside of the table (s > 8 or |m| > 16, small s beside a
kink) and higher orders are integrated by the rules of widelimit.potentials.direct_rules; if a batch has no such point,
that part is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from widelimit.errors import InputError
from widelimit.potentials import direct_rules
from widelimit.potentials.direct_rules import ladder
from widelimit.potentials.moment_table import HIGHEST, MomentTable, root
from widelimit.potentials.table_plan import plan
from widelimit.problem.activations import General
from widelimit.problem.activations.kinks import slope_of

ORDERS = (1, 2, 4, 8, HIGHEST)  # to which an order is rounded up: whole vectors of numbers are quicker


def mean_value(activation: General, m: Array, s: Array) -> Array:
    """A_0(m, s)."""
    return _mean(activation, table(activation), m, s)


def square_of_slope(activation: General, m: Array, s: Array) -> Array:
    """E σ'(m + sG)²."""
    square = SlopeSquared(activation)
    return _mean(activation, table(square), m, s, square)


def scaled_slopes(activation: General, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order, stacked on a new last axis."""
    known = table(activation)
    if known is None or order > HIGHEST:
        return direct_rules.slopes(activation, m, s, order)
    enough = next(k for k in ORDERS if k >= order)
    by_table = _slopes(known, m, s, enough)
    return _repair(known, by_table, lambda m, s: direct_rules.slopes(activation, m, s, enough), m, s)[..., :order]


def _mean(
    activation: General, known: MomentTable | None, m: Array, s: Array, of: Callable[[Array], Array] | None = None
) -> Array:
    """E of a function with the kinks and the ladder of σ, by its table where it has one."""

    def by_rule(m: Array, s: Array) -> Array:
        return direct_rules.mean(activation, m, s, of)[..., None]

    if known is None:
        return by_rule(m, s)[..., 0]
    return _repair(known, known.derivatives(m, s, 0, jnp)[0], by_rule, m, s)[..., 0]


def _slopes(known: MomentTable, m: Array, s: Array, order: int) -> Array:
    """B_1, …, B_order from the table."""
    roots = np.array([root(k) for k in range(1, order + 1)])
    scaled, unit = known.derivatives(m, s, order, jnp)
    power, powers = 1 / unit, []
    for _ in range(order):
        powers.append(power)
        power = power * (s / unit)
    return scaled[..., 1:] * jnp.stack(powers, axis=-1) / roots


def _repair(known: MomentTable, found: Array, by_rule: Callable[[Array, Array], Array], m: Array, s: Array) -> Array:
    """What the table found, or the rule where the table does not cover; the rule runs only if there are such points."""
    covered = known.covers(m, s, jnp)

    def repaired(found: Array, m: Array, s: Array) -> Array:
        return jnp.where(covered[..., None], found, by_rule(m, s))

    return jax.lax.cond(_all(covered), lambda found, m, s: found, repaired, found, m, s)


@custom_vmap
def _all(covered: Array) -> Array:
    return jnp.all(covered)


@_all.def_vmap
def _(size: int, batched: list[bool], covered: Array) -> tuple[Array, bool]:
    """One answer for the whole batch: otherwise the rule would be run for each of its members."""
    return _all(covered), False


@dataclass(frozen=True)
class SlopeSquared:
    """x ↦ σ'(x)², equal and hashed by σ; it jumps where σ bends."""

    activation: General

    def __call__(self, x: Array) -> Array:
        """σ'(x)²."""
        return slope_of(self.activation)(x) ** 2


@lru_cache(maxsize=64)
def table(activation: General | SlopeSquared) -> MomentTable | None:
    """The table of a function, planned once; refuse a function that no rule can integrate."""
    bent = activation.activation if isinstance(activation, SlopeSquared) else activation
    return plan(activation, bent.bends, ladder(bent)[0])


def check_traceable(activation: General) -> None:
    """Refuse a function that JAX cannot trace elementwise."""
    probe = jax.ShapeDtypeStruct((3,), float)
    try:
        good = jax.eval_shape(activation, probe).shape == probe.shape
    except Exception:  # whatever the function does with a tracer
        good = False
    if not good:
        raise InputError(
            f"the activation {activation.name!r} must be elementwise and traceable by JAX, got one that is not: "
            "write it with jax.numpy, e.g. jax.numpy.tanh for numpy.tanh."
        )
