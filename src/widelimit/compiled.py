"""Compiled functions are kept between processes, in the user's cache folder.

    WIDELIMIT_CACHE=off       nothing is kept
    WIDELIMIT_CACHE=FOLDER    they are kept there

A folder that cannot be written to, or a broken entry in it, is ignored: the function is then compiled again. JAX's own
variable JAX_COMPILATION_CACHE_DIR, if set, overrides all this. JAX reads these variables when it is imported; nothing
here imports it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

VARIABLE, JAX_VARIABLE = "WIDELIMIT_CACHE", "JAX_COMPILATION_CACHE_DIR"
OFF = ("off", "0", "no", "none", "")
SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def keep_compiled_functions() -> None:
    """Tell JAX where to keep them, unless that is turned off or already said."""
    if os.environ.get(JAX_VARIABLE) or os.environ.get(VARIABLE, "on").lower() in OFF:
        return
    folder = cache_folder()
    if folder is None:
        return
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    choices = {"jax_compilation_cache_dir": str(folder), **SETTINGS}
    for name, value in choices.items():
        os.environ.setdefault(name.upper(), str(value))
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)


def cache_folder() -> Path | None:
    """The folder, made if need be; None if it cannot be written to."""
    chosen = os.environ.get(VARIABLE, "on")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "widelimit" / "compiled" if chosen.lower() in ("on", "1", "yes") else Path(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None
