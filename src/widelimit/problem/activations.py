"""Activations σ: R → R.

    piecewise linear   σ(x) = c + l x + Σ_j δ_j (x − t_j)_+     relu, truncated_relu, ramp, piecewise_linear
    polynomial         σ(x) = Σ_j c_j x^j                        polynomial, hermite
    sinusoid           σ(x) = sin(x + qπ/2)                      sin, cos
    error function     σ(x) = erf(x)                             erf
    general            any JAX-traceable function                tanh, sigmoid, softplus, custom
    expression         polynomial or general                     "h2(x) - 0.5*x**3", "tanh(3*x)"

The first four have smoothed versions A_k(m, s) in closed form (see widelimit.potentials), the fifth by quadrature.
Activations compare and hash by value, so that equal problems share compiled code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from widelimit.errors import InputError, is_finite, is_whole, require, require_known
from widelimit.problem.expressions import Expression, expression

HIGHEST_DEGREE = 30  # of Hermite polynomials, and of expressions that become polynomials


@dataclass(frozen=True)
class PiecewiseLinear:
    """σ(x) = intercept + slope·x + Σ_j jumps_j (x − knots_j)_+, knots increasing."""

    knots: tuple[float, ...]
    jumps: tuple[float, ...]
    intercept: float = 0.0
    slope: float = 0.0
    name: str = "piecewise_linear"

    def __call__(self, x: Any) -> Any:
        """σ(x)."""
        import jax.numpy as jnp

        hinges = (jnp.where(x > t, delta * (x - t), 0) for t, delta in zip(self.knots, self.jumps, strict=True))
        return sum(hinges, self.intercept + self.slope * x)


@dataclass(frozen=True)
class Polynomial:
    """σ(x) = Σ_j coefficients_j x^j."""

    coefficients: tuple[float, ...]
    name: str = "polynomial"

    def __call__(self, x: Any) -> Any:
        """σ(x)."""
        value = 0.0 * x
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    @property
    def degree(self) -> int:
        """Highest power with a coefficient."""
        return len(self.coefficients) - 1


@dataclass(frozen=True)
class Sinusoid:
    """σ(x) = sin(x + quarter·π/2)."""

    quarter: int
    name: str

    def __call__(self, x: Any) -> Any:
        """σ(x)."""
        import jax.numpy as jnp

        wave = jnp.sin(x) if self.quarter % 2 == 0 else jnp.cos(x)
        return wave if self.quarter % 4 < 2 else -wave


@dataclass(frozen=True)
class ErrorFunction:
    """σ(x) = erf(x)."""

    name: str = "erf"

    def __call__(self, x: Any) -> Any:
        """σ(x)."""
        import jax

        return jax.lax.erf(x)


@dataclass(frozen=True)
class General:
    """Any function, smooth between its kinks; build it with `custom`."""

    function: Callable[[Any], Any]
    kinks: tuple[float, ...] = ()
    name: str = "custom"
    derivative: Callable[[Any], Any] | None = None

    def __call__(self, x: Any) -> Any:
        """σ(x), with σ' as given if it was."""
        if self.derivative is None:
            return self.function(x)
        import jax

        slope = self.derivative
        known = jax.custom_jvp(self.function)
        known.defjvp(lambda point, move: (self.function(*point), slope(*point) * move[0]))
        return known(x)


Activation = PiecewiseLinear | Polynomial | Sinusoid | ErrorFunction | General


def piecewise_linear(
    knots: Sequence[tuple[float, float]], left_slope: float = 0.0, right_slope: float = 0.0
) -> PiecewiseLinear:
    """The function through the points (t_j, σ(t_j)), linear between them, with the given slopes outside.

    >>> piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)]).jumps
    (-3.0, 14.5, -11.5)
    """
    points = _numbers(knots, "a piecewise linear activation needs a list of points (t, σ(t))", 2)
    times = [t for t, _ in points]
    require(
        len(points) >= 1
        and all(s < t for s, t in pairwise(times))
        and all(is_finite(x) for point in points for x in point),
        "the knots of a piecewise linear activation must be one or more finite points with increasing abscissae",
        list(knots),
        "sort them and drop repeated ones",
    )
    inner = [(w - v) / (t - s) for (s, v), (t, w) in pairwise(points)]
    slopes = [left_slope, *inner, right_slope]
    jumps = tuple(after - before for before, after in pairwise(slopes))
    first, value = points[0]
    return PiecewiseLinear(tuple(times), jumps, value - left_slope * first, float(left_slope))


def ramp(start: tuple[float, float] = (0.5, -2.5), end: tuple[float, float] = (1.5, 7.5)) -> PiecewiseLinear:
    """Constant, then linear from the point ``start`` to the point ``end``, then constant (default: that of [mmn18])."""
    line = piecewise_linear([start, end])
    return PiecewiseLinear(line.knots, line.jumps, line.intercept, line.slope, "ramp")


