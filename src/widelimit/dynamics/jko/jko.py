"""Minimising movements (Jordan, Kinderlehrer, Otto): the limit as a sequence of minimisations.

    ρ_{k+1} = argmin_ρ  F(ρ) + W_2²(ρ, ρ_k)/(2η),      η = 2 ∫ξ dt over the step

    F   the energy ½ R + λ ∫v dρ, and with noise the free energy
    W_2 in the metric M^{-1}: Σ_c (θ_c − θ'_c)²/M_c; a coordinate with M_c = 0 stays

η counts the clock of the flow dθ = −∇Ψ dt, half of ours. F falls for every η, and the error is of order 1 in it.

    no noise                      points of fixed mass                      widelimit.dynamics.jko.points
    noise, one coordinate         quantiles, exactly                        widelimit.dynamics.jko.quantiles
    noise, two coordinates        entropic transport on a grid              widelimit.dynamics.jko.entropic

Reference: [jko98].
"""

from __future__ import annotations

import math
from dataclasses import replace

from widelimit.dynamics.jko.entropic import entropic_run
from widelimit.dynamics.jko.points import point_run
from widelimit.dynamics.jko.quantiles import quantile_run
from widelimit.dynamics.methods import JKO
from widelimit.errors import require
from widelimit.problem.problem import Problem
from widelimit.solving.protocol import Run, require_single
from widelimit.solving.recorder import Recorder

TIMES = 3.0  # order 1: the error is twice the distance to half the step, and the next order may hide a part of it


def ready(method: JKO, problem: Problem, seed: int, replicas: int | None) -> Run:
    """The scheme that fits the problem."""
    require_single(replicas, "JKO")
    free = problem.neuron.inner == "free"
    require(free, "JKO needs inner weights that move freely", "inner='sphere'", "use MeanField")
    names = problem.reduced_coordinates
    few = len(names) <= 2 or not problem.is_noisy
    require(few, "JKO with noise needs one or two reduced coordinates", names[:6], "use a ParticleFlow")
    scheme = quantile_run if len(names) == 1 else entropic_run
    run = (scheme if problem.is_noisy else point_run)(method, problem)
    if not method.check:
        return replace(run, unknown=math.nan)
    finer = ready(replace(method, step=method.step / 2, check=False), problem, seed, replicas)

    def remark(book: Recorder) -> str:
        told = (one.remark(book) for one in (run, finer) if one.remark is not None)  # either spoils the error
        return next(filter(None, told), "")

    return replace(run, twin=finer, times=TIMES, remark=remark)
