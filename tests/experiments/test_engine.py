"""Who runs a sweep changes nothing in it: this process, workers, a cluster whose processes are killed."""

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr
from killed_sweeps import RUNS, Processes, assert_same, records, spec, survive

import widelimit as wl
from widelimit.experiments.engine import Errand, _token
from widelimit.experiments.sweep_axes import axes_of
from widelimit.experiments.sweep_points import Way, bunches_of
from widelimit.interfaces.cli import run
from widelimit.solving.whole_files import _host
from widelimit_benchmarks import engine_speed

AXES = {"seed": {"seeds": 5}}


def bunch(start, axes=AXES, most=5):
    return next(bunches_of(start, axes_of(start, axes), most))


def test_an_axis_that_decides_a_shape_does_not_vary_within_a_bunch():
    start = spec()
    axes = axes_of(start, {"n": [4, 6], "delta": [0.3, 0.5, 0.7], "step": [0.1, 0.2], "seed": [0, 1]})
    found = list(bunches_of(start, axes, 4))
    assert sorted(place for one in found for place in one.changes) == sorted(np.ndindex(2, 3, 2, 2))
    assert [len(one.changes) for one in found] == [4, 2] * 4
    for one in found:
        assert len({(changes["method.n"], changes["method.step"]) for changes in one.changes.values()}) == 1
    assert all(one.alone for one in bunches_of(start, axes, 1))


@pytest.mark.more
def test_a_worker_that_does_not_see_the_store_sends_the_records(tmp_path):
    """Which are then in the store, byte by byte as it made them; one that sees it keeps them there."""
    start, near, far = spec(), wl.Store(tmp_path / "near"), wl.Store(tmp_path / "far")
    near.open(), far.open()
    (near.folder / "token").touch()
    points, sent = Errand(start, Way({}, near, 256), "token").run(bunch(start))
    assert len(near.runs()) == len(points) == 5 and not sent
    points, sent = Errand(start, Way({}, far, 256), "token").run(bunch(start))
    assert not far.runs() and sorted(sent) == sorted(records(near.folder))
    for name, contents in sent.items():
        far.take(name, contents)
    assert not far.faults() and [entry.id for entry in far.runs()] == [entry.id for entry in near.runs()]
    np.testing.assert_array_equal(points[(3,)].values["risk"], far.load(far.runs("seed == 3")[0].id).risk)


@pytest.mark.more
def test_a_point_has_the_same_bits_in_any_company(tmp_path):
    """A sweep whose records were lost in part is made whole again: the same theta, though fewer go together."""
    start, store = spec(), wl.Store(tmp_path / "whole")
    wl.sweep(start, {"seed": {"seeds": 9}}, store=store)
    for lost in (1, 2, 5):
        other = wl.Store(shutil.copytree(store.folder, tmp_path / f"{lost} lost"))
        names = [entry.id for entry in other.runs()]
        other.remove(names[:lost])
        assert wl.sweep(start, {"seed": {"seeds": 9}}, store=other).counts == {"done": 9}
        for name in names[:lost]:
            one, two = store.load(name).dataset, other.load(name).dataset
            xr.testing.assert_equal(one, two)


@pytest.mark.parametrize(
    "bad", [{"workers": 0}, {"workers": 1.5}, {"scheduler": ""}, {"scheduler": 8786}, {"retries": -1}, {"together": 0},
            {"workers": 2, "scheduler": "tcp://127.0.0.1:8786"}]
)  # fmt: skip
def test_a_bad_engine_is_refused_in_one_sentence(bad):
    with pytest.raises(wl.InputError, match=r"^[^\n]* got [^\n]*\.$"):
        wl.Engine(**bad)
    with pytest.raises(wl.InputError, match="engine must be"):
        wl.sweep(spec(), AXES, engine=2)


def test_workers_without_the_extra_name_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(wl.InputError, match=r"needs distributed, got .*: pip install 'widelimit\[cluster\]'\.$"):
        wl.sweep(spec(), AXES, engine=wl.Engine(workers=2))


