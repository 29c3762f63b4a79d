"""A record is its run: a saved solution knows its problem, method and settings, and can be run again."""

import numpy as np
import pytest

import widelimit as wl

RUNS = {
    "SGD": (wl.SGD(8, 0.01), {"seed": 3, "save": [0.0, 0.1]}),
    "MeanField": (wl.MeanField(16, rtol=1e-6), {"save": 3}),
    "FiniteVolume": (wl.FiniteVolume(40, box=((0.0, 4.0),)), {"save": 2}),
}


def problem(**change):
    neuron = wl.neurons.ridge(wl.activations.ramp((0.4, -0.5), (1.5, 1.0)))
    start, schedule = wl.initial.gaussian(0.8), wl.schedules.exponential(0.5)
    return wl.Problem(wl.data.gaussian_classes(20, 0.6), neuron, start, ridge=0.1, schedule=schedule, **change)


@pytest.mark.more
@pytest.mark.parametrize("name", RUNS)
def test_a_record_gives_back_its_run_to_the_bit(name, tmp_path):
    method, options = RUNS[name]
    solution = wl.solve(problem(), method, 0.1, **options)
    found = wl.load(solution.save(tmp_path / "run.nc"))
    assert found.problem == solution.problem == problem() and found.method == method
    assert found.settings == solution.settings and found.spec == solution.spec
    assert wl.Spec.from_toml(found.spec).problem == problem()
    again = found.rerun()
    np.testing.assert_array_equal(again.risk, solution.risk)
    np.testing.assert_array_equal(again.final.theta, solution.final.theta)


def halved(t):
    return 0.5 + 0 * t


def test_what_no_file_can_hold_is_said_when_saved_and_the_record_still_loads(tmp_path):
    custom = wl.Problem(problem().data, problem().neuron, problem().initial, schedule=halved)
    solution = wl.solve(custom, wl.MeanField(16), 0.1, save=2)
    assert solution.problem == custom
    with pytest.warns(UserWarning, match="in a file the schedule must be one of"):
        path = solution.save(tmp_path / "run.nc")
    found = wl.load(path)
    np.testing.assert_array_equal(found.risk, solution.risk)
    for ask in (lambda: found.problem, lambda: found.spec, found.rerun):
        with pytest.raises(wl.InputError, match="in a file the schedule must be one of"):
            ask()
