"""What nodes of several kept coordinates miss of a neuron that changes in a layer thinner than they are dense.

    Φ(z) = A_0(b + |u| t, s),   t = ⟨u, z⟩/|u|        a function of one coordinate, which has the same law in every
    E Φ = ∫ A_0(b + |u| t, s) law(dt)                 direction: for its moments there is a rule that sees the layer
    e = |Σ_j p_j Φ(z_j) − E Φ| relative to √(E Φ²)
        also for zΦ and Φ² and, as errors of slopes, for Φ' = ∂Φ/∂m and ∂Φ/∂s: Φ', zΦ', Φ'², and ΦΦ' in the own field

    z_j, p_j     nodes of the kept coordinates        s   deviation of the others, r τ; on a sphere τ² ∝ d − |z|²

Rules of several axes are cut at 0 and where the target bends, and so are those with twice the points: a layer beside a
cut is seen by neither, and their difference does not show it; oblique to the axes they may agree by chance. The rule of
t has panels that shrink towards every turn of σ. A neuron with r > THIN |u| is smoothed enough for the difference, and
is not looked at.

A label without switches is y ≈ y_0 + ⟨y_1, z − z_0⟩ across a layer, so that V needs Φ and zΦ, the latter times the
slope of y. One that jumps may do so in the layer itself, as Φ does: then Φ² counts too, and for U it always does.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.special import roots_jacobi

from widelimit.coordinates import along
from widelimit.potentials.beyond_rules import Lost
from widelimit.potentials.refinement import ROUNDING, SAFETY
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.spherical import UnitSphere, sphere_mean
from widelimit.problem.activations import Activation, General, Hinges, Part, Sum
from widelimit.problem.data.kept_rule import PER_AXIS, REACH, axis_panels

THIN = 0.1  # r/|u|: the first node of a coarse rule lies at 0.1 or so
ALONG = 512  # points of the rule of t, without its layers
SHRINKING = 8.0 ** -np.arange(11)  # distances to a turn, in units of t
ROWS = 16  # neurons at a time
ACROSS = 4  # points of |z|² given t
TINY = 1e-300


class KeptNodes(NamedTuple):
    """Values of the kept coordinates z (Q, k), weights p (Q,) and deviations τ (Q,); the sphere of the others, or None.

    d       of the sphere |x|² = d the kept coordinates belong to, ∞ if they are normal
    slope   of the label, relative to √(E y²); ∞ if it may jump
    """

    z: Array
    p: Array
    tau: Array
    sphere: UnitSphere | None
    d: float
    slope: float


Columns = tuple[Array, ...]  # the coordinates of z, each (points,) or (n, points)


class RuleAlong(NamedTuple):
    """Nodes t, deviations τ and weights p of a rule along u, for each of n neurons: (n, points)."""

    t: np.ndarray
    tau: np.ndarray
    p: np.ndarray


class Moments(NamedTuple):
    """What is compared, for n neurons.

    values       E Φ and E zΦ, (n, 1 + k)
    square       E Φ², (n, 1)
    slopes       for Φ' = ∂Φ/∂m and ∂Φ/∂s: E Φ', E zΦ' and E Φ'² over the largest |Φ'|, (n, 4 + 2k)
    own_slopes   E Φ Φ', (n, 2)
    """

    values: Array
    square: Array
    slopes: Array
    own_slopes: Array


@singledispatch
def turns(activation: Activation) -> np.ndarray:
    """Where σ changes most: 0 for functions of scale 1."""
    return np.zeros(1)


@turns.register
def _(activation: Hinges) -> np.ndarray:
    return np.array([0.0, *np.asarray(activation.knots)])


@turns.register
def _(activation: General) -> np.ndarray:
    return np.array([0.0, *activation.bends])


@turns.register
def _(activation: Part) -> np.ndarray:
    return (turns(activation.activation) - float(activation.shift)) / float(activation.scale)


@turns.register
def _(activation: Sum) -> np.ndarray:
    return np.unique(np.concatenate([turns(part) for part in activation.parts]))


def missed(sigma: Activation, nodes: KeptNodes, b: np.ndarray, u: np.ndarray, r: np.ndarray) -> Lost:
    """Relative errors at every neuron: 0 for neurons that are not thin, and for nodes that are no rule of several axes:
    the layers of one axis are seen, and random nodes have a spread."""
    found, several = np.zeros((5, len(u))), 1 < u.shape[1] <= max(PER_AXIS)
    thin = np.flatnonzero(several & (r < THIN * np.linalg.norm(u, axis=1)))
    for start in range(0, len(thin), ROWS):
        rows = thin[start : start + ROWS]
        padded = np.resize(rows, ROWS)  # one shape, whatever their number
        found[:, rows] = _missed(sigma, nodes, b[padded], u[padded], r[padded])[:, : len(rows)]
    return Lost(*found)


def _missed(sigma: Activation, nodes: KeptNodes, b: np.ndarray, u: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The five errors, (5, n)."""
    size = np.linalg.norm(u, axis=1, keepdims=True)
    centres = (turns(sigma) - b[:, None]) / size
    near = np.concatenate([-SHRINKING, [0.0], SHRINKING])
    t, tau, p = _line(nodes.d, u.shape[1], (centres[:, :, None] + near).reshape(len(u), -1))
    unit = u / size
    mean = tuple(jnp.asarray(unit[:, i, None] * t) for i in range(u.shape[1]))  # of z given t
    exact = _moments(sigma, nodes.sphere, b[:, None] + size * t, r[:, None] * tau, mean, p)

    here = along(jnp.asarray(unit), nodes.z)
    weights = jnp.broadcast_to(nodes.p, here.shape)
    on_nodes = _moments(
        sigma, nodes.sphere, b[:, None] + size * here, r[:, None] * nodes.tau, tuple(nodes.z.T), weights
    )
    off = Moments(*(np.abs(one - true) for one, true in zip(on_nodes, exact, strict=True)))
    root = np.sqrt(exact.square)
    root = np.where(root > 0, root, 1.0)
    constant, linear = off.values[:, 0] / root[:, 0], off.values[:, 1:].max(axis=1) / root[:, 0]
    own = (off.square / root**2)[:, 0]
    slopes, own_slopes = ((x / root**n).max(axis=1) for n, x in ((1, off.slopes), (2, off.own_slopes)))
    pairs = np.maximum(np.maximum(constant, linear), own)
    values = pairs if math.isinf(nodes.slope) else np.maximum(constant, max(nodes.slope, 1.0) * linear)
    found = SAFETY * np.stack([values, pairs, own, slopes, own_slopes])
    return np.where(found > ROUNDING, found, 0.0)


