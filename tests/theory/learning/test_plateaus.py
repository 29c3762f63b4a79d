"""Plateaus of curves that are known."""

import numpy as np
import pytest

import widelimit as wl

T = np.geomspace(1e-6, 1e6, 601)


def test_every_level_between_time_scales_far_apart_is_found():
    """Between e^{−1000 t} and e^{−t}/2 the curve is flattest at t ≈ 0.008, where the second has lost 0.004."""
    curve = 1.0 * np.exp(-T / 1e-3) + 0.5 * np.exp(-T) + 0.25 * np.exp(-T / 1e3)
    found = wl.plateaus(T, curve)
    np.testing.assert_allclose([p.level for p in found], [1.75, 0.75, 0.25, 0.0], atol=0.006)
    for rest, scale in zip(found[1:-1], (1e-3, 1.0), strict=True):
        assert 2 * scale < rest.start < 10 * scale and 50 * scale < rest.end < 1000 * scale
    assert found[0].start == pytest.approx(T[0]) and found[-1].end == pytest.approx(T[-1])


def test_a_rest_from_the_start_starts_at_zero():
    t = np.concatenate([[0.0], T])
    assert wl.plateaus(t, np.exp(-t))[0].start == 0.0


def test_a_power_law_has_no_plateau_while_it_moves():
    t = np.geomspace(1.0, np.e**10, 101)
    assert wl.plateaus(t, np.log(t)) == ()


def test_a_constant_is_one_plateau():
    assert wl.plateaus([1.0, 2.0, 3.0, 4.0], [2.0] * 4) == ((1.0, pytest.approx(4.0), 2.0),)


BAD = {
    "too few": (lambda: wl.plateaus([1.0, 2.0], [1.0, 2.0]), "four or more"),
    "times that go back": (lambda: wl.plateaus([1.0, 3.0, 2.0, 4.0], np.ones(4)), "increasing"),
    "not finite": (lambda: wl.plateaus([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, np.nan]), "finite"),
    "a ratio below one": (lambda: wl.plateaus(T, T, ratio=0.5), "ratio"),
    "nothing is flat": (lambda: wl.plateaus(T, T, flat=0.0), "flat"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()
