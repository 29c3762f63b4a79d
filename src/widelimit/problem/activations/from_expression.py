"""Activations written as expressions, "tanh(3*x)" or "max(x, 0)".

polynomial + hinges + Σ_i c_i σ_i(α_i x + β_i)     where it is such a sum: the file recognition beside this one
any function, smooth between its kinks             else: the file kinks
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from jax import Array

import widelimit.problem.expression_arrays  # noqa: F401, makes expressions known to JAX
from widelimit.errors import require
from widelimit.frozen import static
from widelimit.problem.activations.activation import Activation, as_floats
from widelimit.problem.activations.general import Function, General
from widelimit.problem.activations.kinks import kinks_of_expression
from widelimit.problem.activations.recognition import recognised
from widelimit.problem.activations.sums import Sum
from widelimit.problem.expressions import Expression, expression


class Written(Activation):
    """An activation written as an expression in x (or z).

    function   such as "tanh(3*x)"
    kinks      where it is not smooth; found if they are left out, and not needed for sums of known functions
    """

    word: ClassVar[str] = "custom"

    function: str | Expression
    kinks: Sequence[float] | None = static(default=None)

    def __post_init__(self) -> None:
        function = expression(self.function)
        one = not function.indexed
        require(one, "an activation must be a function of one variable", function.text, "write it in x")
        kinks = None if self.kinks is None else as_floats(self.kinks, "kinks must be a list of numbers")
        self.settle(function=function, kinks=kinks)

    @property
    def name(self) -> str:
        """The expression itself."""
        return str(self.function)

    @cached_property
    def form(self) -> Activation:
        """A polynomial, hinges, another known function or a sum of these; else a general function with its kinks."""
        return recognised(expression(self.function)) or self._general

    @property
    def pair_form(self) -> Activation:
        """The general function instead of a sum, whose squares are not known in closed form."""
        return self._general if isinstance(self.form, Sum) else self.form

    @cached_property
    def _general(self) -> General:
        function = expression(self.function)
        return General(function, kinks_of_expression(function) if self.kinks is None else self.kinks, str(function))

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return expression(self.function)(x)


def custom(
    function: Function | str | Expression,
    kinks: Sequence[float] | None = None,
    name: str = "custom",
    derivative: Function | None = None,
) -> General | Written:
    """Any JAX-traceable, elementwise, continuous function, or an expression in x.

    ``kinks`` are the points where it is not smooth, such as those where its slope jumps: they are found, list them if
    you know them better. ``derivative`` is σ' where you know it better than automatic differentiation does.

    >>> custom("max(x, 0) - 1").form.knots
    (0.0,)
    """
    if isinstance(function, str | Expression):
        return Written(function, kinks)
    return General(function, kinks, name, derivative)
