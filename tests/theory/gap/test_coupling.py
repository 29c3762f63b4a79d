"""The gap between SGD and the PDE, taken apart on one coupling."""

import math

import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.theory.gap.coupling import CHAIN


def problem(d=12, **more):
    neuron = wl.neurons.ridge("ramp")
    return wl.Problem(wl.data.gaussian_classes(d, 0.8), neuron, wl.initial.gaussian(0.8), **more)


SETTING = {"n": 12, "step": 0.002, "t_end": 0.04}


@pytest.fixture(scope="module")
def result():
    tests = {"fourth": lambda cloud: cloud.mean(cloud.column("r") ** 4)}
    return wl.compare(problem(), **SETTING, seed=3, save=3, tests=tests)


@pytest.mark.more
def test_the_parts_add_up_to_the_total_and_bound_it(result):
    gaps = result.dataset["risk_gap"]
    assert gaps.sel(part="total").values[1:].all()
    np.testing.assert_allclose(gaps.values[:-1].sum(axis=0), gaps.sel(part="total").values, atol=1e-14)
    assert (abs(gaps.sel(part="total")) <= abs(gaps).values[:-1].sum(axis=0) + 1e-14).all()
    far = result.dataset["distance"]
    assert (far.sel(part="total") <= far.sel(part=["ND–PD", "PD–GD", "GD–SGD"]).sum("part") + 1e-14).all()


