"""Where a function bends: the points between which it is smooth, found without being listed.

    of an expression   where f − g of max(f, g) and min(f, g), or f of |f|, (f)_+, sign(f) and step(f) changes its sign
    of any function    where one of σ, σ', σ'' jumps: where its defect does not shrink with the interval [a, b],
                       D_k = σ^{(k)}(b) − σ^{(k)}(a) − (b − a)/2 · (σ^{(k+1)}(a) + σ^{(k+1)}(b))

D_k is O((b − a)³) where σ is smooth. Both are looked for between the points of a grid on |x| ≤ FAR, which is how far
the rules of quadrature reach, and around the roots of a polynomial f, and are bisected to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.problem.activations.on_host import on_host
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import Item, Prefix, fold

FAR = 300.0
GRID = 4 * np.sinh(np.linspace(-1.0, 1.0, 2561) * np.arcsinh(FAR / 4))  # spacing 1/64 at 0, |x|/256 far out
HALVINGS = 80
ORDERS = 3  # σ, σ', σ''
JUMP = 1e-7  # relative to the value
APART = 1e-9  # two kinks, relative to 1 + |t|
MOST = 300  # looked for


def kinks_of_expression(function: Expression) -> tuple[float, ...]:
    """Where an expression in one variable bends."""
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        return _merged(t for f in switches(function) for t in _sign_changes(f))


def switches(function: Expression) -> list[Expression]:
    """The parts of an expression whose sign decides which branch is taken; those with a variable in them."""
    found: list[Expression] = []

    def join(item: Item, *parts: Prefix) -> Prefix:
        if item in ("max", "min"):
            found.append(Expression(("-", *chain(*parts))))
        if item in ("abs", "relu", "sign", "step"):
            found.append(Expression(parts[0]))
        return (item, *chain(*parts))

    fold(function.prefix, join)
    return [f for f in found if f.names]


def _sign_changes(f: Expression) -> Iterable[float]:
    """Where f changes from f > 0 to f ≤ 0 or back."""
    edges, positive = GRID, on_host(lambda x: f(x) > 0)
    if f.polynomial is not None:
        roots = np.unique(np.roots(f.polynomial[::-1]).real)
        ends = [t + side * (1 + abs(t)) for t in roots for side in (-1, 1)]
        edges = np.unique([*GRID, *ends, *(roots[1:] + roots[:-1]) / 2])
    signs = positive(edges)
    change = np.flatnonzero(signs[1:] != signs[:-1])
    return bisected(positive, edges[change], edges[change + 1])


def bisected(positive: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where a condition changes between a and b, where it differs."""
    above = positive(a)
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        right = positive(middle) == above
        a, b = np.where(right, middle, a), np.where(right, b, middle)
    return b


@lru_cache(maxsize=64)
def kinks_of_function(function: Callable[[Array], Array]) -> tuple[float, ...]:
    """Where a function that JAX can differentiate bends; at most about MOST points."""
    found: tuple[float, ...] = ()
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        jets = on_host(_jets(function))
        while len(found) < MOST:
            more = _merged([*found, *_jumps(jets, found)])
            if len(more) == len(found):
                break
            found = more
    return found


def _jets(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """x ↦ σ(x), σ'(x), …, stacked on a new first axis."""
    derivatives = [function]
    for _ in range(ORDERS):
        derivatives.append(slope_of(derivatives[-1]))
    return lambda x: jnp.stack([derivative(x) for derivative in derivatives])


def slope_of(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """σ'."""
    return lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),))[1]


def _jumps(jets: Callable[[np.ndarray], np.ndarray], known: tuple[float, ...]) -> Iterable[float]:
    """One jump in every interval of the grid that has one, away from the known ones."""
    t = np.array(known)
    margin = APART * (1 + np.abs(t))
    edges = np.unique([*GRID, *(t - margin), *(t + margin)])
    middles = (edges[1:] + edges[:-1]) / 2
    away = np.all(np.abs(middles[:, None] - t) > margin, axis=1)
    a, b = (np.tile(x[away], (ORDERS, 1)) for x in (edges[:-1], edges[1:]))

    def at(x: np.ndarray) -> np.ndarray:
        """σ^{(k)} and σ^{(k+1)} in row k, (2, ORDERS, n)."""
        values = jets(x)
        return np.stack([values[k : k + 2, k] for k in range(ORDERS)], axis=1)

    def defect(a: np.ndarray, b: np.ndarray, at_a: np.ndarray, at_b: np.ndarray) -> np.ndarray:
        return np.abs(at_b[0] - at_a[0] - (b - a) / 2 * (at_a[1] + at_b[1]))

    at_a, at_b = at(a), at(b)
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        at_middle = at(middle)
        right = defect(middle, b, at_middle, at_b) > defect(a, middle, at_a, at_middle)
        a, b = np.where(right, middle, a), np.where(right, b, middle)
        at_a, at_b = np.where(right, at_middle, at_a), np.where(right, at_b, at_middle)
    return b[defect(a, b, at_a, at_b) > JUMP * (1 + np.abs(at_a[0]) + np.abs(at_b[0]))]


def _merged(points: Iterable[float]) -> tuple[float, ...]:
    """Points in order, rounded to sixteen digits, those that coincide taken once."""
    kept: list[float] = []
    for t in sorted(float(f"{round(float(t), 16):.16g}") + 0.0 for t in points):
        if not kept or t - kept[-1] > APART * (1 + abs(t)):
            kept.append(t)
    return tuple(kept)
