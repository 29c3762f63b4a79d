"""Any function, smooth between its kinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import jax
from jax import Array

from widelimit.errors import require
from widelimit.frozen import static
from widelimit.problem.activations.activation import Activation, as_floats
from widelimit.problem.activations.kinks import kinks_of_function

Function = Callable[[Array], Array]


class General(Activation):
    """Any JAX-traceable, elementwise, continuous function.

    function    of one variable
    kinks       where it is not smooth, mostly where its slope jumps; found if they are left out
    name        for messages
    derivative  σ' where you know it better than automatic differentiation does
    """

    word: ClassVar[str] = "custom"

    function: Function = static()
    kinks: Sequence[float] | None = static(default=None)
    name: str = static(default="custom")
    derivative: Function | None = static(default=None)

    def __post_init__(self) -> None:
        good = callable(self.function)
        require(good, "an activation must be a function of one variable", self.function, "pass e.g. jax.numpy.tanh")
        if self.kinks is not None:
            self.settle(kinks=tuple(sorted(as_floats(self.kinks, "kinks must be a list of numbers"))))

    @property
    def bends(self) -> tuple[float, ...]:
        """Where it is not smooth, in order: as listed, else as found."""
        return kinks_of_function(self) if self.kinks is None else tuple(self.kinks)

    def __call__(self, x: Array) -> Array:
        """σ(x), with σ' as given if it was."""
        if self.derivative is None:
            return self.function(x)
        slope, function = self.derivative, self.function
        known = jax.custom_jvp(function)
        known.defjvp(lambda point, move: (function(*point), slope(*point) * move[0]))
        return known(x)
