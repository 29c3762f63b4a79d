"""Activations σ: R → R.

    piecewise linear   relu, truncated_relu, ramp, piecewise_linear, hinges
    polynomial         polynomial, hermite
    sinusoid           sin, cos
    error function     erf
    logistic family    sigmoid, tanh, softplus, silu, gelu
    expression         "h2(x) - 0.5*x**3", "tanh(3*x) + max(x, 0)"
    general            custom: any JAX-traceable function

All but the last have smoothed versions A_k(m, s) in closed form (see widelimit.potentials). An expression has one if it
is a sum of the above functions of affine arguments; maxima, minima and absolute values of piecewise linear functions
are piecewise linear. Everything else goes by quadrature between its kinks, which are found unless they are listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from jax import Array

from widelimit.errors import InputError, require, require_known
from widelimit.problem.activations.activation import Activation
from widelimit.problem.activations.from_expression import Written, custom
from widelimit.problem.activations.general import General
from widelimit.problem.activations.piecewise_linear import (
    Hinges,
    PiecewiseLinear,
    Ramp,
    hinges,
    piecewise_linear,
    ramp,
)
from widelimit.problem.activations.smooth import (
    ErrorFunction,
    ExponentialFunction,
    Hermite,
    Logistic,
    Polynomial,
    Sinusoid,
    hermite,
    polynomial,
)
from widelimit.problem.activations.sums import Amplified, Part, Sum
from widelimit.problem.expressions import Expression

relu, truncated_relu = Hinges((0.0,), (1.0,)), Hinges((0.0, 1.0), (1.0, -1.0))
erf, sin, cos = ErrorFunction(), Sinusoid(0), Sinusoid(1)
sigmoid, tanh, softplus = Logistic("sigmoid"), Logistic("tanh"), Logistic("softplus")
silu, gelu = Logistic("silu"), Logistic("gelu")

NAMED: dict[str, Activation] = {
    "relu": relu, "truncated_relu": truncated_relu, "ramp": Ramp(), "erf": erf, "sin": sin, "cos": cos, "tanh": tanh,
    "sigmoid": sigmoid, "softplus": softplus, "silu": silu, "gelu": gelu,
}  # fmt: skip
MAKERS = {"ramp": ramp, "piecewise_linear": piecewise_linear, "polynomial": polynomial, "hermite": hermite,
          "hinges": hinges, "custom": custom}  # fmt: skip
Choice = Activation | Expression | str | Callable[[Array], Array]

__all__ = [
    "Activation", "Amplified", "ErrorFunction", "ExponentialFunction", "General", "Hermite", "Hinges", "Logistic",
    "Part", "PiecewiseLinear", "Polynomial", "Ramp", "Sinusoid", "Sum", "Written", "activation", "cos", "custom", "erf",
    "gelu", "hermite", "hinges", "name_of", "piecewise_linear", "polynomial", "ramp", "relu", "sigmoid", "silu", "sin",
    "softplus", "tanh", "truncated_relu",
]  # fmt: skip


def activation(choice: Choice) -> Activation:
    """An activation from itself, its name, an expression in x or z, or any JAX-traceable function.

    >>> activation("x**3 - 3*x").form
    polynomial(coefficients=(0.0, -3.0, 0.0, 1.0))
    """
    if isinstance(choice, str) and choice not in ("x", "z") and re.fullmatch(r"\w*", choice):
        require_known("activation", choice, NAMED)
        return NAMED[choice]
    if isinstance(choice, str | Expression):
        return Written(choice)
    if isinstance(choice, Activation):
        return choice
    for name, maker in MAKERS.items():
        if choice is maker:
            raise InputError(f"{name} makes an activation, got it uncalled: write activations.{name}(...).")
    return custom(choice, name=getattr(choice, "__name__", "custom"))


def name_of(choice: Activation) -> str:
    """How an activation is called: by its name, as an expression, or by the call that made it.

    >>> name_of(truncated_relu)
    'truncated_relu'
    """
    good = isinstance(choice, Activation)
    require(good, "name_of needs an activation", type(choice).__name__, "try name_of(activation('relu'))")
    for name, known in NAMED.items():
        if type(known) is type(choice) and known == choice:
            return name
    if isinstance(choice, Written) and choice.kinks is None:
        return str(choice.function)
    return repr(choice)


def __dir__() -> list[str]:
    return __all__
