"""Entries of the catalogue in processes of their own: what is finished stays, whoever is killed or interrupted."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from widelimit.interfaces.cli import run
from widelimit.interfaces.side_by_side import Shares

NAMES = ("barron-line", "three-atoms")  # the shortest one, and one that is under way for many times as long
QUICKEST, LONGER = (f"{name}-quick.json" for name in NAMES)


def started(folder, *options):
    words = [sys.executable, "-m", "widelimit", "reproduce", *NAMES, "--quick", "--out", str(folder), *options]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        time.sleep(0.1)


def processes_in(folder):
    """Processes that have a folder among their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path] * (str(folder).encode() in path.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_is_finished_is_not_run_again_after_a_kill(tmp_path, number, capsys):
    """The parent alone is killed: no process stays behind, and the second run reads the entry that was finished."""
    first = started(tmp_path, "--jobs", "2")
    wait_until(lambda: (tmp_path / QUICKEST).exists() or first.poll() is not None)
    first.send_signal(number)
    _, said = first.communicate(timeout=120)
    assert first.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), said
    wait_until(lambda: not processes_in(tmp_path))
    assert not (tmp_path / LONGER).exists(), "the other entry was finished too: a longer one is needed here"
    before = (tmp_path / QUICKEST).stat().st_mtime_ns
    assert run(["reproduce", *NAMES, "--quick", "--json", "--out", str(tmp_path)]) == 0
    assert [one["kept"] for one in json.loads(capsys.readouterr().out)] == [True, False]
    assert (tmp_path / QUICKEST).stat().st_mtime_ns == before


@pytest.mark.slow
def test_an_entry_whose_process_is_killed_is_told(tmp_path, capsys, monkeypatch):
    """Exit code 1, and the command can be given again."""
    starting = Shares.__init__

    def doomed(self, *arguments):
        starting(self, *arguments)
        os.kill(self.workers[0].pid, signal.SIGKILL)

    monkeypatch.setattr(Shares, "__init__", doomed)
    assert run(["reproduce", *NAMES, "--quick", "--jobs", "2", "--out", str(tmp_path)]) == 1
    assert f"not finished: {NAMES[1]}; run the command again" in capsys.readouterr().err  # the longer one goes first
    assert (tmp_path / QUICKEST).exists() and (tmp_path / QUICKEST.replace("json", "png")).exists()
