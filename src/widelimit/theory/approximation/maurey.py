"""Networks sampled from the waves of a function, and how their risk falls with the width.

    f(x) − f(0) = Σ_m G_m ∫_{−r}^{r} cos(w_m b + ψ_m) s_b(⟨u_m, x⟩) db
    s_b(t) = 1{t > b} for b ≥ 0,  −1{t < b} for b < 0

Draw m with probability G_m/C and b uniform on [−r, r]. With a = Δ cos(w_m b + ψ_m), |a| ≤ Δ = 2 r C, the mean of
a s_b(⟨u, x⟩) is f(x) − f(0), so that N draws make a network of N step neurons

    f_N(x) = f(0) + (1/N) Σ_i a_i s_{b_i}(⟨u_i, x⟩),     mean risk = (E a² s² − E (f − f(0))²)/N ≤ Δ²/N

over any law of x on |x| ≤ r; here the uniform one. Some draw is at least as good as the mean. Reference: [b93].

Beside them, networks of N neurons a tanh(⟨w, x⟩ + b), which come near to steps as |w| → ∞: the best of three gradient
flows, and the best that `minimise` finds among Σ_i p_i a_i tanh(⟨w_i, x⟩ + b_i) with Σ p_i = 1 and |a_i| ≤ Δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widelimit.arguments import instance_of, numbers_of, require_seed
from widelimit.dynamics.methods import ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.errors import require, require_count, require_positive
from widelimit.problem import initial, neurons
from widelimit.problem.data.unstructured import empirical
from widelimit.problem.host_values import host_values
from widelimit.problem.problem import Problem
from widelimit.theory.approximation.barron import Barron
from widelimit.theory.fixed_points.minimise import minimise

POINTS = {1: 512, 2: 1024, 3: 2048}  # of the ball at which the risk is taken
AT_A_TIME = 1 << 21  # numbers
MOST = 1_000_000  # neurons, and draws
POINTS_OF_SEARCH = 1024  # for neurons that a network lacks


@dataclass(frozen=True, eq=False)
class Approximation:
    """Risks of networks of several widths beside Δ²/N.

    barron         norm of the function
    widths         N
    risks          of sampled networks, one row for each draw, (draws, widths)
    trained_widths, trained_risks    N, and the best risk of trained networks; empty if none were asked for
    best_risks     the least risk that `minimise` finds with at most so many neurons

    >>> import widelimit as wl
    >>> found = wl.approximation(wl.barron("cos(2*x)", radius=1.0), widths=[10, 100], draws=5)
    >>> bool((found.means < found.bounds).all())
    True
    """

    barron: Barron
    widths: np.ndarray
    risks: np.ndarray
    trained_widths: np.ndarray
    trained_risks: np.ndarray
    best_risks: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean risk of the draws, (widths,)."""
        return self.risks.mean(axis=0)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of the means, (widths,)."""
        return self.risks.std(axis=0, ddof=1) / math.sqrt(len(self.risks))

    @property
    def bounds(self) -> np.ndarray:
        """Δ²/N, (widths,)."""
        return self.barron.delta.value**2 / self.widths

    @property
    def slope(self) -> float:
        """The slope of log mean risk against log N; −1 in theory."""
        return float(np.polyfit(np.log(self.widths), np.log(self.means), 1)[0])

    def document(self) -> dict[str, object]:
        """Everything by name."""
        trained, best = (
            dict(zip(self.trained_widths.tolist(), risks.tolist(), strict=True))
            for risks in (self.trained_risks, self.best_risks)
        )
        return {
            "barron": self.barron.document(), "widths": self.widths.tolist(), "means": self.means.tolist(),
            "errors": self.errors.tolist(), "bounds": self.bounds.tolist(), "trained": trained, "best": best,
            "slope": self.slope,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<Approximation: N = {self.widths.min()} … {self.widths.max()}, slope {self.slope:.2f}, {self.barron}>"


def approximation(
    barron: Barron, widths: Sequence[int], draws: int = 20, trained: Sequence[int] = (), t_end: float = 100.0,
    seed: int = 0,
) -> Approximation:  # fmt: skip
    """Risks of N-neuron networks drawn from the waves of a function, beside Δ²/N, of trained ones and of the best.

    barron    what `wl.barron` returned
    widths    N of the sampled networks
    draws     networks of each width
    trained   widths at which networks of tanh neurons are trained as well, by gradient flow from three random starts,
              of which the best counts, and by `minimise`
    t_end     how long to train
    seed      of the draws and of the starts

    >>> import widelimit as wl
    >>> wl.approximation(wl.barron("exp(-x**2)", radius=1.0), widths=[10, 40], draws=4).risks.shape
    (4, 2)
    """
    instance_of(Barron, barron, "approximation", "get one from wl.barron")
    require(
        math.isfinite(barron.norm.value),
        "a network can be sampled where Barron's norm is finite",
        barron.norm.value,
        "smooth the function",
    )
    counts, chosen = (_widths(name, values) for name, values in (("widths", widths), ("trained", trained)))
    require(len(counts) > 1, "a slope needs two widths or more", widths, "try widths=[10, 100]")
    require_count("draws", draws, "20")
    require(2 <= draws <= MOST, f"draws must be from 2, for an error bar, to {MOST}", draws, "try draws=20")
    require_positive("t_end", t_end, "100.0")
    require_seed(seed)
    rng = np.random.default_rng(seed)
    x = ball_points(barron.k, barron.radius)
    y = host_values(barron.f, x) - host_values(barron.f, np.zeros((1, barron.k)))
    risks = [[_sampled_risk(barron, n, x, y, rng) for n in counts] for _ in range(draws)]
    problem = _network(x, y)
    trained_risks = np.array([_trained_risk(problem, n, t_end, seed) for n in chosen])
    best = np.array(_best_risks(problem, chosen, barron.delta.value))
    return Approximation(barron, np.array(counts), np.array(risks), np.array(chosen, int), trained_risks, best)


def ball_points(k: int, radius: float) -> np.ndarray:
    """Points that stand for the uniform law on |x| ≤ r: midpoints of an interval, or a lattice of equal shares."""
    n = POINTS[k] if k in POINTS else POINTS[max(POINTS)]
    if k == 1:
        return radius * ((2 * np.arange(n) + 1) / n - 1)[:, None]
    g = np.random.default_rng(0).standard_normal((n, k))
    radii = radius * ((np.arange(n) + 0.5) / n) ** (1 / k)
    return g / np.linalg.norm(g, axis=1)[:, None] * radii[:, None]


def _sampled_risk(barron: Barron, n: int, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """The risk of one network of n neurons."""
    waves, r = barron.waves, barron.radius
    total = waves.total
    edges = np.cumsum(waves.amplitudes) / total
    out = np.zeros(len(x))
    step = max(1, AT_A_TIME // len(x))
    for low in range(0, n, step):
        size = min(step, n - low)
        m = np.minimum(np.searchsorted(edges, rng.random(size)), len(edges) - 1)
        b = r * (2 * rng.random(size) - 1)
        a = 2 * r * total * np.cos(waves.frequencies[m] * b + waves.phases[m])
        t = x @ waves.directions[m].T
        active = np.where(b >= 0, t > b, t < b)
        out += active @ np.where(b >= 0, a, -a)
    return float(((y - out / n) ** 2).mean())


def _network(x: np.ndarray, y: np.ndarray) -> Problem:
    """Neurons a tanh(⟨w, x⟩ + b) that learn the values of f − f(0) at some of the points."""
    start = initial.gaussian(2.0, a=initial.normal(0.0, 3.0), b=initial.normal(0.0, 2.0))
    thinned = slice(None, None, max(1, len(x) // 128))
    return Problem(empirical(x[thinned], y[thinned]), neurons.ridge("tanh", outer="trained", bias="trained"), start)


def _trained_risk(problem: Problem, n: int, t_end: float, seed: int) -> float:
    """The best of three gradient flows of n neurons."""
    run = solve(problem, ParticleFlow(n, rtol=1e-5, atol=1e-6), t_end, seed=seed, save=2, replicas=3, progress=False)
    return float(np.asarray(run.risk)[..., -1].min())


def _best_risks(problem: Problem, widths: list[int], bound: float) -> list[float]:
    """The least risk of networks of so many neurons or fewer, |a| ≤ bound, along one search for the minimum."""
    if not widths:
        return []
    rounds = minimise(problem, atoms=max(widths), within={"a": bound}, points=POINTS_OF_SEARCH).history
    return [min(one.value for one in rounds if one.atoms <= n) for n in widths]


def _widths(name: str, values: Sequence[int]) -> list[int]:
    """Whole numbers in a list; it may be empty for networks that are not trained."""
    if name == "trained" and isinstance(values, list | tuple) and not values:
        return []
    numbers = numbers_of(name, values, f"{name}=[10, 100]")
    good = all(n == int(n) and 1 <= n <= MOST for n in numbers)
    require(good, f"{name} must be whole numbers from 1 to {MOST}", values, f"try {name}=[10, 100]")
    return [int(n) for n in numbers]
