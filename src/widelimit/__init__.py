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
    from widelimit.experiments import catalogue
    from widelimit.experiments.engine import Engine
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
    from widelimit.theory.approximation.barron import Barron, barron
    from widelimit.theory.approximation.maurey import Approximation, approximation
    from widelimit.theory.fixed_points.certificate import Certificate, certificate
    from widelimit.theory.fixed_points.convergence_time import ConvergenceTime, convergence_time
    from widelimit.theory.fixed_points.flow_rate import FlowRate
    from widelimit.theory.fixed_points.initial_support import InitialSupport, initial_support
    from widelimit.theory.fixed_points.minimise import Minimum, minimise
    from widelimit.theory.fixed_points.stability import Modes, Stability, stability
    from widelimit.theory.fixed_points.stationarity import Stationarity, stationarity
    from widelimit.theory.fixed_points.two_geometries import TwoGeometries, two_geometries
    from widelimit.theory.gap import bounds
    from widelimit.theory.gap.commutation import commute
    from widelimit.theory.gap.coupling import Comparison, compare
    from widelimit.theory.gap.fitted_bound import FittedBound, fit_bound
    from widelimit.theory.gap.network_plan import NetworkPlan
    from widelimit.theory.gap.planner import plan
    from widelimit.theory.gap.proof_terms import ProofTerms, proof_terms
    from widelimit.theory.gap.rates import Rates, rates
    from widelimit.theory.lazy.kernel_flow import KernelFlow, kernel_regression
    from widelimit.theory.lazy.kernel_learning_curve import kernel_learning_curve
    from widelimit.theory.lazy.lazy_lemmas import Lemma, lazy_lemmas
    from widelimit.theory.lazy.linearisation import Linearisation, linearise
    from widelimit.theory.lazy.ntk import Kernel, ntk
    from widelimit.theory.lazy.regime import Regime, Regimes, regime, regimes
    from widelimit.theory.lazy.relative_scale import RelativeScale, relative_scale
    from widelimit.theory.lazy.verdict import Verdict
    from widelimit.theory.learning.complexity import Complexity, complexity
    from widelimit.theory.learning.filtered_pca import FilteredPCA, filtered_pca
    from widelimit.theory.learning.hermite_spectrum import hermite
    from widelimit.theory.learning.leap import Leap, leap
    from widelimit.theory.learning.learning_curves import LearningCurves, learning_curves
    from widelimit.theory.learning.online_sgd import OnlineSGD
    from widelimit.theory.learning.overlap_flow import OverlapFlow, overlap_flow
    from widelimit.theory.learning.plateaus import Plateau, plateaus
    from widelimit.theory.learning.samples_to_overlap import OverlapSamples, samples_to_overlap
    from widelimit.theory.learning.spectrum import Spectrum
    from widelimit.theory.learning.sphere_spectrum import SphereSpectrum, gegenbauer
    from widelimit.theory.learning.walsh_spectrum import walsh
    from widelimit.theory.noise.cooling import Cooling, cooling
    from widelimit.theory.noise.gibbs import Gibbs, gibbs
    from widelimit.theory.noise.long_time import Bias, Decay, decay, particle_bias

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
    "theory.fixed_points.certificate": ("Certificate", "certificate"),
    "theory.noise.cooling": ("Cooling", "cooling"),
    "theory.noise.long_time": ("Bias", "Decay", "decay", "particle_bias"),
    "theory.gap.coupling": ("Comparison", "compare"),
    "theory.noise.gibbs": ("Gibbs", "gibbs"),
    "theory.lazy.kernel_flow": ("KernelFlow", "kernel_regression"),
    "theory.gap.network_plan": ("NetworkPlan",),
    "theory.fixed_points.minimise": ("Minimum", "minimise"),
    "theory.lazy.ntk": ("Kernel", "ntk"),
    "theory.gap.planner": ("plan",),
    "theory.gap.rates": ("Rates", "rates"),
    "theory.gap.commutation": ("commute",),
    "theory.lazy.lazy_lemmas": ("Lemma", "lazy_lemmas"),
    "theory.lazy.kernel_learning_curve": ("kernel_learning_curve",),
    "theory.lazy.linearisation": ("Linearisation", "linearise"),
    "theory.lazy.regime": ("Regime", "Regimes", "regime", "regimes"),
    "theory.fixed_points.two_geometries": ("TwoGeometries", "two_geometries"),
    "theory.lazy.verdict": ("Verdict",),
    "theory.learning.spectrum": ("Spectrum",),
    "theory.learning.hermite_spectrum": ("hermite",),
    "theory.learning.walsh_spectrum": ("walsh",),
    "theory.learning.sphere_spectrum": ("SphereSpectrum", "gegenbauer"),
    "theory.learning.leap": ("Leap", "leap"),
    "theory.approximation.barron": ("Barron", "barron"),
    "theory.approximation.maurey": ("Approximation", "approximation"),
    "theory.learning.complexity": ("Complexity", "complexity"),
    "theory.lazy.relative_scale": ("RelativeScale", "relative_scale"),
    "theory.fixed_points.stationarity": ("Stationarity", "stationarity"),
    "theory.fixed_points.stability": ("Modes", "Stability", "stability"),
    "theory.fixed_points.flow_rate": ("FlowRate",),
    "theory.fixed_points.initial_support": ("InitialSupport", "initial_support"),
    "theory.fixed_points.convergence_time": ("ConvergenceTime", "convergence_time"),
    "theory.gap.fitted_bound": ("FittedBound", "fit_bound"),
    "theory.gap.proof_terms": ("ProofTerms", "proof_terms"),
    "theory.learning.learning_curves": ("LearningCurves", "learning_curves"),
    "theory.learning.plateaus": ("Plateau", "plateaus"),
    "theory.learning.overlap_flow": ("OverlapFlow", "overlap_flow"),
    "theory.learning.online_sgd": ("OnlineSGD",),
    "theory.learning.filtered_pca": ("FilteredPCA", "filtered_pca"),
    "theory.learning.samples_to_overlap": ("OverlapSamples", "samples_to_overlap"),
    "experiments.engine": ("Engine",),
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
    "widelimit.experiments": ("catalogue",),
    "widelimit.theory.gap": ("bounds",),
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
