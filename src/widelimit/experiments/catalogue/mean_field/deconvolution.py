"""Sparse deconvolution by particles: five spikes seen through a low-pass filter.

    y(x) = ⅕ Σ_{i ≤ 5} c_i φ(x − z_i),      φ(x) = Σ_{|k| ≤ 8} e^{ikx},      f(x) = (1/m) Σ_j a_j φ(x − p_j)
    E_x (y − f)² = Σ_{|k| ≤ 8} |ŷ_k − f̂_k|²,      f̂_k = (1/m) Σ_j a_j e^{−ikp_j}

A neuron is a spike of mass a at p; the rows of data are the 17 real coefficients, whose mean stands for their sum.
Particles start without mass, evenly spaced: places drawn at random leave gaps, in which a spike is missed. Fewer
particles than spikes cannot fit; as many may be stuck; more of them find the minimum, which is 0. Reference: [cb18],
numerical part, and the code of its sequel.
"""

from __future__ import annotations

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.methods import GD
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.experiments.catalogue.mean_field.relu_teacher import share_solved
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem

HIGHEST = 8  # frequency of the filter
SPIKES = 5
SOLVED = 1e-3  # of the risk of f = 0


def spike(x: Array, theta: Array) -> Array:
    """a times a real coefficient of a spike at p, of θ = (a, p), at x = (k, phase, size)."""
    return theta[0] * x[2] * jnp.cos(x[0] * theta[1] - x[1])


def measure(asked: Asked) -> Outcome:
    """Last risks for every number of particles, over several sets of spikes."""
    counts = [int(m) for m in asked.numbers("m")]
    last = np.array([asked.part(f"m-{m}", partial(_ends, asked, m)) for m in counts])
    share = [share_solved(row, SOLVED) for row in last]
    few, same, many = share[0], share[counts.index(SPIKES)], share[-1]
    panels = (
        Panel("Runs that find the minimum", "particles $m$", "share", (
            measured("gradient descent", counts, [s.value for s in share], 0, [s.error for s in share]),
        )),
        Panel("Risk at the end", "particles $m$", "$R/E\\,y^2$", (
            measured("median", counts, np.median(last, axis=1)),
            theory("counted as found", [counts[0], counts[-1]], [SOLVED, SOLVED], 1),
        ), "y"),
    )  # fmt: skip
    return Outcome(
        {"enough": many, "too few": Measurement(float(last[0].min())),
         "as many": Measurement(many.value - same.value, math.hypot(many.error, same.error))},
        panels, (f"share with m = {counts[0]}: {few.value:.2f}",),
    )  # fmt: skip


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies with phase and size, and the coefficients of spikes of either sign, some distance apart."""
    rng = np.random.default_rng(seed)
    z = 2 * math.pi * (np.arange(SPIKES) + rng.uniform(-1 / 3, 1 / 3, SPIKES) + rng.uniform(0.0, 1.0)) / SPIKES
    c = np.where(np.arange(SPIKES) % 2 == 0, 1.0, -1.0) * rng.uniform(0.5, 1.5, SPIKES)
    pairs = [(k, phase, math.sqrt(2.0)) for k in range(1, HIGHEST + 1) for phase in (0.0, math.pi / 2)]
    x = np.array([(0, 0.0, 1.0), *pairs])
    return x, x[:, 2] * (np.cos(np.outer(x[:, 0], z) - x[:, 1:2]) @ c) / SPIKES


def _ends(asked: Asked, m: int) -> list:
    """The last risk for every set of spikes."""
    return [_trained(asked, m, seed) for seed in range(asked.count("targets"))]


def _trained(asked: Asked, m: int, seed: int) -> float:
    """The last risk over that of f = 0."""
    x, y = _rows(seed)
    start = np.stack([np.zeros(m), 2 * math.pi * np.arange(m) / m], axis=1)
    problem = Problem(data.empirical(x, y), neurons.custom(spike, D=2), initial.array(start, coordinates="full"))
    t_end = asked.number("t_end")
    run = solve(problem, GD(m, asked.number("step")), t_end, save=[t_end])
    return float(run.risk[-1] / np.mean(y**2))


DECONVOLUTION = CatalogueEntry(
    "cb18-deconvolution", "cb18", "sparse deconvolution: more particles than spikes find the minimum",
    (
        Parameter("filter", "|k| <= 8", "sure"), Parameter("spikes", SPIKES, "sure"),
        Parameter("m", tuple(float(m) for m in range(4, 11)), "sure", quick=(4.0, 5.0, 10.0)),
        Parameter("start", "evenly spaced", "recalled"), Parameter("targets", 64, "chosen", quick=16),
        Parameter("step", 0.015, "chosen"), Parameter("t_end", 1500.0, "chosen", quick=150.0),
    ),
    (
        Claim("enough", "With m = 10 most runs reach a thousandth of the risk of f = 0.", "numerical part", 0.5,
              "recalled", "at least", 0.0, "most: more than half", "runs that stay above it"),
        Claim("too few", "With m = 4 none does: least risk over that of f = 0.", "fewer particles than spikes", SOLVED,
              "theory", "at least", 0.0, "a spike of half the mean mass missing leaves more than a hundredth",
              "four particles that fit five spikes"),
        Claim("as many", "m = 10 gets there more often than m = 5: difference of the shares.", "numerical part", 0.2,
              "recalled", "at least", 0.0, "a fifth is seen in a figure", "the number of particles does not matter"),
    ),
    Seconds(9, 650), measure,
    deviations=("no penalty, so that the minimum is 0 and known",),
)  # fmt: skip