def _line(d: float, k: int, cuts: np.ndarray) -> RuleAlong:
    """The rule of one of k kept coordinates, cut at (n, cuts)."""
    if math.isinf(d):
        t, p = axis_panels(cuts, np.full(len(cuts), REACH), d, ALONG)
        return RuleAlong(t, np.ones_like(t), p)
    t, p = axis_panels(cuts, np.full(len(cuts), math.sqrt(d)), d, ALONG)
    x, w = roots_jacobi(ACROSS, (d - k) / 2 - 1, (k - 1) / 2 - 1)  # |z|² = t² + (d − t²) (1 + x)/2
    tau = np.sqrt(np.maximum(d - t**2, 0.0)[:, :, None] * (1 - x) / 2 / (d - k))
    across = p[:, :, None] * (w / w.sum())
    return RuleAlong(np.repeat(t, ACROSS, axis=1), tau.reshape(len(t), -1), across.reshape(len(t), -1))


@jax.jit
def _moments(sigma: Activation, sphere: UnitSphere | None, m: Array, s: Array, z: Columns, p: Array) -> Moments:
    """The moments of Φ for nodes with columns z and weights p, at which its arguments are m and s: (n, points)."""

    def phi(m: Array, s: Array) -> Array:
        return smoothed(sigma, 0, m, s)[..., 0] if sphere is None else sphere_mean(sigma, m, s, sphere)

    def mean(*functions: Array) -> Array:
        return jnp.stack([jnp.sum(p * f, axis=1) for f in functions], axis=1)

    one, zero = jnp.ones_like(m), jnp.zeros_like(m)
    (here, by_m), (_, by_s) = (jax.jvp(phi, (m, s), move) for move in ((one, zero), (zero, one)))
    largest = [jnp.max(jnp.abs(f), axis=1, keepdims=True, initial=TINY) for f in (by_m, by_s)]
    slopes = [x for f, most in zip((by_m, by_s), largest, strict=True) for x in (f, *(c * f for c in z), f**2 / most)]
    values = mean(here, *(c * here for c in z))
    return Moments(values, mean(here**2), mean(*slopes), mean(here * by_m, here * by_s))
