"""Libraries that are slow to load and seldom needed are loaded when something in them is first used.

ot = OnFirstUse("ot")                      in the place of    import ot
torch = OnFirstUse("torch", extra="torch")     the same for a library that comes with an extra of this package
"""

from __future__ import annotations

import importlib
from typing import Any

from widelimit.errors import InputError


class OnFirstUse:
    """Stands for a module; every name is looked up in the module itself.

    extra   of this package, which installs the module; a sentence says so where it is missing
    """

    def __init__(self, module: str, extra: str | None = None):
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked of every object by the tools that read code
            raise AttributeError(name)
        try:
            module = importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if self._extra is None or error.name != self._module:
                raise
            raise InputError(
                f"this part of widelimit needs {self._module}, got an environment without it: "
                f"pip install 'widelimit[{self._extra}]'."
            ) from None
        return getattr(module, name)
