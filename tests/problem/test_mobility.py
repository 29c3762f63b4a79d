"""Mobility M = diag(m_a, m_b, m_w): rates at a time, where they jump, and windows on a grid of steps."""

import itertools
import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.problem.mobility import Mobility

window = wl.schedules.window


def test_a_rate_is_a_number_or_a_function_of_time():
    rates = Mobility(a=0.5, b=wl.schedules.exponential(2.0), w=lambda t: 1 / (1 + t))
    assert rates.at("a", 3.0) == 0.5
    assert float(rates.at("b", 0.5)) == pytest.approx(math.exp(-1), rel=1e-15)
    assert rates.at("w", 1.0) == 0.5
    assert not rates.is_constant and Mobility(a=0.0).is_constant


def test_a_mobility_is_constant_between_its_jumps():
    rates = Mobility(a=window(1.0), b=window(0.5, 2.0), w=wl.schedules.constant(3.0))
    assert rates.jumps == (0.5, 1.0, 2.0, math.inf)
    edges = (0.0, 0.5, 1.0, 2.0, 9.0)
    held = [rates.between(start, stop) for start, stop in itertools.pairwise(edges)]
    assert [(m.a, m.b, m.w) for m in held] == [(0, 0, 3), (0, 1, 3), (1, 1, 3), (1, 0, 3)]
    assert all(m.is_constant for m in held)


@pytest.mark.parametrize("step", [0.01, 0.03, 0.1, 0.7, 1 / 3])
def test_windows_that_meet_share_no_step_and_lose_none(step):
    """kε computed may lie a rounding below the decimal number that was meant."""
    k = np.arange(200)
    for turn in (1, 30, 77, 101):
        edge = float(f"{turn * step:.15g}")
        before, after = window(0.0, edge)(k * step), window(edge)(k * step)
        np.testing.assert_array_equal(before, k < turn)
        np.testing.assert_array_equal(after, k >= turn)


def test_fixed_scalars_have_no_mobility_and_trained_ones_keep_theirs():
    neuron = wl.neurons.ridge("relu", outer="fixed", bias="trained")
    problem = wl.Problem(wl.data.gaussian_classes(5, 0.5), neuron, wl.initial.gaussian(1.0, a=1.0, b=0.0),
                         mobility={"a": 2.0, "b": 0.5})  # fmt: skip
    assert (problem.rates.a, problem.rates.b, problem.rates.w) == (0.0, 0.5, 1.0)
    assert problem.full.blocks == ("a", "b", "w")
