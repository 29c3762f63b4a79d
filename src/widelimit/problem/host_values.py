"""Expressions and functions on NumPy arrays: nothing is traced, nothing is compiled for a new shape.

    z (n, k)  ↦  h(z) (n,)

An expression is folded with the functions of NumPy. Any other function is handed rows in pieces of one length, because
a function of JAX is compiled once for each length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import erf, expit

from widelimit.arguments import answer_of, array_of
from widelimit.problem.expressions import Expression
from widelimit.problem.grammar import ALGEBRA, CONSTANTS, OF_NUMBERS, VARIABLES, Item, Table, fold

if TYPE_CHECKING:
    from widelimit.problem.data.target import Target

PIECE = 4096

OF_NUMPY: Table = ALGEBRA | {
    **{name: getattr(np, name) for name in OF_NUMBERS if hasattr(np, name)},
    "erf": erf,
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "sigmoid": expit,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "step": lambda x: np.where(x > 0, 1.0, 0.0),
    "max": np.maximum,
    "min": np.minimum,
}


def host_values(target: Target, z: np.ndarray) -> np.ndarray:
    """h at the rows of z, (n, k) to (n,); what is no number is nan or infinite, without a warning.

    >>> from widelimit.problem.expressions import expression
    >>> host_values(expression("z1 - z2**2"), np.array([[5.0, 2.0]]))
    array([1.])
    """
    with np.errstate(all="ignore"):
        return _folded(target, z) if isinstance(target, Expression) else _answered(target, z)


def _folded(f: Expression, z: np.ndarray) -> np.ndarray:
    columns = {name: z[:, max(VARIABLES[name], 1) - 1] for name in f.names}

    def join(item: Item, *parts: Any) -> Any:
        if not isinstance(item, str):
            return item
        return OF_NUMPY[item](*parts) if parts else columns[item] if item in columns else CONSTANTS[item]

    return np.broadcast_to(np.asarray(fold(f.prefix, join), float), z.shape[:1])


def _answered(function: Any, z: np.ndarray) -> np.ndarray:
    n = len(z)
    rows = np.concatenate([z, np.broadcast_to(z[-1:], (-n % PIECE, z.shape[1]))])
    rows = rows[:, 0] if z.shape[1] == 1 else rows
    parts = [_numbers(answer_of(function, "the function", piece)) for piece in np.split(rows, len(rows) // PIECE)]
    return np.concatenate([np.broadcast_to(part, (PIECE,)) for part in parts])[:n]


def _numbers(values: object) -> np.ndarray:
    numbers = array_of("the values of a function", values, "() or (n,)", "let it take an array of points")
    return array_of("the values of a function", numbers if numbers.shape in ((), (PIECE,)) else None, "() or (n,)",
                    "let it answer one number for every point")  # fmt: skip
