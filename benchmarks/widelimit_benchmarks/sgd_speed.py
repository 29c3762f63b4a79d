"""Our SGD beside what a user would write instead, in one run.

    ours          exact blocks                                         widelimit.dynamics.sgd
    scan          one jitted lax.scan that draws a sample in each step, gradient by jax.grad
    stored_scan   the same with all samples drawn beforehand and stored
    torch         a loop with autograd and torch.optim.SGD
    numpy         a loop with the gradient by hand
    floor         the two matrix products of a block alone, X Wᵀ and Cᵀ X

Every peer draws fresh samples, batch 1. The time of each is the best of several interleaved turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from widelimit.dynamics.block_layout import BLOCK_ROWS
from widelimit.dynamics.block_runs import InBlock, Stint
from widelimit.dynamics.methods import SGD
from widelimit.dynamics.sgd import iteration
from widelimit.errors import InputError, require_count, require_known
from widelimit.experiments.demo import TwoClasses
from widelimit.problem.activations import ramp
from widelimit.problem.problem import Problem
from widelimit.solving.clock import Chunk
from widelimit.solving.replicas import Leg, Plan
from widelimit.solving.streams import stream

STEPS = {"ours": 2560, "floor": 2560, "scan": 1024, "stored_scan": 1024, "numpy": 128, "torch": 128}
IN_A_ROW = 3  # the first of them still shares the cores with the threads of the peer before it
RAMP = ramp().form
DELTA = 0.5
Peer = Callable[[], Any]


def measure(n: int = 800, d: int = 320, dtype: str = "float64", repeats: int = 15) -> dict[str, Any]:
    """Microseconds per step of every peer, and ratios to ours; ``skipped`` says why a peer is absent."""
    require_count("repeats", repeats, "15")
    require_known("dtype", dtype, ("float32", "float64"))
    problem, method = TwoClasses(d=d, delta=DELTA, scale=0.4).problem, SGD(n, 1e-5, dtype=dtype)
    theta = problem.sample_initial(stream(0, "initial"), n).astype(dtype)
    peers: dict[str, Peer] = {
        "ours": _ours(problem, method, theta),
        "floor": _floor(problem, theta),
        "scan": _scan(problem, method, theta),
        "stored_scan": _stored_scan(problem, method, theta),
        "numpy": _numpy(problem, method, theta),
    }
    skipped = {}
    try:
        peers["torch"] = _torch(problem, method, theta)
    except InputError as reason:
        skipped["torch"] = str(reason)
    best = _best(peers, repeats)
    ratios = {name: best[name] / best["ours"] for name in best if name not in ("ours", "floor")}
    return {
        "n": n, "d": d, "batch": 1, "dtype": dtype, "microseconds_per_step": best,
        "times_faster_than": ratios, "ours_over_floor": best["ours"] / best["floor"], "skipped": skipped,
    }  # fmt: skip


def _best(peers: dict[str, Peer], repeats: int) -> dict[str, float]:
    for peer in peers.values():
        jax.block_until_ready(peer())
    best = dict.fromkeys(peers, float("inf"))
    for _ in range(repeats):
        for name, peer in peers.items():
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                jax.block_until_ready(peer())
                best[name] = min(best[name], (time.perf_counter() - start) / STEPS[name] * 1e6)
    return best


def _ours(problem: Problem, method: SGD, theta: Array) -> Peer:
    fixed, keys = iteration(problem, method), (stream(0, "data"), stream(0, "noise"))
    plan, place = Plan(lambda start, stop: iter(()), keys, None), InBlock(theta, theta, theta)
    stint = Stint(Chunk(0, STEPS["ours"], float(STEPS["ours"])))
    return lambda: plan.moved(Leg(fixed, stint, 0.0), None, place).theta


def _floor(problem: Problem, theta: Array) -> Peer:
    x, _ = problem.data.sample(stream(0, "data"), BLOCK_ROWS, theta.dtype)

    @jax.jit
    def products(w: Array) -> Array:
        def block(_: Array, w: Array) -> Array:
            return w + (x @ w.T * w.dtype.type(1e-9)).T @ x

        return jax.lax.fori_loop(0, STEPS["floor"] // BLOCK_ROWS, block, w)

    return lambda: products(theta)


def _loss(problem: Problem, n: int) -> Callable[[Array, Array, Array], Array]:
    """n (y − f)², whose gradient times the step is the move of every neuron."""
    return lambda w, x, y: n * (y - jnp.mean(RAMP(w @ x))) ** 2


def _scan(problem: Problem, method: SGD, theta: Array) -> Peer:
    slope, step = jax.grad(_loss(problem, method.n)), theta.dtype.type(method.step)

    @jax.jit
    def loop(w: Array, key: Array) -> Array:
        def advance(w: Array, key: Array) -> tuple[Array, None]:
            x, y = problem.data.sample(key, 1, w.dtype)
            return w - step * slope(w, x[0], y[0]), None

        return jax.lax.scan(advance, w, jax.random.split(key, STEPS["scan"]))[0]

    return lambda: loop(theta, stream(0, "data"))


def _stored_scan(problem: Problem, method: SGD, theta: Array) -> Peer:
    slope, step = jax.grad(_loss(problem, method.n)), theta.dtype.type(method.step)

    @jax.jit
    def loop(w: Array, key: Array) -> Array:
        def advance(w: Array, sample: tuple[Array, Array]) -> tuple[Array, None]:
            return w - step * slope(w, *sample), None

        return jax.lax.scan(advance, w, problem.data.sample(key, STEPS["stored_scan"], w.dtype))[0]

    return lambda: loop(theta, stream(0, "data"))


def _numpy(problem: Problem, method: SGD, theta: Array) -> Peer:
    start, step, kind = np.asarray(theta), np.dtype(method.dtype).type(method.step), np.dtype(method.dtype)
    rng = np.random.default_rng(0)

    def run() -> np.ndarray:
        w = start.copy()
        for _ in range(STEPS["numpy"]):
            y = rng.choice((-1, 1))
            x = (1 + DELTA * y) * rng.standard_normal(w.shape[1:]).astype(kind)
            h = w @ x
            out = np.interp(h, RAMP.knots, (-2.5, 7.5))
            slope = np.where((h > RAMP.knots[0]) & (h < RAMP.knots[1]), RAMP.jumps[0], 0.0)
            w += np.outer((2 * step * (y - out.mean()) * slope).astype(kind), x)
        return w

    return run


def _torch(problem: Problem, method: SGD, theta: Array) -> Peer:
    try:
        import torch
    except ImportError:
        raise InputError(
            "the PyTorch peer needs torch, got an environment without it: pip install 'widelimit[torch]'."
        ) from None
    kind = getattr(torch, method.dtype)
    (low, high), rise = RAMP.knots, RAMP.jumps[0]
    first = torch.tensor(np.asarray(theta))

    def run() -> Any:
        w = first.clone().requires_grad_(True)
        optimiser = torch.optim.SGD([w], lr=method.step)
        for _ in range(STEPS["torch"]):
            y = 1.0 if torch.rand(()) < 0.5 else -1.0
            x = (1 + DELTA * y) * torch.randn(w.shape[1], dtype=kind)
            out = RAMP.intercept + rise * (torch.clamp(w @ x, low, high) - low)
            loss = method.n * (y - out.mean()) ** 2
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return None

    return run
