"""Activations without a closed form of their own: any function, and sums of functions that have one.

general   any JAX-traceable function, smooth between its kinks       by quadrature
sum       σ(x) = Σ_i c_i σ_i(α_i x + β_i)                             as its parts
written   an expression in x: a sum of known functions where it is one, else a general function
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import jax
from jax import Array

from widelimit.errors import require
from widelimit.frozen import Frozen, static
from widelimit.problem.activations.activation import Activation, as_floats
from widelimit.problem.activations.smooth import HIGHEST_DEGREE, Polynomial
from widelimit.problem.expressions import Expression, expression

Function = Callable[[Array], Array]


class General(Activation):
    """Any JAX-traceable, elementwise, continuous function; list the points where its slope jumps in ``kinks``.

    function    of one variable
    kinks       where its slope jumps
    name        for messages
    derivative  σ' where you know it better than automatic differentiation does
    """

    word: ClassVar[str] = "custom"

    function: Function = static()
    kinks: Sequence[float] = static(default=())
    name: str = static(default="custom")
    derivative: Function | None = static(default=None)

    def __post_init__(self) -> None:
        good = callable(self.function)
        require(good, "an activation must be a function of one variable", self.function, "pass e.g. jax.numpy.tanh")
        self.settle(kinks=tuple(sorted(as_floats(self.kinks, "kinks must be a list of numbers"))))

    def __call__(self, x: Array) -> Array:
        """σ(x), with σ' as given if it was."""
        if self.derivative is None:
            return self.function(x)
        slope, function = self.derivative, self.function
        known = jax.custom_jvp(function)
        known.defjvp(lambda point, move: (function(*point), slope(*point) * move[0]))
        return known(x)


class Part(Frozen):
    """c σ(α x + β), α of either sign."""

    coefficient: float
    activation: Activation
    scale: float
    shift: float


class Sum(Activation):
    """σ(x) = Σ_i c_i σ_i(α_i x + β_i)."""

    word: ClassVar[str] = "sum"

    parts: tuple[Part, ...]

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return sum((p.coefficient * p.activation(p.scale * x + p.shift) for p in self.parts), 0.0 * x)


class Written(Activation):
    """An activation written as an expression in x (or z).

    function   such as "tanh(3*x)"
    kinks      where its slope jumps; found if it is left out
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
        """A polynomial, hinges or a sum where it is one, else a general function with its kinks."""
        function = expression(self.function)
        coefficients = function.polynomial
        if coefficients is not None and len(coefficients) <= HIGHEST_DEGREE + 1:
            return Polynomial(coefficients)
        return self._general

    @property
    def pair_form(self) -> Activation:
        """The general function instead of a sum, whose squares are not known in closed form."""
        return self._general if isinstance(self.form, Sum) else self.form

    @property
    def _general(self) -> General:
        function = expression(self.function)
        return General(function, self.kinks or (), str(function))

    def __call__(self, x: Array) -> Array:
        """σ(x)."""
        return expression(self.function)(x)


def custom(
    function: Function | str | Expression,
    kinks: Sequence[float] | None = None,
    name: str = "custom",
    derivative: Function | None = None,
) -> General | Written:
    """Any JAX-traceable, elementwise, continuous function; list the points where its slope jumps in ``kinks``.

    ``derivative`` is σ' where you know it better than automatic differentiation does. An expression finds its kinks
    by itself.
    """
    if isinstance(function, str | Expression):
        return Written(function, kinks)
    return General(function, () if kinks is None else kinks, name, derivative)
