"""The driver: when it saves, what it records, how it fails."""

import io
import json
import math
import re
import threading
import time
import tomllib
from dataclasses import replace

import jax
import numpy as np
import pytest
import xarray as xr
from rich.console import Console

import widelimit as wl
from widelimit.dynamics import sgd
from widelimit.dynamics.solve import DYNAMICS
from widelimit.solving import adaptive, driver, progress, recorder
from widelimit.solving.settings import save_times
from widelimit.solving.threads import settings, threads

LINEAR = wl.activations.polynomial([0.0, 1.0])
SQUARE = wl.activations.polynomial([0.0, 0.0, 1.0])
METHOD = wl.SGD(4, 0.01)


def problem(sigma=LINEAR, initial=None, d=5, **more):
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.5),
        wl.neurons.ridge(sigma, outer="trained"),
        initial or wl.initial.gaussian(0.8, a=1.0),
        **more,
    )


def radius(cloud):
    return cloud.mean(np.sum(cloud.theta[:, 1:] ** 2, axis=1))


@pytest.fixture(scope="module")
def solved():
    observers = {"radius": radius, "mean": lambda c: c.mean(c.theta)}
    return wl.solve(problem(), METHOD, 0.2, seed=3, save=5, observers=observers)


def test_a_count_saves_at_equal_distances_including_both_ends(solved):
    np.testing.assert_allclose(solved.times, [0, 0.05, 0.1, 0.15, 0.2], atol=1e-15)
    assert solved.risk.shape == (5,) and (solved.risk > 0).all()


def test_listed_times_are_saved_and_rounded_to_the_steps_of_sgd():
    got = wl.solve(problem(), METHOD, 0.2, seed=3, save=[0.012, 0.1, 0.104, 0.2])
    np.testing.assert_allclose(got.times, [0.01, 0.1, 0.2], atol=1e-15)


def test_where_one_saves_does_not_change_what_is_saved(solved):
    got = wl.solve(problem(), METHOD, 0.2, seed=3, save=[0.03, 0.1, 0.2])
    np.testing.assert_allclose(got.risk[1:], solved.risk[[2, 4]], rtol=1e-12)


BAD_TIMES = [1, 0, -3, True, 2.5, [], [0.2, 0.1], [-0.1, 0.1], [0.1, 0.3], [math.nan], "abc", None, [None]]


@pytest.mark.parametrize("bad", BAD_TIMES, ids=str)
def test_bad_save_times_are_refused_in_one_sentence(bad):
    with pytest.raises(wl.InputError, match=r"^save .*: .*\.$"):
        save_times(bad, 0.2)


def test_observers_are_recorded_on_named_dimensions(solved):
    data = solved.dataset
    assert data["radius"].dims == ("time",)
    assert data["mean"].dims == ("time", "mean_1") and data["mean"].shape == (5, 2)
    np.testing.assert_allclose(data["radius"][-1], radius(solved.at(0.2)), rtol=1e-14)


def test_an_estimate_is_recorded_as_its_value():
    x, y = np.eye(5), np.ones(5)
    test = {"test": lambda rho: wl.observables.test_risk(problem(), rho, x, y)}
    run = wl.solve(problem(), METHOD, 0.02, save=2, keep="full", observers=test)
    assert run.dataset["test"].dims == ("time",)
    assert run.dataset["test"].values[-1] == test["test"](run.final).risk


def test_observers_see_the_measure_in_reduced_coordinates():
    seen = []
    wl.solve(problem(d=60), wl.MeanField(8), 0.1, save=2, observers={"n": lambda c: seen.append(c.coordinates) or c.n})
    assert seen == [("a", "r")] * 2


def test_neurons_are_kept_in_reduced_coordinates_unless_asked(solved):
    full = wl.solve(problem(), METHOD, 0.2, seed=3, save=5, keep="full")
    assert list(solved.dataset["coordinate"].values) == ["a", "r"]
    assert list(full.dataset["coordinate"].values) == ["a", *(f"w_{i}" for i in range(1, 6))]
    np.testing.assert_array_equal(full.dataset["final"], full.dataset["theta"][-1])
    np.testing.assert_array_equal(full.final.theta, solved.final.theta)
    lengths = np.linalg.norm(full.dataset["theta"].values[..., 1:], axis=-1)
    np.testing.assert_allclose(solved.dataset["theta"].values[..., 1], lengths, rtol=1e-14)


