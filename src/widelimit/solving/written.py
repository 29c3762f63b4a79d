"""From values to the tables of a spec file: a value is its call, so its table is a dump of its arguments.

    gaussian_classes(d=40, delta=0.8)     law = "gaussian_classes", d = 40, delta = 0.8
    SGD(n=800, step=1e-4)                 name = "SGD", n = 800, step = 1e-4

Functions of Python, arrays and black boxes have no form in a file and are refused in one sentence.
"""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Sequence

import tomli_w

from widelimit.errors import InputError
from widelimit.frozen import Value
from widelimit.problem.activations import MAKERS, NAMED, Activation, General, Written, name_of
from widelimit.problem.data import Empirical, Sampler
from widelimit.problem.data.target import Opaque
from widelimit.problem.expressions import Expression
from widelimit.problem.initial import Explicit
from widelimit.problem.neurons import Custom
from widelimit.problem.problem import Problem
from widelimit.problem.regularisers import Given
from widelimit.problem.scalar_starts import ConstantLaw
from widelimit.problem.schedules import Function
from widelimit.solving.settings import Settings

Item = str | int | float | bool | list | dict
Table = dict[str, Item]
KEYS = {"neuron": "", "mobility": "", "activation": "name"}  # the key of the name of a value; "law" for others
WORDS = {  # the constructors a file may name
    "neuron": ("ridge",),
    "data law": ("gaussian_classes", "single_index", "multi_index", "hypercube", "sphere", "empirical"),
    "initial law": ("gaussian", "sphere", "paired"),
    "regulariser": ("squares", "path", "rounded"),
    "schedule": ("constant", "power", "exponential", "window"),
    "activation": (*NAMED, *MAKERS),
}
UNWRITABLE = {
    Custom: "neuron", Sampler: "data law", Explicit: "initial law", Given: "regulariser", Function: "schedule",
    General: "activation",
}  # fmt: skip
_short = reprlib.Repr()
_short.maxother = 120


def toml_of(problem: Problem, settings: Settings, methods: Sequence[Value]) -> str:
    """The whole run as the text of a spec file, every argument that is not its default written out."""
    document = {"problem": _arguments(problem) | _always(problem), "run": _arguments(settings)}
    tables = ({"name": type(m).__name__, **_arguments(m)} for m in methods)
    return "\n".join([tomli_w.dumps(document), *(f"[[method]]\n{tomli_w.dumps(table)}" for table in tables)])


def _always(problem: Problem) -> Table:
    return {"ridge": problem.ridge, "beta": problem.beta}


def _arguments(value: Value) -> Table:
    return {name.rstrip("_"): _item(name, part) for name, part in value.arguments.items() if part is not None}


def _item(name: str, value: object) -> Item:
    """A value as it stands behind its key."""
    for kind, what in UNWRITABLE.items():
        if isinstance(value, kind):
            raise _unwritable(f"the {what}", f"one of {', '.join(WORDS[what])}", value)
    if isinstance(value, Opaque):
        raise _unwritable("a function", "an expression", value)
    if isinstance(value, Activation):
        return _activation(value)
    if isinstance(value, Empirical):
        return _data_set(value)
    if isinstance(value, ConstantLaw):
        return value.value
    if isinstance(value, Value):
        key = KEYS.get(name, "law")
        return {**({key: value.word} if key else {}), **_arguments(value)}
    return _plain(name, value)


def _plain(name: str, value: object) -> Item:
    """Numbers, text and lists of them."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, Expression):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(name, item) for item in value]
    if not isinstance(value, numbers.Real):
        raise _unwritable(f"the value of {name}", "a number, text or a list of them", value)
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _activation(sigma: Activation) -> Item:
    name = name_of(sigma)
    if name != repr(sigma):  # a name or an expression
        return name
    if isinstance(sigma, Written):
        return {"name": "custom", **_arguments(sigma)}
    return {"name": sigma.word, **_arguments(sigma)}


def _data_set(law: Empirical) -> Table:
    if not law.source:
        raise InputError(
            f"in a file the rows of a data set must come from a file, got {_short.repr(law)}: write them with "
            "numpy.savez('data.npz', x=x, y=y) and name it as file = 'data.npz' (docs/spec.md), or keep this spec in "
            "Python."
        )
    return {"law": "empirical", **{name: _plain(name, part) for name, part in law.source if part is not None}}


def _unwritable(what: str, wanted: str, value: object) -> InputError:
    return InputError(f"in a file {what} must be {wanted}, got {_short.repr(value)}: keep this spec in Python.")
