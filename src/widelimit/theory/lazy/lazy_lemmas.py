"""The three lemmas behind lazy training, each with both its sides, along a gradient flow on a data set.

    e = f(θ) − y on M rows,   ‖e‖² = |e|²/M,     S = J/α the Jacobian per unit of scale,   S Sᵀ = K/M the tangent kernel
    de/dt = −2 S Sᵀ e,   dΘ/dt = −(2/α) Sᵀ e       (widelimit.theory.lazy.jacobian has Θ and J)

    decay      R(t) ≤ R(0) exp(−4 λ t)                        λ the least eigenvalue of S Sᵀ along the run
    lipschitz  ‖J_t − J_0‖ ≤ B |Θ_t − Θ_0|                    B the largest ‖D²f‖ found between θ_0 and θ_t
    travel     |Θ_t − Θ_0| ≤ (√λ̄/(α λ)) ‖e_0‖                 λ̄ the largest eigenvalue of S Sᵀ along the run

Where λ = 0 (fewer parameters than rows, or two equal rows) the first and the third say nothing: their right sides are
R(0) and infinite. Reference: theory of [cob19]; the constants are those of our clock, dθ/dt = (2/α) E (y − f) ∇σ*.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.arguments import instance_of
from widelimit.dynamics.methods import ParticleFlow
from widelimit.errors import require
from widelimit.problem.data import Empirical
from widelimit.solving.solution import Solution
from widelimit.theory.lazy.jacobian import Derivative, derivative

BETWEEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # places between θ_0 and θ_t at which D²f is measured
MOST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Lemma:
    """An inequality over time.

    name    "decay", "lipschitz" or "travel"
    times   (time,)
    left    what is bounded, (time,)
    right   its bound, (time,)

    >>> Lemma("decay", np.array([0.0, 1.0]), np.array([1.0, 0.3]), np.array([1.0, 0.4])).holds
    True
    """

    name: str
    times: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @property
    def holds(self) -> bool:
        """Whether the left side is nowhere above the right one, but for rounding."""
        return bool(np.all(self.left <= self.right * (1 + 1e-7) + 1e-12))


def lazy_lemmas(solution: Solution) -> dict[str, Lemma]:
    """The three lemmas along a particle flow on a data set, kept in full coordinates, without ridge.

    >>> import numpy as np
    >>> import widelimit as wl
    >>> data = wl.data.empirical(np.eye(3), [1.0, -1.0, 0.5])
    >>> start = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.signs()))
    >>> problem = wl.Problem(data, wl.neurons.ridge("tanh", "trained"), start, alpha=5.0)
    >>> run = wl.solve(problem, wl.ParticleFlow(8), 0.5, save=3, keep="full")
    >>> [lemma.holds for lemma in wl.lazy_lemmas(run).values()]
    [True, True, True]
    """
    instance_of(Solution, solution, "lazy_lemmas", "solve with ParticleFlow first")
    problem = solution.problem
    good = isinstance(solution.method, ParticleFlow) and isinstance(problem.data, Empirical)
    require(good, "the lemmas are about a ParticleFlow on a data set", solution, "use wl.data.empirical")
    require(problem.ridge == 0 and problem.mobility.is_constant, "the lemmas need a flow without ridge and schedules",
            problem, "drop them")  # fmt: skip
    rows = problem.data.samples
    require(
        rows <= MOST_ROWS, f"the lemmas need at most {MOST_ROWS} rows, whose kernel they take apart", rows, "use fewer"
    )
    require(solution.replicas is None and solution.dataset.sizes["coordinate"] == problem.D,
            "the lemmas need one run kept in full coordinates", solution, 'solve with keep="full"')  # fmt: skip
    return _both_sides(solution, derivative(problem, reduced=False), float(problem.alpha))


def _both_sides(solution: Solution, of: Derivative, alpha: float) -> dict[str, Lemma]:
    clouds = [jnp.asarray(theta) for theta in solution.dataset["theta"].values]
    weights, times = jnp.asarray(solution.dataset["weights"].values), solution.times
    spectra = [np.linalg.eigvalsh(of.gram_matrix(theta, weights)) / alpha**2 for theta in clouds]
    least, most = max(min(s[0] for s in spectra), 0.0), max(s[-1] for s in spectra)
    moved = np.array([float(jnp.sqrt(weights @ jnp.sum((t - clouds[0]) ** 2, axis=1))) for t in clouds])
    turned = np.array([0.0, *(of.norm(theta, weights, minus=clouds[0]).value for theta in clouds[1:])])
    bent = np.array([_bend(of, clouds[0], theta) for theta in clouds])
    travel = np.sqrt(most) / (alpha * least) * np.sqrt(solution.risk[0]) if least > 0 else np.inf
    sides = {
        "decay": (solution.risk, solution.risk[0] * np.exp(-4 * least * times)),
        "lipschitz": (turned, bent * moved),
        "travel": (moved, np.full_like(times, travel)),
    }
    return {name: Lemma(name, times, *both) for name, both in sides.items()}


def _bend(of: Derivative, start: Array, end: Array) -> float:
    """The largest ‖D²f‖ found on the way from one θ to another."""
    return max(of.bend(start + share * (end - start)).value for share in BETWEEN)
