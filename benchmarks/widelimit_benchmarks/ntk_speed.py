"""Our finite tangent kernel beside per-sample gradients, in one run.

    ours    products of features                          widelimit.theory.lazy.ntk
    torch   J by torch.func, vmap(grad) over the inputs, then J Jᵀ
    floor   two matrix products A Aᵀ of features (n, N) alone, in NumPy

n inputs in d dimensions, a network of N neurons a σ(⟨w, x⟩) with a and w trained, double precision. The time of each is
the best of several interleaved turns. Memory is what a process of its own needs at most to compute one kernel.

    python -m widelimit_benchmarks.ntk_speed
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from widelimit.errors import InputError, require_count
from widelimit.problem.data import gaussian_classes
from widelimit.problem.initial import gaussian
from widelimit.problem.neurons import ridge
from widelimit.problem.problem import Problem
from widelimit.theory.lazy.ntk import ntk

Peer = Callable[[], np.ndarray]


class Case(NamedTuple):
    """Inputs (n, d) and neurons (N, 1 + d)."""

    x: np.ndarray
    theta: np.ndarray


def case(n: int, width: int, d: int) -> Case:
    """Normal inputs, and a normal start of scale 1."""
    rng = np.random.default_rng(0)
    return Case(
        rng.normal(size=(n, d)), np.column_stack([rng.normal(size=width), rng.normal(size=(width, d)) / d**0.5])
    )


def measure(n: int = 2000, width: int = 1000, d: int = 100, repeats: int = 3) -> dict[str, object]:
    """Seconds of every peer, and ratios to ours; ``skipped`` says why a peer is absent."""
    require_count("repeats", repeats, "3")
    one = case(n, width, d)
    peers: dict[str, Peer] = {"ours": _ours(one), "floor": _floor(one)}
    skipped = {}
    try:
        peers["torch"] = _torch(one)
    except InputError as reason:
        skipped["torch"] = str(reason)
    kernels = {name: peer() for name, peer in peers.items()}
    apart = float(np.abs(kernels["torch"] - kernels["ours"]).max()) if "torch" in kernels else None
    turns = [{name: _seconds(peer) for name, peer in peers.items()} for _ in range(repeats)]
    best = {name: min(turn[name] for turn in turns) for name in peers}
    ratios = {name: best[name] / best["ours"] for name in best if name not in ("ours", "floor")}
    return {
        "n": n, "width": width, "d": d, "seconds": best, "times_faster_than": ratios,
        "ours_over_floor": best["ours"] / best["floor"], "largest_difference": apart, "skipped": skipped,
    }  # fmt: skip


def peak(n: int = 5000, width: int = 1000, d: int = 100) -> float:
    """The memory, in GiB, of a process that computes one kernel of n inputs; that of its modules included."""
    code = f"from widelimit_benchmarks.ntk_speed import largest; print(largest({n}, {width}, {d}))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def largest(n: int, width: int, d: int) -> float:
    """The most memory this process has had, in GiB, after it has computed one kernel; on Linux."""
    _ours(case(n, width, d))()
    kib = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    return int(kib[1]) / 2**20 if kib else math.nan


def _seconds(peer: Peer) -> float:
    start = time.perf_counter()
    peer()
    return time.perf_counter() - start


def _ours(one: Case) -> Peer:
    data = gaussian_classes(one.x.shape[1], 0.5)
    problem = Problem(data, ridge("tanh", outer="trained"), gaussian(1.0, a=1.0))
    return lambda: ntk(problem, one.x, rho=one.theta).matrix


def _floor(one: Case) -> Peer:
    features = np.tanh(one.x @ one.theta[:, 1:].T)
    other = features.copy()
    return lambda: features @ features.T + other @ other.T


def _torch(one: Case) -> Peer:
    try:
        import torch
    except ImportError:
        raise InputError(
            "the PyTorch peer needs torch, got an environment without it: pip install 'widelimit[torch]'."
        ) from None
    x, theta, width = torch.tensor(one.x), torch.tensor(one.theta), len(one.theta)

    def output(theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (theta[:, 0] * torch.tanh(theta[:, 1:] @ x)).sum() / width**0.5

    gradients = torch.func.vmap(torch.func.grad(output), in_dims=(None, 0))

    def run() -> np.ndarray:
        jacobian = gradients(theta, x).reshape(len(x), -1)
        return (jacobian @ jacobian.T).numpy()

    return run


if __name__ == "__main__":
    print(json.dumps({**measure(), "gib_at_5000_inputs": peak()}, indent=2))
