"""The noise of a block of SGD has the law of the noise of its steps, one after the other.

felt_l = ⟨x_l, W_l⟩,  Ξ = W_B  for the noise part of the weights,  W_{k+1} = (D_{k+1}/D_k) W_k + ς_k g^k,  W_0 = 0

Both are linear in normal numbers, so feeding the columns of the identity instead of normals gives the whole covariance,
to the 1e-10 of the guard in the variance of Ξ.
"""

import dataclasses
import functools
import math
import re
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.dynamics import block_layout, sgd
from widelimit.dynamics.block_noise import Walk, block_noise, decays, inverse_of_lower, variances
from widelimit.dynamics.block_runs import InBlock, Stint
from widelimit.dynamics.noise_bridge import noise_at
from widelimit.solving.clock import Chunk
from widelimit.solving.placement import initial_neurons
from widelimit.solving.streams import stream, streams

CASES = {
    "plain": dict(),
    "ridge": dict(shrink=[0.9] * 6),
    "ridge so strong that signs alternate": dict(shrink=[-0.6, 0.5, -0.6, 0.5, -0.6, 0.5]),
    "ridge, decaying steps, batches": dict(
        shrink=[0.7, 0.75, 0.8, 0.85, 0.9, 0.95], spread=0.5 ** np.arange(6.0), batch=2
    ),
    "steps without noise on both sides": dict(shrink=[1, 1, 0.9, 0.8, 1, 1], spread=[0, 0, 1, 2, 0, 0]),
    "weights that freeze while others move": dict(spread=[1, 1, 1, 0, 0, 0]),
    "weights that start late": dict(spread=[0, 0, 0, 1, 1, 1], batch=2),
    "weights that never move": dict(spread=[0, 0, 0, 0, 0, 0]),
    "one step": dict(shrink=[0.9], spread=[0.7], batch=6),
}  # fmt: skip


def block(shrink=(1,) * 6, spread=(0.5, 1, 2, 1, 0.5, 1), batch=1, d=25, dtype=float):
    x = np.random.default_rng(0).normal(size=(len(spread) * batch, d)) * np.linspace(0.5, 2, d)
    x, shrink, spread = (jnp.asarray(part, dtype) for part in (x, shrink, spread))
    return Walk(x, decays(shrink), spread), batch


def by_block(monkeypatch, walk):
    """Covariance of (felt, Ξ) as the block makes it."""
    x, (rows, d) = walk.x, walk.x.shape
    columns = iter((jnp.eye(rows, rows + d, dtype=x.dtype), jnp.eye(rows + d, dtype=x.dtype)[:, rows:]))
    monkeypatch.setattr(jax.random, "normal", lambda key, shape, dtype: next(columns))
    noise = block_noise(jax.random.key(0), walk, rows + d)
    both = np.concatenate([noise.felt, (noise.fresh + noise.along.T @ x).T])
    return both @ both.T


def by_steps(walk, batch):
    """Covariance of (felt, Ξ) from the recursion, with the columns of the identity for g^0, g^1, …"""
    x, shrink, spread = (np.asarray(part, float) for part in (walk.x, walk.decay.shrink, walk.spread))
    d, normals = x.shape[1], np.eye(x.shape[1] * len(spread))
    w, felt = np.zeros((d, len(normals))), []
    for k in range(len(spread)):
        felt.append(x[k * batch : (k + 1) * batch] @ w)
        w = shrink[k] * w + math.sqrt(spread[k]) * normals[k * d : (k + 1) * d]
    both = np.concatenate([*felt, w])
    return both @ both.T


@pytest.mark.more
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_covariance_of_a_block_is_that_of_its_steps(case, monkeypatch):
    walk, batch = block(**case)
    got, want = by_block(monkeypatch, walk), by_steps(walk, batch)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-9 * max(1, want.max()))


