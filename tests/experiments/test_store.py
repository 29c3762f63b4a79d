"""The store: a run is found by what was asked for, and is whole or absent whatever happens to the process."""

import json
import random
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.experiments.exporting import export
from widelimit.experiments.store import BEGUN, HEAD
from widelimit.experiments.store_index import INDEX
from widelimit.interfaces.cli import run
from widelimit.solving import adaptive
from widelimit.solving.twin import Twin
from widelimit.solving.whole_files import read_record

METHOD = wl.SGD(6, 0.003)


def problem(delta=0.6, **more):
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
    return wl.Problem(wl.data.gaussian_classes(20, delta), neuron, wl.initial.gaussian(0.8), beta=20.0, **more)


def solved(store, delta=0.6, method=METHOD, **options):
    return wl.solve(problem(delta), method, 0.4, save=5, store=store, **options)


def same(one, other):
    drop = ("wall_time", "data_digest")
    kept = [s.dataset.copy() for s in (one, other)]
    for dataset in kept:
        dataset.attrs = {k: v for k, v in dataset.attrs.items() if k not in drop}
    xr.testing.assert_identical(*kept)


def moment(rho):
    return rho.mean(rho.theta**2)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A store with four runs."""
    store = wl.Store(tmp_path_factory.mktemp("store"))
    for delta in (0.4, 0.6):
        for n in (6, 8):
            solved(store, delta, wl.SGD(n, 0.003))
    return store


def test_a_run_that_is_in_the_store_is_read_and_says_so(tmp_path):
    store = wl.Store(tmp_path / "runs")
    first, second = solved(store), solved(store)
    assert first.source is None and second.source == store.path(store.runs()[0].id)
    assert "read from" in repr(second) and "read from" not in repr(first)
    same(first, second)
    same(first, wl.solve(problem(), METHOD, 0.4, save=5))


@pytest.mark.parametrize("replicas", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_observers_look_at_a_run_that_is_in_the_store(replicas, tmp_path):
    store = wl.Store(tmp_path)
    plain = wl.solve(problem(), METHOD, 0.4, save=5, replicas=replicas, observers={"m": moment})
    for _ in range(2):  # computed, then read
        found = wl.solve(problem(), METHOD, 0.4, save=5, replicas=replicas, observers={"m": moment}, store=store)
        np.testing.assert_array_equal(found.dataset["m"], plain.dataset["m"])
    assert "m" not in store.load(store.runs()[0].id).dataset


@pytest.mark.more
@pytest.mark.parametrize("change", [{"seed": 1}, {"keep": "full"}])
def test_another_question_is_another_run(change, full):
    assert solved(full, **change).source is None
    assert solved(full, **change).source is not None
    full.remove([solved(full, **change).source.stem])


class Killed(BaseException):
    """Stands for the end of a process."""


class Dying:
    """A keeper that ends the process right after its k-th checkpoint."""

    every = 1e-9

    def __init__(self, store, k):
        self.store, self.left = store, k

    def find(self, request):
        return self.store.find(request)

    def keep(self, solution):
        self.store.keep(solution)
        self.left -= solution.outcome == "interrupted"
        if not self.left:
            raise Killed


@pytest.mark.parametrize(
    "method",
    [
        METHOD,
        wl.GD(4, 0.001),
        pytest.param(wl.MeanField(8), marks=pytest.mark.slow),
        pytest.param(wl.NonlinearFlow(4, points=8), marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_goes_on_from_its_checkpoint_to_the_same_bits(method, tmp_path):
    """Checkpoints lie at saves and, where the dynamics goes in legs, between them."""
    noiseless = isinstance(method, wl.MeanField)
    asked = problem() if not noiseless else wl.Problem(problem().data, problem().neuron, problem().initial)
    whole = wl.solve(asked, method, 0.4, save=[0.2, 0.4])
    store, kills = wl.Store(tmp_path), 0
    while True:
        try:
            found = wl.solve(asked, method, 0.4, save=[0.2, 0.4], store=Dying(store, 2))
            break
        except Killed:
            kills += 1
            assert kills < 20  # every life gets further
            assert [e.fields["outcome"] for e in store.begun()] == ["interrupted"]
    assert kills >= (1 if isinstance(method, wl.GD) else 0)
    same(found, whole)
    assert not store.begun() and len(store.runs()) == 1


def test_a_checkpoint_between_two_saves_is_one(tmp_path):
    """400 steps between two saves, in legs of 64."""
    store = wl.Store(tmp_path)
    with pytest.raises(Killed):
        wl.solve(problem(), wl.GD(4, 0.001), 0.4, save=2, store=Dying(store, 3))
    (path,) = tmp_path.glob(f"*{BEGUN}")
    dataset = read_record(path)["/"]
    assert dataset.sizes["time"] == 1 and 0 < float(dataset["state_at"]) < 0.4


def checkpoints_of_lives(method, store, most):
    """What is left after each of the lives of a run that is killed again and again, and ends with the bits of one that
    is not."""
    asked = wl.Problem(problem().data, problem().neuron, problem().initial)
    whole, left = wl.solve(asked, method, 6e3, save=[3e3, 6e3]), []
    while len(left) < most:  # every life gets further
        try:
            same(wl.solve(asked, method, 6e3, save=[3e3, 6e3], store=Dying(store, 1)), whole)
            return left
        except Killed:
            (path,) = store.folder.glob(f"*{BEGUN}")
            left.append(read_record(path)["/"])
    raise AssertionError(f"not at its end after {most} lives")


@pytest.mark.parametrize(
    "method",
    [
        wl.MeanField(8, stiff=False, check=False),
        pytest.param(wl.MeanField(8), marks=pytest.mark.slow),
        pytest.param(wl.NonlinearFlow(4, "reduced", points=8, stiff=False), marks=pytest.mark.slow),
    ],
)
def test_an_adaptive_flow_killed_between_two_calls_of_its_solver_goes_on_to_the_same_bits(method, tmp_path):
    """Stability holds the steps back: several calls between two saves, but for the implicit scheme, which takes over
    before the first unless it is forbidden."""
    left = checkpoints_of_lives(method, wl.Store(tmp_path), most=20)
    between = {(record.sizes["time"], "state_midway_0" in record) for record in left}
    assert between >= {(0, True), (int(method.stiff is False), True)}


@pytest.mark.parametrize("few", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_killed_while_its_twin_moves_goes_on_to_the_same_bits(few, tmp_path, monkeypatch):
    """MeanField waits at a save for its twin of half as many points, which makes several calls; also where a call has
    few steps, since there are many points. The twin lets the run arrive first."""
    moved = Twin._moved

    def late(self, *passage):
        while self._there is None and not self._left.is_set():
            time.sleep(1e-3)
        return moved(self, *passage)

    monkeypatch.setattr(Twin, "_moved", late)
    if few:
        monkeypatch.setattr(adaptive, "SIZE", 3)
        monkeypatch.setattr(adaptive, "STEPS_PER_CALL", {False: 800, True: 80})
    left = checkpoints_of_lives(wl.MeanField(8, stiff=False), wl.Store(tmp_path), most=60)
    beside = {(record.sizes["time"], "state_twin_at" in record, "state_twin_midway_0" in record) for record in left}
    assert beside >= {(0, True, True), (1, True, True)}


def test_damaged_records_are_listed_and_run_again(tmp_path):
    store = wl.Store(tmp_path)
    path = store.keep(solved(store))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert store.runs()[0].reason and list(store.faults()) == [path.stem]
    assert not store.runs("n == 6") if store.begun() else True
    assert solved(store).source is None and not store.faults()


def test_the_index_is_a_cache(full):
    before = full.runs()
    (full.folder / INDEX).unlink()
    assert full.runs() == before
    (full.folder / INDEX).write_bytes(b"no database at all" * 100)
    assert full.runs() == before


def test_runs_are_chosen_by_any_field(full):
    assert len(full.runs("n >= 8 and data.delta < 0.6")) == 1
    assert len(full.runs("seed == 0 and batch == 1 and outcome == 'done'")) == 4  # defaults are fields too
    assert len(full.runs("not (0.5 < delta <= 2*0.3) or n == 8")) == 3
    assert not full.runs(
        "informative > 3 and n > 0" if "problem.data.informative" in full.runs()[0].fields else "n > inf"
    )


@pytest.mark.parametrize(
    "text", ["n", "n >", "n = 8", "nn == 8", "n == 8 n", "(n == 8", "n == 8)", "n > __import__('os')", "", "n > 1/0", 3]
)
def test_bad_conditions_are_refused(text, full):
    with pytest.raises(wl.InputError):
        full.runs(text)


def test_an_export_holds_every_save(full, tmp_path):
    table = export(full, full.runs(), tmp_path / "a.csv").read_text().splitlines()
    assert len(table) == 1 + 4 * 5 and "problem.data.delta" in table[0]
    groups = read_record(export(full, full.runs(), tmp_path / "a.nc"))
    entry = full.runs()[0]
    np.testing.assert_array_equal(groups[f"/{entry.id}"]["risk"], full.load(entry.id).risk)
    with pytest.raises(wl.InputError, match="known are"):
        export(full, full.runs(), tmp_path / "a.txt")


def test_a_store_of_a_newer_format_is_refused(tmp_path):
    (tmp_path / HEAD).write_text(json.dumps({"format": 99}))
    with pytest.raises(wl.InputError, match="update widelimit"):
        solved(wl.Store(tmp_path))


def test_a_run_without_a_form_in_a_file_is_refused(tmp_path):
    start = wl.Problem(problem().data, problem().neuron, wl.initial.array(np.ones((6, 20))))
    with pytest.raises(wl.InputError, match="in a file"):
        wl.solve(start, METHOD, 0.4, save=5, store=wl.Store(tmp_path))
    with pytest.raises(wl.InputError, match=r"wl\.Store"):
        wl.solve(problem(), METHOD, 0.4, store="runs")


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(wl.InputError, match="can be written to"):
        solved(wl.Store(tmp_path / "file"))


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    store = wl.Store(tmp_path)
    solution = solved(store)
    store.remove([store.runs()[0].id])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(wl.InputError, match="can be written to"):
            store.keep(solution)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".nc" or ".part" in path.name]


def test_the_commands_list_show_rerun_export_prune_and_verify(full, tmp_path, capsys):
    at = ["--store", str(full.folder)]
    assert run(["runs", "list", "--where", "n == 8", "--json", *at]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 2 and found["unreadable"] == []
    name = found["runs"][0]["id"]
    assert run(["runs", "show", name[:8], "--json", *at]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "done"
    assert run(["runs", "rerun", name, *at]) == 0
    assert capsys.readouterr().out == "the same bits\n"
    assert run(["runs", "export", str(tmp_path / "a.csv"), *at]) == 0
    assert run(["runs", "verify", *at]) == 0
    assert run(["runs", "prune", "--where", "n == 8", *at]) == 0
    assert len(full.runs()) == 4  # only told
    assert run(["runs", "prune", "--where", "n == 8 and delta > 0.5", "--yes", *at]) == 0
    assert len(full.runs()) == 3
    assert run(["runs", "list", "--where", "nonsense > 3", *at]) == 2
    assert run(["runs", "list", "--store", str(tmp_path / "nowhere")]) == 2


KILLED = """
import sys
import widelimit as wl
neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
problem = wl.Problem(wl.data.gaussian_classes(20, 0.6), neuron, wl.initial.gaussian(0.8), beta=20.0)
wl.solve(problem, wl.SGD(40, 1e-5), 2.0, save=11, store=wl.Store(sys.argv[1], every=0.05))
"""


def stamps(folder):
    """When checkpoints were written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob(f"*{BEGUN}")}


