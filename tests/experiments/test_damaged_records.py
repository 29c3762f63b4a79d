"""A damaged record is refused in one sentence: no other error, no hang, no other values."""

import os
import random
import subprocess
import sys

import h5py
import pytest

import widelimit as wl
from widelimit.solving.whole_files import write_whole

QUICK, MANY = 40, 300
PROBLEM = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))


@pytest.fixture(scope="module")
def solution():
    return wl.solve(PROBLEM, wl.SGD(n=8, step=0.01), t_end=0.1, save=3)


@pytest.fixture(scope="module")
def record(solution, tmp_path_factory):
    return wl.Store(tmp_path_factory.mktemp("whole")).keep(solution)


def flipped(path, draw):
    contents = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 3, 50))):
        contents[draw.randrange(len(contents))] ^= 1 << draw.randrange(8)
    path.write_bytes(contents)


def cut_short(path, draw):
    os.truncate(path, draw.randrange(path.stat().st_size))


def without_a_part(path, draw):
    with h5py.File(path, "r+") as file:
        place = draw.choice((file, file.attrs, file["risk"].attrs))
        del place[draw.choice(sorted(place))]


def with_another_number(path, draw):
    with h5py.File(path, "r+") as file:
        file["risk"][draw.randrange(3)] += 1e-9


DAMAGES = (flipped, flipped, cut_short, without_a_part, with_another_number)


def assert_refused(record, solution, folder, seed):
    """By `load`, and by a store, which runs it again; the name is the one under which the store looks for it."""
    path, draw = folder / record.name, random.Random(seed)
    path.write_bytes(record.read_bytes())
    draw.choice(DAMAGES)(path, draw)
    if path.read_bytes() == record.read_bytes():  # flipped there and back
        return
    with pytest.raises(wl.InputError, match=r"^load needs a file written by save, got .*: it .*\.$") as caught:
        wl.load(path)
    assert "\n" not in str(caught.value) and wl.Store(folder).find(solution.request) is None


def test_damaged_records_are_refused_in_one_sentence(record, solution, tmp_path):
    for seed in range(QUICK):
        assert_refused(record, solution, tmp_path, seed)
    assert wl.Store(record.parent).find(solution.request).outcome == wl.load(record).outcome == "done"


@pytest.mark.slow
def test_many_damaged_records_are_refused_in_one_sentence(record, solution, tmp_path):
    for seed in range(QUICK, QUICK + MANY):
        assert_refused(record, solution, tmp_path, seed)


def test_what_killed_writers_left_is_removed_by_the_next_one_and_no_other_file(record, tmp_path):
    child = [sys.executable, "-c", "import os; print(os.getpid(), os.uname().nodename)"]
    gone, host = subprocess.run(child, capture_output=True, text=True, check=True).stdout.split()
    stale = [f".run.nc.{host}.{gone}.0.part", ".run.nc.part"]
    alive = [
        f".run.nc.{host}.{os.getppid()}.0.part",
        f".run.nc.elsewhere.{gone}.0.part",
        f".a.run.nc.{host}.{gone}.0.part",
    ]
    for name in (*stale, *alive, "run.nc.part"):
        (tmp_path / name).write_text("half")
    write_whole(tmp_path / "run.nc", lambda path: path.write_text("whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*alive, "run.nc.part", "run.nc"])
    assert (tmp_path / "run.nc").read_text() == "whole"