def test_variances_are_those_of_the_docstring():
    (_, decay, spread), _ = block(**CASES["ridge so strong that signs alternate"])
    D, ς2, B = np.concatenate([[1.0], np.cumprod(decay.shrink)]), np.asarray(spread), len(spread)
    v = np.array([sum((D[m] / D[k + 1]) ** 2 * ς2[k] for k in range(m)) for m in range(B + 1)])
    got_v, factor, cross, end = variances(decay, spread)
    np.testing.assert_allclose(got_v, v[:B], rtol=1e-13)
    np.testing.assert_allclose(cross, v[:B] * D[B] / D[:B], rtol=1e-13)
    assert float(end) == pytest.approx(v[B], rel=1e-13)
    want = [[D[max(k, m)] / D[min(k, m)] * v[min(k, m)] for m in range(B)] for k in range(B)]
    np.testing.assert_allclose(factor, want, rtol=1e-13)


def test_replicas_are_factorised_one_after_the_other():
    """Two batched factorisations at a time can wait for each other for ever in the thread pool of a CPU."""
    walk, _ = block()

    def one(x):
        noise = block_noise(jax.random.key(0), walk._replace(x=x), 2)
        return noise_at(jax.random.key(0), walk._replace(x=x), noise, 3)

    program = str(jax.make_jaxpr(jax.vmap(one))(jnp.stack([walk.x, walk.x])))
    shapes = re.findall(r"f64\[([\d,]+)\] = (?:cholesky|triangular_solve)", program)
    assert shapes and all(shape.count(",") == 1 for shape in shapes)


@pytest.mark.slow
def test_single_precision_survives_a_large_block_whose_weights_freeze_on_the_way(monkeypatch):
    """The conditional law of Ξ is then degenerate; the guard is 1e-4 of its variance."""
    spread = np.where(np.arange(32) < 20, 1e-3, 0.0)
    walk, _ = block((0.999,) * 32, spread, d=64, dtype="float32")
    got, want = by_block(monkeypatch, walk), by_steps(walk, 1)
    scale = np.sqrt(np.maximum(np.diag(want), np.diag(want)[-1]))
    assert np.abs((got - want) / scale / scale[:, None]).max() < 1e-3


N, D, STEP, REPLICAS = 3, 9, 0.05, 4000
STOPS = (6.0, 17.4)  # blocks hold 4 samples: both stops are inside one, and the last step is shortened


def noisy(batch):
    """Every kind of parameter trained, each at a pace of its own; noise of order one."""
    mobility = {"a": 0.5, "b": wl.schedules.window(0.1, 0.7), "w": wl.schedules.exponential(0.5)}
    problem = wl.Problem(
        wl.data.gaussian_classes(D if batch == 1 else 17, 0.6),
        wl.neurons.ridge("tanh", outer="trained", bias="trained"),
        wl.initial.gaussian(1.0, a=wl.initial.normal(0.5, 1.0), b=wl.initial.uniform(-0.5, 0.5)),
        ridge=0.3, beta=1.0, schedule=wl.schedules.power(0.25), mobility=mobility,
    )  # fmt: skip
    return problem, wl.SGD(N, STEP, batch)


move_all = jax.jit(jax.vmap(sgd.Iteration.move, (None, 0, (None, 0), None)))


@functools.cache
def ends(batch, stepwise, seed, replicas=REPLICAS):
    """The neurons at both stops, (R, n, D) each: one start, one sequence of samples, R independent noises."""
    problem, method = noisy(batch)
    fixed = dataclasses.replace(sgd.iteration(problem, method), stepwise=stepwise)
    theta = jnp.broadcast_to(initial_neurons(problem, 0, N, False, None), (replicas, N, problem.D))
    keys = stream(0, "data"), streams(seed, "noise", replicas)
    start, stints = InBlock(theta, theta, theta), [Stint(Chunk(0, math.ceil(stop), stop)) for stop in STOPS]
    return [np.asarray(move_all(fixed, start, keys, stint).theta) for stint in stints]


