"""The theorems that bound the distance of SGD to the PDE, as shapes: constants are fitted, never invented.

    general         err_{N,D}(z) = √(max(1/N, ε)) [ √(D + log(N/ε)) + z ]                 times C e^{CT}
    dimension free  K e^{KT} [√log N + z]/√N  +  K e^{KT} [√(D + log N) + z] √ε           (fixed a)
    sampling        |mean_i χ(θ̄_i) − ∫χ dρ| ≤ K (1 + z)/√(2N)

    N   n      neurons                     D   parameters of a neuron
    ε   step   of SGD                      z   probability at least 1 − e^{−z²}

Reference: [mmn18] theorem 3, [mmm19] theorem 1.
"""

from __future__ import annotations

import math

EXPONENTS = {
    ("n", "PDE–ND", "risk spread"): -0.5,
    ("n", "PDE–ND", "risk bias"): -1.0,
    ("n", "PDE–ND", "W2"): -0.5,
    ("n", "ND–PD", "distance"): -0.5,
    ("n", "ND–PD", "max distance"): -0.5,
    ("step", "PD–GD", "distance"): 1.0,
    ("step", "PD–GD", "max distance"): 1.0,
    ("step", "PD–GD", "risk bias"): 1.0,
    ("step", "GD–SGD", "distance"): 0.5,
    ("step", "GD–SGD", "max distance"): 0.5,
    ("step", "GD–SGD", "risk spread"): 0.5,
    ("d", "ND–PD", "distance"): 0.0,
    ("d", "ND–PD", "max distance"): 0.0,
    ("d", "GD–SGD", "distance"): 0.5,
    ("d", "GD–SGD", "max distance"): 0.5,
}


def general(n: int, step: float, dimension: int, z: float = 0.0) -> float:
    """err_{N,D}(z), without the factor C e^{CT}.

    >>> round(general(100, 1e-2, 0), 3)
    0.303
    """
    return math.sqrt(max(1 / n, step)) * (math.sqrt(dimension + math.log(n / step)) + z)


def dimension_free(n: int, step: float, dimension: int, z: float = 0.0) -> tuple[float, float]:
    """The terms of N and of ε, without the factor K e^{KT}."""
    log_n = math.log(max(n, 2))
    return (math.sqrt(log_n) + z) / math.sqrt(n), (math.sqrt(dimension + log_n) + z) * math.sqrt(step)


def sampling(n: int, z: float = 0.0) -> float:
    """(1 + z)/√(2N), for tracers and a test function, without the factor K."""
    return (1 + z) / math.sqrt(2 * n)
