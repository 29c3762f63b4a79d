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
    R(ρ) − inf R ≤ 2 (∫Ψ dρ − inf Ψ)                      how far from the best of any width     certificate
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
    from widelimit.experiments.store import Store
    from widelimit.experiments.sweep import Sweep, sweep
    from widelimit.interfaces import torch
    from widelimit.interfaces.animation import animate
    from widelimit.interfaces.figures import figure
    from widelimit.measures import Cloud, Density
    from widelimit.potentials.landscapes import landscape, reduce
    from widelimit.problem import activations, data, initial, neurons, regularisers, schedules
    from widelimit.problem.mobility import Mobility
    from widelimit.problem.problem import Problem
    from widelimit.solving.solution import Solution
    from widelimit.theory import bounds
    from widelimit.theory.barron import Barron, barron
    from widelimit.theory.certificate import Certificate, certificate
    from widelimit.theory.commutation import commute
    from widelimit.theory.complexity import Complexity, complexity
    from widelimit.theory.convergence_time import ConvergenceTime, convergence_time
    from widelimit.theory.cooling import Cooling, cooling
    from widelimit.theory.coupling import Comparison, compare
    from widelimit.theory.filtered_pca import FilteredPCA, filtered_pca
    from widelimit.theory.fitted_bound import FittedBound, fit_bound
    from widelimit.theory.flow_rate import FlowRate
    from widelimit.theory.gibbs import Gibbs, gibbs
    from widelimit.theory.hermite_spectrum import hermite
    from widelimit.theory.initial_support import InitialSupport, initial_support
    from widelimit.theory.kernel_flow import KernelFlow, kernel_regression
    from widelimit.theory.kernel_learning_curve import kernel_learning_curve
    from widelimit.theory.lazy_lemmas import Lemma, lazy_lemmas
    from widelimit.theory.leap import Leap, leap
    from widelimit.theory.learning_curves import LearningCurves, learning_curves
    from widelimit.theory.linearisation import Linearisation, linearise
    from widelimit.theory.long_time import Bias, Decay, decay, particle_bias
    from widelimit.theory.maurey import Approximation, approximation
    from widelimit.theory.minimise import Minimum, minimise
    from widelimit.theory.network_plan import NetworkPlan
    from widelimit.theory.ntk import Kernel, ntk
    from widelimit.theory.online_sgd import OnlineSGD
    from widelimit.theory.overlap_flow import OverlapFlow, overlap_flow
    from widelimit.theory.planner import plan
    from widelimit.theory.plateaus import Plateau, plateaus
    from widelimit.theory.proof_terms import ProofTerms, proof_terms
    from widelimit.theory.rates import Rates, rates
    from widelimit.theory.regime import Regime, Regimes, regime, regimes
    from widelimit.theory.relative_scale import RelativeScale, relative_scale
    from widelimit.theory.samples_to_overlap import OverlapSamples, samples_to_overlap
    from widelimit.theory.spectrum import Spectrum
    from widelimit.theory.sphere_spectrum import SphereSpectrum, gegenbauer
    from widelimit.theory.stability import Modes, Stability, stability
    from widelimit.theory.stationarity import Stationarity, stationarity
    from widelimit.theory.two_geometries import TwoGeometries, two_geometries
    from widelimit.theory.verdict import Verdict
    from widelimit.theory.walsh_spectrum import walsh

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
    "theory.certificate": ("Certificate", "certificate"),
    "theory.cooling": ("Cooling", "cooling"),
    "theory.long_time": ("Bias", "Decay", "decay", "particle_bias"),
    "theory.coupling": ("Comparison", "compare"),
    "theory.gibbs": ("Gibbs", "gibbs"),
    "theory.kernel_flow": ("KernelFlow", "kernel_regression"),
    "theory.network_plan": ("NetworkPlan",),
    "theory.minimise": ("Minimum", "minimise"),
    "theory.ntk": ("Kernel", "ntk"),
    "theory.planner": ("plan",),
    "theory.rates": ("Rates", "rates"),
    "theory.commutation": ("commute",),
    "theory.lazy_lemmas": ("Lemma", "lazy_lemmas"),
    "theory.kernel_learning_curve": ("kernel_learning_curve",),
    "theory.linearisation": ("Linearisation", "linearise"),
    "theory.regime": ("Regime", "Regimes", "regime", "regimes"),
    "theory.two_geometries": ("TwoGeometries", "two_geometries"),
    "theory.verdict": ("Verdict",),
    "theory.spectrum": ("Spectrum",),
    "theory.hermite_spectrum": ("hermite",),
    "theory.walsh_spectrum": ("walsh",),
    "theory.sphere_spectrum": ("SphereSpectrum", "gegenbauer"),
    "theory.leap": ("Leap", "leap"),
    "theory.barron": ("Barron", "barron"),
    "theory.maurey": ("Approximation", "approximation"),
    "theory.complexity": ("Complexity", "complexity"),
    "theory.relative_scale": ("RelativeScale", "relative_scale"),
    "theory.stationarity": ("Stationarity", "stationarity"),
    "theory.stability": ("Modes", "Stability", "stability"),
    "theory.flow_rate": ("FlowRate",),
    "theory.initial_support": ("InitialSupport", "initial_support"),
    "theory.convergence_time": ("ConvergenceTime", "convergence_time"),
    "theory.fitted_bound": ("FittedBound", "fit_bound"),
    "theory.proof_terms": ("ProofTerms", "proof_terms"),
    "theory.learning_curves": ("LearningCurves", "learning_curves"),
    "theory.plateaus": ("Plateau", "plateaus"),
    "theory.overlap_flow": ("OverlapFlow", "overlap_flow"),
    "theory.online_sgd": ("OnlineSGD",),
    "theory.filtered_pca": ("FilteredPCA", "filtered_pca"),
    "theory.samples_to_overlap": ("OverlapSamples", "samples_to_overlap"),
    "experiments.spec": ("Spec",),
    "experiments.store": ("Store",),
    "experiments.sweep": ("Sweep", "sweep"),
    "interfaces.figures": ("figure",),
    "interfaces.animation": ("animate",),
    "measures": ("Cloud", "Density"),
    "errors": ("Diverged", "InputError", "Interrupted", "Stopped"),
}
_MODULES = {
    "widelimit.problem": ("activations", "data", "initial", "neurons", "regularisers", "schedules"),
    "widelimit": ("observables",),
    "widelimit.theory": ("bounds",),
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