def moments(earlier, theta):
    """Numbers (R,) that see a, b and w, alone and together, and the path to them."""
    a, b, w, before = theta[:, :, 0], theta[:, :, 1], theta[:, :, 2:], earlier[:, :, 2:]
    start = np.asarray(initial_neurons(noisy(1 if w.shape[2] == D else 4)[0], 0, N, False, None))[:, 2:]
    square = np.sum(w**2, axis=2)
    raw = {
        "a": a[:, 0], "b": b[:, 0], "mean b": b.mean(axis=1), "|w|²": square[:, 0],
        "⟨w, w'⟩": np.sum(w[:, 0] * w[:, 1], axis=1), "⟨w, w(0)⟩": w[:, 0] @ start[0],
        "a |w|²": a[:, 0] * square[:, 0], "a b": a[:, 1] * b[:, 1],
        "⟨w', w⟩ in time": np.sum(w[:, 0] * before[:, 0], axis=1), "a' a in time": a[:, 0] * earlier[:, 0, 0],
        "|w'|²": np.sum(before[:, 0] ** 2, axis=1), "|w − w'|²": np.sum((w[:, 0] - before[:, 0]) ** 2, axis=1),
    }  # fmt: skip
    return raw | {f"({name})²": value**2 for name, value in raw.items()}


def check_same_law(batch, seed, replicas=REPLICAS):
    """Every moment within 5 standard errors (there are 24, and several seeds); Kolmogorov–Smirnov above 1e-4."""
    blocks, plain = (moments(*ends(batch, stepwise, seed + stepwise, replicas)) for stepwise in (False, True))
    for name in blocks:
        error = math.hypot(blocks[name].std(), plain[name].std()) / math.sqrt(replicas)
        assert abs(blocks[name].mean() - plain[name].mean()) < 5 * error, name
        assert stats.ks_2samp(blocks[name], plain[name]).pvalue > 1e-4, name


@pytest.mark.slow
def test_noisy_blocks_have_the_joint_law_of_the_plain_loop(monkeypatch):
    monkeypatch.setattr(block_layout, "SUB_ROWS", 2)  # two sub-blocks in a block of four samples
    assert sgd.iteration(*noisy(1)).layout == block_layout.Layout(1, 2, 2)
    check_same_law(1, 10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 30, 40])
@pytest.mark.parametrize("batch", [1, 4])
def test_noisy_blocks_have_the_joint_law_of_the_plain_loop_in_a_large_sample(batch, seed):
    check_same_law(batch, seed, 40_000)


@pytest.mark.speed
def test_noisy_blocks_are_four_times_faster_than_the_plain_loop():
    """On a quiet machine, or with OPENBLAS_NUM_THREADS=1: the threads of the factorisations suffer from company."""
    problem = wl.Problem(
        wl.data.gaussian_classes(320, 0.5), wl.neurons.ridge("ramp"), wl.initial.gaussian(0.4), beta=1e4
    )
    fixed = sgd.iteration(problem, wl.SGD(800, 1e-4))
    theta, keys = initial_neurons(problem, 0, 800, False, None), (stream(0, "data"), stream(0, "noise"))

    def seconds_per_step(stepwise, steps):
        run = functools.partial(
            jax.jit(sgd.Iteration.move), dataclasses.replace(fixed, stepwise=stepwise),
            InBlock(theta, theta, theta), keys, Stint(Chunk(0, steps, float(steps))),
        )  # fmt: skip
        jax.block_until_ready(run())
        times = []
        for _ in range(8):
            began = time.perf_counter()
            jax.block_until_ready(run())
            times.append(time.perf_counter() - began)
        return min(times) / steps

    assert seconds_per_step(True, 128) > 4 * seconds_per_step(False, 1024)


@pytest.mark.parametrize("rows", [1, 2, 3, 16, 20, 33, 70, 128])
def test_a_triangle_is_inverted_to_rounding_whatever_its_size(rows):
    x = np.random.default_rng(rows).normal(size=(rows, 2 * rows))
    lower = np.linalg.cholesky(x @ x.T)
    inverse = np.asarray(inverse_of_lower(jnp.asarray(lower)))
    assert np.abs(np.triu(inverse, 1)).max(initial=0) == 0
    assert np.abs(inverse @ lower - np.eye(rows)).max() < 1e-14 * np.linalg.cond(lower)


def test_noise_takes_no_triangular_solves_whose_threads_cost_more_than_they():
    walk, _ = block()

    def noise(key, m):
        drawn = block_noise(key, walk, 30)
        return drawn, noise_at(key, walk, drawn, m)

    steps = str(jax.make_jaxpr(noise)(jax.random.key(0), 3))
    assert "cholesky" in steps
    assert "triangular_solve" not in steps
