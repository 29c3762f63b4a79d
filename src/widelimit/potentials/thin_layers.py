"""What nodes of several kept coordinates miss of a neuron that changes in a layer thinner than they are dense.

    Φ(z) = A_0(b + |u| t, s),   t = ⟨u, z⟩/|u|        a function of one coordinate, which has the same law in every
    E Φ = ∫ A_0(b + |u| t, s) law(dt)                 direction: for its moments there is a rule that sees the layer
    e = (|Σ_j p_j Φ(z_j) − E Φ| − |Σ_j p_j Φ(z_j) − Σ_j p'_j Φ(z'_j)|)_+ relative to √(E Φ²)
        also for tΦ and Φ² and, as errors of slopes, for ∂Φ/∂m, ∂Φ/∂s and their squares

    z_j, p_j     nodes of the kept coordinates        s   deviation of the others, r τ; on a sphere τ² ∝ d − |z|²
    z'_j, p'_j   those of the rule it is compared with, which shows the rest

Rules of several axes are cut at 0 and where the target bends, and so are those with twice the points: a layer beside a
cut is seen by neither, and their difference does not show it. The rule of t has panels that shrink towards every turn
of σ. A neuron with r > THIN |u| is smoothed enough for the difference, and is not looked at.
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
from widelimit.potentials.refinement import SAFETY
from widelimit.potentials.smoothing import smoothed
from widelimit.potentials.spherical import UnitSphere, sphere_mean
from widelimit.problem.activations import Activation, General, Hinges, Part, Sum
from widelimit.problem.data.kept_rule import PER_AXIS, REACH, axis_panels

THIN = 0.1  # r/|u|: the first node of a coarse rule lies at 0.1 or so
ALONG = 512  # points of the rule of t, without its layers
SHRINKING = 8.0 ** -np.arange(11)  # distances to a turn, in units of t
ROWS = 16  # neurons at a time
ACROSS = 4  # points of |z|² given t


class KeptNodes(NamedTuple):
    """Values of the kept coordinates z (Q, k), weights p (Q,) and deviations τ (Q,); the sphere of the others, or None.

    d   of the sphere |x|² = d the kept coordinates belong to, ∞ if they are normal
    """

    z: Array
    p: Array
    tau: Array
    sphere: UnitSphere | None
    d: float


Rules = tuple[KeptNodes, KeptNodes]  # the one in use, and the one it is compared with


class RuleAlong(NamedTuple):
    """Nodes t, deviations τ and weights p of a rule along u, for each of n neurons: (n, points)."""

    t: np.ndarray
    tau: np.ndarray
    p: np.ndarray


class Moments(NamedTuple):
    """What is compared, for n neurons.

    values          E Φ and E tΦ, (n, 2)            square          E Φ², (n, 1)
    slopes          E ∂Φ/∂m and E ∂Φ/∂s, (n, 2)     slope_squares   means of their squares, (n, 2)
    largest         largest values of |∂Φ/∂m| and |∂Φ/∂s|, (n, 2)
    """

    values: Array
    square: Array
    slopes: Array
    slope_squares: Array
    largest: Array


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


def missed(sigma: Activation, rules: Rules, b: np.ndarray, u: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Relative errors of values and of slopes at every neuron, (n, 2), in which both of two rules agree: 0 for neurons
    that are not thin, and for nodes that are no rule of several axes: the layers of one axis are seen, and random nodes
    have a spread."""
    found, several = np.zeros((len(u), 2)), 1 < u.shape[1] <= max(PER_AXIS)
    thin = np.flatnonzero(several & (r < THIN * np.linalg.norm(u, axis=1)))
    for start in range(0, len(thin), ROWS):
        rows = thin[start : start + ROWS]
        padded = np.resize(rows, ROWS)  # one shape, whatever their number
        found[rows] = _missed(sigma, rules, b[padded], u[padded], r[padded])[: len(rows)]
    return found


def _missed(sigma: Activation, rules: Rules, b: np.ndarray, u: np.ndarray, r: np.ndarray) -> np.ndarray:
    size, nodes = np.linalg.norm(u, axis=1, keepdims=True), rules[0]
    centres = (turns(sigma) - b[:, None]) / size
    near = np.concatenate([-SHRINKING, [0.0], SHRINKING])
    t, tau, p = _line(nodes.d, u.shape[1], (centres[:, :, None] + near).reshape(len(u), -1))
    exact = _moments(sigma, nodes.sphere, b[:, None] + size * t, r[:, None] * tau, t, p)

    def on(rule: KeptNodes) -> Moments:
        t = along(jnp.asarray(u / size), rule.z)
        m, s, p = b[:, None] + size * t, r[:, None] * rule.tau, jnp.broadcast_to(rule.p, t.shape)
        return _moments(sigma, rule.sphere, m, s, t, p)

    seen, other = map(on, rules)
    parts = zip(seen, exact, other, strict=True)
    off = Moments(*(np.maximum(np.abs(one - true) - np.abs(one - two), 0.0) for one, true, two in parts))
    root, most = np.sqrt(exact.square), np.maximum(exact.largest, 1e-300)
    root = np.where(root > 0, root, 1.0)
    values = np.maximum(off.values / root, off.square / root**2).max(axis=1)
    slopes = (np.maximum(off.slopes, off.slope_squares / most) / root).max(axis=1)
    return SAFETY * np.stack([values, np.maximum(values, slopes)], axis=1)


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
def _moments(sigma: Activation, sphere: UnitSphere | None, m: Array, s: Array, t: Array, p: Array) -> Moments:
    """The moments of Φ for nodes t with weights p, at which its arguments are m and s: each (n, points)."""

    def phi(m: Array, s: Array) -> Array:
        return smoothed(sigma, 0, m, s)[..., 0] if sphere is None else sphere_mean(sigma, m, s, sphere)

    def mean(*functions: Array) -> Array:
        return jnp.stack([jnp.sum(p * f, axis=1) for f in functions], axis=1)

    one, zero = jnp.ones_like(m), jnp.zeros_like(m)
    (here, by_m), (_, by_s) = (jax.jvp(phi, (m, s), move) for move in ((one, zero), (zero, one)))
    largest = jnp.stack([jnp.max(jnp.abs(f), axis=1) for f in (by_m, by_s)], axis=1)
    return Moments(mean(here, t * here), mean(here**2), mean(by_m, by_s), mean(by_m**2, by_s**2), largest)
