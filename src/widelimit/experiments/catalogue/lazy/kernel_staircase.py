"""Kernel regression learns a target degree by degree: a staircase in the number of samples.

    f* = f_1 + f_2 + f_3 on the sphere |x|² = d, f_k of degree k, ‖f_k‖ = 1
    B_ℓ ≪ n ≪ B_{ℓ+1}:   R(n) = ‖P_{>ℓ} f*‖² = 3 − ℓ,        B_k ~ d^k/k! the functions of degree k

Read at n = √(B_ℓ B_{ℓ+1}), as far from both ends as can be. The kernel: σ = exp, h ~ N(0, 1/2), whose degrees fall off
fast. The curve before any sample is drawn is widelimit.theory.lazy.kernel_learning_curve. Reference: [gmmm21].
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, published, theory
from widelimit.experiments.catalogue.repeats import errors_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.data import DataLaw
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.kernel_flow import kernel_regression
from widelimit.theory.lazy.kernel_learning_curve import kernel_learning_curve, spectrum

POWERS = np.array([0.0, 1.0, 1.0, 1.0])
NEW = 4000  # rows that the regression has not seen


def measure(asked: Asked) -> Outcome:
    """The curve at two dimensions, and regressions on samples at the smaller one."""
    d, far, draws = asked.count("d"), asked.count("d_large"), asked.count("draws")
    sizes = np.geomspace(asked.number("least"), asked.number("most"), asked.count("points")).round()
    risks = np.array([[asked.part(f"{n:g}-{k}", partial(_regression, d, int(n), k)) for n in sizes]
                      for k in range(draws)])  # fmt: skip
    mean, error = risks.mean(axis=0), errors_over(risks)
    known = kernel_learning_curve(_lazy(data.sphere(d, "z1")), POWERS, sizes)
    apart = np.abs(mean / known - 1)
    worst = int(np.argmax(apart))
    B = spectrum(_lazy(data.sphere(far, "z1")), 1.0, 5).multiplicities
    middles = np.sqrt(B[1:4] * B[2:5])
    steps = kernel_learning_curve(_lazy(data.sphere(far, "z1")), POWERS, middles)
    return Outcome(
        {"curve": Measurement(float(apart[worst]), float(error[worst] / known[worst])),
         **{f"step {k}": Measurement(float(step)) for k, step in enumerate(steps, 1)}},
        (_panel(d, sizes, measured("regressions", sizes, mean, 1, error)), _panel(far, middles)),
    )  # fmt: skip


def _panel(d: int, sizes: np.ndarray, *more: object) -> Panel:
    """The curve and the staircase around some sizes."""
    B = spectrum(_lazy(data.sphere(d, "z1")), 1.0, 5).multiplicities
    n = np.geomspace(sizes[0] / 3, 3 * sizes[-1], 81)
    curve = kernel_learning_curve(_lazy(data.sphere(d, "z1")), POWERS, n)
    stairs = [POWERS[int(np.sum(size >= B)) :].sum() for size in n]
    lines = (theory("mean over samples", n, curve), published(r"$\|P_{>\ell}f_*\|^2$", n, stairs), *more)
    return Panel(f"$d={d}$", "samples $n$", "risk $R$", lines, "x")  # type: ignore[arg-type]


def _lazy(law: DataLaw) -> Problem:
    start = initial.gaussian(math.sqrt(0.5), a=initial.normal())
    return Problem(law, neurons.ridge("exp(x)", "trained"), start)


def _regression(d: int, n: int, seed: int) -> float:
    """The risk of a regression on n rows."""
    rng = np.random.default_rng([d, n, seed])
    (x, y), (z, new) = _rows(d, n, rng), _rows(d, NEW, rng)
    return float(np.mean((kernel_regression(_lazy(data.empirical(x, y)), z) - new) ** 2))


def _rows(d: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs on the sphere and f*: means of products of one, two and three coordinates."""
    x = rng.normal(size=(count, d))
    x *= math.sqrt(d) / np.linalg.norm(x, axis=1, keepdims=True)
    pairs, triples = (x[:, : d // k * k].reshape(count, -1, k).prod(axis=2) for k in (2, 3))
    two = pairs.mean(axis=1) * math.sqrt(pairs.shape[1] * (d + 2) / d)
    three = triples.mean(axis=1) * math.sqrt(triples.shape[1] * (d + 2) * (d + 4) / d**2)
    return x, x.mean(axis=1) * math.sqrt(d) + two + three


def _step(k: int) -> Claim:
    return Claim(f"step {k}", f"Between the functions of degree {k} and {k + 1}, at large d, the risk is {3 - k}.",
                 "theorem on kernel regression", 3.0 - k, "recalled", "near", 0.15,
                 "what is left of the neighbours is of the order √(B_ℓ/B_{ℓ+1}) ~ √(3/d) each",
                 "a risk half way between two steps")  # fmt: skip


KERNEL_STAIRCASE = CatalogueEntry(
    "gmmm21-staircase", "gmmm21", "kernel regression learns degree by degree",
    (
        Parameter("d", 40, "chosen", quick=24), Parameter("d_large", 10_000, "chosen"),
        Parameter("least", 20, "chosen", quick=60), Parameter("most", 5000, "chosen", quick=900),
        Parameter("points", 9, "chosen", quick=4), Parameter("draws", 4, "chosen", quick=3),
    ),
    (
        Claim("curve", "Regressions on samples have the risk foretold: largest relative distance.",
              "equation of the learning curve", 0.15, "theory", "at most", 0.0,
              "corrections to the limit are of the order of percents at dozens of samples, the rest is the draws",
              "a curve that is off by a step"),
        *map(_step, (1, 2, 3)),
    ),
    Seconds(5, 240), measure,
)  # fmt: skip
