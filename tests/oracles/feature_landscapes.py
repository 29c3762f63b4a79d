"""Landscapes that are sums over nodes q of the data, each node with what a neuron shows there on average.

    R(ρ) = Σ_q p_q (y_q − F_q)² + floor,   F = ∫ Φ dρ,   V = −Σ p y Φ,   U = Σ p Φ Φ',   ∇Ψ = Σ p (F − y) ∇Φ

    data set, corners   q a row of x: Φ = a σ(⟨w, x_q⟩ + b)
    cube, d = ∞         q a corner z of the first coordinates: Φ = a E σ(b + ⟨u, z⟩ + r G)
    classes             q a class and a length |x|: Φ = a E_T σ(b + r |x| T), the mean over the directions of w
    sphere              q the angles of the first coordinates of x: Φ = a E_T σ(b + ⟨u, z⟩ + r |x'| T)

T is the first coordinate of a random direction of R^d, G = T √d as d → ∞. No Hermite series enters.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from normal_panels import EDGES, hits, normal_rule, panels
from scipy.special import gammaln, roots_genlaguerre


def normal_smoothed(sigma, m, s):
    """E σ(m + sG) and its slopes in m and s, in the shape of m."""
    m, s = np.broadcast_arrays(np.asarray(m, float), np.asarray(s, float))
    g, w = normal_rule(hits(sigma, m, s[..., None]))
    h = m[..., None] + s[..., None] * g
    h = np.where(s[..., None] > 0, h, m[..., None] + 1e-300 * g)
    slope = w * sigma.slope(h)
    return (w * sigma.value(h)).sum(-1), slope.sum(-1), (slope * g).sum(-1)


def direction_rule(d, cuts):
    """T = cos ω for a random direction of R^d, with panels of ω that end where T meets the cuts (…, c)."""
    cuts = np.nan_to_num(np.asarray(cuts, float), nan=1.0, posinf=1.0, neginf=-1.0)
    inner = np.clip(math.pi / 2 + EDGES / math.sqrt(d), 0.0, math.pi)
    ends = np.concatenate([[0.0], inner, [math.pi]])
    edges = np.concatenate([np.arccos(np.clip(cuts, -1, 1)), np.broadcast_to(ends, (*cuts.shape[:-1], len(ends)))], -1)
    edges = np.sort(edges, axis=-1)
    some = (np.diff(edges, axis=-1) > 1e-13).reshape(-1, edges.shape[-1] - 1).any(axis=0)
    omega, w = panels(edges[..., np.concatenate([[True], some])])
    constant = math.exp(gammaln(d / 2) - gammaln((d - 1) / 2)) / math.sqrt(math.pi)
    return np.cos(omega), constant * w * np.sin(omega) ** (d - 2)


def sphere_smoothed(sigma, d, m, R):
    """E_T σ(m + R T) and its slopes in m and R, in the shape of m; the normal law at d = ∞, with R its deviation."""
    if math.isinf(d):
        return normal_smoothed(sigma, m, R)
    m, R = np.broadcast_arrays(np.asarray(m, float), np.asarray(R, float))
    t, w = direction_rule(d, hits(sigma, m, R[..., None]))
    h = m[..., None] + R[..., None] * t
    h = np.where(R[..., None] > 0, h, m[..., None] + 1e-300 * t)
    slope = w * sigma.slope(h)
    return (w * sigma.value(h)).sum(-1), slope.sum(-1), (slope * t).sum(-1)


@dataclass(frozen=True)
class FeatureSum:
    """Nodes with their weights p (Q,), labels y (Q,) and inputs z (Q, k); ``length`` is |x'| at every node.

    d        of the directions that are averaged over; None: w is seen as it is, through z alone
    scalars  "", "a", "b" or "ab"
    """

    sigma: object
    p: np.ndarray
    y: np.ndarray
    z: np.ndarray
    length: np.ndarray | None = None
    d: float | None = None
    scalars: str = ""
    floor: float = 0.0

    def features(self, theta):
        """Φ (n, Q) and its slopes (n, Q, D)."""
        theta = np.asarray(theta, float)
        n, first, k = len(theta), len(self.scalars), self.z.shape[1]
        a = theta[:, :1] if "a" in self.scalars else np.ones((n, 1))
        b = theta[:, first - 1, None] if "b" in self.scalars else np.zeros((n, 1))
        m = b + theta[:, first : first + k] @ self.z.T
        if self.d is None:
            value, by_m, by_r = self.sigma.value(m), self.sigma.slope(m), None
        else:
            value, by_m, by_r = sphere_smoothed(self.sigma, self.d, m, theta[:, -1:] * self.length)
        slopes = [x for name, x in (("a", value), ("b", a * by_m)) if name in self.scalars]
        slopes += [a * by_m * self.z[:, i] for i in range(k)]
        slopes += [] if by_r is None else [a * by_r * self.length]
        return a * value, np.stack(slopes, axis=-1)

    def numbers(self, theta, weights):
        """V, U, ∇Ψ at the points of ρ, and R(ρ)."""
        phi, slopes = self.features(theta)
        F = weights @ phi
        gradient = np.einsum("q,iqD->iD", self.p * (F - self.y), slopes)
        return -phi @ (self.p * self.y), (phi * self.p) @ phi.T, gradient, self.p @ (self.y - F) ** 2 + self.floor

    def gradient(self, theta, weights):
        return self.numbers(theta, weights)[2]

    def risk(self, theta, weights):
        return float(self.numbers(theta, weights)[3])


def data_set(sigma, x, y, scalars=""):
    """The rows of a data set."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    return FeatureSum(sigma, np.full(len(y), 1 / len(y)), y, x, scalars=scalars)


