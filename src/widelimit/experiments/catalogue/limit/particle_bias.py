"""N noisy neurons at rest have a risk that is above that of the limit by a number over N.

    E R(ρ^N) − R(ρ_*) ~ B/N,       B = 1/(β(1 + λ)) for linear neurons of a single-index model, in reduced coordinates

Linear neurons, where B is known, and curved ones, σ(x) = 0.2 + x + 0.3 x². The step of the splitting scheme has a bias
of its own, which does not fall with N: 0.32 of curved neurons at a step of 0.05, about 0.02 at 0.0125. Few neurons and
long runs show the 1/N best: the bias is 1/N, its error N^{−1/2}. References: [nws22], [c22], Hu et al.;
widelimit.theory.noise.long_time.
"""

from __future__ import annotations

import numpy as np

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, measured, theory
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.noise.long_time import Bias, particle_bias

NEURONS = {"linear": "x", "curved": "0.2 + x + 0.3*x**2"}
RESAMPLES = 400


def measure(asked: Asked) -> Outcome:
    """Powers of N, and the factor of linear neurons."""
    widths, beta, ridge = [int(n) for n in asked.numbers("N")], asked.number("beta"), asked.number("ridge")
    found: dict[str, Measurement] = {}
    lines: list[DrawnLine] = []
    for colour, (name, activation) in enumerate(NEURONS.items()):
        law = data.single_index(asked.count("d"), "z", nodes=8)
        problem = Problem(law, neurons.ridge(activation), initial.gaussian(1.0), ridge=ridge, beta=beta)
        bias = particle_bias(problem, widths, replicas=asked.count("replicas"), t_end=asked.number("t_end"),
                             step=asked.number("eps"))  # fmt: skip
        found[name] = Measurement(bias.exponent, _error(bias))
        n = np.array(widths, float)
        if name == "linear":
            exact = 1 / (beta * (1 + ridge) * n)
            found["factor"] = Measurement(float(np.mean(bias.bias / exact)),
                                          float(np.linalg.norm(bias.error / exact)) / len(n))  # fmt: skip
        else:
            exact = bias.bias[0] * n[0] / n
        label = "$1/(\\beta(1+\\lambda)N)$" if name == "linear" else "$1/N$"
        lines += [theory(label, n, exact, colour), measured(f"{name} neurons", n, bias.bias, colour, bias.error)]
    panel = Panel("Bias of $N$ neurons at rest", "$N$", r"$\mathbf{E}R(\rho^N)-R(\rho_*)$", tuple(lines), "xy")
    return Outcome(found, (panel,))


def _error(bias: Bias) -> float:
    """Standard error of the power, from normal errors of the means."""
    draws = bias.bias + bias.error * np.random.default_rng(0).normal(size=(RESAMPLES, len(bias.n)))
    slopes = np.polyfit(np.log(bias.n), np.log(np.maximum(draws, 1e-12)).T, 1)[0]
    return float(slopes.std(ddof=1))


def _falls(name: str) -> Claim:
    return Claim(name, f"The bias of {name} neurons falls like 1/N: the power.",
                 "propagation of chaos, uniform in time", -1.0, "recalled", "near", 0.3,
                 "half way to N^{−1/2}, less what the draws may take", "N^{−1/2}")  # fmt: skip


PARTICLE_BIAS = CatalogueEntry(
    "noise-particle-bias", "nws22", "N noisy neurons at rest are biased by a number over N",
    (
        Parameter("N", (2.0, 4.0, 8.0, 16.0), "chosen", quick=(2.0, 8.0)), Parameter("d", 20, "chosen"),
        Parameter("beta", 2.0, "chosen"), Parameter("ridge", 0.5, "chosen"),
        Parameter("t_end", 24.0, "chosen", quick=12.0), Parameter("eps", 0.005, "chosen", quick=0.0125),
        Parameter("replicas", 400, "chosen", quick=100),
    ),
    (
        *map(_falls, NEURONS),
        Claim("factor", "That of linear neurons is 1/(β(1 + λ)N): measured over predicted.", "Ornstein–Uhlenbeck law",
              1.0, "theory", "near", 0.15, "the splitting step is off by a percent, the rest is the draws",
              "half or twice: noise of the wrong strength"),
    ),
    Seconds(48, 500), measure,
)  # fmt: skip
