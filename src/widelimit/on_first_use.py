"""Libraries that are slow to load and seldom needed are loaded when something in them is first used.

ot = OnFirstUse("ot")     in the place of    import ot
"""

from __future__ import annotations

import importlib
from typing import Any


class OnFirstUse:
    """Stands for a module; every name is looked up in the module itself."""

    def __init__(self, module: str):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)
