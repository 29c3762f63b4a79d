"""Stochastic gradient descent of the tangent model, on the samples of SGD.

    θ_i ← θ_i + 2 s_k M [ (1/b) Σ_{x, y in batch k} (y − f̄(x)) ∇σ*(x; θ_i⁰) − λ ∇v(θ_i) ],     s_k = ε ξ(kε)
    f̄(x) = (1/N) Σ_j σ*(x; θ_j⁰) + ⟨∇σ*(x; θ_j⁰), θ_j − θ_j⁰⟩

The start and the samples are those of SGD with the same seed and batch, so that the two runs are coupled step by step.
Scheme: the plain loop of widelimit.dynamics.stepwise.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp

from widelimit.dynamics.block_runs import iterated, start_with
from widelimit.dynamics.methods import SGD, TangentSGD
from widelimit.dynamics.sgd import iteration
from widelimit.dynamics.tangent_flow import beside_start, started_rules
from widelimit.potentials.tangent_landscape import tangent_landscape
from widelimit.problem.neurons import Linearised
from widelimit.problem.problem import Problem
from widelimit.solving.placement import initial_neurons
from widelimit.solving.protocol import Run, require_no_noise, view_started


def ready(method: TangentSGD, problem: Problem, seed: int, replicas: int | None) -> Run:
    """The neurons of SGD."""
    require_no_noise(problem, method)
    land, weights = tangent_landscape(problem, reduced=False), jnp.full(method.n, 1 / method.n)
    fixed = iteration(problem, SGD(method.n, method.step, method.batch))
    linear = replace(
        fixed, neuron=Linearised.trusted(neuron=fixed.neuron), rules=started_rules(problem, reduced=False),
        penalty=land.penalty, decay=None, stepwise=True,
    )  # fmt: skip
    rows = beside_start(initial_neurons(problem, seed, method.n, False, replicas))
    view = view_started(land, weights, lambda place: place.theta)
    return iterated(linear, method.step, start_with(rows, seed, replicas), view, problem.risk_falls)
