"""Three laws of the relative scale κ = ‖f − f*‖ ‖D²f‖/‖Df‖², the number that tells lazy training beforehand.

    width          κ ~ m^{−1/2} for the scale 1/√m and bounded neurons
    homogeneous    κ(λθ_0) = κ(θ_0)/λ² for ReLU neurons with an outer weight, from a centred start
    time           ‖f_t − f̄_t‖/‖f_0 − f*‖ ≤ t² κ, and ~ t² at first

The last one from a start whose f_0 is added to the labels: a paired one misses less (f̄ is right to one more order).
Reference: [cob19]; widelimit.theory.lazy.relative_scale, widelimit.theory.lazy.linearisation.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.experiments.catalogue.repeats import errors_over, power_over
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.linearisation import linearise
from widelimit.theory.lazy.relative_scale import relative_scale

ROWS = np.random.default_rng(0).normal(size=(8, 4))
LABELS = np.tanh(ROWS[:, 0]) * ROWS[:, 1]
NEURON = neurons.ridge("tanh", "trained")
LENGTHS = (0.5, 1.0, 2.0, 4.0)
FIRST = 0.2  # until when t² is fitted


def measure(asked: Asked) -> Outcome:
    """The three powers, and the largest share of t²κ."""
    widths, seeds = [int(m) for m in asked.numbers("m")], range(asked.count("seeds"))
    lazy = Problem(data.empirical(ROWS, LABELS), NEURON, initial.paired(initial.sphere(1.0, a=initial.signs())),
                   alpha="lazy")  # fmt: skip
    by_width = np.array([[relative_scale(lazy, m, seed=seed).kappa for m in widths] for seed in seeds])
    by_length = _by_length(asked.count("N"))
    t, missed, bound = _missed(asked)
    mean = by_width.mean(axis=0)
    panels = (
        Panel("Width", "neurons $m$", r"$\kappa$", (
            theory("$m^{-1/2}$", widths, mean[-1] * np.sqrt(widths[-1] / np.array(widths))),
            measured(r"scale $1/\sqrt{m}$", widths, mean, 1, errors_over(by_width)),
        ), "xy"),
        Panel("Homogeneous neurons", r"$\lambda$, start $\lambda\theta_0$", r"$\kappa$", (
            theory(r"$\lambda^{-2}$", LENGTHS, by_length[0] * (np.array(LENGTHS) / LENGTHS[0]) ** -2.0),
            measured("ReLU", LENGTHS, by_length, 1),
        ), "xy"),
        Panel("Time", "$t$", r"$\|f_t-\bar f_t\|/\|f_0-f_*\|$", (
            theory(r"$t^2\kappa$", t, bound), measured("missed", t, missed, 1),
        ), "xy"),
    )  # fmt: skip
    early = t <= FIRST
    return Outcome(
        {"width": power_over(widths, by_width), "homogeneous": power_over(LENGTHS, by_length),
         "bound": Measurement(float(np.max(missed / bound))), "time": power_over(t[early], missed[early])}, panels,
    )  # fmt: skip


def _by_length(n: int) -> np.ndarray:
    """κ of starts of several lengths."""
    start = initial.paired(initial.gaussian(1.0, a=initial.normal()))
    problem = Problem(data.empirical(ROWS, LABELS), neurons.ridge("relu", "trained"), start)
    theta = _draw(n)
    return np.array([relative_scale(problem, n, rho=length * theta).kappa for length in LENGTHS])


def _draw(n: int) -> np.ndarray:
    """n/2 neurons of normal numbers, and the same with −a."""
    half = np.random.default_rng(1).normal(size=(n // 2, 1 + ROWS.shape[1]))
    return np.concatenate([half, half * np.array([-1.0, *np.ones(ROWS.shape[1])])])


def _missed(asked: Asked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """t, ‖f_t − f̄_t‖/‖f_0 − f*‖ and t²κ."""
    n, alpha = asked.count("N"), asked.number("alpha")
    theta = np.random.default_rng(2).normal(size=(n, 1 + ROWS.shape[1]))
    first = alpha * (np.tanh(ROWS @ theta[:, 1:].T) @ theta[:, 0]) / n
    problem = Problem(data.empirical(ROWS, LABELS + first), NEURON, initial.array(theta), alpha=alpha)
    scale = relative_scale(problem, n, rho=theta)
    times = [0.0, *np.geomspace(0.02, asked.number("t_end"), 13).tolist()]
    both = linearise(problem, n, times[-1], save=times)
    t = both.times[1:]
    return t, both.dataset["missed"].values[1:] / scale.residual, t**2 * scale.kappa


SCALE_LAWS = CatalogueEntry(
    "cob19-relative-scale", "cob19", "the relative scale: width law, homogeneous law, and t²κ",
    (
        Parameter("m", (40.0, 160.0, 640.0, 2560.0), "chosen", quick=(20.0, 80.0, 320.0)),
        Parameter("seeds", 5, "chosen", quick=2), Parameter("N", 12, "chosen"), Parameter("alpha", 16.0, "chosen"),
        Parameter("t_end", 2.0, "chosen"),
    ),
    (
        Claim("width", "κ of networks of the scale 1/√m falls like m^{−1/2}.", "κ ≤ c/√m + c'/(m a(m))", -0.5, "theory",
              "near", 0.1, "the next order is 1/m", "a scale that does not fall, or falls like 1/m"),
        Claim("homogeneous", "κ(λθ_0) of 2-homogeneous neurons falls like λ^{−2}.", "homogeneous models", -2.0,
              "recalled", "near", 1e-6, "exact up to rounding", "another power"),
        Claim("bound", "What the tangent model misses is below t²κ: largest quotient.", "theorem on finite time", 1.0,
              "recalled", "at most", 0.0, "a bound up to a constant, which is 1 here",
              "a quotient that grows beyond 1"),
        Claim("time", "At first it grows like t².", "theorem on finite time", 2.0, "recalled", "near", 0.1,
              "corrections are of relative order t", "another power"),
    ),
    Seconds(36, 60), measure,
)  # fmt: skip
