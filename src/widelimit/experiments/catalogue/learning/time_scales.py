"""A fast outer layer learns a target degree by degree, on time scales that come apart as ε → 0.

    φ = h_0 − h_1 + (2/3) h_2,  ReLU, |w| = 1, m = 10 neurons,  ε da/dt and dw/dt the gradients of ½R

    degree 0 at t ~ ε,   degree 1 at √ε log(1/ε)/(4|σ̂_1 φ̂_1|),   degree l ≥ 2 at ε^{1/(2l)}       as ε → 0, m → ∞
    between them ½R rests at ½(φ̂_1² + φ̂_2²) = 0.7222 and ½φ̂_2² = 0.2222

Without the factor 2 of ours: a time t there is t/2 here. Overlaps start at 0; the law of a(0) is not known, N(0, 1)
here. With m = 10 the learning times come later than those of the limit, and the plateaus
of the risk are bends: the equations of the paper, integrated by themselves, have their flattest points at 0.700 and
none (ε = 1e−3), at 0.722 and about 0.22 (1e−6). Reference: [bmz23], the figure with three rows and two columns.
"""

from __future__ import annotations

import math

import numpy as np

from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, published, theory
from widelimit.experiments.catalogue.repeats import power_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.learning.learning_curves import LearningCurves, learning_curves

TARGET = "h0(z) - h1(z) + 2/3*h2(z)"
DEGREES = ("1", "h1(z)", "h2(z)")
EARLY = 1.0  # end of the even axis of time
LEVELS = (0.5 * (1 + 4 / 9), 0.5 * 4 / 9)  # ½R before degrees 1 and 2 are learnt


def measure(asked: Asked) -> Outcome:
    """Learning times for every ε, and the rows of the figure for the largest and the smallest one."""
    ratios = asked.numbers("eps")
    curves = {eps: _curves(asked, eps) for eps in ratios}
    times = np.array([[curves[eps].learning_time(name) for name in DEGREES] for eps in ratios])  # (ε, degree)
    last = curves[min(ratios)]
    bend = last.steps[0].risk / 2
    ordered = float(np.min(np.diff(np.log(times), axis=1)))
    columns = [panel for eps in (max(ratios), min(ratios)) for panel in _column(eps, curves[eps])]
    laws = tuple(theory(label, ratios, times[-1, k] * (np.array(ratios) / ratios[-1]) ** power, k)
                 for k, (label, power) in enumerate((("$\\varepsilon$", 1.0), (r"$\varepsilon^{1/2}$", 0.5),
                                                     (r"$\varepsilon^{1/4}$", 0.25))))  # fmt: skip
    dots = tuple(measured(f"degree {k}", ratios, times[:, k], k) for k in range(3))
    scales = Panel("Learning times", r"$\varepsilon$", "$t$", (*laws, *dots), "xy")
    powers = [power_over(ratios, times[:, k]) for k in range(3)]
    return Outcome(
        {"order": Measurement(ordered), "level": Measurement(bend / LEVELS[0]), "degree 0": powers[0],
         "apart": Measurement(powers[0].value - powers[1].value),
         "later": Measurement(powers[1].value - powers[2].value)},
        (*columns, scales),
        ("powers of ε: " + ", ".join(f"degree {k} {power.value:.2f}" for k, power in enumerate(powers)),),
    )  # fmt: skip


def _curves(asked: Asked, eps: float) -> LearningCurves:
    problem = Problem(
        data.single_index(math.inf, TARGET), neurons.ridge("relu", outer="trained", inner="sphere"),
        initial.sphere(1.0, a=initial.normal()), mobility={"a": 1 / eps},
    )  # fmt: skip
    t_end = asked.number("t_end")
    saves = np.geomspace(1e-2 * eps, t_end, asked.count("saves")).tolist()
    return learning_curves(solve(problem, ParticleFlow(asked.count("m"), "reduced"), t_end, save=saves))


def _column(eps: float, curves: LearningCurves) -> list[Panel]:
    """½R, once on an even axis of time, and what is missing of each degree."""
    t, title = curves.times, rf"$\varepsilon=10^{{{math.log10(eps):.0f}}}$"
    half = curves.dataset["risk"].values / 2
    rests = tuple(
        published("levels" if k == 0 else "", [t[0], t[-1]], [level, level]) for k, level in enumerate(LEVELS)
    )
    gaps = tuple(theory(f"degree {k}", t, curves.by_degree.sel(degree=k).values / 2, k) for k in range(3))
    early = t <= EARLY
    return [Panel(title, "$t$", "$R/2$", (theory("flow", t[early], half[early]),)),
            Panel(title, "$t$", "$R/2$", (theory("flow", t, half), *rests), "x"),
            Panel(title, "$t$", r"$(\hat\varphi_k-\hat f_k)^2/2$", gaps, "x")]  # fmt: skip


TIME_SCALES = CatalogueEntry(
    "bmz23-scales", "bmz23", "degrees are learnt one after another by a fast outer layer",
    (
        Parameter("eps", (1e-3, 1e-4, 1e-5, 1e-6), "recalled", quick=(1e-3, 1e-6)), Parameter("m", 10, "sure"),
        Parameter("t_end", 30.0, "chosen"), Parameter("saves", 161, "chosen", quick=81),
    ),
    (
        Claim("order", "Degrees 0, 1, 2 are learnt in this order, at every ε: least log of neighbouring times.",
              "figure", 0.0, "recalled", "at least", 0.0, "an order has no tolerance",
              "a degree that is learnt before a lower one"),
        Claim("level", "At the smallest ε ½R rests at 0.7222 after degree 0: where it is flattest, over that.",
              "figure", 1.0, "recalled", "near", 0.02, "time scales three decades apart",
              "a risk that never rests there"),
        Claim("degree 0", "Degree 0 is learnt at t ~ ε: the power.", "time scales", 1.0, "recalled", "near", 0.1,
              "logarithms: the start of a is of order one", "another power of ε"),
        Claim("apart", "The powers of degrees 0 and 1 are 1/2 apart, up to a logarithm.", "time scales", 0.5,
              "recalled", "near", 0.2, "log(1/ε) takes a tenth of a power here; m = 10 is not the limit",
              "two degrees on one time scale"),
        Claim("later", "Degree 2 has a smaller power than degree 1.", "time scales", 0.05, "recalled", "at least", 0.0,
              "the exponent 1/4 itself is that of m → ∞, ε → 0", "two degrees on one time scale"),
    ),
    Seconds(30, 60), measure,
    deviations=("the law of a(0) is not known",),
)  # fmt: skip