def test_a_store_that_cannot_be_written_to_ends_the_sweep(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(wl.InputError, match="folder that can be written to"):
        wl.sweep(spec(), AXES, store=wl.Store(tmp_path / "file"))


def test_what_a_killed_sweep_has_left_is_removed_by_the_next(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / f".sweep.{_host()}.{gone.pid}.0.part").touch()
    with _token(wl.Store(tmp_path)) as token:
        assert sorted(path.name for path in tmp_path.iterdir()) == [token, "store.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["store.json"]


@pytest.mark.slow
def test_a_full_disk_ends_the_sweep_in_one_sentence_and_leaves_whole_records(tmp_path):
    """Also on a worker, and where a point alone would say it has failed. A file may have 4 kB, a record has more."""
    text = spec().to_toml() + "\n[sweep]\nseed = {seeds = 3}\n"
    (tmp_path / "grid.toml").write_text(text)
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from widelimit.interfaces.cli import run; "
    for option, value in (("--together", "1"), ("--together", "256"), ("--workers", "1")):
        code = limited + f"raise SystemExit(run(['sweep', 'grid.toml', '{option}', '{value}']))"
        found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert found.returncode == 2 and "folder that can be written to" in found.stderr, found.stderr
        assert not [path.name for path in (tmp_path / "grid" / "runs").iterdir() if path.name != "store.json"]


def like_any_user():
    """From here on the process minds the rights of files, also those of root."""
    drop_from_bounds, override_rights = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    ctypes.CDLL(None).prctl(drop_from_bounds, override_rights, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the driver must write where the worker beside it may not")
def test_a_folder_that_is_read_only_on_a_worker_ends_the_sweep_in_one_sentence(tmp_path, capsys):
    """The driver sees the store and can write there, the worker sees it and cannot."""
    (tmp_path / "grid.toml").write_text(spec().to_toml() + "\n[sweep]\nseed = {seeds = 3}\n")
    store = wl.Store(tmp_path / "out" / "runs")
    store.open()
    store.folder.chmod(0o555)
    with Processes() as cluster:
        cluster.kill(cluster.workers)
        worker = [sys.executable, "-m", "dask", "worker", cluster.address, "--nthreads=1", "--no-nanny"]
        with subprocess.Popen(worker, preexec_fn=like_any_user, cwd=tmp_path) as process:
            at = ["--scheduler", cluster.address]
            cluster.wait()
            assert run(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out"), *at]) == 2
            process.terminate()
    told = capsys.readouterr().err.strip()
    assert told.startswith("widelimit: on the worker ") and "can be written to" in told and "\n" not in told, told
    assert [path.name for path in store.folder.iterdir()] == ["store.json"]


@pytest.mark.slow
@pytest.mark.parametrize("listening", [False, True])
def test_a_scheduler_that_does_not_answer_is_told_within_ten_seconds(listening, tmp_path, capsys):
    (tmp_path / "grid.toml").write_text(spec().to_toml() + "\n[sweep]\nseed = {seeds = 3}\n")
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        if listening:
            deaf.listen()
        at = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        began = time.perf_counter()
        assert run(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out"), "--scheduler", at]) == 2
    told = capsys.readouterr().err.strip()
    assert f"a Dask scheduler that answers, got none at '{at}'" in told and "\n" not in told
    assert not (tmp_path / "out").exists()
    print(f"{time.perf_counter() - began:.1f} s")  # most of it is PATIENCE


@pytest.mark.slow
def test_own_workers_make_the_dataset_of_this_process(tmp_path):
    """Observers and failures included, and with a store the records are there."""
    axes = {"scale": [0.5, 0.8], "delta": [0.5, 1.5]}
    observers, store = {"second": lambda rho: rho.mean(rho.theta**2)}, wl.Store(tmp_path)
    here = wl.sweep(spec(), axes, observers=observers)
    there = wl.sweep(spec(), axes, observers=observers, store=store, engine=wl.Engine(workers=2))
    assert here.counts == there.counts == {"done": 2, "failed": 2} and len(store.runs()) == 2
    names = ["risk", "risk_error", "second"]
    xr.testing.assert_allclose(here.dataset[names], there.dataset[names], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(here.dataset["reason"], there.dataset["reason"])
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_two_sweeps_into_one_store_at_once_share_the_work(tmp_path):
    """No clash, the same bits, and made twice only what both had under way."""
    with Processes() as cluster:
        alone = cluster.driver(tmp_path / "alone")
        alone.join()
        pair = [cluster.driver(tmp_path / "shared") for _ in range(2)]
        for one in pair:
            one.join()
        assert [one.exitcode for one in (alone, *pair)] == [0, 0, 0]
    made = (tmp_path / "shared" / "made.txt").read_text().splitlines()
    assert_same(wl.Store(tmp_path / "shared"), wl.Store(tmp_path / "alone"))
    print(f"{len(made)} runs were made for {RUNS}")
    assert RUNS <= len(made) <= 1.5 * RUNS


@pytest.mark.slow
def test_whatever_is_killed_nothing_is_lost_and_the_bits_are_the_same(tmp_path):
    """The driver, a worker and the scheduler in turn; `python killed_sweeps.py 100` for more."""
    sweeps, there = survive(12, tmp_path)
    assert len(there) == 12 and sweeps >= 2


@pytest.mark.speed
def test_the_engine_takes_less_than_thirty_milliseconds_for_a_run():
    """A thousand tiny runs on two workers that have compiled them before, from the call to the dataset."""
    with Processes() as cluster:
        engine = wl.Engine(scheduler=cluster.address)
        wl.sweep(spec(), {"seed": {"seeds": 1000}}, engine=engine)
        began = time.perf_counter()
        found = wl.sweep(spec(), {"seed": {"seeds": 1000}}, engine=engine)
        each = (time.perf_counter() - began) / 1000
    print(f"{1000 * each:.1f} ms for a run")
    assert found.counts == {"done": 1000} and each < 0.03


@pytest.mark.speed
def test_an_engine_costs_less_than_thirty_milliseconds_a_run_and_its_driver_no_memory():
    """On an idle machine with two cores. A run is a few arrays in the dataset: far less than its record of 16 kB."""
    few, many = (engine_speed.measure_apart(runs) for runs in (200, 1000))
    print(few, many)
    assert many["overhead"] < 30
    assert many["peak"] - few["peak"] < 800 * 16 / 2**10
