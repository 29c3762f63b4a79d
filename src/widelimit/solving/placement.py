"""Where the neurons start in reduced coordinates: drawn from ρ_0, or placed on it.

Scheme: placement of the points.
    no random coordinate   the atoms of ρ_0
    "quantile"             the mid-quantiles u = (j − ½)/m of the score of one coordinate, scrambled Sobol points in the
                           scores of two or more; both of a law a little wider than ρ_0, with weights that make moments
                           exact (widelimit.solving.moment_weights): of the coordinates themselves, or of the scores
                           where coordinates depend on one another
    "equal"                the same points of ρ_0 itself, equal weights
    one, "gauss"           Gauss–Legendre nodes in the normal score x ∈ [−8, 8], weights φ(x): Φ(−8) is 6e−16, and
                           moments of order 8 are exact to 1e−9; with two or more coordinates as "quantile"
Atoms of ρ_0 multiply the points. Gauss nodes are spectral while the flow map is smooth; where it splits the mass at a
separatrix the error is the mass between two neighbours there, which is smaller for quantiles.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import ndtr, ndtri

from widelimit.errors import require
from widelimit.integrals import panel_rule
from widelimit.problem.data.nodes import Rule, sobol_normals, wide_normals
from widelimit.problem.initial import Explicit, Factor, Paired
from widelimit.problem.problem import Problem
from widelimit.solving.moment_weights import moment_weights
from widelimit.solving.streams import streams

GAUSS_REACH = 8.0
WIDER = 2.0  # variance of the law whose quantiles have weights: 54 of them have exact moments up to order 8
FINE, FAR = 200, 12.0  # nodes and reach of the rule that knows the moments of a law
MOST_ATOMS = 2**14  # each takes a point, at least
Atom = list[tuple[float, ...] | None]  # a value of every factor, None for one that has a curve


def initial_neurons(problem: Problem, seed: int, n: int, reduced: bool, replicas: int | None) -> Array:
    """The neurons all dynamics of this seed start from, (n, D), or (R, n, D)."""
    keys = streams(seed, "initial", replicas)

    def draw(key: Array) -> Array:
        return initial_reduced(problem, key, n) if reduced else problem.sample_initial(key, n)

    if replicas is None:
        return draw(keys)
    if reduced and math.isinf(problem.data.d):  # drawn by numpy
        return jnp.stack([draw(key) for key in keys])
    return jax.vmap(draw)(keys)


def initial_reduced(problem: Problem, key: Array, n: int) -> Array:
    """The n initial neurons of this key in reduced coordinates: the full ones reduced, or drawn directly if d = ∞."""
    law = problem.initial
    if isinstance(law, Explicit) and problem.starts_reduced:
        require(len(law.theta) == n, f"the explicit start must have n = {n} rows", len(law.theta), "change n")
        return jnp.asarray(law.theta)
    if math.isfinite(problem.data.d):
        return problem.full.reduce(problem.sample_initial(key, n))
    return random_points(problem, key, n)


def initial_points(problem: Problem, points: int, placement: str) -> tuple[Array, Array]:
    """Weighted points that integrate ρ_0 in reduced coordinates: theta (m, D) and weights (m,)."""
    law = problem.initial
    if isinstance(law, Explicit):
        theta = jnp.asarray(law.theta) if problem.starts_reduced else problem.full.reduce(law.theta)
        return theta, jnp.full(len(theta), 1 / len(theta))
    if isinstance(law, Paired):
        half, mass = initial_points(problem.unpaired, -(-points // 2), placement)
        return problem.both_signs(half), jnp.concatenate([mass, mass]) / 2
    factors = initial_factors(problem)
    atoms, masses = _atoms(factors)
    scores, weights = _scores([f for f in factors if f.curve is not None], -(-points // len(atoms)), placement)
    blocks = [(_columns(factors, atom, scores), mass * weights) for atom, mass in zip(atoms, masses, strict=True)]
    return jnp.asarray(np.concatenate([b[0] for b in blocks])), jnp.asarray(np.concatenate([b[1] for b in blocks]))


def halved_points(problem: Problem, points: int, placement: str) -> tuple[Array, Array] | None:
    """Half as many points that integrate ρ_0, and others without mass, so that one compiled function serves both; None
    where fewer points cannot carry ρ_0, which is then carried exactly."""
    theta, _ = initial_points(problem, points, placement)
    few, masses = map(np.asarray, initial_points(problem, max(1, points // 2), placement))
    missing = len(theta) - len(few)
    if missing <= 0:
        return None
    passive = few[np.arange(missing) % len(few)]
    return jnp.asarray(np.concatenate([few, passive])), jnp.asarray(np.concatenate([masses, np.zeros(missing)]))


def random_points(problem: Problem, key: Array, n: int) -> Array:
    """n independent neurons (or n/2 pairs) drawn from ρ_0 in reduced coordinates, (n, D); works at d = ∞."""
    if isinstance(problem.initial, Paired):
        return problem.both_signs(random_points(problem.unpaired, key, problem.pairs(n)))
    factors = initial_factors(problem)
    atoms, masses = _atoms(factors)
    choice, scores = jax.random.split(key)
    random = sum(f.scores for f in factors if f.curve is not None)
    x = np.asarray(jax.random.normal(scores, (n, random)))
    which = np.asarray(jax.random.choice(choice, len(atoms), (n,), p=jnp.asarray(masses)))
    rows = [_columns(factors, atom, x) for atom in atoms]
    return jnp.asarray(np.stack(rows)[which, np.arange(n)])


def random_coordinates(problem: Problem) -> int:
    """How many random numbers a neuron starts from in reduced coordinates; 0 for an explicit start."""
    if isinstance(problem.initial, Paired):
        return random_coordinates(problem.unpaired)
    explicit = isinstance(problem.initial, Explicit)
    return 0 if explicit else sum(f.scores for f in initial_factors(problem) if f.curve is not None)


def initial_factors(problem: Problem) -> list[Factor]:
    """The independent factors of ρ_0, in the order of the reduced coordinates."""
    law = problem.initial
    if isinstance(law, Explicit):
        raise TypeError("an explicit start is not a product of factors")
    scalars = [problem.start_of(name).factor() for name in problem.neuron.scalars]
    inner = problem.data.d if problem.groups else problem.kept
    return [*scalars, *law.reduced(inner, problem.kept, problem.groups)]


def normal_masses(scores: np.ndarray) -> np.ndarray:
    """Φ(x_{i+1}) − Φ(x_i) of increasing scores, from whichever tail is the smaller."""
    low, high = scores[:-1], scores[1:]
    return np.where(high > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _atoms(factors: list[Factor]) -> tuple[list[Atom], list[float]]:
    """Every combination of the atoms (None for a factor that has a curve), with its mass."""
    count = math.prod(len(f.atoms) for f in factors if f.atoms is not None)
    require(count <= MOST_ATOMS, f"a start must have at most {MOST_ATOMS} combinations of signs here", count,
            "use a ParticleFlow, which draws its neurons, or normal starts")  # fmt: skip
    rows: list[Atom] = [[]]
    masses = [1.0]
    for f in factors:
        choices = f.atoms if f.atoms is not None else ((None, 1.0),)
        rows, masses = (
            [[*row, value] for row in rows for value, _ in choices],
            [mass * p for mass in masses for _, p in choices],
        )
    return rows, masses


def _columns(factors: list[Factor], atom: Atom, scores: np.ndarray) -> np.ndarray:
    """Columns of θ for one combination of atoms and all scores, (m, D)."""
    used, columns = 0, []
    for f, value in zip(factors, atom, strict=True):
        if f.curve is None:
            columns.append(np.broadcast_to(np.asarray(value), (len(scores), f.columns)))
        else:
            columns.append(f.curve(scores[:, used : used + f.scores]))
            used += f.scores
    return np.concatenate(columns, axis=1)


def _scores(random: list[Factor], points: int, placement: str) -> Rule:
    """Normal scores (m, k) of the factors that have a curve, and their weights (m,)."""
    k = sum(f.scores for f in random)
    if k == 0:
        return np.zeros((1, 0)), np.ones(1)
    if placement == "equal":
        return _quantile_nodes(points) if k == 1 else sobol_normals(k, points, seed=points)
    if k == 1 and placement == "gauss":
        return _normal_panel(points, GAUSS_REACH)
    seed = points  # so that half as many are others
    scores, weights = _wide_quantiles(points) if k == 1 else wide_normals(k, points, seed)
    fine, mass = _normal_panel(FINE, FAR)
    nodes = _independent(random, scores)
    marginals = [(column, mass) for column in _independent(random, np.repeat(fine, k, axis=1)).T]
    return scores, moment_weights(nodes, weights, marginals)


def _independent(random: list[Factor], scores: np.ndarray) -> np.ndarray:
    """Independent coordinates of the factors, (m, k): the value where there is one, or the scores."""
    columns, used = [], 0
    for f in random:
        own = scores[:, used : used + f.scores]
        columns.append(f.curve(own) if f.curve is not None and f.columns == 1 else own)
        used += f.scores
    return np.concatenate(columns, axis=1)


def _quantile_nodes(points: int) -> Rule:
    """Mid-quantiles of the standard normal law, (m, 1), and equal weights."""
    return ndtri((np.arange(points) + 0.5) / points)[:, None], np.full(points, 1 / points)


def _wide_quantiles(points: int) -> Rule:
    """Mid-quantiles of N(0, WIDER), and weights for the standard normal law."""
    x = math.sqrt(WIDER) * _quantile_nodes(points)[0]
    weights = np.exp(-0.5 * (1 - 1 / WIDER) * x[:, 0] ** 2)
    return x, weights / weights.sum()


def _normal_panel(points: int, reach: float) -> Rule:
    """Gauss–Legendre nodes of the standard normal law on [−reach, reach], (m, 1), and weights that sum to 1."""
    x, w = (part[0] for part in panel_rule(np.array([-reach, reach]), points))
    weights = w * np.exp(-0.5 * x**2)
    return x[:, None], weights / weights.sum()
