"""Without noise the plain loop and the blocks take the same steps, whatever moves when.

Rounding differs by the order of sums only: 1e-11 after some dozens of steps, with decades to spare.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics import block_layout, sgd
from widelimit.dynamics.block_runs import InBlock, Stint
from widelimit.solving.clock import Chunk
from widelimit.solving.placement import initial_neurons
from widelimit.solving.streams import stream

STEP, STEPS, TURN, ROUNDING = 0.01, 50, 19, 1e-11  # blocks of 8 samples: the turn is inside one
FIRST, THEN = wl.schedules.window(0, TURN * STEP), wl.schedules.window(TURN * STEP)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Two sub-blocks of four samples."""
    monkeypatch.setattr(block_layout, "BLOCK_ROWS", 8)
    monkeypatch.setattr(block_layout, "SUB_ROWS", 4)


def iteration(mobility, batch=1, schedule=None):
    problem = wl.Problem(
        wl.data.gaussian_classes(7, 0.6, 3),
        wl.neurons.ridge("tanh", outer="trained", bias="trained"),
        wl.initial.gaussian(1.0, a=wl.initial.normal(0.5, 1.0), b=wl.initial.uniform(-0.5, 0.5)),
        ridge=0.3,
        schedule=schedule or wl.schedules.power(0.25),
        mobility=mobility,
    )
    return sgd.iteration(problem, wl.SGD(5, STEP, batch)), initial_neurons(problem, 2, 5, False, None)


move = jax.jit(sgd.Iteration.move)


def steps(fixed, theta, first=0, last=STEPS):
    keys, stint = (stream(2, "data"), stream(2, "noise")), Stint(Chunk(first, last, float(last)))
    return np.asarray(move(fixed, InBlock(theta, theta, theta), keys, stint).theta)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("mobility", "batch"),
    [
        pytest.param({"a": 0.5, "b": 0.0, "w": 2.0}, 1, marks=pytest.mark.slow),
        ({"a": THEN, "w": FIRST}, 2),
        ({"a": wl.schedules.exponential(2.0), "b": FIRST, "w": lambda t: 1 / (1 + t)}, 1),
    ],
    ids=["numbers", "windows", "schedules"],
)
def test_the_plain_loop_takes_the_steps_of_the_blocks(mobility, batch):
    fixed, theta = iteration(mobility, batch)
    plain = steps(dataclasses.replace(fixed, stepwise=True), theta)
    assert np.abs(plain - theta).max() > 0.1
    np.testing.assert_allclose(steps(fixed, theta), plain, rtol=0, atol=ROUNDING)
    looks = (steps(way, theta, 0, 13) for way in (fixed, dataclasses.replace(fixed, stepwise=True)))
    np.testing.assert_allclose(*looks, rtol=0, atol=ROUNDING)
    assert (steps(fixed, jnp.asarray(steps(fixed, theta, 0, 16)), 16) == steps(fixed, theta)).all()


@pytest.mark.slow
def test_layerwise_sgd_is_two_runs_one_after_the_other():
    both, theta = iteration({"a": THEN, "b": 0.0, "w": FIRST})
    inner, outer = (iteration(rates | {"b": 0.0})[0] for rates in ({"a": 0.0}, {"a": THEN, "w": 0.0}))
    middle = steps(inner, theta, 0, TURN)
    assert (middle[:, :2] == theta[:, :2]).all() and (middle[:, 2:] != theta[:, 2:]).all()
    end = steps(outer, jnp.asarray(middle), TURN // 8 * 8)
    assert (end[:, 2:] == middle[:, 2:]).all() and (end[:, 0] != middle[:, 0]).all()
    np.testing.assert_allclose(steps(both, theta), end, rtol=0, atol=ROUNDING)
