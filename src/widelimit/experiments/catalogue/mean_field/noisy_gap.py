"""The gap with noise: neurons, tracers and steps on the same Brownian paths, and the same rates as without.

    dθ = −2 ∇Ψ_λ dt + √(4/β) dB,        ND–PD ~ N^{−1/2},     GD–SGD ~ ε^{1/2}

Reference: [mmm19], theorem on noisy SGD with fixed coefficients; widelimit.theory.gap.coupling.
"""

from __future__ import annotations

from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Parameter
from widelimit.experiments.catalogue.drawing import Panel
from widelimit.experiments.catalogue.mean_field.measured_exponents import (
    bounded_classes,
    drawn_rate,
    exponent,
    rate_claim,
)
from widelimit.theory.gap.rates import rates


def measure(asked: Asked) -> Outcome:
    """Rates in N and in ε of a noisy problem."""
    problem = bounded_classes(asked.count("d"), asked.number("ridge"), asked.number("beta"))
    t_end, replicas = asked.number("t_end"), asked.count("replicas")
    widths, steps = (list(asked.numbers(name)) for name in ("N", "eps"))
    wide = rates(problem, "n", widths, step=steps[-1], t_end=t_end, replicas=replicas, chain=("ND", "PD"),
                 points=asked.count("points"))  # fmt: skip
    fine = rates(problem, "step", steps, n=int(widths[0]), t_end=t_end, replicas=replicas, chain=("GD", "SGD"))
    panels = (
        Panel("Width, with noise", "$N$", "gap", tuple(drawn_rate(wide, "ND–PD", "distance", -0.5, 0)), "xy"),
        Panel("Step, with noise", r"$\varepsilon$", "gap", tuple(drawn_rate(fine, "GD–SGD", "distance", 0.5, 1)), "xy"),
    )
    return Outcome({"width": exponent(wide, "ND–PD", "distance"), "step": exponent(fine, "GD–SGD", "distance")}, panels)


NOISY_GAP = CatalogueEntry(
    "mmm19-noisy", "mmm19", "noisy SGD leaves its limit at the rates of SGD without noise",
    (
        Parameter("d", 20, "chosen"), Parameter("beta", 20.0, "chosen"), Parameter("ridge", 0.1, "chosen"),
        Parameter("t_end", 0.5, "chosen"),
        Parameter("N", (16.0, 32.0, 64.0, 128.0), "chosen", quick=(8.0, 16.0, 32.0)),
        Parameter("eps", (0.002, 0.005, 0.01, 0.02), "chosen", quick=(0.005, 0.01, 0.02)),
        Parameter("points", 8000, "chosen", quick=500), Parameter("replicas", 32, "chosen", quick=16),
    ),
    (
        rate_claim("width", "With noise neurons leave their tracers like N^{−1/2}.", "theorem on noisy SGD", -0.5),
        rate_claim("step", "With noise SGD leaves gradient descent like ε^{1/2}.", "theorem on noisy SGD", 0.5),
    ),
    Seconds(50, 320), measure,
)  # fmt: skip
