"""Activations in plain numpy: value, slope, and the marks between which they are smooth.

value, slope   σ and σ' elementwise; at a kink the slope is that of the right-hand side
marks          panel ends that resolve the places where a smooth σ bends
kinks          where the slope jumps
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, expit, ndtr

BEND = (0.0, 1.0, 2.0, 4.0, 8.0, 20.0, 40.0)


def mirrored(marks):
    return tuple(sorted({s * m for m in marks for s in (-1, 1)}))


@dataclass(frozen=True)
class Sigma:
    """One activation."""

    value: object
    slope: object
    marks: tuple = ()
    kinks: tuple = ()


def density(x):
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def hinges(knots, jumps, intercept=0.0, slope=0.0):
    """c + l x + Σ_j δ_j (x − t_j)_+."""
    t, delta = np.asarray(knots, float), np.asarray(jumps, float)
    return Sigma(
        lambda x: intercept + slope * x + np.maximum(x[..., None] - t, 0) @ delta,
        lambda x: slope + (x[..., None] >= t) @ delta,
        kinks=tuple(t),
    )


def through(points):
    """The piecewise linear function through the points, constant outside."""
    x, y = np.array(points, float).T
    inner = np.diff(y) / np.diff(x)
    return hinges(x, np.diff([0.0, *inner, 0.0]), y[0])


def polynomial(coefficients):
    rising = np.polynomial.Polynomial(coefficients)
    falling = rising.deriv()
    return Sigma(lambda x: rising(x) + 0 * x, lambda x: falling(x) + 0 * x)


def hermite(k):
    """He_k/√k!."""
    series = np.polynomial.HermiteE.basis(k).convert(kind=np.polynomial.Polynomial)
    return polynomial(series.coef / math.sqrt(math.factorial(k)))


def _sigmoid_slope(x):
    return expit(x) * expit(-x)


SIGMAS = {
    "relu": hinges([0.0], [1.0]),
    "truncated_relu": hinges([0.0, 1.0], [1.0, -1.0]),
    "ramp": through([(0.5, -2.5), (1.5, 7.5)]),
    "erf": Sigma(erf, lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x), mirrored((0, 0.7, 1.5, 2.5, 3.5, 5, 7))),
    "sin": Sigma(np.sin, np.cos),
    "cos": Sigma(np.cos, lambda x: -np.sin(x)),
    "tanh": Sigma(np.tanh, lambda x: 4 * _sigmoid_slope(2 * x), mirrored(BEND)),
    "sigmoid": Sigma(expit, _sigmoid_slope, mirrored(BEND)),
    "softplus": Sigma(lambda x: np.logaddexp(0, x), expit, mirrored(BEND)),
    "silu": Sigma(lambda x: x * expit(x), lambda x: expit(x) + x * _sigmoid_slope(x), mirrored(BEND)),
    "gelu": Sigma(lambda x: x * ndtr(x), lambda x: ndtr(x) + x * density(x), mirrored((0, 1, 2, 3.5, 5, 7, 10))),
    "abs(x)": hinges([0.0], [2.0], slope=-1.0),
    "x": polynomial([0.0, 1.0]),
    "x**2": polynomial([0.0, 0.0, 1.0]),
    "x**3 - x": polynomial([0.0, -1.0, 0.0, 1.0]),
    "x**4": polynomial([0.0, 0.0, 0.0, 0.0, 1.0]),
    "h2(x)": hermite(2),
    "h3(x)": hermite(3),
    "tanh(3*x) + max(x, 0)": Sigma(
        lambda x: np.tanh(3 * x) + np.maximum(x, 0),
        lambda x: 12 * _sigmoid_slope(6 * x) + (x >= 0),
        mirrored(m / 3 for m in BEND[1:]),
        (0.0,),
    ),
    "exp(x)": Sigma(np.exp, np.exp),
    "x/(1 + x**2)": Sigma(
        lambda x: x / (1 + x * x), lambda x: (1 - x * x) / (1 + x * x) ** 2, mirrored((*BEND, 0.5, 1.5, 80.0))
    ),
}
