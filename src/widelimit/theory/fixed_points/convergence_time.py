"""How long the limit takes, and whether the theorems still say something then.

    T_c(η) = the first time from which on R(ρ_t) ≤ R_∞ + η
    the bounds of widelimit.theory.gap.bounds grow like e^{KT}/√N:   they are worth something at T_c only if T_c ≪ log N

    η     eta     how close
    R_∞   level   the risk where the flow leads: the last one of the run, or one that is given, such as inf R

Between saves the risk is interpolated linearly; low and high are the saves around T_c.  Reference: [mmm19].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from widelimit.arguments import instance_of
from widelimit.errors import is_finite, require, require_count, require_positive
from widelimit.solving.solution import Solution
from widelimit.theory.gap.fitted_bound import FittedBound

TAIL = 0.1  # share of the run at its end in which the risk must have come to rest


@dataclass(frozen=True)
class ConvergenceTime:
    """T_c(η) of a solution.

    eta        how close to the level
    level      R_∞
    time       T_c; infinite if the run does not get there
    low, high  the saves around it
    settled    whether the last tenth of the run moved by less than η/2: else R_∞ may lie lower
    n          width of a network that should follow, or None
    bound      what the fitted theorem promises for that network at T_c, or None
    trivial    what is true without a theorem

    >>> ConvergenceTime(0.1, 0.0, 2.0, 1.9, 2.1, True, 100, None, None).ratio < 0.5
    True
    """

    eta: float
    level: float
    time: float
    low: float
    high: float
    settled: bool
    n: int | None = None
    bound: float | None = None
    trivial: float | None = None

    @property
    def ratio(self) -> float | None:
        """T_c / log N: the bounds need it small; None without a width."""
        return None if self.n is None else self.time / math.log(max(self.n, 2))

    @property
    def is_vacuous(self) -> bool | None:
        """Whether the fitted theorem promises less at T_c than is true without it; None without a fit."""
        return None if self.bound is None or self.trivial is None else bool(self.bound >= self.trivial)

    def __str__(self) -> str:
        reached = f"T_c({self.eta:g}) = {self.time:.4g} [{self.low:.4g}, {self.high:.4g}]"
        head = reached if math.isfinite(self.time) else f"the run does not come within {self.eta:g} of {self.level:g}"
        width = "" if self.ratio is None else f", T_c/log N = {self.ratio:.3g} at N = {self.n}"
        if self.bound is None:
            return head + width + "."
        word = "vacuous" if self.is_vacuous else "not vacuous"
        return f"{head}{width}; there the bound is {self.bound:.3g}, {word} (trivially {self.trivial:.3g})."


def convergence_time(
    solution: Solution, eta: float, *, level: float | None = None, n: int | None = None,
    bound: FittedBound | None = None, step: float = 0.0,
) -> ConvergenceTime:  # fmt: skip
    """The time after which a run stays within η of the risk it leads to, and what a bound says there.

    eta     how close, > 0
    level   R_∞ (default: the last risk of the run)
    n       width of a network that should follow the limit that long
    bound   a fitted theorem, from `fit_bound`: is it vacuous for that network at T_c?
    step    of that network's SGD; 0 for a flow

    >>> import widelimit as wl
    >>> line = wl.Problem(wl.data.single_index(5, "z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
    >>> run = wl.solve(line, wl.MeanField(check=False), t_end=6.0, save=61)  # R = e^{−4t}: the mean moves at rate 2
    >>> round(wl.convergence_time(run, 0.1, n=100).time, 2)  # log(10)/4
    0.58
    """
    instance_of(Solution, solution, "convergence_time", "try wl.solve(problem, wl.MeanField(), t_end=10.0)")
    require_positive("eta", eta, "0.01")
    require(solution.replicas is None and len(solution.times) > 2, "convergence_time needs one saved run", solution,
            "choose one with solution.replica(0), or save more")  # fmt: skip
    require(level is None or is_finite(level), "level must be a number", level, "leave it out for the last risk")
    if n is not None:
        require_count("n", n, "1000")
    require(is_finite(step) and step >= 0, "step must be a number >= 0", step, "try step=1e-3")
    require(bound is None or (isinstance(bound, FittedBound) and n is not None),
            "bound must come from fit_bound, and needs a width n", bound, "give both")  # fmt: skip
    t, risk = solution.times, solution.risk
    end = float(risk[-1]) if level is None else float(level)
    above = np.flatnonzero(risk > end + eta)
    tail = risk[t >= t[0] + (1 - TAIL) * (t[-1] - t[0])]
    settled = bool(np.ptp(tail) <= eta / 2)
    if len(above) == 0:
        time, low, high = float(t[0]), float(t[0]), float(t[0])
    elif above[-1] == len(t) - 1:
        time, low, high = math.inf, float(t[-1]), math.inf
    else:
        i = int(above[-1])
        low, high = float(t[i]), float(t[i + 1])
        share = (risk[i] - end - eta) / (risk[i] - risk[i + 1])
        time = low + float(share) * (high - low)
    promised = None if bound is None or n is None else bound.value(n, step, t=time)
    trivial = None if bound is None else bound.trivial
    return ConvergenceTime(float(eta), end, time, low, high, settled, n, promised, trivial)
