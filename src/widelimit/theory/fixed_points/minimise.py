"""The best network of any width: the global minimum over measures.

    min_ρ  E(ρ) = ½ R(ρ) + λ ∫v dρ

Scheme: fully corrective conditional gradient with particle polish [cb18]. ρ is a few atoms.

    1. start     the best single atom
    2. certify   g = ∫Ψ dρ − inf Ψ (widelimit.theory.fixed_points.certificate); stop if the gap is below the tolerance
    3. add       the neurons where Ψ is lowest, and every other local minimum met that is below ∫Ψ dρ
    4. weights   the best ones on the simplex (widelimit.potentials.simplex_weights); atoms without weight leave
    5. polish    positions and weights together, by a local minimiser; then 4 again

The problem over measures is convex, so that the gap of step 2 decides, whatever the local minimisers do. What comes out
is below every network of any width by no more than the gap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.arguments import instance_of
from widelimit.errors import require, require_count, require_positive
from widelimit.measures import Cloud
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.simplex_weights import simplex_weights
from widelimit.problem.problem import Problem
from widelimit.theory.fixed_points.certificate import POINTS, Certificate, Examined, examined
from widelimit.theory.fixed_points.infimum import Probe, apart, downhill, probe
from widelimit.theory.fixed_points.neuron_classes import Allowed, allowed

FEWEST = 8  # atoms for which the polish is compiled; twice as many when they are more
SINGLE = 10  # starts for the best single atom
SAME = 1e-6  # relative distance of two atoms that are one
ROUNDS = 100
PATIENCE = 3  # rounds without a lower value
FEW = 6  # atoms let in at a time
FAR = 2.0**24  # in place of a radius of infinity: farther out, rounding costs more than is gained
LARGE = 1e3  # entry of a neuron beyond which, with a regulariser, only its direction counts
OPTIONS = {"ftol": 1e-17, "gtol": 1e-14, "maxiter": 500, "maxcor": 30}


class Round(NamedTuple):
    """One round: the value reached, its gap, and the number of atoms."""

    value: float
    gap: float
    atoms: int


@dataclass(frozen=True, eq=False)
class Minimum:
    """The best network found, and how far it may be from the best of any width.

    rho          its atoms and weights, a Cloud in reduced coordinates where the data allow them
    risk         R
    certificate  of rho; its ``gap`` bounds what is left
    history      value, gap and number of atoms of every round
    converged    whether the gap is below the tolerance

    >>> import widelimit as wl
    >>> rho = wl.Cloud([[1.0]], [1.0], ("r",))
    >>> bound = wl.Certificate("R", 0.1, 0.01, 0.0, 0.0, None, ("r",), "starts", False)
    >>> wl.Minimum(rho, 0.1, bound, (Round(0.1, 0.01, 1),), False).gap
    0.01
    """

    rho: Cloud
    risk: float
    certificate: Certificate = field(repr=False)
    history: tuple[Round, ...] = field(repr=False)
    converged: bool

    @property
    def gap(self) -> float:
        """Upper bound of how far the objective is above its infimum."""
        return self.certificate.gap

    @property
    def value(self) -> float:
        """The objective: R, with a regulariser E."""
        return self.certificate.value


def minimise(
    problem: Problem,
    *,
    tolerance: float = 1e-8,
    atoms: int | None = None,
    within: Mapping[str, float] | None = None,
    points: int = POINTS,
) -> Minimum:
    """The global minimum of R (of E with a regulariser) over networks of any width.

    tolerance  gap at which to stop
    atoms      the best network of at most so many different neurons instead; 1 for the best single atom
    within     bounds of blocks, such as {"a": 5.0}, see `certificate`
    points     of the search for neurons

    >>> import widelimit as wl
    >>> ramp = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
    >>> problem = wl.Problem(wl.data.gaussian_classes(float("inf"), 0.8), ramp, wl.initial.gaussian(0.8))
    >>> best = wl.minimise(problem)
    >>> best.risk < 1e-8, best.converged
    (True, True)
    """
    instance_of(Problem, problem, "minimise", "build one first")
    require(not problem.is_noisy, "minimise is without noise, beta = inf", problem.beta, "use wl.gibbs")
    require_positive("tolerance", tolerance, "1e-8")
    require_count("points", points, "8192")
    if atoms is not None:
        require_count("atoms", atoms, "1")
    fixed = [name for name, moves in zip(problem.neuron.scalars, problem.neuron.trained, strict=True) if not moves]
    require(not fixed, "minimise moves every block", f"{', '.join(fixed)} fixed", "train it, or bound it by within")
    land = landscape(problem, reduced=not problem.no_reduction and bool(problem.groups))
    assert isinstance(land, FeatureLandscape)
    here = probe(land, allowed(problem, land.penalty.columns, np.empty((0, land.penalty.columns.D)), within), points)
    return _Search(here, tolerance, atoms or math.inf).found()


@dataclass(frozen=True)
class Atoms:
    """ρ = Σ_i w_i δ(θ_i)."""

    theta: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class _Search:
    here: Probe
    tolerance: float
    most: float

    @property
    def land(self) -> FeatureLandscape:
        return self.here.field.land

    def found(self) -> Minimum:
        history: list[Round] = []
        now, patience = self.single(), PATIENCE
        while True:
            seen = examined(self.here, self.cloud(now))
            bound = seen.certificate
            lower = not history or bound.value < history[-1].value * (1 - 1e-12)
            patience = PATIENCE if lower else patience - 1
            history.append(Round(bound.value, bound.gap, len(now.w)))
            if bound.gap <= self.tolerance or len(history) > ROUNDS or not patience or len(now.w) >= self.most:
                break
            now = self.corrected(now, seen)
        rho = self.cloud(now)
        risk = float(self.land.risk_of(*self.land.measure(rho)))
        return Minimum(rho, risk, bound, tuple(history), bound.gap <= self.tolerance)

    def cloud(self, now: Atoms) -> Cloud:
        return Cloud(now.theta, now.w, self.land.coordinates)

    def single(self) -> Atoms:
        """The best single atom: ½ |Φ − y|² + λ v on the points of the search, then downhill."""
        fit = self.land.fit.whitened()[1]
        alone = ((self.here.features - fit.y) ** 2).sum(axis=1) / 2 + self.here.penalty
        starts = apart(self.here.theta[np.argsort(alone)], SINGLE)
        tried = [self.polished(Atoms(start[None], np.ones(1))) for start in starts]
        return min(tried, key=self.value)

    def value(self, now: Atoms) -> float:
        features, penalty = self.here.field.evaluated(now.theta)
        return float(self.land.fit.whitened()[1].risk(now.w @ features) / 2 + now.w @ penalty)

    def corrected(self, now: Atoms, seen: Examined) -> Atoms:
        """Steps 3 to 5; the polish is kept only if it is lower."""
        features, penalty = self.here.field.evaluated(now.theta)
        v = self.land.fit.whitened()[1].residual(now.w @ features)
        met = np.concatenate([seen.infimum.neuron[None], seen.infimum.others])
        met = np.where(np.isfinite(met), met, FAR)
        if float(self.land.penalty.ridge) > 0:  # a runaway neuron stands for its ray
            met = met * np.minimum(1.0, LARGE / np.maximum(np.abs(met).max(axis=1), LARGE))[:, None]
        mean = now.w @ (features @ v + penalty)
        below = self.here.at(met, v) < mean
        fresh = apart(met[below | (np.arange(len(met)) == 0)], int(min(FEW, self.most - len(now.w))))
        theta = np.concatenate([now.theta, fresh])
        weighted = self.weighted(theta, np.append(now.w, np.zeros(len(fresh))))
        tried = [weighted]
        for _ in range(2):
            moved = self.polished(tried[-1])
            tried.append(self.weighted(moved.theta, moved.w))
        return min(tried, key=self.value)

    def weighted(self, theta: np.ndarray, w: np.ndarray) -> Atoms:
        """The best weights; atoms that coincide become one, and those without weight leave."""
        features, penalty = self.here.field.evaluated(theta)
        w = simplex_weights(features, self.land.fit.whitened()[1].y, penalty, w)
        order = np.argsort(-w)
        kept: list[int] = []
        for i in order[w[order] > 0]:
            twin = [k for k in kept if np.linalg.norm(theta[i] - theta[k]) <= SAME * (1e-9 + np.linalg.norm(theta[k]))]
            if twin:
                w[twin[0]] += w[i]
            else:
                kept.append(int(i))
        return Atoms(theta[kept], w[kept] / w[kept].sum())

    def polished(self, now: Atoms) -> Atoms:
        """Positions and weights w = z²/Σz² together, downhill; padded so that few numbers of atoms are compiled."""
        m, D = now.theta.shape
        size = max(FEWEST, 1 << (m - 1).bit_length()) if m > 1 else 1
        theta = np.concatenate([now.theta, np.repeat(now.theta[:1], size - m, axis=0)])
        z = np.append(np.sqrt(now.w), np.zeros(size - m))
        scale = 1 / max(self.value(now), 1e-300)
        land, among = self.land, self.here.among
        bounds = [*(among.bounds * size), *([(None, None)] * size)]
        start = np.concatenate([theta.ravel(), z])
        value, end = downhill(lambda x: _energy(land, among, x, scale), start, bounds, OPTIONS)
        rows = np.asarray(among.place(jnp.asarray(end[: size * D].reshape(size, D))))[:m]
        w = end[size * D :][:m] ** 2
        good = math.isfinite(value) and np.isfinite(rows).all() and w.sum() > 0
        return Atoms(rows, w / w.sum()) if good else now


@jax.jit
def _energy(land: FeatureLandscape, among: Allowed, x: Array, scale: Array | float) -> tuple[Array, Array]:
    """E times a scale, and its gradient, 0 where there is none, at x = (θ, z), w = z²/Σz²."""

    def energy(x: Array) -> Array:
        D = land.penalty.columns.D
        size = len(x) // (D + 1)
        theta, z = among.place(x[: size * D].reshape(size, D)), x[size * D :]
        w = z * z / jnp.sum(z * z)
        return scale * (land.fit.risk(w @ land.features(theta)) / 2 + w @ land.penalty(theta))

    found, gradient = jax.value_and_grad(energy)(x)
    return found, jnp.nan_to_num(gradient)
