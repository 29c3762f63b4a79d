"""Compiled functions in the tests: one store on disk for all workers, and not too many of them in memory.

Compiling is most of the time of the tests. Every compiled function takes some mappings of memory, of which a process
may have about 65,000; beyond, it crashes.
"""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

STORE = "JAX_COMPILATION_CACHE_DIR"
MAPPINGS = 25_000


def pytest_configure(config):
    if STORE not in os.environ:  # the workers inherit it
        config.compiled = os.environ[STORE] = tempfile.mkdtemp()
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


def pytest_unconfigure(config):
    if hasattr(config, "compiled"):
        del os.environ[STORE]
        shutil.rmtree(config.compiled, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def few_compiled_functions():
    yield
    maps = Path("/proc/self/maps")
    if "jax" in sys.modules and maps.exists() and maps.read_bytes().count(b"\n") > MAPPINGS:
        sys.modules["jax"].clear_caches()
        gc.collect()


@pytest.fixture(scope="module")
def quick_compilation():
    """Half the compile time for small programs whose speed does not matter."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
