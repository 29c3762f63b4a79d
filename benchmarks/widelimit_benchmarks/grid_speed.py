"""The noisy PDE on a grid beside the same problem in py-pde, in one run.

    ours     FiniteVolume, second order in time, adaptive
    py_pde   ∂_t p = 2 ∂_r(p ∂_r Ψ_eff) + 2 β^{-1} ∂²_r p by its own operators and its default, explicit solver,
             Ψ_eff = Ψ − β^{-1} (d − 1) log r

Two Gaussian classes, d = 40, Δ = 0.8, ReLU, λ = 0.2, β = 50: one radius, from t = 0 to 10. The same cells and features
for both, ρ saved at the end only; the time of each is the best of several turns, compiled before. Signs are compared at
β = 5000 on a quarter of the cells, where cells no longer resolve the noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from widelimit.dynamics.finite_volume.fluxes import terrain_of
from widelimit.dynamics.finite_volume.grid import initial_grid
from widelimit.dynamics.methods import FiniteVolume
from widelimit.dynamics.solve import solve
from widelimit.errors import InputError, require_count
from widelimit.measures import Density
from widelimit.potentials.feature_landscape import FeatureLandscape
from widelimit.potentials.landscapes import landscape
from widelimit.problem import activations, initial, neurons
from widelimit.problem.data.gaussian_classes import gaussian_classes
from widelimit.problem.problem import Problem
from widelimit.theory.noise.gibbs import gibbs

T_END = 10.0
BETA, COLD = 50.0, 5000.0
BOX = ((0.3, 3.3),)
SAVES = 21  # at which the lowest mass is looked for
Peer = Callable[[int], list[Density]]  # saves ↦ the densities at those times


def measure(cells: int = 400, repeats: int = 3, t_end: float = T_END) -> dict[str, Any]:
    """Seconds and distance of the risk from that of the Gibbs law on these cells; lowest mass where it is cold."""
    require_count("repeats", repeats, "3")
    require_count("cells", cells, "400")
    problem = _problem(BETA)
    peers, skipped = _peers(problem, cells, t_end)
    ends = {name: peer(2)[-1] for name, peer in peers.items()}
    seconds = {name: min(_timed(peer) for _ in range(repeats)) for name, peer in peers.items()}
    land, rest = landscape(problem, reduced=True), gibbs(problem, on=ends["ours"]).risk
    cold = {name: peer(SAVES) for name, peer in _peers(_problem(COLD), cells // 4, t_end / 5)[0].items()}
    return {
        "cells": cells, "t_end": t_end, "seconds": seconds,
        "times_faster_than": {name: cost / seconds["ours"] for name, cost in seconds.items() if name != "ours"},
        "lowest_mass_when_cold": {name: min(float(rho.masses.min()) for rho in found) for name, found in cold.items()},
        "risk_above_rest": {name: land.risk(rho) - rest for name, rho in ends.items()},
        "skipped": skipped,
    }  # fmt: skip


def _problem(beta: float) -> Problem:
    relu = neurons.ridge(activations.activation("relu"))
    return Problem(gaussian_classes(40, 0.8), relu, initial.gaussian(1.0), ridge=0.2, beta=beta)


def _peers(problem: Problem, cells: int, t_end: float) -> tuple[dict[str, Peer], dict[str, str]]:
    """Those that are installed, and why others are not there."""
    peers = {"ours": _ours(problem, cells, t_end)}
    try:
        return peers | {"py_pde": _py_pde(problem, cells, t_end)}, {}
    except InputError as reason:
        return peers, {"py_pde": str(reason)}


def _timed(peer: Peer) -> float:
    start = time.perf_counter()
    peer(2)
    return time.perf_counter() - start


def _ours(problem: Problem, cells: int, t_end: float) -> Peer:
    def run(saves: int) -> list[Density]:
        solution = solve(problem, FiniteVolume(cells, BOX), t_end, save=saves, progress=False)
        return [rho for t in solution.times if isinstance(rho := solution.at(t), Density)]

    return run


def _py_pde(problem: Problem, cells: int, t_end: float) -> Peer:
    try:
        import pde  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise InputError("the py-pde peer needs py-pde, got an environment without it: pip install py-pde.") from None
    grid, masses = initial_grid(problem, cells, BOX)
    land = landscape(problem, reduced=True)
    assert isinstance(land, FeatureLandscape)
    terrain = terrain_of(land, grid, problem.beta)
    features, penalty, volumes, width = (
        np.asarray(x) for x in (terrain.features, terrain.penalty, terrain.log_volumes, terrain.widths)
    )
    shape = pde.CartesianGrid([BOX[0]], cells)
    beta, h = problem.beta, float(width[0])

    class McKeanVlasov(pde.PDEBase):  # type: ignore[misc, unused-ignore]
        """The right-hand side as one writes it with the operators of py-pde."""

        def evolution_rate(self, state: Any, t: float = 0) -> Any:
            field = np.asarray(terrain.fit.potential(features, state.data * h @ features))
            psi = pde.ScalarField(shape, field + penalty - volumes / beta)
            drift = (state * psi.gradient({"derivative": 0})).divergence({"value": 0})
            return 2 * (drift + state.laplace({"derivative": 0}) / beta)

    def run(saves: int) -> list[Density]:
        store = pde.MemoryStorage()
        start = pde.ScalarField(shape, masses / h)
        McKeanVlasov().solve(start, t_range=t_end, tracker=store.tracker(t_end / (saves - 1)))
        return [grid.density(data * h) for data in store.data]

    return run
