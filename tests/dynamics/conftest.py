"""What tests of the dynamics share."""

import jax
import pytest


@pytest.fixture(scope="module")
def quick_compilation():
    """Half the compile time for small programs whose speed does not matter."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
