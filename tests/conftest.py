"""One store of compiled functions for all workers of a run: compiling is most of the time of the tests."""

import os
import shutil
import tempfile

STORE = "JAX_COMPILATION_CACHE_DIR"


def pytest_configure(config):
    if STORE not in os.environ:  # the workers inherit it
        config.compiled = os.environ[STORE] = tempfile.mkdtemp()
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


def pytest_unconfigure(config):
    if hasattr(config, "compiled"):
        del os.environ[STORE]
        shutil.rmtree(config.compiled, ignore_errors=True)
