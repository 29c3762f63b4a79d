"""Three neurons in the plane: the external force, the interaction, their sum, and the step they make.

    θ_i += 2 s (y − f(x)) ∇σ*(x; θ_i)        on average    2 s (−∇V(θ_i) − (1/N) Σ_j ∇U(θ_i, θ_j)) = −2 s ∇Ψ(θ_i; ρ^N)

    external force   −∇V = −∇Ψ(·; δ_0): a neuron at w = 0 is silent, and interacts with none
    interaction      −∇Ψ(·; ρ^N) + ∇V

The label is that of one neuron, the patch that all are pulled to, on normal inputs.
Reference: Lovig 2025, "Three atom example".
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import erf

from widelimit.dynamics.methods import SGD, ParticleFlow
from widelimit.dynamics.solve import solve
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import Claim, Measurement, Parameter
from widelimit.experiments.catalogue.drawing import DrawnLine, Panel, arrows, measured, published, theory
from widelimit.potentials.landscapes import landscape
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem

ATOMS = np.array([[1.2, 1.0], [0.4, 1.5], [-0.8, 0.9]])
SILENT = np.zeros((1, 2))
STEP = 1e-3  # of the samples that are averaged: any, for one step
FRAMES = 25
TURN = np.linspace(0.0, 2 * math.pi, 33)


def measure(asked: Asked) -> Outcome:
    """The forces from the landscape, the mean step from samples, and the flow that follows."""
    teacher = asked.number("teacher")
    x = np.random.default_rng(0).normal(size=(asked.count("rows"), 2))
    rows = data.empirical(x, erf(teacher * x[:, 0]))
    problem = Problem(rows, neurons.ridge("erf"), initial.array(ATOMS, coordinates="full"))
    land = landscape(problem)
    external = -np.asarray(land.grad_psi(ATOMS, SILENT))
    total = -np.asarray(land.grad_psi(ATOMS, ATOMS))
    inner, step = total - external, 2 * asked.number("s") * total
    drawn = solve(problem, SGD(len(ATOMS), STEP), STEP, save=[STEP], keep="full", replicas=asked.count("samples"))
    forces = (drawn.dataset["theta"].values[:, -1] - ATOMS) / (2 * STEP)
    error = forces.std(axis=0, ddof=1) / math.sqrt(len(forces))
    patch = published("patch of the label", teacher + 0.15 * np.cos(TURN), 0.15 * np.sin(TURN))
    panels = (
        _panel("External force", patch, arrows(r"$-2\nabla V$", ATOMS, 2 * external)),
        _panel("Interaction", patch, arrows(r"$-2\int\nabla U\,d\rho$", ATOMS, 2 * inner, 1)),
        _panel("Sum", patch, [*arrows(r"$-2\nabla\Psi$", ATOMS, 2 * total, 2),
                              *arrows("mean of samples", ATOMS, 2 * forces.mean(axis=0), 3)]),
        _panel("Step", patch, [*arrows(r"$-2s\,\nabla\Psi$", ATOMS, step, 2),
                               _points("after", ATOMS + step, 4)]),
    )  # fmt: skip
    flow = solve(problem, ParticleFlow(len(ATOMS)), asked.number("t_end"), save=FRAMES, keep="full")
    return Outcome(
        {"samples": Measurement(float(np.max(np.abs(forces.mean(axis=0) - total) / error))),
         "repulsion": Measurement(_spreading(inner)),
         "descent": Measurement(float(land.risk(ATOMS + step) / land.risk(ATOMS)))},
        panels, film=tuple(_frame(flow.times, flow.dataset["theta"].values, flow.risk, k, patch)
                           for k in range(FRAMES)),
    )  # fmt: skip


def _spreading(force: np.ndarray) -> float:
    """Rate at which the mean distance of two neurons grows along a force."""
    pairs = list(itertools.combinations(range(len(ATOMS)), 2))
    apart = [ATOMS[i] - ATOMS[j] for i, j in pairs]
    return float(
        np.mean([(force[i] - force[j]) @ e / np.linalg.norm(e) for (i, j), e in zip(pairs, apart, strict=True)])
    )


def _panel(title: str, patch: DrawnLine, drawn: list[DrawnLine]) -> Panel:
    return Panel(title, "$w_1$", "$w_2$", (patch, _points("neurons", ATOMS, 5), *drawn))


def _points(label: str, rows: np.ndarray, colour: int) -> DrawnLine:
    return measured(label, rows[:, 0], rows[:, 1], colour)


def _frame(times: np.ndarray, theta: np.ndarray, risk: np.ndarray, k: int, patch: DrawnLine) -> tuple[Panel, ...]:
    """The neurons at one time, the way they have come, and the risk up to it."""
    trails = [theory("", theta[: k + 1, i, 0], theta[: k + 1, i, 1], i) for i in range(len(ATOMS))]
    plane = Panel(f"$t={times[k]:.1f}$", "$w_1$", "$w_2$", (patch, *trails, _points("neurons", theta[k], 5)))
    return plane, Panel("Risk", "$t$", "risk $R$", (theory("", times[: k + 1], risk[: k + 1]),))


THREE_ATOMS = CatalogueEntry(
    "three-atoms", "l25", "external force, interaction, sum and step of three neurons in the plane",
    (
        Parameter("neurons", 3, "sure"), Parameter("s", 0.5, "sure"), Parameter("teacher", 1.5, "chosen"),
        Parameter("rows", 256, "chosen"),
        Parameter("samples", 16384, "chosen", quick=4096), Parameter("t_end", 20.0, "chosen"),
    ),
    (
        Claim("samples", "The step of a sample is −2s∇Ψ on average: largest deviation in standard errors.",
              "Passing to the limit", 4.0, "theory", "at most", 0.0, "six normal numbers exceed 4 once in 2,600 times",
              "another factor or sign of one of the forces"),
        Claim("repulsion", "The interaction drives neurons apart: growth of their mean distance.", "3 Atom Example",
              0.0, "text", "at least", 0.0, "a sign", "neurons that attract each other"),
        Claim("descent", "The step lowers the risk: R after over R before.", "3 Atom Example", 1.0, "theory",
              "at most", 0.0, "a sign: the step goes down the mean risk", "a risk that rises"),
    ),
    Seconds(10, 15), measure,
)  # fmt: skip
