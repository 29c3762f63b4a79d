"""Plans: how gaps are carried over, what is chosen, and whether fresh runs confirm it."""

import math
from functools import cache

import numpy as np
import pytest

import widelimit as wl
from widelimit.theory.gap import planner
from widelimit.theory.gap.pilot import Curves, PilotRuns, Trials, above


def bent(*coefficients):
    return wl.neurons.ridge(wl.activations.polynomial(list(coefficients)))


def classes(delta=0.8, scale=0.6, d=10, neuron=None, **more):
    return wl.Problem(wl.data.gaussian_classes(d, delta), neuron or bent(0.2, 1.0, 0.2), wl.initial.gaussian(scale),
                      **{"ridge": 0.1, **more})  # fmt: skip


def test_means_are_carried_like_one_over_n_and_epsilon_and_fluctuations_like_their_roots():
    width, rest = np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([[0.5, 0.0], [0.1, 0.0]])
    pilot = PilotRuns(100, 0.01, width, rest, 0.0)
    np.testing.assert_allclose(pilot.width_part(400), [[2 / 4 + 1 / 2, 1 / 4], [2 / 4 - 1 / 2, 1 / 4]])
    np.testing.assert_allclose(pilot.step_part(0.04), [[0.3 * 4 + 0.2 * 2, 0], [0.3 * 4 - 0.2 * 2, 0]], atol=1e-15)
    assert pilot.quantile(100, 0.01, 1.0) == pytest.approx(3.5)
    assert pilot.quantile(100, 0.01, 0.0) == pytest.approx(1.1)


class Scripted(Trials):
    """A model whose gap is known: b/N + u/√N + c ε + v √ε, u and v independent normals."""

    bias, spread, drift, shake, error = 2.0, 0.5, 1.0, 0.8, 0.0

    def parts(self, n, step, runs, seed):
        u, v = np.random.default_rng(seed).normal(size=(2, runs, 1))
        return self.bias / n + self.spread * u / math.sqrt(n), self.drift * step + self.shake * v * math.sqrt(step)

    def pilot(self, n, step, runs, seed):
        return PilotRuns(n, step, *self.parts(n, step, runs, seed), self.error)

    def fresh(self, n, step, runs, seed):
        return Curves(sum(self.parts(n, step, runs, seed)), np.array([1.0]), self.error, 1.0, 0.1, "done")

    def inside(self, n, step, tolerance):
        """The probability to stay inside, from many runs."""
        return float(np.mean(np.abs(self.fresh(n, step, 100_000, 1).gaps) <= tolerance))


@cache
def scripted(tolerance=0.05, seed=0, **numbers):
    trials = Scripted(classes(), 1.0, None, False)
    vars(trials).update(numbers)
    return trials, planner._Planner(trials, tolerance, 0.95, 40, seed).found()


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_of_a_known_model_is_confirmed_and_not_wasteful(seed):
    trials, found = scripted(seed=seed)
    assert found.holds and trials.inside(found.n, found.step, 0.05) > 0.92
    assert trials.inside(found.n // 2, found.step, 0.05) < planner.aimed(0.95)
    assert trials.inside(found.n, 4 * found.step, 0.05) < 0.95


def test_a_plan_is_as_cheap_as_the_best_on_a_fine_grid():
    """Within a factor 4 of the least N/ε with a probability of 0.95: it aims at 0.983, on a coarse grid of widths."""
    trials, found = scripted()
    costs = [n / step for n in range(50, 2000, 50) for step in 10 ** np.linspace(-4, -2, 25)
             if (np.abs(trials.fresh(n, step, 4000, 2).gaps) <= 0.05).mean() >= 0.95]  # fmt: skip
    assert found.n / found.step < 4 * min(costs)


def test_what_dominates_is_the_larger_part():
    _, wide = scripted(shake=1e-3, drift=1e-3)
    assert wide.dominates == "width" and wide.width_part > wide.step_part
    _, fine = scripted(spread=1e-3, bias=1e-3)
    assert fine.dominates == "step"


def test_a_plan_tells_its_cost_and_its_evidence():
    _, found = scripted()
    assert found.steps == math.ceil(1.0 / found.step) and found.seconds == 0.1
    assert found.table()[0]["kind"] == "pilot" and found.table()[-1]["kind"] == "verify"
    assert found.inside == found.table()[-1]["inside"] and 0.8 < found.at_least < found.inside
    document = found.document()
    assert document["stages"][-1]["width"] is None and document["holds"] is True
    assert f"n = {found.n}" in found.sentence and "fresh runs" in repr(found)
    (axes,) = wl.figure(found).axes
    assert any("fresh runs" in text.get_text() for text in axes.get_legend().get_texts())


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({"error": 0.03}, r"tolerance must exceed 0\.06, twice the error of the risk of the limit, got 0\.05"),
        ({"bias": 1e4}, "the floor is the width, 16384 neurons leave a gap of about"),
        ({"shake": 1e3}, r"the floor is the step, a step of 2\.4e-07 leaves a gap of about"),
    ],
)
def test_a_tolerance_out_of_reach_names_its_floor(numbers, sentence):
    with pytest.raises(wl.InputError, match=sentence):
        scripted(**numbers)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tolerance": 0.0}, "tolerance must be a positive number"),
        ({"tolerance": -1.0}, "tolerance must be a positive number"),
        ({"confidence": 1.0}, "confidence must be a number between 0 and 1"),
        ({"confidence": 0.0}, "confidence must be a number between 0 and 1"),
        ({"t_end": 0.0}, "t_end must be a positive number"),
        ({"runs": 1}, "runs must be a whole number of at least 2, got 1: try runs=40"),
        ({"problem": classes(d=math.inf)}, "a plan is for finite networks and needs a finite d, got inf"),
        ({"problem": wl.Problem(wl.data.gaussian_classes(2, 0.5), bent(0, 1.0), wl.initial.array(np.ones((3, 2))))},
         "needs a start of any width"),
    ],
)  # fmt: skip
def test_misuse_is_answered_in_one_sentence(change, sentence):
    arguments = {"problem": classes(), "tolerance": 0.1, "confidence": 0.95, "t_end": 0.3, **change}
    with pytest.raises(wl.InputError, match=sentence):
        wl.plan(**arguments)


PROBLEMS = {
    "classes": (classes(), 0.05),
    "other classes": (classes(0.4, 0.8, neuron=bent(0.0, 1.0, 0.3), ridge=0.05), 0.1),
    "noise": (classes(beta=50.0), 0.05),
    "single index": (wl.Problem(wl.data.single_index(10, "z + 0.3*He2(z)"), bent(0.1, 1.0, 0.2),
                                wl.initial.gaussian(0.6), ridge=0.1), 0.1),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_plan_of_a_problem_is_confirmed_by_fresh_runs_and_not_wasteful(name):
    """Half the width, or four times the step, fails in 80 other runs; both are looked at, one of them must fail."""
    problem, tolerance = PROBLEMS[name]
    found = wl.plan(problem, tolerance, 0.95, 0.3, progress=False)
    assert found.holds and len(found.gaps) == 40 and found.inside >= 0.95, found
    trials = Trials(problem, 0.3, None, False)
    cheaper = [trials.fresh(found.n // 2, found.step, 80, 77), trials.fresh(found.n, 4 * found.step, 80, 78)]
    inside = [float(np.mean(np.abs(c.gaps).max(axis=1) <= tolerance)) for c in cheaper]
    assert min(inside) < 0.95, (found, inside)
    assert above(cheaper[1].gaps, 0.5) > np.median(found.largest)