def polynomial(coefficients: Sequence[float]) -> Polynomial:
    """σ(x) = c_0 + c_1 x + c_2 x² + …

    >>> polynomial([1.0, 0.0, 2.0])(3.0)
    19.0
    """
    values = tuple(_numbers(coefficients, "a polynomial needs a list of coefficients, lowest power first", 1))
    require(
        len(values) >= 1 and all(map(is_finite, values)),
        "a polynomial needs one or more finite coefficients, lowest power first",
        list(coefficients),
        "try polynomial([0, 1])",
    )
    return Polynomial(values)


def hermite(k: int) -> Polynomial:
    """The orthonormal Hermite polynomial h_k = He_k/√k!.

    >>> [round(c, 3) for c in hermite(2).coefficients]
    [-0.707, 0.0, 0.707]
    """
    require(
        is_whole(k) and 0 <= k <= HIGHEST_DEGREE,
        f"the order of a Hermite activation must be a whole number from 0 to {HIGHEST_DEGREE}",
        k,
        "try hermite(2)",
    )
    previous: list[int] = [0]
    current: list[int] = [1]
    for j in range(k):  # He_{j+1} = x He_j − j He_{j−1}, in exact integers
        lower = previous + [0] * (len(current) + 1 - len(previous))
        previous, current = current, [c - j * p for c, p in zip([0, *current], lower, strict=True)]
    return Polynomial(tuple(c / math.sqrt(math.factorial(k)) for c in current), f"hermite({k})")


def custom(
    function: Callable[[Any], Any],
    kinks: Sequence[float] = (),
    name: str = "custom",
    derivative: Callable[[Any], Any] | None = None,
) -> General:
    """Any JAX-traceable, elementwise, continuous function; list the points where its slope jumps in ``kinks``.

    ``derivative`` is σ' where you know it better than automatic differentiation does.
    """
    require(
        callable(function),
        "an activation must be a function of one variable",
        function,
        "pass e.g. jax.numpy.tanh",
    )
    points = _numbers(kinks, "kinks must be a list of numbers", 1)
    return General(function, tuple(sorted(points)), name, derivative)


def _numbers(values: Any, expected: str, width: int) -> list[Any]:
    """A list of floats, or of pairs of floats."""
    try:
        return [float(v) for v in values] if width == 1 else [(float(t), float(v)) for t, v in values]
    except (TypeError, ValueError):
        raise InputError(f"{expected}, got {values!r}: see its docstring.") from None


def _tanh(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(x)


def _sigmoid(x: Any) -> Any:
    import jax

    return jax.nn.sigmoid(x)


def _softplus(x: Any) -> Any:
    import jax

    return jax.nn.softplus(x)


relu = PiecewiseLinear((0.0,), (1.0,), name="relu")
truncated_relu = PiecewiseLinear((0.0, 1.0), (1.0, -1.0), name="truncated_relu")
erf = ErrorFunction()
sin = Sinusoid(0, "sin")
cos = Sinusoid(1, "cos")
tanh = General(_tanh, name="tanh")
sigmoid = General(_sigmoid, name="sigmoid")
softplus = General(_softplus, name="softplus", derivative=_sigmoid)

NAMED: dict[str, Activation] = {
    a.name: a for a in (relu, truncated_relu, ramp(), erf, sin, cos, tanh, sigmoid, softplus)
}


def activation(choice: Activation | Expression | str | Callable[[Any], Any]) -> Activation:
    """An activation from itself, its name, an expression in x or z, or any JAX-traceable function.

    >>> activation("x**3 - 3*x")
    Polynomial(coefficients=(0.0, -3.0, 0.0, 1.0), name='polynomial')
    """
    if isinstance(choice, str) and choice not in ("x", "z") and re.fullmatch(r"\w*", choice):
        require_known("activation", choice, NAMED)
        return NAMED[choice]
    if isinstance(choice, str | Expression):
        return _from_expression(expression(choice))
    if isinstance(choice, Activation):
        return choice
    if choice in (ramp, piecewise_linear, polynomial, hermite, custom):
        raise InputError(
            f"{choice.__name__} makes an activation, got it uncalled: write activations.{choice.__name__}(...)."
        )
    return custom(choice, name=getattr(choice, "__name__", "custom"))


def _from_expression(function: Expression) -> Polynomial | General:
    """A polynomial where it is one, else a general activation."""
    require(not function.indexed, "an activation must be a function of one variable", function.text, "write it in x")
    coefficients = function.polynomial
    if coefficients is not None and len(coefficients) <= HIGHEST_DEGREE + 1:
        return polynomial(coefficients)
    return General(function, name=function.text)
