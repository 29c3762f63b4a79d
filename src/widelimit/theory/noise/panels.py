"""Panels of a box: fine where a law lives, wherever in the box that is.

    e(θ)                                           exponent of a law, of V laws at a time
    Z = ∫ exp(e) dθ ≈ Σ_blocks Σ_nodes w exp(e)    a block is a product of panels with Gauss–Legendre nodes on each

Scheme: at first the panels of an axis have geometric lengths, down to 2^−12 of the box, because a landscape has its
structure at relative distances. With jump_c the largest step of e between neighbouring nodes of a block along axis c,

    a block is left out   if  volume · exp(max e + Σ_c jump_c) < e^{−depth} Z
    a panel is halved     if  jump_c > 20 in one of its blocks, or  (t²/m) · volume > 10⁻¹⁴ Z

    t   last two Legendre coefficients of exp(e) along c        m   largest exp(e) of the block

for one of the laws: t/m is what interpolation in 16 nodes leaves, and a Gauss rule has twice that degree. This is not
the integral of widelimit.integrals, because one set of panels serves many laws and all features; what it leaves is
measured in widelimit.theory.noise.gibbs, with panels of their own and more nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widelimit.agreement import until_two_agree
from widelimit.integrals import gauss, to_legendre

PER_PANEL = 16
OCTAVES = 12
FEWEST = 5  # panels of a half axis at first
DEPTH = 40.0  # e^{−40} = 4e−18
STEEP = 20.0
ALLOWED = 1e-14
LEVELS = 50
MOST = {1: 4096, 2: 1024}  # blocks, by the number of coordinates

Exponent = Callable[[np.ndarray], np.ndarray]  # θ (n, k) → e (n, V)


@dataclass(frozen=True)
class Panels:
    """Some blocks of a tensor of panels.

    edges    of the panels of every axis, increasing
    blocks   (B, k): the panel of every block on each axis
    """

    edges: tuple[np.ndarray, ...]
    blocks: np.ndarray

    def rule(self, points: int = PER_PANEL) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (B, points, …, k) and weights (B, points, …)."""
        x, w = gauss(points)
        count, k = self.blocks.shape
        sides, weights = [], np.ones((count, *(1,) * k))
        for c, edges in enumerate(self.edges):
            low, high = edges[self.blocks[:, c], None], edges[self.blocks[:, c] + 1, None]
            shape = (count, *(points if axis == c else 1 for axis in range(k)))
            sides.append(((low + high) / 2 + (high - low) / 2 * x).reshape(shape))
            weights = weights * ((high - low) / 2 * w).reshape(shape)
        return np.stack(np.broadcast_arrays(*sides), axis=-1), weights

    def some(self, which: np.ndarray) -> Panels:
        """The blocks of a mask or of a list."""
        return Panels(self.edges, self.blocks[which])

    def halved(self, marked: np.ndarray) -> tuple[Panels, np.ndarray]:
        """Panels halved on every axis c in the blocks ``marked[c]``, (k, B); and the block each new one came from."""
        blocks, parent, edges = self.blocks, np.arange(len(self.blocks)), []
        for c, old in enumerate(self.edges):
            split = np.zeros(len(old) - 1, bool)
            split[self.blocks[marked[c], c]] = True
            edges.append(np.sort(np.concatenate([old, (old[1:] + old[:-1])[split] / 2])))
            twice = np.flatnonzero(split[blocks[:, c]])
            moved = blocks.copy()
            moved[:, c] += (np.cumsum(split) - split)[blocks[:, c]]
            right = moved[twice]
            right[:, c] += 1
            blocks, parent = np.concatenate([moved, right]), np.concatenate([parent, parent[twice]])
        return Panels(tuple(edges), blocks), parent


class Lived(NamedTuple):
    """Panels, and which law lives in which of their blocks, (B, V)."""

    panels: Panels
    lives: np.ndarray


def covering(reach: float, signed: Sequence[bool], points: int) -> Panels:
    """Panels over |θ_c| ≤ reach, or 0 ≤ θ_c ≤ reach where a coordinate has no sign, with ``points`` nodes or more."""
    count = max(FEWEST, -(-points // PER_PANEL))
    half = np.concatenate([[0.0], reach * 2.0 ** np.linspace(-OCTAVES, 0, count)])
    edges = tuple(np.concatenate([-half[:0:-1], half]) if both else half for both in signed)
    grid = np.meshgrid(*(np.arange(len(e) - 1) for e in edges), indexing="ij")
    return Panels(edges, np.stack([g.ravel() for g in grid], axis=1))


def refined(panels: Panels, exponent: Exponent, depth: float = DEPTH) -> Lived:
    """The blocks in which one of the laws lives, fine enough for every one; and which law lives where."""
    return until_two_agree(_halved(panels, exponent, depth), 0).value


def _halved(panels: Panels, exponent: Exponent, depth: float) -> Iterator[tuple[Lived, int]]:
    """The blocks that laws live in, halved again and again, and how many are too coarse; until they are too many."""
    k = panels.blocks.shape[1]
    inside = tuple(range(1, k + 1))
    e, log_z = _on(panels, exponent), -np.inf
    for _ in range(LEVELS):
        weights = panels.rule()[1]
        volumes = weights.sum(axis=inside)[:, None]
        top = e.max(axis=(0, *inside))
        log_z = np.maximum(log_z, top + np.log(np.tensordot(weights, np.exp(e - top), axes=k + 1)))
        jumps = np.stack([np.abs(np.diff(e, axis=c)).max(axis=inside) for c in inside])  # (k, B, V)
        largest = e.max(axis=inside) + np.log(volumes) - log_z
        lives = largest + jumps.sum(axis=0) > -depth
        alive = lives.any(axis=1)
        coarse = (jumps > STEEP) | (_tails(e) * np.exp(np.minimum(largest, 0.0)) > ALLOWED)
        panels, e, coarse = panels.some(alive), e[alive], coarse[:, alive].any(axis=2)
        yield Lived(panels, lives[alive]), int(coarse.sum())
        if len(panels.blocks) > MOST[k]:
            return
        panels, parent = panels.halved(coarse)
        e = e[parent]
        new = np.bincount(parent)[parent] > 1
        e[new] = _on(panels.some(new), exponent)


def _on(panels: Panels, exponent: Exponent) -> np.ndarray:
    """e on the nodes, (B, points, …, V)."""
    nodes, weights = panels.rule()
    return exponent(nodes.reshape(-1, nodes.shape[-1])).reshape(*weights.shape, -1)


def _tails(e: np.ndarray) -> np.ndarray:
    """(t/m)² of every block along every axis, (k, B, V)."""
    last = to_legendre(PER_PANEL)[-2:]
    inside = tuple(range(1, e.ndim - 1))
    f = np.exp(e - e.max(axis=inside, keepdims=True))
    found = [np.abs(np.tensordot(last, f, axes=(1, c))).sum(axis=0).max(axis=inside[:-1]) for c in inside]
    return np.stack(found) ** 2
