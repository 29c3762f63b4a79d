"""Expectations over normal variables by Gauss–Legendre panels.

    E g(G) = Σ_panels ∫_panel g(x) φ(x) dx

A panel ends where g has a kink or a jump, and panels shrink towards the places where g changes quickly. Inside a panel
g is smooth, so that 14 nodes give all digits: test_of_the_oracles.py compares with mpmath and Monte Carlo.
"""

import math

import numpy as np

REACH = 13.0  # φ(13) is 8e-38, so that e^x of a wide neuron is seen too
EDGES = np.array([-REACH, -10.0, -8.0, -6.2, -4.6, -3.2, -2.0, -1.0, 0.0, 1.0, 2.0, 3.2, 4.6, 6.2, 8.0, 10.0, REACH])
GRADED = np.array([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])  # in standard deviations of what smooths a kink
POINTS = 14


def panels(edges, points=POINTS):
    """Gauss–Legendre nodes and weights between neighbours of the increasing ``edges`` (…, e), (…, q) each."""
    x, w = np.polynomial.legendre.leggauss(points)
    low, high = edges[..., :-1, None], edges[..., 1:, None]
    nodes = (low + high) / 2 + (high - low) / 2 * x
    weights = (high - low) / 2 * w
    shape = (*edges.shape[:-1], -1)
    return nodes.reshape(shape), np.broadcast_to(weights, nodes.shape).reshape(shape)


def normal_rule(cuts=(), points=POINTS):
    """Nodes and weights of N(0, 1), (…, q), with panels that end at the ``cuts`` (…, c)."""
    cuts = np.clip(np.nan_to_num(np.asarray(cuts, float), nan=REACH, posinf=REACH, neginf=-REACH), -REACH, REACH)
    lead = cuts.shape[:-1]
    edges = np.sort(np.concatenate([cuts, np.broadcast_to(EDGES, (*lead, len(EDGES)))], axis=-1), axis=-1)
    some = (np.diff(edges, axis=-1) > 1e-13).reshape(-1, edges.shape[-1] - 1).any(axis=0)
    nodes, weights = panels(edges[..., np.concatenate([[True], some])], points)
    return nodes, weights * np.exp(-0.5 * nodes**2) / math.sqrt(2 * math.pi)


def hits(sigma, mean, slope, width=0.0):
    """Where mean + slope·x meets the marks and kinks of σ, and around kinks smoothed over ``width``, (…, c)."""
    spread = GRADED * width if width else np.zeros(1)
    places = np.concatenate([sigma.marks, np.add.outer(np.asarray(sigma.kinks, float), spread).ravel()])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return (places - np.asarray(mean)[..., None]) / slope


def expectation(function, cuts=(), points=POINTS):
    """E g(G) of a vectorised function, with panels that end at the cuts (c,)."""
    nodes, weights = normal_rule(np.asarray(cuts, float), points)
    return float(weights @ np.broadcast_to(function(nodes), nodes.shape))


def hermite_values(order, x):
    """h_0(x), …, h_order(x), orthonormal under N(0, 1), (…, order + 1)."""
    x = np.asarray(x, float)
    rows = [np.ones_like(x), x]
    for k in range(1, order):
        rows.append((x * rows[k] - math.sqrt(k) * rows[k - 1]) / math.sqrt(k + 1))
    return np.stack(rows[: order + 1], axis=-1)
