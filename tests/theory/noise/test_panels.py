"""Panels find every well of a smooth exponent, and integrate it to rounding."""

import math

import numpy as np
import pytest

from widelimit.theory.noise.panels import Panels, covering, refined


def integral(panels, exponent, points=16):
    nodes, weights = panels.rule(points)
    return float(np.exp(exponent(nodes.reshape(-1, nodes.shape[-1]))[:, 0]) @ weights.ravel())


def wells(centres, width):
    """Gaussians of one width."""
    return lambda theta: np.logaddexp.reduce(
        [-((theta - c) ** 2).sum(axis=1) / (2 * width**2) for c in np.asarray(centres, float)]
    )[:, None]


@pytest.mark.parametrize("width", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize(
    ("centres", "signed"),
    [([[3.0], [17.1]], [False]), ([[-7.7], [0.3], [11.0]], [True]), ([[5.0, 4.0], [-9.0, 14.3]], [True, False])],
)
def test_gaussians_anywhere_in_the_box_have_their_mass(centres, signed, width):
    k, exponent = len(signed), wells(centres, min(width, 0.03 if [0.3] in centres else 0.4))
    width = min(width, 0.03 if [0.3] in centres else 0.4)
    panels, lives = refined(covering(20.0, signed, 80), exponent)
    exact = len(centres) * (width * math.sqrt(2 * math.pi)) ** k
    assert integral(panels, exponent) == pytest.approx(exact, rel=1e-12)
    assert lives.all() and len(panels.blocks) < 100 * len(centres) * 4 ** (k - 1)


def test_each_law_has_its_own_panels():
    one, two = wells([[3.0]], 0.01), wells([[17.0]], 0.01)
    panels, lives = refined(covering(20.0, [False], 80), lambda t: np.concatenate([one(t), two(t)], axis=1))
    assert lives.any(axis=1).all() and not lives.all(axis=1).any()
    for law, exponent in enumerate((one, two)):
        assert integral(panels.some(lives[:, law]), exponent) == pytest.approx(0.01 * math.sqrt(2 * math.pi), rel=1e-12)


def test_halving_keeps_the_volume_and_says_where_blocks_came_from():
    box = covering(8.0, [True, False], 80)
    marked = np.zeros((2, len(box.blocks)), bool)
    marked[0, 3] = marked[1, 7] = True
    fine, parent = box.halved(marked)
    old, new = (p.rule()[1].sum(axis=(1, 2)) for p in (box, fine))
    np.testing.assert_allclose(np.bincount(parent, new), old, rtol=1e-13)
    assert old.sum() == pytest.approx(16 * 8) and len(fine.blocks) > len(box.blocks)
    assert isinstance(fine, Panels) and [len(e) for e in fine.edges] == [len(e) + 1 for e in box.edges]
