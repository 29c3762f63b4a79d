"""Noisy training: the free energy decays exponentially to that of the Gibbs law.

    ∂_t ρ = 2 ∇·(ρ ∇Ψ) + 2 β⁻¹ Δρ,        F(ρ) = ½R + λ∫v dρ + β⁻¹ ∫ρ log ρ
    F(ρ_t) − F(ρ_*) ~ C e^{−ct},          c = 2 · (2λ) · 2 = 8λ for linear neurons of two balanced classes

Linear neurons on two classes that differ in variance alone have V = 0, and with ρ invariant by rotation no
interaction: Ψ = λ|w|²/2, ρ_* = N(0, I/(βλ)), E|w|² = d/(βλ). The variance relaxes like e^{−4λt} and F is quadratic
in it. References: Hu et al.; Nitanda, Wu, Suzuki 2022; Chizat 2022.
"""

from __future__ import annotations

import numpy as np

from widelimit.dynamics.methods import FiniteVolume
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import Panel, measured, theory
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.theory.noise.long_time import decay


def measure(asked: Asked) -> Outcome:
    """The rate of the decay on a grid, how well an exponential fits, and the mean square where it ends."""
    ridge, beta, d = asked.number("ridge"), asked.number("beta"), asked.count("d")
    law = data.gaussian_classes(d, asked.number("delta"))
    problem = Problem(law, neurons.ridge("x"), initial.gaussian(1.0), ridge=ridge, beta=beta)
    method = FiniteVolume(asked.count("cells"), ((0.0, asked.number("box")),))
    run = solve(problem, method, asked.number("t_end"), save=161, store=asked.store)
    found, end = decay(problem, run), run.final
    square = float(end.mean(end.column("r") ** 2))
    seen = found.excess > 1e-12 * found.excess[0]
    t, c = found.clock[seen], 8 * ridge
    last = np.flatnonzero(found.fitted)[-1]
    line = found.excess[last] * np.exp(-c * (t - found.clock[last]))
    panel = Panel("The free energy decays", "$t$", r"$F(\rho_t)-F(\rho_*)$", (
        theory(r"$e^{-8\lambda t}$", t, line), measured("finite volumes", t, found.excess[seen], 1),
    ), "y")  # fmt: skip
    return Outcome(
        {"rate": Measurement(found.rate / c), "exponential": Measurement(found.misfit),
         "gibbs": Measurement(square / (d / (beta * ridge)))}, (panel,),
    )  # fmt: skip


FREE_ENERGY_DECAY = CatalogueEntry(
    "noise-free-energy", "nws22", "the free energy decays exponentially to the Gibbs law",
    (
        Parameter("d", 20, "chosen"), Parameter("delta", 0.6, "chosen"), Parameter("ridge", 0.5, "chosen"),
        Parameter("beta", 20.0, "chosen"), Parameter("t_end", 8.0, "chosen"), Parameter("box", 4.0, "chosen"),
        Parameter("cells", 400, "chosen", quick=100),
    ),
    (
        Claim("rate", "It decays at the rate 8λ: measured over predicted.", "convergence theorem, linear neurons", 1.0,
              "theory", "near", 0.03, "a grid of 100 cells in a law about ten cells wide is off by a percent or two",
              "half or twice the rate: a clock that is wrong by two"),
        Claim("exponential", "An exponential fits: largest misfit of its logarithm.", "convergence theorem", 0.1,
              "theory", "at most", 0.0, "a tenth, where the logarithm falls by sixteen", "a power of t"),
        Claim("gibbs", "It ends at the Gibbs law: E|w|² over d/(βλ).", "ρ_* = exp(−βΨ)/Z", 1.0, "theory", "near", 0.02,
              "squares of cells: (0.04)²/12 in a mean square of 2, and an order more for the tails in the box",
              "half or twice: noise of the wrong strength"),
    ),
    Seconds(6, 30), measure,
)  # fmt: skip
