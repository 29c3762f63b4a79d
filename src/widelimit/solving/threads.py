"""Threads for work on other cores.

JAX keeps the default device and the precision of matrix products for each thread by itself. A thread that works for
another one has those of its caller, so that the numbers do not depend on who computes them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import jax

NPROC = os.environ.get("NPROC", "")  # how many threads XLA may have, if it is told
CORES = int(NPROC) if NPROC.isdecimal() and int(NPROC) else os.cpu_count() or 1


def threads(count: int = CORES) -> ThreadPoolExecutor:
    """So many threads, with the settings of JAX that hold where this is called."""
    device, precision = settings()

    def begins() -> None:
        jax.default_device(device).__enter__()  # until the thread ends
        jax.default_matmul_precision(precision).__enter__()

    return ThreadPoolExecutor(count, initializer=begins)


def settings() -> tuple[object, object]:
    """The default device of this thread, and the precision of its matrix products."""
    return jax.config.jax_default_device, jax.config.jax_default_matmul_precision  # type: ignore[attr-defined]
