"""Is a fixed point stable? The curvature of Ψ at its atoms, in every direction of the full space.

    ρ = Σ_i p_i δ(θ_i)                H_i = ∇²Ψ(θ; ρ) at θ_i, the field of ρ held fixed
    mass that leaves θ_i by δ         dδ/dτ = −2 M H_i δ,   τ = ∫ξ dt:  it comes back if H_i > 0, the atom splits if not
    rate                              2 × the least eigenvalue of M^{1/2} H_i M^{1/2}, over all atoms
    the atoms as wholes               dδ_i/dτ = −2 M [H_i δ_i + Σ_j p_j ∇∇'U(θ_i, θ_j) δ_j]

In reduced coordinates an atom at radius r_g stands for all rotations of w in the group, and Ψ depends on w through r_g:

    r_g > 0   d_g − 1 rotations of curvature (1/r_g) ∂Ψ/∂r_g, which is 0 at a fixed point: they leave ρ as it is
    r_g = 0   ∂²Ψ/∂r_g² in all d_g directions; a slope ∂Ψ/∂r_g > 0 is a cone, of curvature +∞, one < 0 of −∞

On the sphere |w| = 1 curvatures are those along it: ⟨w, ∇_wΨ⟩ is taken off and the normal direction left out. Reduced
curvatures are exact derivatives. In full coordinates neurons meet themselves, where the pairwise kernel has no second
derivative that could be written down for every activation: central differences of ∇Ψ, error from the doubled step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.errors import require, shortened
from widelimit.potentials.landscape import Landscape
from widelimit.problem.problem import Problem
from widelimit.solving.solution import Solution
from widelimit.theory.fixed_points.flow_rate import FlowRate, flow_rate
from widelimit.theory.fixed_points.given_measures import Given
from widelimit.theory.fixed_points.support import Support, support_of

MOST_ATOMS = 64  # in full coordinates
MOST_WHOLE = 512  # numbers n D for which the atoms are moved as wholes
DIFFERENCE = 2e-3  # step of central differences, relative to 1 + |θ|
SLACK = 1e-6  # a curvature this small relative to the largest is neutral


@dataclass(frozen=True, eq=False)
class Modes:
    """Directions in which an atom can be moved.

    curvatures    eigenvalues of ∇²Ψ, (modes,), ±inf at a cone
    rates         of M^{1/2} ∇²Ψ M^{1/2}, times 2
    multiplicity  how many directions each stands for
    names         "visible", or "rotations of r" for those that the reduction hides
    lowest        the visible direction of least curvature, (D,)
    error         how far curvatures may be off

    >>> Modes(np.array([1.0]), np.array([2.0]), np.array([1.0]), ("visible",), np.ones(1), 0.0).least
    1.0
    """

    curvatures: np.ndarray
    rates: np.ndarray
    multiplicity: np.ndarray
    names: tuple[str, ...]
    lowest: np.ndarray
    error: float

    @property
    def visible(self) -> np.ndarray:
        """Which modes move ρ: not the rotations that leave it as it is."""
        return np.array([not name.startswith("rotations") for name in self.names])

    @property
    def least(self) -> float:
        """The least curvature that matters."""
        return float(self.curvatures[self.visible].min(initial=math.inf))

    @property
    def splits(self) -> bool:
        """Whether mass leaves this atom."""
        large = np.abs(self.curvatures[np.isfinite(self.curvatures)]).max(initial=0.0)
        return bool(self.least < -(self.error + SLACK * large))


@dataclass(frozen=True, eq=False)
class Stability:
    """The curvatures of Ψ at the atoms of a measure.

    problem      whose flow it is
    coordinates  of the columns
    theta        the atoms, (n, D)
    weights      their masses, (n,)
    modes        of every atom
    whole        rates at which the atoms move as wholes, each with all its mass, (n D,); empty where they are too many
    gradient     max |∇Ψ|: curvatures mean something where it is 0

    >>> import widelimit as wl
    >>> line = wl.Problem(wl.data.single_index(5, "z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0), ridge=0.5)
    >>> found = wl.stability(line, [[2 / 3, 0.0]])  # Ψ = (u − 1) u + θ²/4
    >>> found.modes[0].curvatures.round(9).tolist(), found.modes[0].multiplicity.tolist()
    ([0.5, 0.5, 0.5], [1.0, 1.0, 3.0])
    """

    problem: Problem
    coordinates: tuple[str, ...]
    theta: np.ndarray
    weights: np.ndarray
    modes: tuple[Modes, ...]
    whole: np.ndarray
    gradient: float

    @property
    def least(self) -> float:
        """The least curvature over all atoms."""
        return min(mode.least for mode in self.modes)

    @property
    def splits(self) -> np.ndarray:
        """Which atoms split, (n,)."""
        return np.array([mode.splits for mode in self.modes])

    @property
    def is_stable(self) -> bool:
        """Whether no atom splits."""
        return not self.splits.any()

    @property
    def rate(self) -> float:
        """The slowest rate at which mass comes back to its atom, on the clock ∫ξ dt; < 0 if it leaves."""
        return float(min(mode.rates[mode.visible].min(initial=math.inf) for mode in self.modes))

    @property
    def error(self) -> float:
        """How far curvatures may be off."""
        return max(mode.error for mode in self.modes)

    def against(self, solution: Solution) -> FlowRate:
        """The rate at which a solution reaches these atoms, beside the one predicted here."""
        return flow_rate(solution, self.problem, self.theta, self.coordinates, self.rate)

    def table(self) -> list[dict[str, object]]:
        """One row for every atom and mode."""
        return [
            {"atom": i, "direction": name, "curvature": float(c), "rate": float(r), "multiplicity": float(m)}
            for i, mode in enumerate(self.modes)
            for name, c, r, m in zip(mode.names, mode.curvatures, mode.rates, mode.multiplicity, strict=True)
        ]

    def __repr__(self) -> str:
        word = "stable" if self.is_stable else f"{int(self.splits.sum())} of {len(self.modes)} atoms split"
        return (
            f"<Stability: {word}, least curvature {self.least:.4g} ± {self.error:.1g}, rate {self.rate:.4g}, "
            f"max |∇Ψ| = {self.gradient:.1g} in {shortened(self.coordinates)}>"
        )


def stability(problem: Problem, rho: Given) -> Stability:
    """The curvature of Ψ at every atom of ρ, in all directions, and what follows: does it split, how fast is the flow.

    rho   a Cloud in full or reduced coordinates, a solution, or rows (n, D): a fixed point, see `stationarity`

    >>> import widelimit as wl
    >>> cubic = wl.Problem(wl.data.single_index(5, "z"), wl.neurons.ridge("x**3"), wl.initial.gaussian(1.0))
    >>> wl.stability(cubic, [[0.0, 0.0]]).least  # Ψ = −3 (u³ + u r²) + …: flat at the origin
    0.0
    """
    found = support_of(problem, rho, "stability")
    good = found.columns.is_reduced or not problem.groups or len(found.theta) <= MOST_ATOMS
    require(good, f"stability takes at most {MOST_ATOMS} atoms in full coordinates", len(found.theta),
            "give the different ones as a wl.Cloud with weights, or reduce them")  # fmt: skip
    require(problem.rates.is_constant, "stability needs mobilities that do not change in time", problem.mobility,
            "give those of the last stage")  # fmt: skip
    slopes, pulls = found.slopes(), found.pulls()[0]
    curvatures, errors = _curvatures(found)
    rates = np.asarray(found.rules.rates(0.0))
    modes = tuple(
        _modes(found, theta, slope, H, (rates, float(error)))
        for theta, slope, H, error in zip(found.theta, slopes, curvatures, errors, strict=True)
    )
    return Stability(
        problem, found.columns.names, found.theta, found.weights, modes, _whole(found, rates),
        float(np.linalg.norm(pulls, axis=1).max()),
    )  # fmt: skip


def _curvatures(found: Support) -> tuple[np.ndarray, np.ndarray]:
    """∇²Ψ at every neuron of the support (n, D, D), and how far its eigenvalues may be off (n,)."""
    if found.columns.is_reduced or not found.columns.widths:
        at = jnp.asarray(found.theta), found.points, found.masses
        each = [(np.asarray(hessians(land, *at)), share) for land, share in found.lands()]
        first = each[0][0]
        gaps = [share * np.linalg.norm(H - first, ord=2, axis=(1, 2)) for H, share in each[1:]]
        spread = np.sqrt(np.mean(np.square(gaps), axis=0)) if gaps else 0.0
        return first, spread + 1e-9 * (1 + np.linalg.norm(first, ord=2, axis=(1, 2)))
    fine, coarse = (_differences(found, DIFFERENCE * factor) for factor in (1.0, 2.0))
    return fine, np.linalg.norm(fine - coarse, ord=2, axis=(1, 2))


@jax.jit
def hessians(land: Landscape, theta: Array, points: Array, weights: Array) -> Array:
    """∇²Ψ at every row of θ in the field of Σ_j weights_j δ(points_j), by derivatives of ∇Ψ, (n, D, D)."""

    def along(e: Array) -> Array:  # rows do not meet, so one direction serves all of them
        field = lambda rows: land.gradient(rows, points, weights)  # noqa: E731
        return jax.jvp(field, (theta,), (jnp.broadcast_to(e, theta.shape),))[1]

    return jnp.moveaxis(jax.lax.map(along, jnp.eye(theta.shape[1])), 0, -1)


def _differences(found: Support, step: float) -> np.ndarray:
    """The same by central differences of fourth order, one atom after the other."""
    rows, D = [], found.theta.shape[1]
    for theta in found.theta:
        h = step * (1 + np.linalg.norm(theta))
        shifts = np.concatenate([k * h * np.eye(D) for k in (1, -1, 2, -2)])
        g = np.asarray(found.land.gradient(jnp.asarray(theta + shifts), found.points, found.masses)).reshape(4, D, D)
        H = (8 * (g[0] - g[1]) - (g[2] - g[3])) / (12 * h)
        rows.append((H + H.T) / 2)
    return np.stack(rows)


def _modes(
    found: Support, theta: np.ndarray, slope: np.ndarray, H: np.ndarray, given: tuple[np.ndarray, float]
) -> Modes:
    """All directions of one atom: those of its columns, then those that the reduction hides."""
    (rates, error), columns, D = given, found.columns, len(theta)
    inner = np.arange(D) >= len(columns.scalars)
    normal = float(theta[inner] @ slope[inner]) if found.rules.on_sphere else 0.0
    H = H - normal * np.diag(inner.astype(float))
    at_origin = columns.is_radius() & (theta == 0)
    cone = at_origin & (np.abs(slope) > 1e-8 * (1 + np.abs(slope).max()))
    basis = np.eye(D)[:, found.moves & ~cone]
    if found.rules.on_sphere:
        basis = basis @ _complement(basis.T @ (theta * inner))
    root = np.sqrt(rates)
    plain, vectors = np.linalg.eigh(basis.T @ H @ basis)
    paced = 2 * np.linalg.eigvalsh(basis.T @ (root[:, None] * H * root) @ basis)
    ends = np.where(slope[cone & found.moves] > 0, math.inf, -math.inf)
    lowest = basis @ vectors[:, 0] if len(plain) else np.zeros(D)
    curvatures, speeds = [*plain, *ends], [*paced, *ends]
    counts, names = [1.0] * len(curvatures), ["visible"] * len(curvatures)
    for g, d in enumerate(columns.directions):
        column = columns.first_radius + g
        if d <= 1 or not found.moves[column]:
            continue
        turned = H[column, column] if at_origin[column] else slope[column] / max(theta[column], 1e-300) - normal
        turned = math.copysign(math.inf, slope[column]) if cone[column] else turned
        curvatures, speeds, counts = [*curvatures, turned], [*speeds, 2 * rates[column] * turned], [*counts, d - 1]
        names.append(f"{'other directions' if at_origin[column] else 'rotations'} of {columns.names[column]}")
    return Modes(np.array(curvatures), np.array(speeds), np.array(counts), tuple(names), lowest, error)


def _complement(vector: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what is orthogonal to a vector, (k, k − 1)."""
    return np.linalg.svd(vector[None])[2][1:].T


def _whole(found: Support, rates: np.ndarray) -> np.ndarray:
    """The rates at which atoms move as wholes; the rates of all of them are those of a particle flow."""
    theta, p = found.theta, found.weights
    known = found.columns.is_reduced or not found.columns.widths
    if not known or theta.size > MOST_WHOLE or found.rules.on_sphere or len(theta) < len(found.points):
        return np.empty(0)
    J = np.asarray(_derivative(found.land, jnp.asarray(theta), jnp.asarray(p))).reshape(theta.size, theta.size)
    root, size = np.sqrt(np.tile(rates, len(theta))), np.sqrt(np.repeat(p, theta.shape[1]))
    free = np.tile(found.moves, len(theta)) & ~(found.columns.is_radius() & (theta == 0)).ravel()
    symmetric = (root * size)[:, None] * J * (root / size)  # p_i^{1/2} J_ij p_j^{-1/2} is symmetric: J_ij has p_j
    return 2 * np.linalg.eigvalsh(symmetric[np.ix_(free, free)])


@jax.jit
def _derivative(land: Landscape, theta: Array, weights: Array) -> Array:
    """∂ ∇Ψ(θ_i; ρ)/∂θ_j, (n, D, n, D)."""
    return jax.jacfwd(lambda rows: land.self_gradient(rows, weights))(theta)
