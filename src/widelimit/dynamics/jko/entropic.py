"""One step of minimising movements with noise in two coordinates: entropic transport on a grid.

    min over plans P, P 1 = m_k, of   ⟨P, c⟩ + ε Σ P log P + η [E(m) − β^{-1} Σ m log v + κ Σ m log m],     m = Pᵀ 1

    c   |θ − θ'|²_{M^{-1}}/2 between centres;   v   volumes of the cells;   E = ½ R + λ Σ m v(θ)
    ε = η/β,   κ = 1/β − ε/(2η) = 1/(2β)

The entropy of the plan blurs like a diffusion of strength ε/(2η): it does half of the noise and the entropy of m the
other half, so that the scheme is of order 1 in η. For given Ψ this is semi-unbalanced transport to
exp(−(Ψ − β^{-1} log v)/κ) with the penalty ηκ KL, solved by Sinkhorn's iteration (POT), which contracts by 1/3; Ψ
belongs to the new m, found by Anderson's mixing of the residuals. The grid must resolve the blur: √ε must be at least
the width of a cell. The scheme comes to rest beside the Gibbs law, at a distance of order η.
References: [p15], [jko98].
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from widelimit.dynamics.finite_volume.fluxes import Terrain, terrain_of
from widelimit.dynamics.finite_volume.grid import Mass, initial_grid
from widelimit.dynamics.jko.unsolved import Unsolved
from widelimit.dynamics.methods import JKO
from widelimit.dynamics.rules import rules_of
from widelimit.errors import InputError, require
from widelimit.on_first_use import OnFirstUse
from widelimit.potentials.damped_newton import Lowest
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.potentials.refinement import ON_CELLS
from widelimit.problem.problem import Problem
from widelimit.solving.clock import proximal_steps, whole_steps
from widelimit.solving.protocol import CellView, Run, Tick

ot = OnFirstUse("ot")
optimize, distance = OnFirstUse("scipy.optimize"), OnFirstUse("scipy.spatial.distance")

CELLS = 40
MOST_CELLS = 20_000  # whose plan still fits in memory
CROWDED = 1e-7  # mass in the outermost cells that makes the grid grow
NO_MASS = 1e-11  # a cell with less mass sends nothing
OUT_OF_REACH = 1e-60  # a cell that receives less than this is left out of the plan
FIXED_POINT = 100
SINKHORN = 1000
ENOUGH = 1e-8  # change of the residuals, and of Sinkhorn's scalings


@dataclass(frozen=True)
class Transport:
    """The problem of one step on one grid, for a step η in the metric of the rates."""

    terrain: Terrain
    cost: np.ndarray  # c between all cells, (n, n)
    beta: float
    eta: float

    def moved(self, masses: np.ndarray) -> Lowest[np.ndarray]:
        """Masses (n,) after the step."""
        penalty, volumes = (np.asarray(x).ravel() for x in (self.terrain.penalty, self.terrain.log_volumes))
        root, fit = self.terrain.fit.whitened()  # residuals scaled by 1/√p
        plan, features = self._plans(masses), root * np.asarray(self.terrain.features)

        def following(residual: np.ndarray) -> Lowest[np.ndarray]:
            return plan(features @ residual + penalty - volumes / self.beta)

        def change(residual: np.ndarray) -> np.ndarray:
            return fit.residual(following(residual).point @ features) - residual

        start = fit.residual(masses @ features)
        try:
            found, settled = optimize.anderson(change, start, M=6, f_tol=ENOUGH, maxiter=FIXED_POINT), True
        except optimize.NoConvergence as stopped:
            found, settled = stopped.args[0], False
        there = following(found)
        return Lowest(there.point, settled and there.found)

    def _plans(self, masses: np.ndarray) -> Callable[[np.ndarray], Lowest[np.ndarray]]:
        """Potential (n,) ↦ the second marginal of the best plan, among the cells that mass can leave and reach."""
        epsilon, kappa = self.eta / self.beta, 0.5 / self.beta
        rows = np.flatnonzero(masses > NO_MASS)
        source = masses[rows] / masses[rows].sum()
        columns = np.flatnonzero(source @ np.exp(-self.cost[rows] / epsilon) > OUT_OF_REACH)
        cost = self.cost[np.ix_(rows, columns)]
        plain = np.ones_like(cost)
        scalings: list[tuple[np.ndarray, np.ndarray] | None] = [None]  # of the plan before

        def plan(psi: np.ndarray) -> Lowest[np.ndarray]:
            target = np.exp(-(psi[columns] - psi[columns].min()) / kappa)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, log = ot.unbalanced.sinkhorn_unbalanced(
                    source, target, cost, epsilon, (math.inf, self.eta * kappa), c=plain, warmstart=scalings[0],
                    stopThr=ENOUGH, numItermax=SINKHORN, log=True,
                )  # fmt: skip
            scalings[0] = (log["logu"], log["logv"])
            following = np.zeros_like(masses)
            following[columns] = found.sum(axis=0)
            return Lowest(following / following.sum(), log["err"][-1] <= ENOUGH)

        return plan


def entropic_run(method: JKO, problem: Problem) -> Run:
    """The scheme, ready for the driver."""
    rates = np.asarray(rules_of(problem, reduced=True).rates(0.0))
    grid, masses = initial_grid(problem, method.cells or CELLS, None)
    land, unsolved = landscape(problem, reduced=True), Unsolved()
    assert isinstance(land, FeatureLandscape)
    good = bool((rates > 0).all()) and problem.rates.is_constant
    wanted = "JKO with noise in two coordinates needs rates that are positive and constant"
    require(good, wanted, problem.mobility, "use FiniteVolume")

    def transport(state: Mass, eta: float) -> Transport:
        widths = np.array([axis.width for axis in state.grid.axes]) / np.sqrt(rates)
        _require_seen(widths, eta, problem.beta)
        theta = state.density().theta / np.sqrt(rates)
        return Transport(
            terrain_of(land, state.grid, problem.beta),
            distance.cdist(theta, theta, "sqeuclidean") / 2,
            problem.beta,
            eta,
        )

    def one_step(state: Mass, eta: float) -> Lowest[Mass]:
        while True:
            found, solved = transport(state, eta).moved(state.masses.ravel())
            moved = found.reshape(state.masses.shape)
            crowded = state.grid.crowded(moved, CROWDED)
            if not crowded.any():
                return Lowest(Mass(state.grid, moved), solved)
            wider = state.grown(crowded)
            if math.prod(wider.grid.shape) > MOST_CELLS:
                return Lowest(state.failed(), True)
            state = wider

    def advance(state: Mass, start: float, stop: float, tick: Tick) -> Mass:
        for step in proximal_steps(problem, method.step, start, stop):
            state, solved = one_step(state, step.eta)
            if not np.isfinite(state.masses).all():
                break
            if not solved:
                unsolved.add(step.end)
            tick(step.end)
        return state

    advice = f"the mass leaves every grid of {MOST_CELLS} cells: use fewer cells, or FiniteVolume"
    view = CellView(land, problem.beta, Mass.density)
    return Run(
        Mass(grid, masses), advance, view, whole_steps(method.step), advice, slopes=ON_CELLS, notes=unsolved.notes,
        remark=unsolved.remark,
    )  # fmt: skip


def _require_seen(widths: np.ndarray, eta: float, beta: float) -> None:
    blur = math.sqrt(eta / beta)
    if blur < widths.max():
        raise InputError(
            f"the noise of a step must reach at least one cell, √(2 step/β) >= {widths.max():.3g}, got {blur:.3g} for "
            f"a step of {eta / 2:.3g}: raise step or cells, end at a multiple of step, or use FiniteVolume."
        )
