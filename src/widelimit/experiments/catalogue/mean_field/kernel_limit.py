"""A large scale α: the measure hardly moves, and the residual follows the kernel of the start.

    f = α ∫σ* dρ,      W_2(ρ_T, ρ_0) = O(T/α),      ‖f_T − f̄_T‖ = O(T²/α)

f̄ is the network linearised at its start, whose residual obeys the kernel flow ∂_t u = −2 K u. The start is paired, so
that f = 0 there at every α; then the second distance even falls like α⁻². The data are rows of a single-index model.
Reference: [mmm19], theorem on the kernel limit.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.measures import uniform_cloud
from widelimit.observables.distances import wasserstein
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.linearisation import Linearisation, linearise


def measure(asked: Asked) -> Outcome:
    """Both distances at several scales, from the same neurons, and their exponents over seeds."""
    scales, seeds = np.array(asked.numbers("alphas")), asked.count("seeds")
    start = initial.paired(initial.gaussian(1.0, a=initial.normal()))
    x = np.random.default_rng(0).normal(size=(asked.count("rows"), asked.count("d")))
    rows = data.empirical(x, x[:, 0] + (x[:, 0] ** 2 - 1) / 2)
    problem = Problem(rows, neurons.ridge("tanh", outer="trained"), start)
    runs = [
        linearise(replace(problem, alpha=float(alpha)), asked.count("N"), asked.number("t_end"), save=2,
                  replicas=seeds, coordinates="full")
        for alpha in scales
    ]  # fmt: skip
    far = {"w2": np.stack([_moved(run) for run in runs], axis=1),
           "residual": np.stack([run.dataset["missed"].values[:, -1] for run in runs], axis=1)}  # fmt: skip
    words = {"w2": r"$W_2(\rho_T,\rho_0)$", "residual": r"$\|f_T-\bar f_T\|$"}
    powers = {"w2": -1, "residual": -2}
    lines = []
    for i, (name, values) in enumerate(far.items()):
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(seeds)
        law_of = mean[-1] * (scales / scales[-1]) ** powers[name]
        lines += [theory(rf"$\alpha^{{{powers[name]}}}$", scales, law_of, i),
                  measured(words[name], scales, mean, i, error)]  # fmt: skip
    panel = Panel("Kernel limit", r"$\alpha$", "distance", tuple(lines), "xy")
    return Outcome({name: _exponent(scales, values) for name, values in far.items()}, (panel,))


def _moved(run: Linearisation) -> np.ndarray:
    """W_2 from the first to the last neurons of every seed."""
    names = tuple(str(c) for c in run.network.dataset["coordinate"].values)
    ends = run.network.dataset["theta"].values[:, [0, -1]]
    return np.array([wasserstein(uniform_cloud(old, names), uniform_cloud(new, names)) for old, new in ends])


def _exponent(scales: np.ndarray, values: np.ndarray) -> Measurement:
    """Mean slope over seeds, with its standard error."""
    slopes = np.polyfit(np.log(scales), np.log(values).T, 1)[0]
    return Measurement(float(slopes.mean()), float(slopes.std(ddof=1) / math.sqrt(len(slopes))))


KERNEL_LIMIT = CatalogueEntry(
    "mmm19-kernel", "mmm19", "with a large scale α the measure moves like 1/α and the residual follows a kernel",
    (
        Parameter("d", 10, "chosen"), Parameter("rows", 128, "chosen"), Parameter("link", "z + (z**2 - 1)/2", "chosen"),
        Parameter("alphas", (4.0, 8.0, 16.0, 32.0, 64.0), "chosen", quick=(8.0, 16.0, 32.0)),
        Parameter("N", 256, "chosen", quick=64), Parameter("t_end", 1.0, "chosen"),
        Parameter("seeds", 8, "chosen", quick=4),
    ),
    (
        Claim("w2", "W_2(ρ_T, ρ_0) falls like 1/α: exponent.", "kernel limit, O(T/α)", -1.0, "recalled", "near", 0.1,
              "the next order is 1/α of it, a tenth at the smallest α", "0, or 1/2: a mobility of another power of α"),
        Claim("residual", "The residual follows that of the kernel, up to 1/α or less: exponent.",
              "kernel limit, O(T²/α)", -0.9, "recalled", "at most", 0.0, "a bound of order 1/α, less a tenth as above",
              "an exponent above −1: no kernel limit at this rate"),
    ),
    Seconds(24, 60), measure,
)  # fmt: skip