def test_the_record_names_its_dimensions_and_says_how_it_was_made(solved):
    data = solved.dataset
    assert data["theta"].dims == ("time", "neuron", "coordinate")
    assert data["risk"].dims == ("time",) and data["final"].dims == ("neuron", "final_coordinate")
    assert float(data["weights"].sum()) == pytest.approx(1, abs=1e-15)
    assert data.attrs["method"] == solved.name == "SGD" and solved.outcome == "done" and solved.advice == ""
    assert data.attrs["seed"] == 3 and data.attrs["wall_time"] > 0 and data.attrs["device"]
    assert set(json.loads(data.attrs["versions"])) >= {"widelimit", "jax", "numpy"}
    assert solved.problem == problem() and solved.method == METHOD and solved.settings.t_end == 0.2
    assert tomllib.loads(solved.spec)["problem"]["data"] == {"law": "gaussian_classes", "d": 5, "delta": 0.5}
    assert tomllib.loads(solved.spec)["method"] == [{"name": "SGD", "n": 4, "step": 0.01}]


def test_a_solution_survives_the_disk(solved, tmp_path):
    path = solved.save(tmp_path / "run.nc")
    again = wl.load(path)
    xr.testing.assert_identical(again.dataset, solved.dataset)
    np.testing.assert_array_equal(again.final.theta, solved.final.theta)
    assert again.spec == solved.spec and repr(again) == repr(solved)
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"], "a partial file was left behind"


@pytest.mark.parametrize("name", ["run.txt", "run", "run.nc.bak"])
def test_a_record_is_written_to_a_name_that_says_what_it_is(solved, tmp_path, name):
    with pytest.raises(wl.InputError, match=r"needs a path that ends in \.nc, got .*try 'run.*\.nc'"):
        solved.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_loading_anything_else_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text.nc").write_text("not a NetCDF file")
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("missing.nc", "text.nc", "other.nc", "."):
        with pytest.raises(wl.InputError, match=r"^load needs .*got "):
            wl.load(tmp_path / name)


def test_the_measure_at_a_time_is_the_nearest_saved_one(solved):
    np.testing.assert_array_equal(solved.at(0.11).theta, solved.dataset["theta"].values[2])
    assert solved.at(0.0).coordinates == ("a", "r")


@pytest.mark.parametrize("t", [99, 0.21, -0.1, math.nan, "end", None])
def test_a_time_beyond_the_end_is_refused_in_one_sentence(solved, t):
    do = "solve with a larger t_end" if t in (99, 0.21) else r"try at\(0.2\)"
    with pytest.raises(wl.InputError, match=rf"^a time must lie within the saved ones, from 0 to 0.2, got .*: {do}\.$"):
        solved.at(t)


@pytest.mark.more
def test_a_table_has_a_row_for_each_save_and_replica(solved):
    table = solved.to_dataframe()
    assert list(table.columns) == ["time", "risk", "risk_error", "radius"] and len(table) == 5
    np.testing.assert_array_equal(table["risk"], solved.risk)
    many = wl.solve(problem(), METHOD, 0.2, seed=3, save=3, replicas=2)
    table = many.to_dataframe()
    assert sorted(table.columns) == ["replica", "risk", "risk_error", "time"] and len(table) == 6
    np.testing.assert_array_equal(table[table["replica"] == 1]["risk"], many.risk[1])


def test_measures_landscapes_and_data_sets_have_short_reprs(solved):
    assert repr(solved.final) == "<Cloud: 4 particles in a, w_1, w_2, w_3, w_4, w_5>"
    assert repr(wl.landscape(problem())) == "<PairwiseLandscape in a, w_1, w_2, w_3, w_4, w_5>"
    assert repr(wl.Density((np.arange(3.0),), np.ones(2) / 2, ("r",), (5,))) == "<Density: 2 cells in r>"
    rows = wl.data.empirical(np.ones((50, 3)), np.ones(50), replacement=False)
    assert repr(rows) == "empirical(<50 rows of 3 columns>, replacement=False)"


@pytest.fixture(scope="module")
def exploded():
    with pytest.raises(wl.Diverged) as caught:
        wl.solve(problem(SQUARE), wl.SGD(4, 2.0), 200.0, save=[0.0, 2.0, 100.0, 200.0])
    return caught.value


