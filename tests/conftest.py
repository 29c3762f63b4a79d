"""Compiled functions in the tests: cheaply made, one store on disk for all workers, not too many of them in memory.

Compiling is most of the time of the quick tests, and of their further cases (marker more), so that they run
unoptimised code; long ones (markers slow and catalogue) run code that is optimised a little, ratios of times (marker
speed) that which users have. Every compiled function takes some mappings of memory, of which a process may have about
65,000; beyond, it crashes.
"""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

CHEAP = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
)
SOME = CHEAP.replace("level=0", "level=1")
FLAGS = {"slow": SOME, "catalogue": SOME, "speed": None}
STORE = "JAX_COMPILATION_CACHE_DIR"
MAPPINGS = 45_000
LONG_EXAMPLES = [
    "Linearisation",
    "regime",
    "regimes",
    "proof_terms",
    "relative_scale",
    "Regime",
    "fit_bound",
    "compare",
    "ProofTerms",
    "sweep",
    "load",
    "estimate",
    "lazy_lemmas",
    "convergence_time",
    "barron",
    "minimise",
    "linearise",
    "catalogue.reproduce",
    "stability.stability",
]


def pytest_configure(config):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore interrupts
    gc.set_threshold(1_000_000, 50, 100)  # tracing makes many objects and little garbage
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # of the processes that tests start only the first compiles modules
    sys.dont_write_bytecode = False
    if flags := FLAGS.get(config.option.markexpr, CHEAP):
        os.environ.setdefault("XLA_FLAGS", flags)
    if STORE not in os.environ:  # the workers inherit it
        config.compiled = os.environ[STORE] = tempfile.mkdtemp()
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark as more: long docstring examples, and of a test marked some(k) all cases but the first k."""
    met = Counter()
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.endswith(tuple(f".{name}" for name in LONG_EXAMPLES)):
            item.add_marker(pytest.mark.more)
        mark = item.get_closest_marker("some")
        if mark is None or item.get_closest_marker("slow"):
            continue
        name = item.nodeid.partition("[")[0]
        met[name] += 1
        if met[name] > mark.args[0]:
            item.add_marker(pytest.mark.more)


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
