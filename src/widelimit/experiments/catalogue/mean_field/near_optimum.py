"""A fixed number of neurons and a number of samples proportional to d lead near the optimum, in every dimension.

    x | y ~ N(0, Σ_y), contrast Δ on s_0 = γd directions,     σ*(x; θ) = a min((⟨w, x⟩)_+, 1),     ε = c/d
    (a, |w|) ~ ρ̄_0,  w/|w| uniform on the sphere,     R_∞(ρ̄_0) < 1:     R ≤ inf R + η with N = O(1), n = T/ε = O(d)

T is where the limit in d = ∞ is below η/2; inf R ≥ 0, so that R ≤ η is more than is asked. The theorem does not give
its constants: N = 50 and c = 0.05 end at 0.31 in every d, because ∫a²σ² dρ/N and the noise of samples add to R.
Reference: [mmm19], theorem on centred anisotropic Gaussians.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from widelimit.dynamics.methods import SGD, MeanField
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.problem import activations, data, initial, neurons
from widelimit.problem.problem import Problem

TIMES = 51
ETA = 0.2
LEVEL = 0.5  # risk at which samples are counted


def measure(asked: Asked) -> Outcome:
    """The risk of networks of one width in several dimensions, and the samples that take it below a level."""
    dimensions, t_end, c = np.array(asked.numbers("d")), asked.number("t_end"), asked.number("c")
    times = np.linspace(0.0, t_end, TIMES)
    limit = solve(_problem(asked, math.inf), MeanField(64, check=False), t_end, save=times.tolist())
    lines: list[DrawnLine] = [theory(r"limit, $d=\infty$", times, limit.risk)]
    ends, samples = [], []
    for i, d in enumerate(dimensions):
        risk = np.array(asked.part(f"sgd-{d:g}", partial(_risks, asked, d, times)))
        mean, error = risk.mean(axis=0), risk.std(axis=0, ddof=1) / math.sqrt(len(risk))
        ends.append(Measurement(float(mean[-1]), float(error[-1])))
        first = np.array([np.interp(-LEVEL, -np.minimum.accumulate(row), times) for row in risk])
        samples.append(first * d / c)
        lines.append(measured(f"SGD, $d={d:g}$", times, mean, i + 1, error))
    worst = max(ends, key=lambda end: end.value)
    slopes = np.polyfit(np.log(dimensions), np.log(np.array(samples)), 1)[0]
    mean_samples = np.mean(samples, axis=1)
    panels = (
        Panel(f"$N={asked.count('N')}$ neurons, $\\varepsilon={c:g}/d$", "$t$", "risk $R$", tuple(lines)),
        Panel(f"Samples to $R={LEVEL:g}$", "$d$", "samples", (
            theory("$\\propto d$", dimensions, dimensions * np.mean(mean_samples / dimensions)),
            measured("SGD", dimensions, mean_samples, 1, np.std(samples, axis=1, ddof=1) / math.sqrt(len(slopes))),
        ), "xy"),
    )  # fmt: skip
    return Outcome(
        {"start": Measurement(float(limit.risk[0])), "optimum": worst,
         "samples": Measurement(float(slopes.mean()), float(slopes.std(ddof=1) / math.sqrt(len(slopes))))},
        panels, (f"the limit ends at R = {limit.risk[-1]:.3g}",),
    )  # fmt: skip


def _problem(asked: Asked, d: float) -> Problem:
    share = asked.number("gamma")
    law = data.gaussian_classes(d, asked.number("delta"), share if math.isinf(d) else round(share * d))
    sigma = activations.ramp((0.0, 0.0), (1.0, 1.0))
    start = initial.sphere(1.0, a=initial.uniform(0.0, 1.0))
    return Problem(law, neurons.ridge(sigma, outer="trained"), start)


def _risks(asked: Asked, d: float, times: np.ndarray) -> list:
    """Risks of every seed over time."""
    method = SGD(asked.count("N"), asked.number("c") / d)
    return solve(_problem(asked, int(d)), method, times[-1], save=times.tolist(), replicas=asked.count("seeds"),
                 store=asked.store).risk.tolist()  # fmt: skip


NEAR_OPTIMUM = CatalogueEntry(
    "mmm19-optimum", "mmm19", "a fixed number of neurons and samples proportional to d lead near the optimum",
    (
        Parameter("activation", "min(max(x, 0), 1)", "sure"), Parameter("gamma", 0.4, "chosen"),
        Parameter("delta", 0.8, "chosen"), Parameter("N", 200, "chosen"), Parameter("c", 0.01, "chosen"),
        Parameter("d", (40.0, 80.0, 160.0, 320.0), "chosen", quick=(20.0, 40.0)),
        Parameter("t_end", 100.0, "chosen"), Parameter("seeds", 8, "chosen", quick=2),
    ),
    (
        Claim("start", "The start is better than no network: R_∞(ρ̄_0) < 1.", "assumption of the theorem", 1.0, "text",
              "at most", 0.0, "the assumption itself", "a start that the theorem does not speak of"),
        Claim("optimum", "In every d the same N ends near the optimum: largest R at the end.", "theorem", ETA,
              "theory", "at most", 0.0, "η, which was chosen with the horizon", "a risk that grows with d"),
        Claim("samples", f"The samples to R = {LEVEL:g} grow like d: exponent.", "theorem, n = O(d)", 1.0, "theory",
              "near", 0.15, "half way to d^{1.3}, which a log d would look like between d = 20 and 80",
              "another power of d"),
    ),
    Seconds(45, 1100), measure,
)  # fmt: skip
