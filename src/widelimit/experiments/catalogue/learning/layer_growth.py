"""A staircase in the first layer: each coordinate grows like a power of time, twice that of the one before.

    y = z1 + z1 z2 + z1 z2 z3,   x uniform on {±1}^d, d = ∞;   a fixed, w trained from u = 0
    u_1 ~ t,   du_2/dt ~ u_1,   du_3/dt ~ u_1 u_2:        u_k ~ t^{2^{k−1}}

Reference: [abam22], layer-wise training.
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.observables.moments import moment
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem


def measure(asked: Asked) -> Outcome:
    """Root mean squares of u_1, u_2, u_3 and their powers of time."""
    start = initial.gaussian(1.0, a=initial.uniform(-1.0, 1.0))
    neuron = neurons.ridge(str(asked["activation"]), outer="fixed")
    problem = Problem(data.hypercube(math.inf, "z1 + z1*z2 + z1*z2*z3"), neuron, start)
    t_end = asked.number("t_end")
    times = np.geomspace(t_end / 30, t_end, 13)
    fine = MeanField(asked.count("points"), "gauss", rtol=1e-10, atol=1e-20, check=False)
    watched = {f"u_{k}": moment(f"u_{k}", 2) for k in (1, 2, 3)}
    run = solve(problem, fine, t_end, save=times.tolist(), observers=watched)
    sizes = [np.sqrt(run.dataset[name].values) for name in watched]
    lines: list[DrawnLine] = []
    for k, size in enumerate(sizes):
        power = 2**k
        lines += [theory(f"$t^{power}$" if power > 1 else "$t$", times, size[0] * (times / times[0]) ** power, k),
                  measured(f"$u_{k + 1}$", times, size, k)]  # fmt: skip
    panel = Panel("The first layer grows", "$t$", "root mean square of $u_k$", tuple(lines), "xy")
    return Outcome({f"u_{k}": power_over(times, size) for k, size in enumerate(sizes, 1)}, (panel,))


def _grows(k: int) -> Claim:
    return Claim(f"u_{k}", f"u_{k} grows like t^{2 ** (k - 1)}.", "layer-wise training", float(2 ** (k - 1)),
                 "recalled", "near", 0.1,
                 "a tenth of a power over one and a half decades, corrections are of relative order t",
                 "another power of t")  # fmt: skip


LAYER_GROWTH = CatalogueEntry(
    "abam22-growth", "abam22", "coordinates of a staircase grow like t, t², t⁴ in the first layer",
    (
        Parameter("activation", "sigmoid(x - 0.5)", "sure"), Parameter("t_end", 0.3, "chosen"),
        Parameter("points", 32, "chosen", quick=8),
    ),
    tuple(map(_grows, (1, 2, 3))), Seconds(4, 20), measure,
)  # fmt: skip
