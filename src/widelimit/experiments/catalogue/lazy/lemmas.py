"""The three lemmas of lazy training, both sides of each along a gradient flow.

    decay      R(t) ≤ R(0) exp(−4 λ t)              λ the least eigenvalue of the tangent kernel on the data
    lipschitz  ‖J_t − J_0‖ ≤ B |θ_t − θ_0|          B the largest second derivative on the way
    travel     |θ_t − θ_0| ≤ √λ̄/(αλ) ‖f_0 − y‖      λ̄ the largest eigenvalue

and |θ_T − θ_0| ~ 1/α. Reference: [cob19]; widelimit.theory.lazy.lazy_lemmas.
"""

from __future__ import annotations

import numpy as np

from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, published
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution
from widelimit.theory.lazy.lazy_lemmas import Lemma, lazy_lemmas

NAMES = {"decay": "$R(t)$", "lipschitz": r"$\|J_t-J_0\|$", "travel": r"$|\theta_t-\theta_0|$"}
ROUNDING = 1e-7


def measure(asked: Asked) -> Outcome:
    """The largest quotient of left and right over time and scales, and the power of α in the travel."""
    scales = asked.numbers("alpha")
    found: dict[str, list[Lemma]] = {name: [] for name in NAMES}
    for alpha in scales:
        for name, lemma in lazy_lemmas(_run(asked, alpha)).items():
            found[name].append(lemma)
    shares = {name: max(float(np.max(_share(lemma))) for lemma in lemmas) for name, lemmas in found.items()}
    travel = power_over(scales, [lemma.left[-1] for lemma in found["travel"]])
    panels = tuple(_panel(name, scales, lemmas) for name, lemmas in found.items())
    return Outcome({**{name: Measurement(share) for name, share in shares.items()}, "power": travel}, panels)


def _run(asked: Asked, alpha: float) -> Solution:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(asked.count("rows"), asked.count("d")))
    start = initial.paired(initial.gaussian(1.0, a=initial.normal()))
    law = data.empirical(x, np.tanh(x[:, 0]) * x[:, 1])
    problem = Problem(law, neurons.ridge("tanh", "trained"), start, alpha=alpha)
    return solve(problem, ParticleFlow(asked.count("N")), asked.number("t_end"), save=asked.count("saves"), keep="full")


def _share(lemma: Lemma) -> np.ndarray:
    """Left over right, where the right side is not 0."""
    seen = lemma.right > 0
    return lemma.left[seen] / lemma.right[seen]


def _panel(name: str, scales: tuple[float, ...], lemmas: list[Lemma]) -> Panel:
    lines: list[DrawnLine] = []
    for colour, (alpha, lemma) in enumerate(zip(scales, lemmas, strict=True)):
        later = lemma.times > 0
        lines += [measured(rf"$\alpha={alpha:g}$", lemma.times[later], lemma.left[later], colour),
                  published("bound" if colour == 0 else "", lemma.times[later], lemma.right[later])]  # fmt: skip
    return Panel(name, "$t$", f"{NAMES[name]} and its bound", tuple(lines), "y")


def _bounded(name: str, sentence: str) -> Claim:
    return Claim(name, f"{sentence}: largest quotient of the two sides.", "lemmas of the main theorem", 1 + ROUNDING,
                 "theory", "at most", 0.0, "a theorem has no tolerance but rounding",
                 "a left side above the right one")  # fmt: skip


LEMMAS = CatalogueEntry(
    "ntk-lemmas", "cob19", "the three lemmas of lazy training, both sides",
    (
        Parameter("alpha", (1.0, 4.0, 16.0, 64.0), "chosen", quick=(4.0, 16.0, 64.0)),
        Parameter("N", 100, "chosen", quick=40), Parameter("d", 6, "chosen"),
        Parameter("rows", 12, "chosen", quick=8), Parameter("t_end", 40.0, "chosen", quick=20.0),
        Parameter("saves", 21, "chosen", quick=9),
    ),
    (
        _bounded("decay", "The risk decays like exp(−4λt) or faster"),
        _bounded("lipschitz", "The Jacobian changes by no more than its slope allows"),
        _bounded("travel", "The neurons travel no further than the loss lets them"),
        Claim("power", "The way they travel falls like 1/α.", "theorem 2.3", -1.0, "theory", "near", 0.1,
              "the largest α are lazy, the smallest is not quite", "another power of α"),
    ),
    Seconds(12, 60), measure,
)  # fmt: skip