def test_each_part_comes_from_its_own_pair_of_runs(result):
    """The same runs made one by one outside the comparison."""
    p, times = problem(), [0.0, 0.02, 0.04]
    gd = wl.solve(p, wl.GD(12, 0.002), 0.04, seed=3, save=times, keep="full")
    sgd = wl.solve(p, wl.SGD(12, 0.002), 0.04, seed=3, save=times, keep="full")
    np.testing.assert_allclose(result.gap("GD–SGD"), gd.risk - sgd.risk, rtol=1e-12)
    lengths = np.linalg.norm(gd.dataset["theta"].values - sgd.dataset["theta"].values, axis=-1)
    np.testing.assert_allclose(result.gap("GD–SGD", "distance"), lengths.mean(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(result.gap("GD–SGD", "max_distance"), lengths.max(axis=-1), rtol=1e-12)
    r4 = [(np.linalg.norm(s.dataset["theta"].values, axis=-1) ** 4).mean(axis=-1) for s in (gd, sgd)]
    np.testing.assert_allclose(result.dataset["test_gap"].sel(part="GD–SGD", test="fourth"), r4[0] - r4[1], rtol=1e-10)


def test_all_start_from_the_same_neurons_and_only_the_limit_from_elsewhere(result):
    start = result.dataset.isel(time=0)
    assert float(abs(start["distance"].sel(part=["ND–PD", "PD–GD", "GD–SGD"])).max()) == 0
    assert np.isnan(result.gap("PDE–ND", "distance")).all()
    w2 = result.dataset["w2"]
    assert (w2.sel(dynamics="PDE") == 0).all() and (w2.sel(dynamics="ND") > 0).all()
    assert len(set(w2.isel(time=0).values[1:].round(12))) == 1


def test_a_comparison_survives_the_disk_with_its_runs(result, tmp_path):
    found = wl.load(result.save(tmp_path / "gap.nc"))
    xr.testing.assert_identical(found.dataset, result.dataset)
    assert isinstance(found, wl.Comparison) and list(found.solutions) == list(result.solutions)
    for name, solution in result.solutions.items():
        xr.testing.assert_identical(found.solutions[name].dataset, solution.dataset)
        assert found.solutions[name].method == solution.method


def test_the_table_has_every_part_and_the_distance(result):
    row = result.table()[-1]
    parts = ["PDE–ND", "ND–PD", "PD–GD", "GD–SGD", "total"]
    assert list(row) == ["t", *parts, "distance", *(f"{part}_error" for part in parts)]
    both = result.solutions["PDE"].error[-1] + result.solutions["SGD"].error[-1]
    assert row["total_error"] == pytest.approx(both)
    assert row["total"] == pytest.approx(abs(result.gap("total")[-1]))
    assert "GD–SGD" in repr(result) and result.outcome == "done"


def test_the_figure_stacks_the_parts_below_the_total_of_its_parts(result):
    risks, parts, _ = wl.figure(result).axes
    assert [line.get_label() for line in risks.get_lines()] == list(CHAIN)
    areas = {area.get_label(): area for area in parts.collections if not area.get_label().startswith("_")}
    assert list(areas) == list(result.parts[:-1])
    top = max(path.vertices[:, 1].max() for area in areas.values() for path in area.get_paths())
    assert top == pytest.approx(np.abs(result.dataset["risk_gap"].values[:-1]).sum(axis=0).max())


@pytest.fixture(scope="module")
def steep():
    """Ridge 30: Euler with 2 s λ = 6 > 2 leaves every bound, after a first step that is still finite."""
    p = problem(ridge=30.0)
    return p, wl.compare(p, n=4, step=0.1, t_end=40.0, save=21, chain=("GD", "SGD"), throw=False)


def test_a_diverging_step_keeps_what_was_computed_and_says_what_to_do(steep):
    p, kept = steep
    assert kept.outcome == "diverged" and "step=0.025" in kept.advice
    assert 1 <= len(kept.times) < 21 and np.isfinite(kept.dataset["risk"]).all()
    with pytest.raises(wl.Diverged, match=r"GD diverged \(last good time t = .*try step=0.025") as stop:
        wl.compare(p, n=4, step=0.1, t_end=40.0, save=21, chain=("GD", "SGD"))
    np.testing.assert_array_equal(stop.value.solution.times, kept.times)


@pytest.mark.slow
def test_replicas_are_stacked_and_the_first_is_the_single_run():
    p, chain = problem(), ("GD", "SGD")
    single = wl.compare(p, **SETTING, save=3, chain=chain)
    many = wl.compare(p, **SETTING, save=3, chain=chain, replicas=3)
    assert many.dataset["risk_gap"].dims == ("part", "replica", "time")
    np.testing.assert_allclose(many.gap("GD–SGD")[0], single.gap("GD–SGD"), rtol=1e-8, atol=1e-12)
    assert len(set(many.gap("GD–SGD")[:, -1])) == 3
    assert many.table()[-1]["GD–SGD"] == pytest.approx(np.abs(many.gap("GD–SGD")[:, -1]).mean())


def test_an_interrupted_comparison_keeps_the_finished_runs(monkeypatch):
    from widelimit.theory.gap import coupling

    finished = coupling.solve

    def stop(p, method, *arguments, **more):
        solution = finished(p, method, *arguments, **more)
        if isinstance(method, wl.SGD):
            solution.dataset.attrs["outcome"] = "interrupted"
            raise wl.Interrupted(solution)
        return solution

    monkeypatch.setattr(coupling, "solve", stop)
    with pytest.raises(wl.Interrupted) as kept:
        wl.compare(problem(), **SETTING, save=3, chain=("GD", "SGD"))
    assert kept.value.solution.outcome == "interrupted" and "GD" in kept.value.solution.solutions


@pytest.mark.slow
def test_infinite_dimension_is_compared_in_reduced_coordinates():
    p = problem(math.inf)
    result = wl.compare(p, n=50, step=0.05, t_end=0.1, save=2, chain=("ND", "PD", "GD"), coordinates="reduced")
    assert result.parts == ("ND–PD", "PD–GD", "total")


@pytest.mark.slow
@pytest.mark.parametrize(("step", "times"), [(0.03, [0, 0.06, 0.1]), (5.0, [0, 0.1])])
def test_all_dynamics_are_compared_at_whole_steps_and_at_the_end(step, times):
    result = wl.compare(problem(), n=3, step=step, t_end=0.1, save=3, chain=("PD", "GD", "SGD"))
    np.testing.assert_allclose(result.times, times, rtol=1e-15)
    assert all((s.times == result.times).all() and s.times[-1] == 0.1 for s in result.solutions.values())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n": 0}, "n must be a whole number"),
        ({"step": -1.0}, "step must be a positive number"),
        ({"t_end": 0.0}, "t_end must be a positive number"),
        ({"chain": ("SGD", "PDE")}, "chain must be neighbours"),
        ({"chain": ("SGD",)}, "chain must be neighbours"),
        ({"coordinates": "reduced"}, "SGD runs in full coordinates only"),
        ({"problem": 3}, "compare needs a wl.Problem"),
        ({"problem": problem(beta=10.0), "chain": ("PD", "GD"), "coordinates": "reduced"}, "GD shares the noise"),
        ({"points": 0}, "points must be a whole number"),
    ],
)
def test_misuse_is_answered_in_one_sentence(change, sentence):
    arguments = {"problem": problem(), **SETTING, **change}
    with pytest.raises(wl.InputError, match=sentence):
        wl.compare(**arguments)
