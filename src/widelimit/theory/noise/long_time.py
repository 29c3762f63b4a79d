"""Noisy dynamics after a long time.

    F(ρ_t) − F(ρ_*) ~ C exp(−c τ),       τ = ∫ξ dt               mean-field Langevin, a logarithmic Sobolev inequality
    E R(ρ^N) − R(ρ_*) ~ B/N                                      N neurons at rest

The rate c is fitted where the decay is exponential; on a grid F(ρ_*) is that of the law on the same cells, so that the
decay can be followed down to rounding. For linear neurons c and B are known: the slowest of 4(1 + λ) (mean) and 8λ
(variance), and B = 1/(β(1 + λ)) in reduced coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widelimit.arguments import instance_of, numbers_of, require_replicas, require_seed
from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.errors import require, require_positive
from widelimit.measures import Density
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import Constant
from widelimit.solving.solution import Solution
from widelimit.theory.fixed_points.flow_rate import exponential_fit
from widelimit.theory.noise.gibbs import gibbs

SHARES = 1e-4, 1e-11  # of the first excess, between which the fit sees the others


@dataclass(frozen=True, eq=False)
class Decay:
    """F(ρ_t) − F(ρ_*) and the exponential fitted to its end.

    clock    τ of every save
    excess   F(ρ_t) − F(ρ_*)
    rate     c, on the clock τ
    factor   C
    fitted   which saves the fit has seen
    misfit   largest |log(excess) − log(fit)| among them

    >>> import widelimit as wl
    >>> t = np.linspace(0.0, 1.0, 3)
    >>> wl.Decay(t, np.exp(-2 * t), 2.0, 1.0, t > 0.2, 0.0).rate
    2.0
    """

    clock: np.ndarray
    excess: np.ndarray
    rate: float
    factor: float
    fitted: np.ndarray
    misfit: float


def decay(problem: Problem, solution: Solution) -> Decay:
    """The rate at which the free energy of a `FiniteVolume` run reaches that of the Gibbs law.

    >>> import widelimit as wl
    >>> try:
    ...     wl.decay("problem", "solution")
    ... except wl.InputError as error:
    ...     print(error)
    decay needs a wl.Problem, got 'str': build one first.
    """
    instance_of(Problem, problem, "decay", "build one first")
    good = isinstance(solution, Solution) and solution.name == "FiniteVolume"
    require(good, "decay needs a solution of FiniteVolume", solution, "solve with FiniteVolume()")
    cells = solution.final
    assert isinstance(cells, Density)
    law = gibbs(problem, on=cells)
    excess = solution.dataset["free_energy"].values - law.free_energy
    clock = problem.schedule.clock(solution.times)
    fit = exponential_fit(clock, excess, SHARES, "decay", "excess")
    return Decay(clock, excess, fit.rate, fit.factor, fit.fitted, fit.misfit)


@dataclass(frozen=True, eq=False)
class Bias:
    """E R(ρ^N) − R(ρ_*) for several widths N, (sizes,) each.

    n         widths
    bias      mean over runs and times, less R(ρ_*)
    error     its standard error over the runs
    exponent  slope of log bias against log N

    >>> import widelimit as wl
    >>> wl.Bias(np.array([10, 20]), np.array([0.2, 0.1]), np.array([0.01, 0.01]), -1.0).exponent
    -1.0
    """

    n: np.ndarray
    bias: np.ndarray
    error: np.ndarray
    exponent: float


def particle_bias(
    problem: Problem,
    sizes: Sequence[int],
    *,
    replicas: int = 64,
    t_end: float = 10.0,
    step: float = 1e-2,
    seed: int = 0,
) -> Bias:
    """The bias of N noisy neurons at rest, in reduced coordinates.

    sizes     widths N
    replicas  independent runs of each
    t_end     long enough to come to rest; the second half of the run counts
    step      of the splitting scheme

    >>> import widelimit as wl
    >>> noisy = wl.Problem(
    ...     wl.data.gaussian_classes(3, 0.5), wl.neurons.ridge("x"), wl.initial.gaussian(1.0), ridge=0.5, beta=9.0
    ... )
    >>> wl.particle_bias(noisy, [4, 8], replicas=2, t_end=0.02, step=0.01).n  # doctest: +SKIP
    array([4, 8])
    """
    instance_of(Problem, problem, "particle_bias", "build one first")
    widths = numbers_of("sizes", sizes, "[25, 50, 100]")
    whole = all(n >= 1 and n == int(n) for n in widths)
    require(whole, "sizes must be whole numbers of at least 1", sizes, "try [25, 50, 100]")
    listed = [int(n) for n in widths]
    require(len(listed) >= 2, "a bias needs two or more widths", listed, "try [25, 50, 100]")
    require_replicas(replicas, 2)
    require_seed(seed)
    require_positive("step", step, "1e-2")
    require_positive("t_end", t_end, "10.0")
    plain, law = replace(problem, schedule=Constant()), gibbs(problem)
    bias, error = [], []
    for n in listed:
        method = ParticleFlow(n, "reduced", noise_step=step)
        times = [float(t) for t in np.linspace(t_end / 2, t_end, 21)]
        risks = solve(plain, method, t_end, seed=seed, replicas=replicas, save=times).risk.mean(axis=1) - law.risk
        bias.append(float(risks.mean()))
        error.append(float(risks.std(ddof=1)) / math.sqrt(replicas))
    positive = all(b > 0 for b in bias)
    exponent = float(np.polyfit(np.log(listed), np.log(bias), 1)[0]) if positive else math.nan
    return Bias(np.array(listed), np.array(bias), np.array(error), exponent)
