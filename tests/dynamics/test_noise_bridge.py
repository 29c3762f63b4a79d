"""The noise inside a block of SGD has the joint law of its steps, and is the same whatever is asked for.

    W_{k+1} = (D_{k+1}/D_k) W_k + ς_k g^k,    n_l = ⟨x_l, W_l⟩

All of n and W_1, …, W_B is linear in normal numbers, so feeding the columns of the identity instead of normals gives
the whole covariance, to the 1e-10 of the guard in the variance of what is drawn.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.block_noise import Walk, block_noise, decays
from widelimit.dynamics.noise_bridge import noise_at, noise_until

KEY = jax.random.key(7)
CASES = {
    "plain": dict(shrink=[1] * 3, spread=[0.5, 1, 2]),
    "ridge, decaying steps, batches": dict(shrink=[0.7, 0.75, 0.8, 0.85, 0.9], spread=0.5 ** np.arange(5.0), batch=2),
    "ridge so strong that signs alternate": dict(shrink=[-0.6, 0.5, -0.6, 0.5, -0.6]),
    "weights that freeze while others move": dict(spread=[1, 1, 1, 0, 0]),
    "weights that start late": dict(shrink=[0.9] * 5, spread=[0, 0, 1, 2, 1], batch=2),
    "weights that rest in between": dict(shrink=[0.9, 1, 1, 0.8, 0.9], spread=[1, 0, 0, 2, 1]),
    "weights that never move": dict(spread=[0, 0, 0, 0, 0]),
    "one step": dict(shrink=[0.9], spread=[0.7], batch=4),
}


def walk(shrink=(1,) * 5, spread=(0.5, 1, 2, 1, 0.5), batch=1, d=21, dtype=float):
    x = np.random.default_rng(0).normal(size=(len(spread) * batch, d)) * np.linspace(0.5, 2, d)
    x, shrink, spread = (jnp.asarray(part, dtype) for part in (x, shrink, spread))
    return Walk(x, decays(shrink), spread)


def by_halves(monkeypatch, here):
    """Covariance of (n, W_1, …, W_B) as blocks and bridges make it; every key has columns of its own."""
    (rows, d), steps = here.x.shape, len(here.spread)
    columns = {}
    total = rows + d + (steps - 1) * d

    def normal(key, shape, dtype):
        name = bytes(np.asarray(jax.random.key_data(key)))
        is_felt = shape == (rows, total)
        size = rows if is_felt else d
        start = columns.setdefault(name, sum(rows if felt else d for felt in sizes))
        if len(columns) > len(sizes):
            sizes.append(is_felt)
        unit = jnp.eye(total, dtype=dtype)[start : start + size]
        return unit if is_felt else unit.T

    sizes = []
    monkeypatch.setattr(jax.random, "normal", normal)
    with jax.disable_jit():  # so that every key is a number
        noise = block_noise(KEY, here, total)
        inside = [noise_at(jax.random.fold_in(KEY, 3), here, noise, jnp.asarray(m)).T for m in range(1, steps)]
    both = np.concatenate([noise.felt, *inside, (noise.fresh + noise.along.T @ here.x).T])
    return both @ both.T


def by_steps(here, batch):
    """The same covariance from the recursion."""
    x, shrink, spread = (np.asarray(part, float) for part in (here.x, here.decay.shrink, here.spread))
    d, normals = x.shape[1], np.eye(x.shape[1] * len(spread))
    w, felt, all_w = np.zeros((d, len(normals))), [], []
    for k in range(len(spread)):
        felt.append(x[k * batch : (k + 1) * batch] @ w)
        w = shrink[k] * w + math.sqrt(spread[k]) * normals[k * d : (k + 1) * d]
        all_w.append(w)
    both = np.concatenate([*felt, *all_w])
    return both @ both.T


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_joint_covariance_of_all_steps_is_that_of_the_plain_loop(case, monkeypatch):
    here = walk(**case)
    got, want = by_halves(monkeypatch, here), by_steps(here, case.get("batch", 1))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * max(1, want.max()))


@pytest.mark.more
def test_a_share_of_a_step_adds_its_decay_and_its_noise():
    """λ = 0 up to step 2, then 30 % of a step of variance 2: increments are independent, of variance 1.5 and 0.6."""
    here = walk()
    part = Walk(here.x, decays(jnp.asarray([1, 1, 0.9, 1, 1.0])), jnp.asarray([0.5, 1, 0.6, 0, 0]))

    @jax.jit
    def drawn(m):
        noise = block_noise(KEY, here, 4000)
        after = noise_until(KEY, here, noise, part, m)
        return noise_at(jax.random.fold_in(KEY, 3), here, noise, m), after.fresh + after.along.T @ here.x

    before, after = (np.asarray(w) for w in drawn(2))
    last = after - 0.9 * before
    count = last.size  # the variance of a product of two unit normals is 1, of a square 2
    assert np.var(before) == pytest.approx(1.5, abs=5 * 1.5 * math.sqrt(2 / count))
    assert np.var(last) == pytest.approx(0.6, abs=5 * 0.6 * math.sqrt(2 / count))
    assert np.mean(last * before) == pytest.approx(0, abs=5 * math.sqrt(0.6 * 1.5 / count))


@pytest.mark.more
def test_single_precision_survives_a_long_block():
    """What n_m says of W_m is met to the rounding of the block."""
    here = walk((0.999,) * 32, (1e-3,) * 32, d=64, dtype="float32")

    @jax.jit
    def drawn(m):
        noise = block_noise(KEY, here, 50)
        w = noise_at(KEY, here, noise, m)
        return w, w @ here.x[m], noise.felt[m]

    for m in (1, 16, 31):
        w, got, felt = drawn(m)
        assert w.dtype == "float32"
        np.testing.assert_allclose(got, felt, rtol=0, atol=1e-4 * float(jnp.abs(felt).max()))


KINDS = {
    "blocks": dict(ridge=0.3, schedule=wl.schedules.power(0.25)),
    "no ridge, single precision": dict(dtype="float32"),
    "batches and windows": dict(batch=2, mobility={"a": 0.5, "w": wl.schedules.window(0.03, 0.13)}),
    "step by step": dict(ridge=0.1, regulariser=wl.regularisers.rounded()),
}
PATTERNS = {
    "the end alone": [0.2],
    "inside blocks": [0.07, 0.15],
    "every step": [0.01 * k for k in range(21)],
    "often in one block": [0.09, 0.1, 0.11],
}


def noisy(batch=1, dtype="float64", **more):
    """Twelve directions: blocks of six steps, or of three with batches of two."""
    problem = wl.Problem(
        wl.data.gaussian_classes(12, 0.6),
        wl.neurons.ridge("tanh", outer="trained"),
        wl.initial.gaussian(1.0, a=wl.initial.normal(0.5, 1.0)),
        beta=2.0,
        **more,
    )
    return problem, wl.SGD(4, 0.01, batch, dtype)


LONG = ("no ridge, single precision", "step by step")


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.slow if kind in LONG else ()) for kind in KINDS])
def test_one_seed_is_one_noisy_path_whatever_is_saved_of_it(kind):
    """The same bits at the same times, also with replicas, also of a run that goes on for longer."""
    problem, method = noisy(**KINDS[kind])
    every = wl.solve(problem, method, 0.25, seed=3, save=[0.01 * k for k in range(26)], keep="full", replicas=2)
    assert np.abs(np.diff(every.risk, axis=1)).min() > 0
    for save in PATTERNS.values():
        got = wl.solve(problem, method, 0.2, seed=3, save=save, keep="full", replicas=2)
        same = np.round(got.times / 0.01).astype(int)
        np.testing.assert_array_equal(got.dataset["theta"].values, every.dataset["theta"].values[:, same])
        np.testing.assert_array_equal(got.risk, every.risk[:, same])


@pytest.mark.slow
def test_saves_see_the_variance_of_the_steps_and_independent_increments():
    """Constant neurons feel no data: θ_t is a sum of independent normals of variance 4 s_k/β, the last one smaller."""
    flat = wl.activations.polynomial([1.0])
    start = wl.initial.array(np.ones((2000, 12)))
    problem = wl.Problem(wl.data.gaussian_classes(12, 0.6), wl.neurons.ridge(flat), start, beta=0.5)
    got = wl.solve(problem, wl.SGD(2000, 0.01), 0.096, save=[0, 0.03, 0.05, 0.08], keep="full")
    np.testing.assert_array_equal(got.times, [0, 0.03, 0.05, 0.08, 0.096])
    moves = np.diff(got.dataset["theta"].values, axis=0).reshape(4, -1)
    want = np.diag(8 * np.diff(got.times))
    scale = np.sqrt(np.diag(want))
    error = np.sqrt((1 + np.eye(4)) / moves.shape[1]) * scale * scale[:, None]
    assert (np.abs(moves @ moves.T / moves.shape[1] - want) < 5 * error).all()
