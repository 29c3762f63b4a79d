"""Two hundred random problems, see random_problems.py."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from random_problems import ORDER, classes_full, classes_reduced, empirical_full, share_of

PROGRAM = Path(__file__).with_name("random_problems.py")
SHARES = 2  # processes at a time
CHEAP = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"  # compiling is most of the time


def wrong(verdict):
    """Which of the four numbers of a problem are wrong: draws may be off in one entry of twenty."""
    enough = 0.95 if verdict["drawn"] else 1.0
    return [f"{name}: {verdict['kind']}" for name, share in verdict["right"].items() if share < enough]


def test_there_are_two_hundred_problems_of_every_kind():
    assert len(ORDER) == 200 and min(Counter(ORDER).values()) >= 4


def few(number):
    """Problems of three shapes, which compile quickly: four of each."""
    rng = np.random.default_rng(number)
    if number % 3 == 0:
        return classes_reduced(rng, (math.inf,), ("tanh",))
    return classes_full(rng, (3,), ("relu",)) if number % 3 == 1 else empirical_full(rng, ("tanh",))


@pytest.mark.slow
def test_a_dozen_random_problems_are_as_right_as_they_say():
    for problem in map(few, range(12)):
        assert not wrong(problem.verdict())


@pytest.mark.slow
def test_every_problem_has_one_share():
    assert sorted(number for part in range(SHARES) for number in share_of(part, SHARES)) == list(range(len(ORDER)))


@pytest.fixture(scope="module")
def verdicts():
    """What is found of all two hundred."""
    environment = {**os.environ, "XLA_FLAGS": CHEAP, "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([sys.executable, PROGRAM, str(part), str(SHARES)], stdout=subprocess.PIPE, env=environment)
        for part in range(SHARES)
    ]
    lines = [line for process in running for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in running] == [0] * SHARES
    found = [json.loads(line) for line in lines]
    assert len(found) == len(ORDER)
    return found


@pytest.mark.slow
def test_random_problems_are_as_right_as_they_say(verdicts):
    found = [one for verdict in verdicts for one in wrong(verdict)]
    assert len(found) <= 0.01 * sum(len(verdict["right"]) for verdict in verdicts), found


@pytest.mark.slow
def test_random_problems_say_no_more_than_they_must(verdicts):
    """Where the true error is seen above rounding."""
    ratios = [ratio for verdict in verdicts if not verdict["drawn"] for ratio in verdict["ratios"].values()]
    assert len(ratios) >= 10 and np.median(ratios) <= 30, np.sort(ratios)