def all_corners(d):
    return np.array(list(itertools.product((1.0, -1.0), repeat=d)))


def infinite_cube(sigma, k, target, scalars=""):
    """Corners of {±1}^k, the others Gaussian."""
    z = all_corners(k)
    return FeatureSum(sigma, np.full(len(z), 1 / len(z)), target(z), z, np.ones(len(z)), math.inf, scalars)


def radial_classes(sigma, d, classes, scalars="", points=24):
    """Isotropic Gaussian classes (p, y, τ): |x| = τ χ_d; at d = ∞ one node for each class."""
    if math.isinf(d):
        lengths, masses = np.ones(1), np.ones(1)
    else:
        half, masses = roots_genlaguerre(points, d / 2 - 1)
        lengths, masses = np.sqrt(2 * half), masses / masses.sum()
    p = np.concatenate([q * masses for q, _, _ in classes])
    y = np.concatenate([np.full(len(masses), label) for _, label, _ in classes])
    length = np.concatenate([tau * lengths for _, _, tau in classes])
    return FeatureSum(sigma, p, y, np.zeros((len(p), 0)), length, d, scalars)


def two_classes(delta):
    """(p, y, τ) of the classes of contrast Δ."""
    return (0.5, 1.0, 1 + delta), (0.5, -1.0, 1 - delta)


def on_the_sphere(sigma, d, link, scalars=""):
    """x uniform on |x| = √d, y = φ of the first one or two coordinates; panels end where φ is rough."""
    marks = [sorted(_marks(link, i)) for i in range(link.k)]
    t, w = direction_rule(d, np.array(marks[0]) / math.sqrt(d))
    z, left = math.sqrt(d) * t[:, None], math.sqrt(d) * np.sqrt(1 - t**2)
    if link.k == 2:
        with np.errstate(divide="ignore"):
            t2, w2 = direction_rule(d - 1, np.array(marks[1]) / left[:, None])
        z = np.stack([np.broadcast_to(z, t2.shape), left[:, None] * t2], axis=-1).reshape(-1, 2)
        left, w = (left[:, None] * np.sqrt(1 - t2**2)).ravel(), (w[:, None] * w2).ravel()
    return FeatureSum(sigma, w, link(z), z, left, d - link.k, scalars)


def _marks(link, i):
    return {m for _, factors in link.terms for m in getattr(factors.get(i), "marks", ())}
