import numpy as np
import pytest

import widelimit as wl


@pytest.fixture(scope="module")
def pair():
    problem = wl.Problem(
        wl.data.gaussian_classes(20, 0.5),
        wl.neurons.ridge(wl.activations.ramp()),
        wl.initial.gaussian(0.8),
    )
    finite = wl.solve(problem, wl.SGD(30, 1e-3), 0.05, save=5)
    return finite, wl.solve(problem, wl.MeanField(50), 0.05, save=5)


def test_the_limit_is_a_line_through_the_symbols_of_sgd(pair):
    finite, limit = pair
    left, right = wl.figure(finite, limit).axes
    lines = {line.get_label(): line for line in left.get_lines()}
    pde, sgd = lines["mean-field limit (PDE)"], lines["SGD, N = 30"]
    assert pde.get_linestyle() == "-" and sgd.get_linestyle() == "None" and sgd.get_marker() != "None"
    np.testing.assert_array_equal(pde.get_ydata(), limit.risk)
    np.testing.assert_array_equal(sgd.get_ydata(), finite.risk)
    assert "t" in left.get_xlabel() and "R" in left.get_ylabel() and "r" in right.get_xlabel()
    assert len(right.get_legend().get_texts()) == 4


def test_a_figure_of_nothing_is_refused():
    with pytest.raises(wl.InputError, match="one or more solutions"):
        wl.figure()


def test_replicas_are_drawn_as_a_mean_with_bars(pair):
    problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.8))
    many = wl.solve(problem, wl.SGD(30, 1e-3), 0.05, save=5, replicas=2)
    left, _ = wl.figure(many, pair[1]).axes
    lines = {line.get_label(): line for line in left.get_lines()}
    np.testing.assert_allclose(lines["SGD, N = 30, 2 runs"].get_ydata(), many.risk.mean(axis=0))
    assert len(left.containers) == 1
