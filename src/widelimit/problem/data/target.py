"""The target of a data law: the function h of the kept coordinates that gives the label (a link φ is a target too).

    y = h(z) + noise · G,    z = (x_1, …, x_k)

h is an expression, whose numbers JAX traces, or an opaque function, which is part of the code.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
from jax import Array

from widelimit.errors import require, require_count
from widelimit.frozen import Frozen, static
from widelimit.problem.expressions import Expression, expression


class Opaque(Frozen):
    """A function JAX can trace but a file cannot hold."""

    function: Callable[..., Array] = static()

    def __call__(self, z: Array | np.ndarray) -> Array:
        """h(z)."""
        return self.function(z)

    def __str__(self) -> str:
        return f"{getattr(self.function, '__name__', 'φ')}(z)"

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


Target = Expression | Opaque
Given = str | Expression | Opaque | Callable[..., Array]


def parsed(target: Given, most: int | None = None) -> Target:
    """A target from a text or a function, of at most so many variables."""
    if isinstance(target, Opaque) or (isinstance(target, Expression) and most is None):
        return target
    if not isinstance(target, str | Expression):
        good = callable(target)
        require(good, "a link or target must be an expression or a function", target, "try 'He1(z) - 0.5*He3(z)'")
        return Opaque(target)
    found = expression(target)
    arity = max(found.arity, 1)
    require(
        most is None or arity <= most,
        f"the expression may depend on z1 to z{most} only",
        str(found),
        f"raise k to {arity} or drop the other variables",
    )
    return found


def arity_of(target: Given, k: int | None) -> int:
    """How many coordinates a target depends on: k if that is given, else what an expression says."""
    if k is not None:
        require_count("k", k, "2")
        return k
    found = parsed(target)
    require(isinstance(found, Expression), "a function needs k, the number of its coordinates", k, "try k=2")
    return max(getattr(found, "arity", 0), 1)


def evaluate(target: Given, z: Array | np.ndarray) -> Array:
    """h at the rows of z (…, k)."""
    found = parsed(target)
    indexed = found.indexed if isinstance(found, Expression) else z.shape[-1] > 1
    return found(z if indexed else z[..., 0])


def labels(target: Given, z: np.ndarray) -> np.ndarray:
    """h at nodes (Q, k), as numbers."""
    with jax.ensure_compile_time_eval():  # they are constants, also when first asked for inside a compiled function
        values = np.asarray(evaluate(target, z), float)
    require(
        values.shape == (len(z),) and bool(np.isfinite(values).all()),
        "a link must give one finite number for every z",
        str(target),
        "avoid poles and logarithms of negative numbers",
    )
    return values


def label_sentence(target: Given, k: int, noise: float) -> str:
    """How y comes from x."""
    found = parsed(target)
    indexed = k > 1 or (isinstance(found, Expression) and found.indexed)
    what = "z = x_1" if not indexed else "z1 = x_1" if k == 1 else f"z1..z{k} = x_1..x_{k}"
    return f"y = {found}{f' + {noise:g} G' if noise else ''}, {what}"
