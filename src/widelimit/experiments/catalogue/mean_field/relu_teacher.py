"""ReLU networks of m neurons that learn four: enough of them spread over all directions find the global minimum.

    y = ¼ Σ_{i ≤ 4} a*_i (⟨w*_i, x⟩)_+,      f = (1/m) Σ_j a_j (⟨w_j, x⟩)_+,      x on the circle

The theorem is about the limit: a start whose support separates can only end at the best network. With few neurons
there are directions without any, and one may be missing. A one-sided start, a_j > |w_j|, keeps a_j > 0 for ever because
a² − |w|² is conserved: f ≥ 0, and the risk is never below E min(y, 0)². Reference: [cb18], numerical part.
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import GD
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Plain, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem

ROWS = 64
SOLVED = 1e-3  # of the risk of f = 0
ABOVE = 1.2  # a of the one-sided start, beside |w| = 1


def measure(asked: Asked) -> Outcome:
    """Last risks from both starts, for several teachers and several networks each."""
    widths = [int(m) for m in asked.numbers("m")]
    teachers = range(asked.count("teachers"))

    def ends(m: int, seed: int, side: str) -> Plain:
        return asked.part(f"{side}-{m}-{seed}", lambda: _trained(asked, m, seed, side == "one"))

    spread = np.array([[ends(m, seed, "both") for seed in teachers] for m in widths])
    sided = np.array([ends(widths[-1], seed, "one") for seed in teachers])
    floor = np.array([np.mean(np.minimum(y, 0.0) ** 2) / np.mean(y**2) for _, y in map(_rows, teachers)])
    share = [share_solved(row.ravel(), SOLVED) for row in spread]
    middle = np.median(spread.reshape(len(widths), -1), axis=1)
    panels = (
        Panel("Networks that find the minimum", "neurons $m$", "share", (
            measured("two-sided start", widths, [s.value for s in share], 0, [s.error for s in share]),
        )),
        Panel("Risk at the end", "neurons $m$", "$R/E\\,y^2$", (
            measured("two-sided start, median", widths, middle),
            measured("one-sided start, median", widths[-1:], [float(np.median(sided))], 1),
            theory("least risk of $f\\geq 0$", [widths[0], widths[-1]], [float(np.median(floor))] * 2, 1),
        ), "y"),
    )  # fmt: skip
    return Outcome(
        {"enough": share[-1],
         "too few": Measurement(share[-1].value - share[0].value, math.hypot(share[0].error, share[-1].error)),
         "one-sided": Measurement(float(np.min(sided.min(axis=1) / floor)))}, panels,
    )  # fmt: skip


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs on the circle and the labels of a teacher with two neurons of either sign."""
    rng = np.random.default_rng(seed)
    angle = 2 * math.pi * (np.arange(ROWS) + 0.5) / ROWS
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    hidden = rng.normal(size=(4, 2))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    return x, np.maximum(x @ hidden.T, 0.0) @ np.array([1.0, 1.0, -1.0, -1.0]) / 4


def _trained(asked: Asked, m: int, seed: int, one_sided: bool) -> list:
    """The last risk of every network, over that of f = 0."""
    x, y = _rows(seed)
    outer = initial.constant(ABOVE) if one_sided else initial.signs()
    start = initial.sphere(1.0, a=outer)
    problem = Problem(data.empirical(x, y), neurons.ridge("relu", outer="trained"), start)
    t_end = asked.number("t_end")
    run = solve(problem, GD(m, asked.number("step")), t_end, save=[t_end], replicas=asked.count("networks"))
    return (run.risk[:, -1] / np.mean(y**2)).tolist()


def share_solved(risks: np.ndarray, level: float) -> Measurement:
    """How many of some runs end below a level; the error of 0 and 1 as if half a run more were on either side.

    >>> share_solved(np.array([0.1, 0.3]), 0.2).value
    0.5
    """
    solved = int(np.sum(risks < level))
    p = (solved + 0.5) / (len(risks) + 1)
    return Measurement(solved / len(risks), math.sqrt(p * (1 - p) / len(risks)))


RELU_TEACHER = CatalogueEntry(
    "cb18-relu", "cb18", "enough ReLU neurons in all directions learn four, few or one-sided ones do not",
    (
        Parameter("m", (5.0, 10.0, 20.0), "recalled"), Parameter("teachers", 10, "chosen", quick=4),
        Parameter("networks", 16, "chosen", quick=8), Parameter("step", 0.1, "chosen"),
        Parameter("t_end", 2000.0, "chosen", quick=1000.0),
    ),
    (
        Claim("enough", "With m = 20 most networks reach a thousandth of the risk of f = 0.", "numerical part", 0.5,
              "recalled", "at least", 0.0, "most: more than half", "networks that stay above it"),
        Claim("too few", "They are more often there than with m = 5: difference of the shares.", "numerical part", 0.2,
              "recalled", "at least", 0.0, "a fifth is seen in a figure", "the number of neurons does not matter"),
        Claim("one-sided", "Without the other sign none gets there: least risk over that of the best f ≥ 0.",
              "theorem 3.3: the support must separate", 1.0, "theory", "at least", 0.0,
              "a² − |w|² = 0.44 is conserved by the flow, and steps change little of it", "a risk below E min(y, 0)²"),
    ),
    Seconds(19, 120), measure,
    deviations=("rows on the circle and gradient descent instead of samples",),
)  # fmt: skip
