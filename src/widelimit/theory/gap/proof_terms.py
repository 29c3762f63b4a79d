"""The proof that SGD follows its limit, taken apart along a run: which inequality loses how much?

    |θ_i^k − θ̄_i^{kε}| ≤ E_1 + E_2 + E_3,       F the sample force, G = −∇Ψ, [s] = ε⌊s/ε⌋

    E_1 = 2 ∫ |M (ξ(s) G(θ̄^s; ρ_s) − ξ([s]) G(θ̄^{[s]}; ρ_{[s]}))| ds                 schedule and time discretisation
    E_2 = 2 ∫ |ξ([s]) M (G(θ̄^{[s]}; ρ_{[s]}) − G(θ^{⌊s/ε⌋}; ρ_{[s]}))| ds             Lipschitz in θ
    E_3 = 2 |ε Σ ξ M (F_i(θ^k; z_{k+1}) − G(θ_i^k; ρ_{kε}))|                           martingale F − G(·; ρ^N), and
                                                                                      sampling G(·; ρ^N) − G(·; ρ)
    Grönwall:  Δ(t) = max_{i, s ≤ t} |θ_i − θ̄_i| ≤ sup_{s ≤ t} max_i (E_1 + E_3) · exp(2 ∫ L ds)

    L along the run   L_k = max_i |ξ M (G(θ_i) − G(θ̄_i))|/|θ_i − θ̄_i|: the least constant that E_2 has there
    one L             the largest curvature ‖M ∇²Ψ(θ̄_i; ρ_s)‖, over all tracers, saves and directions

Each line loses a factor against the one before: norms inside sums, one constant for all neurons, one for all times.
They are in `losses`. The envelopes hold for this very run; the theorem has worst-case constants in place of them.
Reference: [mmn18], [mmm19].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from widelimit.arguments import instance_of
from widelimit.dynamics.methods import SGD, NonlinearFlow
from widelimit.dynamics.nonlinear_flow import Passive
from widelimit.dynamics.particle_flow import Interacting
from widelimit.dynamics.rules import rules_of
from widelimit.dynamics.sgd import iteration
from widelimit.errors import require, require_keywords
from widelimit.potentials.landscapes import landscape
from widelimit.problem.data.data_law import require_finite
from widelimit.problem.mobility import check_mobility
from widelimit.problem.problem import Problem
from widelimit.problem.schedules import check_schedule
from widelimit.solving.clock import Chunk
from widelimit.solving.placement import initial_neurons, initial_points
from widelimit.solving.settings import Settings, save_times
from widelimit.solving.streams import streams
from widelimit.theory.fixed_points.stability import hessians
from widelimit.theory.gap.bounds import gronwall
from widelimit.theory.gap.coupled_steps import Both, CoupledSteps, started

TERMS = ("E1", "E2", "E3", "martingale", "sampling")
FEWEST = 2  # steps in a run


class ProofOptions(TypedDict, total=False):
    """What may be asked of `proof_terms` by keyword."""

    seed: int
    save: int | Sequence[float]
    points: int


@dataclass(frozen=True, eq=False)
class ProofTerms:
    """The terms of the proof along a coupled run of SGD and the tracers.

    dataset   terms (term, time, neuron) with the terms E1, E2, E3, martingale, sampling; distance |θ_i − θ̄_i|
              (time, neuron); growth 2∫L ds along the run (time,) and worst, the curvature of every save (time,)

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.single_index(3, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
    >>> found = wl.proof_terms(problem, n=4, step=0.01, t_end=0.1, save=3, points=16)
    >>> bool((found.total >= found.distance).all())
    True
    """

    dataset: xr.Dataset

    @property
    def times(self) -> np.ndarray:
        """Save times t, (time,)."""
        return self.dataset["time"].values

    @property
    def distance(self) -> np.ndarray:
        """|θ_i − θ̄_i|, (time, neuron)."""
        return self.dataset["distance"].values

    @property
    def delta(self) -> np.ndarray:
        """Δ(t) = max over neurons and earlier saves, (time,)."""
        return np.maximum.accumulate(self.distance.max(axis=1))

    def term(self, name: str) -> np.ndarray:
        """One term, (time, neuron): "E1", "E2", "E3", "martingale" or "sampling"."""
        require(name in TERMS, f"a term must be one of {', '.join(TERMS)}", name, 'try term("E3")')
        return self.dataset["terms"].sel(term=name).values

    @property
    def total(self) -> np.ndarray:
        """E_1 + E_2 + E_3, (time, neuron)."""
        return self.term("E1") + self.term("E2") + self.term("E3")

    @property
    def forcing(self) -> np.ndarray:
        """max_i (E_1 + E_3), (time,)."""
        return (self.term("E1") + self.term("E3")).max(axis=1)

    @property
    def envelope(self) -> np.ndarray:
        """Grönwall with the Lipschitz constants L_k of this run, (time,)."""
        return gronwall(self.forcing, self.dataset["growth"].values)

    @property
    def constant(self) -> float:
        """The one L of the whole run: the largest ξ‖M ∇²Ψ‖."""
        return float(self.dataset["worst"].max())

    @property
    def worst_envelope(self) -> np.ndarray:
        """Grönwall with one L for all times, but no less than along the run, (time,)."""
        growth = np.maximum(2 * self.constant * self.times, self.dataset["growth"].values)
        return gronwall(self.forcing, growth)

    @property
    def losses(self) -> dict[str, float]:
        """By which factor each inequality of the proof exceeds the one before, at the last save."""
        lines = {
            "norms inside the sums": float(self.total.max()),
            "Lipschitz constants and Grönwall": float(self.envelope[-1]),
            "one constant for all times": float(self.worst_envelope[-1]),
        }
        sizes = [float(self.delta[-1]), *lines.values()]
        return {name: late / early for name, early, late in zip(lines, sizes[:-1], sizes[1:], strict=True)}

    @property
    def sentence(self) -> str:
        """What the proof makes of the distance, and which of its inequalities loses the most."""
        lossiest = max(self.losses, key=self.losses.__getitem__)
        return (
            f"Δ = {self.delta[-1]:.3g} at t = {self.times[-1]:g} is bounded by {self.worst_envelope[-1]:.3g}, "
            f"{math.prod(self.losses.values()):.3g} times as much; most is lost by {lossiest}, × "
            f"{self.losses[lossiest]:.3g}."
        )

    def table(self) -> list[dict[str, float]]:
        """The largest of every term over the neurons, at every save."""
        return [
            {"t": float(t), "distance": float(self.delta[i]), **{n: float(self.term(n)[i].max()) for n in TERMS},
             "total": float(self.total[i].max()), "envelope": float(self.envelope[i])}
            for i, t in enumerate(self.times)
        ]  # fmt: skip

    def __repr__(self) -> str:
        lost = ", ".join(f"{name} × {factor:.3g}" for name, factor in self.losses.items())
        return f"<ProofTerms: {self.sentence[:-1]} ({lost})>"


def proof_terms(problem: Problem, n: int, step: float, t_end: float, **options: Unpack[ProofOptions]) -> ProofTerms:
    """Run SGD and the tracers of the limit from the same neurons, and sum the terms of the proof along the way.

    n, step   width and step of SGD
    t_end     horizon

    and by keyword

    seed      of the neurons and the samples (0): those of `wl.solve` and `wl.compare`
    save      how many times to save at (41), or the times
    points    that carry the limit (400)

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.single_index(3, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
    >>> found = wl.proof_terms(problem, n=4, step=0.01, t_end=0.1, save=3, points=16)
    >>> list(found.losses)
    ['norms inside the sums', 'Lipschitz constants and Grönwall', 'one constant for all times']
    """
    instance_of(Problem, problem, "proof_terms", "build one first")
    require_keywords(options, ProofOptions.__annotations__)
    method = SGD(n, step)
    limit = NonlinearFlow(n, "full", options.get("points", 400))
    asked = Settings(t_end=t_end, seed=options.get("seed", 0), save=options.get("save", 41))
    _check(problem.at_width(n), asked.t_end)
    problem, k_end = problem.at_width(n), round(asked.t_end / step)
    require(k_end >= FEWEST, f"a run needs {FEWEST} steps or more", k_end, "lower the step")
    ends = sorted({round(t / step) for t in save_times(asked.save, asked.t_end)} - {0})
    theta = initial_neurons(problem, asked.seed, n, False, None)
    points, weights = initial_points(problem, limit.points, limit.placement)
    coupled = _coupled(problem, method, theta, weights)
    keys = (streams(asked.seed, "data", None), streams(asked.seed, "noise", None))
    both, found, k = started(theta, points), [], 0
    for end in [0, *(e for e in ends if e <= k_end)]:
        both, k = coupled.advance(both, keys, Chunk(k, end, float(end))), end
        land = coupled.land.in_motion(both.theta)
        coupled = coupled if land is coupled.land else replace(coupled, land=land)
        found.append(_reading(coupled, both, k * step))
    require(all(np.isfinite(part).all() for one in found for part in one.values()),
            "the terms of the proof need a run that does not diverge", step, "lower the step")  # fmt: skip
    over = {
        "terms": ("term", "time", "neuron"),
        "distance": ("time", "neuron"),
        "growth": ("time",),
        "worst": ("time",),
    }
    stacked = {name: np.stack([one[name] for one in found], axis=1 if name == "terms" else 0) for name in over}
    times = [k * step for k in (0, *(e for e in ends if e <= k_end))]
    return ProofTerms(
        xr.Dataset(
            {name: (dims, stacked[name]) for name, dims in over.items()},
            {"time": times, "term": list(TERMS)},
            {"n": n, "step": step, "seed": asked.seed},
        )
    )


def _check(problem: Problem, t_end: float) -> None:
    """What the proof asks for."""
    require_finite(problem.data.d, "SGD")
    require(not problem.is_noisy, "proof_terms needs a problem without noise, beta = inf", problem.beta, "drop beta")
    require(problem.neuron.inner == "free", "proof_terms needs inner weights that are free", problem.neuron,
            'leave inner="sphere" out')  # fmt: skip
    require(problem.rates.is_constant, "proof_terms needs mobilities that do not change in time", problem.mobility,
            "give numbers")  # fmt: skip
    check_schedule(problem.schedule, t_end)
    check_mobility(problem.rates, t_end)
    begins = math.isfinite(float(problem.schedule(jnp.asarray(0.0))))
    require(begins, "the proof needs a schedule that is finite at t = 0", problem.schedule,
            "try schedules.exponential(0.1)")  # fmt: skip


def _coupled(problem: Problem, method: SGD, theta: Array, weights: Array) -> CoupledSteps:
    """Both dynamics of a problem, ready to go."""
    own, seen = (replace(rules_of(problem, reduced), xi=problem.schedule) for reduced in (True, False))
    flow = Passive(Interacting(landscape(problem, reduced=True), own, weights), seen)
    flow = flow.on(flow.limit.land.in_motion(seen.columns.reduce(theta)))
    return CoupledSteps(iteration(problem, method), flow, landscape(problem).in_motion(theta))


def _reading(coupled: CoupledSteps, both: Both, t: float) -> dict[str, np.ndarray]:
    """The terms at a save, (term, neuron), and what goes with them."""
    sums, (points, tracers) = both.sums, both.state
    parts = (sums.martingale + sums.sampling, sums.martingale, sums.sampling)
    return {
        "terms": np.stack([sums.drift, sums.apart, *(np.linalg.norm(part, axis=1) for part in parts)]),
        "distance": np.linalg.norm(both.theta - tracers, axis=1), "growth": np.asarray(sums.growth),
        "worst": np.asarray(_curvature(coupled.flow.limit, coupled.flow.rules.columns.reduce(tracers), points, t)),
    }  # fmt: skip


def _curvature(limit: Interacting, theta: Array, points: Array, t: float) -> float:
    """The largest ‖ξ M ∇²Ψ‖ at rows of θ in reduced coordinates, rotations inside the groups included."""
    columns, at = limit.rules.columns, (theta, limit.rules.seen(points), limit.weights)
    H, slope, rates = (
        np.asarray(x) for x in (hessians(limit.land, *at), limit.land.gradient(*at), limit.rules.rates(t))
    )
    largest = np.linalg.norm(rates[:, None] * H, ord=2, axis=(1, 2)).max()
    radial = columns.is_radius()
    r = np.asarray(theta)[:, radial]
    turned = np.where(r > 0, slope[:, radial] / np.where(r > 0, r, 1.0), 0.0)
    return float(max(largest, np.abs(rates[radial] * turned).max(initial=0.0)))
