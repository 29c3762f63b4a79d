"""widelimit: the infinite-width limit of two-layer neural networks.

    f(x; ρ) = ∫ σ*(x; θ) ρ(dθ)                         a network is a measure over neurons         Problem
    R(ρ) = E (y − f(x; ρ))² = R# + 2 ∫ V dρ + ∬ U dρdρ    its risk is quadratic in the measure     landscape
    Ψ(θ; ρ) = V(θ) + ∫ U(θ, ·) dρ + λ v(θ)                 half the first variation
    θ_i += 2 s_k [(y_k − f(x_k)) ∇σ*(x_k; θ_i) − λ ∇v(θ_i)] training by samples                      SGD
    θ_i −= 2 s_k ∇Ψ(θ_i; ρᴺ)                              on the population risk                   GD
    dθ_i/dt = −2 ξ ∇Ψ(θ_i; ρᴺ)                            step → 0                                 ParticleFlow
    dθ̄_i/dt = −2 ξ ∇Ψ(θ̄_i; ρ_t)                           N tracers in the limiting field          NonlinearFlow
    ∂_t ρ = 2 ξ ∇·(ρ ∇Ψ(θ; ρ))                            N → ∞                                    MeanField
    ∂_t ρ = 2 ξ ∇·(ρ ∇Ψ(θ; ρ)) + 2 ξ β⁻¹ Δρ               with noise, on a grid                    FiniteVolume
    ρ_* = exp(−β Ψ(θ; ρ_*))/Z                             where noise leads                        gibbs
    f̄ = f(θ⁰) + ⟨Df(θ⁰), θ − θ⁰⟩                          linearised at its start                  TangentFlow

Names are imported on first use, so that ``widelimit --help`` answers without loading JAX. Double precision
(``jax_enable_x64``) is switched on here and nowhere else.
"""

import importlib
import itertools
import os
import sys
from typing import TYPE_CHECKING, Any

from widelimit.compiled import keep_compiled_functions

__version__ = "0.1.0"

os.environ["JAX_ENABLE_X64"] = "1"
keep_compiled_functions()
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)

if TYPE_CHECKING:
    from widelimit import observables
    from widelimit.dynamics.estimate import Forecast, estimate
    from widelimit.dynamics.methods import (
        GD,
        JKO,
        SGD,
        FiniteVolume,
        MeanField,
        NonlinearFlow,
        ParticleFlow,
        TangentFlow,
        TangentSGD,
    )
    from widelimit.dynamics.solve import resume, solve
    from widelimit.errors import Diverged, InputError, Interrupted, Stopped
    from widelimit.experiments.records import load
    from widelimit.experiments.spec import Spec
    from widelimit.interfaces import torch
    from widelimit.interfaces.animation import animate
    from widelimit.interfaces.figures import figure
    from widelimit.measures import Cloud, Density
    from widelimit.potentials.landscapes import landscape, reduce
    from widelimit.problem import activations, data, initial, neurons, regularisers, schedules
    from widelimit.problem.mobility import Mobility
    from widelimit.problem.problem import Problem
    from widelimit.solving.solution import Solution
    from widelimit.theory.commutation import commute
    from widelimit.theory.cooling import Cooling, cooling
    from widelimit.theory.coupling import Comparison, compare
    from widelimit.theory.gibbs import Gibbs, gibbs
    from widelimit.theory.kernel_flow import KernelFlow, kernel_regression
    from widelimit.theory.lazy_lemmas import Lemma, lazy_lemmas
    from widelimit.theory.linearisation import Linearisation, linearise
    from widelimit.theory.long_time import Bias, Decay, decay, particle_bias
    from widelimit.theory.network_plan import NetworkPlan
    from widelimit.theory.ntk import Kernel, ntk
    from widelimit.theory.planner import plan
    from widelimit.theory.rates import Rates, rates
    from widelimit.theory.regime import Regime, Regimes, regime, regimes
    from widelimit.theory.relative_scale import RelativeScale, relative_scale
    from widelimit.theory.verdict import Verdict

_HOMES = {
    "problem.problem": ("Problem",),
    "potentials.landscapes": ("landscape", "reduce"),
    "problem.mobility": ("Mobility",),
    "dynamics.methods": (
        "SGD",
        "GD",
        "ParticleFlow",
        "NonlinearFlow",
        "MeanField",
        "FiniteVolume",
        "JKO",
        "TangentFlow",
        "TangentSGD",
    ),
    "dynamics.estimate": ("Forecast", "estimate"),
    "dynamics.solve": ("resume", "solve"),
    "solving.solution": ("Solution",),
    "experiments.records": ("load",),
    "theory.cooling": ("Cooling", "cooling"),
    "theory.long_time": ("Bias", "Decay", "decay", "particle_bias"),
    "theory.coupling": ("Comparison", "compare"),
    "theory.gibbs": ("Gibbs", "gibbs"),
    "theory.kernel_flow": ("KernelFlow", "kernel_regression"),
    "theory.network_plan": ("NetworkPlan",),
    "theory.ntk": ("Kernel", "ntk"),
    "theory.planner": ("plan",),
    "theory.rates": ("Rates", "rates"),
    "theory.commutation": ("commute",),
    "theory.lazy_lemmas": ("Lemma", "lazy_lemmas"),
    "theory.linearisation": ("Linearisation", "linearise"),
    "theory.regime": ("Regime", "Regimes", "regime", "regimes"),
    "theory.verdict": ("Verdict",),
    "theory.relative_scale": ("RelativeScale", "relative_scale"),
    "experiments.spec": ("Spec",),
    "interfaces.figures": ("figure",),
    "interfaces.animation": ("animate",),
    "measures": ("Cloud", "Density"),
    "errors": ("Diverged", "InputError", "Interrupted", "Stopped"),
}
_MODULES = {
    "widelimit.problem": ("activations", "data", "initial", "neurons", "regularisers", "schedules"),
    "widelimit": ("observables",),
    "widelimit.interfaces": ("torch",),
}

__all__ = sorted(itertools.chain(*_HOMES.values(), *_MODULES.values()))


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"widelimit.{home}"), name)
    for home, names in _MODULES.items():
        if name in names:
            return importlib.import_module(f"{home}.{name}")
    raise AttributeError(f"module 'widelimit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
