"""The terms of the proof that SGD follows its limit."""

import math
from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl

RELU = wl.Problem(wl.data.gaussian_classes(4, 0.5), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0))
ROUNDING = 1e-12


LINE = wl.Problem(wl.data.single_index(3, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))


@pytest.fixture(scope="module")
def small():
    return wl.proof_terms(LINE, 4, 0.01, 0.2, save=5, points=16)


@pytest.mark.more
def test_the_terms_add_up_to_at_least_the_distance(small):
    assert (small.total >= small.distance - ROUNDING).all() and small.distance[-1].min() > 0
    assert (small.term("martingale") + small.term("sampling") >= small.term("E3") - ROUNDING).all()


@pytest.mark.more
def test_both_envelopes_lie_above_the_distance(small):
    assert (small.envelope >= small.delta - ROUNDING).all()
    assert (small.worst_envelope >= small.envelope - ROUNDING).all()


@pytest.mark.slow
def test_the_distance_is_that_of_the_coupled_runs():
    """SGD in blocks and the tracers of the adaptive solver, against the step by step run."""
    small = wl.proof_terms(RELU, 4, 0.01, 0.2, save=5, points=16)
    runs = [
        wl.solve(RELU, method, 0.2, save=5, keep="full").dataset["theta"].values
        for method in (wl.NonlinearFlow(4, "full", 16), wl.SGD(4, 0.01))
    ]
    assert small.distance == pytest.approx(np.linalg.norm(runs[0] - runs[1], axis=-1), abs=1e-7)


@pytest.mark.more
def test_losses_multiply_to_the_last_envelope(small):
    assert math.prod(small.losses.values()) * small.delta[-1] == pytest.approx(small.worst_envelope[-1])
    assert all(factor >= 1 - 1e-9 for factor in small.losses.values())


@pytest.mark.more
def test_the_sentence_names_the_inequality_that_loses_most(small):
    name, factor = max(small.losses.items(), key=lambda pair: pair[1])
    assert f"most is lost by {name}, × {factor:.3g}." in small.sentence and small.sentence[:-1] in repr(small)


def test_a_figure_shows_the_terms_and_the_envelopes(small):
    first, second = wl.figure(small).axes
    assert len(first.lines) == 6 and len(second.lines) == 4


@pytest.mark.slow
def test_the_time_term_is_of_first_order_in_the_step():
    """E_1 = O(tε): a constant ξ leaves the motion of the tracers within a step."""
    worst = [wl.proof_terms(RELU, 4, step, 0.2, save=2, points=16).term("E1")[-1].max() for step in (0.01, 0.005)]
    assert worst[0] / worst[1] == pytest.approx(2.0, rel=0.05)


CLASSES = wl.Problem(
    wl.data.gaussian_classes(10, 0.5), wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5))),
    wl.initial.gaussian(0.4), schedule=wl.schedules.exponential(0.5),
)  # fmt: skip
INDEX = wl.Problem(
    wl.data.single_index(10, "tanh(2*z)"), wl.neurons.ridge("tanh", "trained", "trained"),
    wl.initial.gaussian(1.0, a=wl.initial.signs(), b=wl.initial.normal(0.0, 0.3)), ridge=0.02, mobility={"a": 0.5},
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "step"), [(CLASSES, 1e-3), (INDEX, 5e-3)], ids=["classes", "index"])
def test_the_terms_add_up_in_every_run(problem, step):
    for seed in range(6):
        found = wl.proof_terms(problem, 12, step, 0.3, seed=seed, save=4, points=60)
        assert (found.total >= found.distance * (1 - 1e-9) - ROUNDING).all(), seed
        assert (found.envelope >= found.delta * (1 - 1e-9) - ROUNDING).all(), seed
        assert np.minimum(found.term("martingale"), found.term("sampling"))[-1].max() > 0


BAD = {
    "infinite d": (replace(RELU, data=wl.data.gaussian_classes(math.inf, 0.5)), {}, "finite"),
    "noise": (replace(RELU, beta=10.0), {}, "without noise"),
    "a schedule without a beginning": (replace(RELU, schedule=wl.schedules.power(0.25)), {}, "finite at t = 0"),
    "the sphere": (
        replace(RELU, neuron=wl.neurons.ridge("relu", inner="sphere"), initial=wl.initial.sphere(1.0)), {}, "are free",
    ),
    "one step": (RELU, {"step": 0.2}, "2 steps or more"),
    "a keyword": (RELU, {"saves": 3}, "did you mean 'save'?"),
    "no width": (RELU, {"n": 0}, "n must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    problem, other, said = BAD[name]
    with pytest.raises(wl.InputError) as error:
        wl.proof_terms(problem, **{"n": 4, "step": 0.01, "t_end": 0.2, **other})
    assert said in str(error.value)
