"""Bad input is answered by one sentence: what was expected, what arrived, what to do."""

# ruff: noqa: E501
import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.errors import InputError

nan, inf = math.nan, math.inf
data, initial, neurons, schedules, activations = wl.data, wl.initial, wl.neurons, wl.schedules, wl.activations


def problem(start=None, d=5, outer="absent", bias="absent", **more):
    start = initial.gaussian(0.4) if start is None else start
    return wl.Problem(data.gaussian_classes(d, 0.5), neurons.ridge("relu", outer=outer, bias=bias), start, **more)


def classes(d=5, delta=0.5, informative=None):
    return data.gaussian_classes(d, delta, informative)


TABLE = [
    *[(f"delta={x!r}", lambda x=x: classes(delta=x), "delta", repr(x)) for x in (0, 1, 0.0, -0.2, 1.5, nan, inf, "x", None)],
    *[(f"d={x!r}", lambda x=x: classes(d=x), "d must", repr(x)) for x in (0, -3, 2.5, 0.5, nan, -inf, "40", None, True)],
    *[(f"informative={x!r}", lambda x=x: classes(informative=x), "informative", repr(x)) for x in (6, 0, -1, 2.5, nan, "x")],
    *[(f"fraction={x!r}", lambda x=x: classes(inf, 0.5, x), "fraction", repr(x)) for x in (0, 1, 3, nan)],
    ("unknown activation", lambda: neurons.ridge("rleu"), "did you mean 'relu'", "'rleu'"),
    ("unknown activation far away", lambda: neurons.ridge("qqqq"), "known are", "'qqqq'"),
    ("activation a number", lambda: neurons.ridge(3.0), "function", "3.0"),
    ("uncalled factory", lambda: neurons.ridge(activations.ramp), "ramp", "uncalled"),
    ("unknown role of a", lambda: neurons.ridge("relu", outer="train"), "did you mean 'trained'", "'train'"),
    ("unknown role of b", lambda: neurons.ridge("relu", bias="fixd"), "did you mean 'fixed'", "'fixd'"),
    ("role not a name", lambda: neurons.ridge("relu", bias=None), "role of the bias", "None"),
    ("hermite order", lambda: activations.hermite(31), "0 to 30", "31"),
    ("hermite order negative", lambda: activations.hermite(-1), "0 to 30", "-1"),
    ("polynomial empty", lambda: activations.polynomial([]), "coefficients", "[]"),
    ("polynomial nan", lambda: activations.polynomial([1.0, nan]), "finite", "nan"),
    ("knots unsorted", lambda: activations.piecewise_linear([(1, 0), (0, 1)]), "increasing", "[(1, 0), (0, 1)]"),
    ("knots apart", lambda: activations.piecewise_linear((0, 1), (1, 0)), "one list", "(0, 1)"),
    ("knots none", lambda: activations.piecewise_linear([]), "one or more", "[]"),
    ("knots nan", lambda: activations.piecewise_linear([(0, nan), (1, 0)]), "", "nan"),
    ("array one-dimensional", lambda: initial.array(np.ones(4)), "(n, D)", "(4,)"),
    ("array nan", lambda: initial.array(np.array([[nan, 1.0]])), "finite", "(1, 2)"),
    ("data set nan", lambda: data.empirical([[nan]], [1]), "drop or replace nan", "(1, 1)"),
    ("data set by name", lambda: data.empirical("digits"), "docs/spec.md", "'digits'"),
    ("data set without labels", lambda: data.empirical([[1.0]]), "one label for each row", "None"),
    ("save beyond the end", lambda: wl.solve(problem(), wl.GD(2, 0.1), 1.0, save=[0, 0.5, 2.0]), "raise t_end", "2.0"),
    ("save unsorted", lambda: wl.solve(problem(), wl.GD(2, 0.1), 1.0, save=[0.5, 0.2]), "sort them", "0.5"),
    ("array of words", lambda: initial.array("abc"), "(n, D)", "'abc'"),
    ("array too wide", lambda: problem(initial.array(np.ones((3, 9)))), "D = 5 (full) or 1 (reduced)", "(3, 9)"),
    ("array full at d = inf", lambda: problem(initial.array(np.ones((3, 5))), d=inf), "1 (reduced)", "(3, 5)"),
    ("array of another n", lambda: problem(initial.array(np.ones((3, 5)))).sample_initial(None, 4), "(4, 5)", "(3, 5)"),
    ("law of a missing", lambda: problem(outer="trained"), "how it starts", "a=None"),
    ("law of b missing", lambda: problem(initial.sphere(1.0, a=1.0), outer="fixed", bias="fixed"), "how it starts", "b=None"),
    ("law of a superfluous", lambda: problem(initial.gaussian(0.4, a=2.5)), "does not have", "2.5"),
    ("law of b superfluous", lambda: problem(initial.sphere(1.0, b=2.5)), "does not have", "2.5"),
    ("law not a law", lambda: initial.gaussian(0.4, a="big"), "initial.normal", "'big'"),
    *[(f"scale={x!r}", lambda x=x: initial.gaussian(x), "scale", repr(x)) for x in (0, -1.0, nan, inf, "x")],
    *[(f"radius={x!r}", lambda x=x: initial.sphere(x), "radius", repr(x)) for x in (0, -1.0, nan, inf, None)],
    ("std negative", lambda: initial.normal(0, -1.0), "std", "-1.0"),
    ("uniform reversed", lambda: initial.uniform(1, -1), "low < high", "(1, -1)"),
    ("signs of nothing", lambda: initial.signs(0), "size", "0"),
    ("constant nan", lambda: initial.constant(nan), "number", "nan"),
    *[(f"ridge={x!r}", lambda x=x: problem(ridge=x), "ridge", repr(x)) for x in (-0.1, nan, inf, "x", None)],
    *[(f"beta={x!r}", lambda x=x: problem(beta=x), "beta", repr(x)) for x in (0, -1.0, nan, "x", None)],
    *[(f"exponent={x!r}", lambda x=x: schedules.power(x), "exponent", repr(x)) for x in (1, -0.5, nan, "x")],
    ("rate negative", lambda: schedules.exponential(-1.0), "rate", "-1.0"),
    ("value zero", lambda: schedules.constant(0), "value", "0"),
    ("schedule a number", lambda: problem(schedule=3.5), "schedule", "3.5"),
    *[(f"mobility {x!r}", lambda x=x: problem(mobility={"w": x}), "mobility of w", repr(x)) for x in (-1.0, nan, inf, "fast", None)],
    ("mobility infinite at 0", lambda: problem(mobility={"w": schedules.power(0.25)}), "finite at t = 0", "power(exponent=0.25)"),
    ("mobility of no block", lambda: problem(mobility={"v": 1.0}), "known are a, b, w", "'v'"),
    ("mobility of a missing block", lambda: problem(mobility={"b": 0.5}), "does not have", "b=0.5"),
    ("mobility a number", lambda: problem(mobility=0.5), "dictionary", "0.5"),
    *[(f"window{x!r}", lambda x=x: schedules.window(*x), "0 <= start < stop", str(x)) for x in ((2.0, 1.0), (1.0, 1.0), (-1.0, 1.0), (nan, 1.0), (0.0, nan), (inf, inf), ("a", 1.0))],
    ("unknown domain of w", lambda: neurons.ridge("relu", inner="spher"), "did you mean 'sphere'", "'spher'"),
    ("data from elsewhere", lambda: wl.Problem("mnist", neurons.ridge("relu"), initial.gaussian(1)), "wl.data", "'mnist'"),
    ("neuron from elsewhere", lambda: wl.Problem(classes(), "relu", initial.gaussian(1)), "wl.neurons", "'relu'"),
    ("initial from elsewhere", lambda: wl.Problem(classes(), neurons.ridge("relu"), 0.4), "wl.initial", "0.4"),
]  # fmt: skip


@pytest.mark.parametrize("bad, expected, arrived", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_bad_input_is_answered_in_one_sentence_that_shows_it(bad, expected, arrived):
    with pytest.raises(InputError) as caught:
        bad()
    message = str(caught.value)
    assert expected in message and arrived in message
    assert message.endswith(".") and not message.endswith("..") and "\n" not in message


def test_good_input_at_the_edges_is_accepted():
    assert problem(ridge=0, beta=inf).beta == inf
    assert classes(1, 0.5, 1).groups[0].d == 1
    assert classes(inf, 1e-9).d == inf
    assert classes(5.0, 0.5).groups[0].d == 5 and problem(d=5.0).D == 5
    assert problem(initial.array(np.ones((3, 1)))).reduced_coordinates == ("r",)
