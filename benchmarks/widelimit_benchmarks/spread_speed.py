"""Neurons spread over devices: what a right-hand side takes, from 10⁵ to 10⁷ neurons, and a solve with 10⁷.

seconds   of the processor for one velocity of the limit in one radius, the best of several
bytes     on each device: the neurons, and the neurons with what the compiled velocity needs beside them
peak      most memory of the process, GiB

XLA_FLAGS=--xla_force_host_platform_device_count=2 python -m widelimit_benchmarks.spread_speed
"""

from __future__ import annotations

import json
import resource
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

from widelimit.dynamics import mean_field
from widelimit.dynamics.methods import MeanField
from widelimit.dynamics.solve import solve
from widelimit.problem.data import gaussian_classes
from widelimit.problem.initial import gaussian
from widelimit.problem.neurons import ridge
from widelimit.problem.problem import Problem
from widelimit.solving.devices import at_work, mesh_of, spread

SIZES = (102_400, 1_024_000, 10_240_000)  # whole chunks of neurons on one and on two devices


class Velocity(NamedTuple):
    """One right-hand side."""

    n: int
    devices: int
    seconds: float
    neurons: int
    bytes: int


def problem() -> Problem:
    """Two Gaussian classes in 320 dimensions and ReLU."""
    return Problem(gaussian_classes(320, 0.5), ridge("relu"), gaussian(0.4))


def velocity(n: int, devices: int, repeats: int = 3) -> Velocity:
    """The velocity of n points that carry the limit."""
    mesh = mesh_of(devices)
    assert mesh is not None
    run = spread(mean_field.ready(MeanField(n, check=False), problem(), 0, None), mesh)
    assert run.plan is not None
    flow = next(run.plan.legs(0.0, 1.0)).dynamics.flow  # type: ignore[attr-defined]
    with at_work(mesh):
        compiled = jax.jit(lambda flow, theta: flow.velocity(jnp.zeros(()), theta)).lower(flow, run.state).compile()
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        jax.block_until_ready(compiled(flow, run.state))
        spent.append(time.process_time() - began)
    memory = compiled.memory_analysis()
    assert memory is not None  # a CPU tells
    whole = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return Velocity(n, devices, min(spent), run.state.addressable_shards[0].data.nbytes, whole)


def peak() -> float:
    """GiB that this process has needed at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(most: int = SIZES[-1]) -> dict[str, object]:
    """Right-hand sides of all sizes up to the largest, then a short solve with that one on all devices."""
    found = [velocity(n, k)._asdict() for n in SIZES if n <= most for k in range(1, jax.device_count() + 1)]
    before, began = peak(), time.process_time()
    limit = solve(problem(), MeanField(most, check=False), 0.01, save=2, devices=jax.device_count())
    spent = time.process_time() - began
    return {"velocities": found, "peak of velocities": before, "points": most, "risk": limit.risk.tolist(),
            "device": limit.dataset.attrs["device"], "seconds": spent, "peak": peak()}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