@pytest.mark.slow
def test_a_process_killed_at_any_moment_goes_on_to_the_same_bits(tmp_path):
    draw, store, kills = random.Random(0), wl.Store(tmp_path), 0
    while not store.runs():
        before = stamps(tmp_path)
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
        while process.poll() is None and (kills == 4 or stamps(tmp_path) == before):
            time.sleep(0.01)
        time.sleep(draw.uniform(0.0, 0.3))
        process.kill()
        kills += process.wait() != 0
        assert not store.faults()
    assert kills >= 2
    found = store.load(store.runs()[0].id)
    same(found, wl.solve(problem(), wl.SGD(40, 1e-5), 2.0, save=11))


@pytest.mark.slow
def test_ten_thousand_records_list_in_a_second(tmp_path):
    store = wl.Store(tmp_path)
    body = store.keep(solved(store)).read_bytes()
    for k in range(9_999):
        (tmp_path / f"x{k:05d}.nc").write_bytes(body)
    began = time.perf_counter()
    assert len(store.runs()) == 10_000
    rebuilt = time.perf_counter() - began
    listed = min(_timed(store.runs) for _ in range(3))
    print(f"index rebuilt in {rebuilt:.1f} s, listed in {listed:.2f} s")
    assert rebuilt < 60 and listed < 1


def _timed(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began
