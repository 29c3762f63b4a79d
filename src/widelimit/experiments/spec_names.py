"""The names a spec file may use, and the constructors behind them. A new data law or method needs one word here."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

from widelimit.dynamics.methods import Method
from widelimit.experiments.data_files import from_file
from widelimit.problem import activations, data, initial, regularisers, schedules

Constructor = Callable[..., Any]
Constructors = Mapping[str, Constructor]


def _named(home: Any, *names: str) -> dict[str, Constructor]:
    return {name: getattr(home, name) for name in names}


def _plain(choice: activations.Activation) -> Constructor:
    """An activation without arguments, as a constructor."""

    def build() -> activations.Activation:
        return choice

    return build


DATA: Constructors = {
    **_named(data, "gaussian_classes", "single_index", "multi_index", "hypercube", "sphere"),
    "empirical": from_file,
}
INITIAL = _named(initial, "gaussian", "sphere")
SCALAR_LAWS = _named(initial, "constant", "signs", "normal", "uniform")
SCHEDULES = _named(schedules, "constant", "power", "exponential", "window")
ACTIVATIONS: Constructors = {
    **{name: _plain(choice) for name, choice in activations.NAMED.items()},
    **_named(activations, "ramp", "piecewise_linear", "polynomial", "hermite"),
    "hinges": activations.Hinges,
    "custom": activations.Written,
}
REGULARISERS = _named(regularisers, "squares", "path", "rounded")
METHODS: dict[str, Constructor] = {method.__name__: method for method in typing.get_args(Method)}


def arguments_of(build: Constructor) -> Mapping[str, inspect.Parameter]:
    """The arguments of a constructor under their names in a file, which do without a final underscore."""
    return {name.rstrip("_"): argument for name, argument in inspect.signature(build).parameters.items()}


def explained(build: Constructor) -> dict[str, str]:
    """What a docstring says about each argument.

    >>> explained(from_file)["file"]
    '"data.npz" with arrays x and y, "data.csv" whose last column is y, or "digits"'
    """
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (inspect.getdoc(build) or "").splitlines():
        entry = re.fullmatch(r"(\w+(?:, \w+)*)  +(\S.*)", line)
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        elif names and re.match(r"    +\S", line):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found