def test_divergence_is_raised_with_advice_and_with_what_was_computed(exploded):
    got = exploded.solution
    assert re.match(r"SGD diverged \(last good time t = [\d.]+\): the step 2 is too large: try step=0.5", str(exploded))
    assert got.outcome == "diverged" and "step" in got.advice
    assert 0 < len(got.times) < 4 and np.isfinite(got.risk).all()
    assert np.isfinite(got.final.theta).all()
    assert float(str(exploded).split("t = ")[1].split(")")[0]) == got.times[-1]


def test_divergence_can_be_returned_instead_of_raised(exploded):
    got = wl.solve(problem(SQUARE), wl.SGD(4, 2.0), 200.0, save=[0.0, 2.0, 100.0, 200.0], throw=False)
    assert got.outcome == "diverged" and "diverged" in repr(got)
    np.testing.assert_array_equal(got.times, exploded.solution.times)
    np.testing.assert_array_equal(got.risk, exploded.solution.risk)


def test_a_solver_that_gives_up_stops_with_advice_and_keeps_what_it_reached(monkeypatch):
    monkeypatch.setattr(adaptive, "MAX_STEPS", 6)
    monkeypatch.setattr(adaptive, "STEPS_PER_CALL", {False: 6, True: 6})  # read when these shapes are compiled, here
    method = wl.ParticleFlow(3, stiff=False)
    with pytest.raises(wl.Stopped, match=r"ParticleFlow stopped .*last good time t = 0.001\): .* gave up") as caught:
        wl.solve(problem(d=4), method, 50.0, save=[0.0, 0.001, 50.0])
    got = caught.value.solution
    assert got.times.tolist() == [0.0, 0.001] and got.outcome == "stopped" and "raise rtol" in got.advice
    assert isinstance(caught.value, wl.Diverged)


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_keeps_the_solution_so_far(at):
    calls = []

    def impatient(cloud):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return radius(cloud)

    with pytest.raises(wl.Interrupted) as caught:
        wl.solve(problem(), METHOD, 0.2, seed=3, save=5, observers={"radius": impatient})
    got = caught.value.solution
    assert got.outcome == "interrupted" and isinstance(caught.value, KeyboardInterrupt)
    assert len(got.times) == len(got.dataset["radius"]) == at - 1


@pytest.mark.parametrize("method", [METHOD, wl.GD(4, 0.01)], ids=["SGD", "GD"])
def test_the_risk_of_a_save_is_found_while_the_run_goes_on(method, monkeypatch):
    """On another thread, at any pace: the record is that of a run which waits for it."""
    find, threads = recorder.OfNeurons.risk, set()

    def late(self, state):
        threads.add(threading.current_thread())
        time.sleep(0.01)
        return find(self, state)

    monkeypatch.setattr(recorder.OfNeurons, "risk", late)
    beside = wl.solve(problem(), method, 0.2, seed=3, save=5)
    assert len(threads) == 1 and threading.main_thread() not in threads
    monkeypatch.setattr(driver, "all_finite", lambda state: False)  # then it waits
    in_turn = wl.solve(problem(), method, 0.2, seed=3, save=5)
    for name in ("risk", "risk_error", "theta"):
        np.testing.assert_array_equal(beside.dataset[name], in_turn.dataset[name])


def test_threads_have_the_settings_of_jax_of_whom_they_work_for():
    with jax.default_matmul_precision("float32"), jax.default_device(jax.devices()[0]), threads(1) as pool:
        assert pool.submit(settings).result() == settings() == (jax.devices()[0], "float32")
    with threads(1) as pool:
        assert pool.submit(settings).result() == settings() == (None, None)


def test_an_interrupt_right_after_a_save_keeps_it(monkeypatch):
    """Also where its risk is still being found."""
    passed, begins = [], sgd.ready

    def ready(*arguments):
        run = begins(*arguments)

        def advance(state, start, stop, tick):
            if start >= 0.1:
                passed.append(start)
                raise KeyboardInterrupt
            return run.advance(state, start, stop, tick)

        return replace(run, advance=advance)

    monkeypatch.setitem(DYNAMICS, wl.SGD, ready)
    with pytest.raises(wl.Interrupted) as caught:
        wl.solve(problem(), METHOD, 0.2, seed=3, save=5)
    assert passed == [0.1]
    np.testing.assert_allclose(caught.value.solution.times, [0, 0.05, 0.1], atol=1e-15)


