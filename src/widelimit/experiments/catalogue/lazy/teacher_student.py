"""The student and the teacher of [cob19]: ReLU neurons on the unit sphere.

    f(x) = s Σ_j a_j relu(⟨w_j, x⟩),   a_j, w_j ~ τ N(0, 1) in pairs (a, w), (−a, w),      s = 1 where nothing is said
    y = Σ_{k ≤ 3} c_k relu(⟨v_k, x⟩),  |x| = |v_k| = 1,  c_k = ±1                          the teacher

A sum of m neurons is a mean of scale α = s m. Gradient descent θ ← θ − η ∇(1/n) Σ (y − f)², of which one step takes
the time η α of ours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widelimit.dynamics.methods import GD
from widelimit.dynamics.solve import solve
from widelimit.observables.risk import test_risk
from widelimit.problem import data, initial, neurons
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution

SIGNS = np.array([1.0, -1.0, 1.0])  # of the teacher


class Rows(NamedTuple):
    """Inputs (n, d) and labels (n,)."""

    x: np.ndarray
    y: np.ndarray


class Student(NamedTuple):
    """Its width, the size τ of its start, and s."""

    m: int
    tau: float = 1.0
    scale: float = 1.0


class Trained(NamedTuple):
    """A student after training.

    test    mean (y − f)² on rows it has not seen
    train   that on its own
    moved   |θ_T − θ_0|/|θ_0|
    """

    test: float
    train: float
    moved: float


def teacher_rows(d: int, counts: tuple[int, ...], seed: int) -> list[Rows]:
    """Sets of rows that one teacher has labelled.

    >>> teacher_rows(4, (3, 2), 0)[0].x.shape
    (3, 4)
    """
    rng = np.random.default_rng(seed)
    v = _on_sphere(rng.normal(size=(len(SIGNS), d)))
    inputs = [_on_sphere(rng.normal(size=(count, d))) for count in counts]
    return [Rows(x, np.maximum(x @ v.T, 0) @ SIGNS) for x in inputs]


def _on_sphere(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def problem_of(rows: Rows, student: Student) -> Problem:
    """What the student is asked."""
    start = initial.gaussian(student.tau * math.sqrt(rows.x.shape[1]), a=initial.normal(0.0, student.tau))
    law, alpha = data.empirical(rows.x, rows.y), student.scale * student.m
    return Problem(law, neurons.ridge("relu", "trained"), initial.paired(start), alpha=alpha)


def descent(rows: Rows, student: Student, rate: float, steps: int, **options: object) -> Solution:
    """Gradient descent with η = ``rate``; options are those of `solve`."""
    method = GD(student.m, rate * student.scale * student.m)
    return solve(problem_of(rows, student), method, method.step * steps, keep="full", **options)  # type: ignore[arg-type]


def trained(run: Solution, rows: Rows) -> Trained:
    """What a run has led to, on other rows."""
    theta = run.dataset["theta"].values
    moved = np.linalg.norm(theta[-1] - theta[0]) / np.linalg.norm(theta[0])
    test = test_risk(run.problem, run.final, rows.x, rows.y).risk
    return Trained(float(test), float(run.risk[-1]), float(moved))
