"""A run and its twin move at the same time, and nobody can tell from the numbers."""

import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics import mean_field
from widelimit.dynamics.solve import DYNAMICS
from widelimit.solving import twin as of_twins

TWO_CLASSES = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0))


def with_twin(monkeypatch, advance):
    """MeanField whose twin is moved by ``advance(move, …)``."""

    def ready(*arguments):
        run = mean_field.ready(*arguments)
        move = run.twin.advance
        return replace(run, twin=replace(run.twin, advance=lambda *given: advance(move, *given)))

    monkeypatch.setitem(DYNAMICS, wl.MeanField, ready)


def test_the_twin_of_a_flow_moves_on_a_thread_of_its_own(monkeypatch):
    threads = set()

    def advance(move, *given):
        threads.add(threading.current_thread())
        return move(*given)

    with_twin(monkeypatch, advance)
    wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=4)
    assert len(threads) == 1 and threading.main_thread() not in threads


def test_the_bits_do_not_depend_on_who_is_ahead(monkeypatch):
    def late(move, *given):
        time.sleep(0.05)
        return move(*given)

    beside = wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=4)
    with_twin(monkeypatch, late)
    behind = wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=4)
    whole, made = of_twins.Twin.sets_out, []

    def in_turn(self, *given):
        self.beside = False
        made.append(self)
        whole(self, *given)

    monkeypatch.undo()
    monkeypatch.setattr(of_twins.Twin, "sets_out", in_turn)
    one_by_one = wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=4)
    assert made and np.all(beside.error[1:] > 0)
    for other in (behind, one_by_one):
        for name in ("risk", "risk_error", "theta"):
            np.testing.assert_array_equal(beside.dataset[name], other.dataset[name])


def test_what_goes_wrong_in_a_twin_is_told(monkeypatch):
    def broken(move, *given):
        raise ZeroDivisionError("in the twin")

    with_twin(monkeypatch, broken)
    with pytest.raises(ZeroDivisionError, match="in the twin"):
        wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=2)


def test_a_twin_ends_at_its_next_pause_when_its_run_is_interrupted(monkeypatch):
    """And the run does not wait for it."""
    ended, pauses = threading.Event(), []

    def advance(move, state, start, stop, tick):
        try:
            while start > 0:  # from the second passage on it would go on for ever
                pauses.append(start)
                tick(start)
                time.sleep(0.01)
        finally:
            if start > 0:
                ended.set()
        return move(state, start, stop, tick)

    def ready(*arguments):
        run = of_many(*arguments)

        def moved(state, start, stop, tick):
            if start > 0:
                while len(pauses) < 3:  # the twin is under way
                    time.sleep(0.01)
                raise KeyboardInterrupt
            return run.advance(state, start, stop, tick)

        return replace(run, advance=moved)

    with_twin(monkeypatch, advance)
    of_many = DYNAMICS[wl.MeanField]
    monkeypatch.setitem(DYNAMICS, wl.MeanField, ready)
    with pytest.raises(wl.Interrupted) as stop:
        wl.solve(TWO_CLASSES, wl.MeanField(16), 0.5, save=4)
    assert len(stop.value.solution.times) == 2
    assert ended.wait(timeout=60)


@pytest.mark.speed
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a second core")
@pytest.mark.parametrize("activation", ["erf", "tanh"])
def test_the_check_of_a_limit_costs_less_than_the_limit_again(activation):
    """1.2 times the limit alone was measured; one after the other it would be 2."""
    case = wl.Problem(
        wl.data.single_index(100, "He1(z) - 0.5*He3(z)"), wl.neurons.ridge(activation), wl.initial.gaussian(1.0)
    )

    def seconds(check):
        times = []
        for _ in range(4):
            began = time.perf_counter()
            wl.solve(case, wl.MeanField(400, check=check), 2.0, save=11)
            times.append(time.perf_counter() - began)
        return min(times)

    assert seconds(True) <= 1.7 * seconds(False)