def test_the_bar_says_compiling_until_the_first_compiled_call_is_back(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=shown, force_terminal=True, width=80))
    wl.solve(problem(), METHOD, 0.2, seed=3, save=3, progress=True)
    frames = [frame for frame in re.split(r"[\r\n]", shown.getvalue()) if "t = " in frame]
    assert "SGD, compiling" in frames[0] and "t = 0 " in frames[0]
    assert "SGD" in frames[-1] and "compiling" not in frames[-1] and "t = 0.2" in frames[-1]


FULL, SHORT = wl.initial.array(np.ones((3, 6))), wl.initial.array(np.ones((3, 2)))
TABLE = {
    "negative step": lambda: wl.SGD(4, -0.1),
    "step zero": lambda: wl.SGD(4, 0.0),
    "step nan": lambda: wl.SGD(4, math.nan),
    "n zero": lambda: wl.SGD(0, 0.1),
    "n fractional": lambda: wl.ParticleFlow(2.5),
    "n a bool": lambda: wl.SGD(True, 0.1),
    "batch zero": lambda: wl.SGD(4, 0.1, batch=0),
    "points zero": lambda: wl.MeanField(0),
    "rtol negative": lambda: wl.MeanField(rtol=-1e-8),
    "unknown dtype": lambda: wl.SGD(4, 0.1, dtype="float16"),
    "unknown coordinates": lambda: wl.ParticleFlow(4, "polar"),
    "unknown placement": lambda: wl.MeanField(placement="random"),
    "unknown keep": lambda: wl.solve(problem(), METHOD, 0.1, keep="all"),
    "t_end zero": lambda: wl.solve(problem(), METHOD, 0.0),
    "t_end negative": lambda: wl.solve(problem(), METHOD, -1.0),
    "t_end infinite": lambda: wl.solve(problem(), METHOD, math.inf),
    "not a problem": lambda: wl.solve("problem", METHOD, 0.1),
    "not a method": lambda: wl.solve(problem(), "SGD", 0.1),
    "a class for a method": lambda: wl.solve(problem(), wl.MeanField, 0.1),
    "negative seed, SGD": lambda: wl.solve(problem(), METHOD, 0.1, seed=-1),
    "negative seed, MeanField": lambda: wl.solve(problem(d=60), wl.MeanField(4), 0.1, save=2, seed=-1),
    "fractional seed": lambda: wl.solve(problem(), METHOD, 0.1, seed=0.5),
    "noise, implicit": lambda: wl.solve(problem(beta=10.0), wl.MeanField(4, stiff=True), 0.1),
    "wrong n, SGD": lambda: wl.solve(problem(initial=FULL), METHOD, 0.1),
    "wrong n, ParticleFlow": lambda: wl.solve(problem(initial=FULL), wl.ParticleFlow(4), 0.1),
    "wrong n, reduced": lambda: wl.solve(problem(initial=SHORT), wl.ParticleFlow(4, "reduced"), 0.1),
    "reduced start, SGD": lambda: wl.solve(problem(initial=SHORT), wl.SGD(3, 0.1), 0.1),
    "infinite d, SGD": lambda: wl.solve(problem(d=math.inf), METHOD, 0.1),
    "infinite d, ParticleFlow": lambda: wl.solve(problem(d=math.inf), wl.ParticleFlow(4), 0.1),
    "observer named as a record": lambda: wl.solve(problem(), METHOD, 0.1, save=2, observers={"risk": radius}),
    "observer named as a coordinate": lambda: wl.solve(problem(), METHOD, 0.1, save=2, observers={"time": radius}),
}


@pytest.mark.parametrize("call", TABLE.values(), ids=TABLE.keys())
def test_bad_input_is_refused_in_one_sentence(call):
    with pytest.raises(wl.InputError) as caught:
        call()
    message = str(caught.value)
    assert re.search(r"(, got .*: .|^unknown .*: .*known are )", message), message
    assert message.endswith(".") and "\n" not in message


def test_whole_floats_and_numpy_integers_count_as_whole_numbers():
    """A number of neurons computed by numpy or written 4.0 works or is refused, never a TypeError from inside."""
    for n in (np.int64(4), 4.0):
        try:
            got = wl.solve(problem(), wl.SGD(n, 0.01), 0.02, save=2)
        except wl.InputError:
            continue
        assert got.final.n == 4


def test_unknown_names_offer_the_nearest():
    with pytest.raises(wl.InputError, match="did you mean 'quantile'"):
        wl.MeanField(placement="quantiles")
