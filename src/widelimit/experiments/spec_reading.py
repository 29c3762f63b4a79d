"""From tables of a spec file to objects of the library: a table is a call of the constructor it names.

    [problem.data]                      data.gaussian_classes(d=40, delta=0.8)
    law = "gaussian_classes"
    d = 40
    delta = 0.8

The keys of a table, their types and which of them may be left out are those of the constructor's signature. Reading has
two passes: a `Table` checks names and types everywhere (pydantic), `made` then calls the constructors, which check the
values. A new data law or schedule needs one word in `widelimit.solving.written`.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, TypeAdapter, ValidationError, create_model
from pydantic_core import InitErrorDetails, PydanticCustomError

from widelimit.dynamics.methods import Method
from widelimit.errors import InputError, nearest
from widelimit.experiments.data_files import from_file
from widelimit.experiments.spec_checks import Check, check_of, located, number, refuse
from widelimit.problem import activations, data, initial, regularisers, schedules
from widelimit.problem.activations import activation
from widelimit.problem.mobility import Mobility
from widelimit.problem.neurons import ridge
from widelimit.problem.problem import LAZY, Problem
from widelimit.solving.written import WORDS

Constructor = Callable[..., Any]
Constructors = Mapping[str, Constructor]


def _named(home: ModuleType, *names: str) -> dict[str, Constructor]:
    return {name: getattr(home, name) for name in names}


def _plain(choice: activations.Activation) -> Constructor:
    """An activation without arguments, as a constructor."""

    def build() -> activations.Activation:
        return choice

    return build


DATA: Constructors = {**_named(data, *WORDS["data law"]), "empirical": from_file}
INITIAL = _named(initial, *WORDS["initial law"])
SCALAR_LAWS = _named(initial, "constant", "signs", "normal", "uniform")
SCHEDULES = _named(schedules, *WORDS["schedule"])
ACTIVATIONS: Constructors = {
    **{name: _plain(choice) for name, choice in activations.NAMED.items()},
    **_named(activations, *activations.MAKERS),
    "custom": activations.Written,
}
REGULARISERS = _named(regularisers, *WORDS["regulariser"])
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


@dataclass(frozen=True)
class Call:
    """A constructor and its arguments, some of which are calls themselves."""

    build: Constructor
    arguments: Mapping[str, Any]


def made(value: object, *path: str | int) -> Any:
    """The object a checked value stands for."""
    if isinstance(value, tuple):
        return tuple(made(item, *path, i) for i, item in enumerate(value))
    if not isinstance(value, Call):
        return value
    known = arguments_of(value.build)
    arguments = {known[name].name: made(inner, *path, name) for name, inner in value.arguments.items()}
    try:
        return value.build(**arguments)
    except InputError as error:
        raise located(error, path, {} if value.build is activation else value.arguments) from None


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a file, as a check.

    members  the constructors it may call, by name
    key      the key that holds the name, "" if there is but one constructor
    special  checks of the arguments that are not plain values
    """

    members: Mapping[str, Constructor]
    key: str = "law"
    special: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: object) -> Call:
        """The call a table stands for."""
        if not isinstance(value, dict):
            do = f'try {{{self.key} = "{next(iter(self.members))}", ...}}' if self.key else "write its keys below it"
            raise refuse("must be a table", do)
        build = self._member(value)
        try:
            checked = _model(self, build).model_validate({k: v for k, v in value.items() if k != self.key})
        except ValidationError as error:
            raise _explained(error, self, build) from None
        return Call(build, {name: getattr(checked, name) for name in checked.model_fields_set})

    def _member(self, value: dict[str, Any]) -> Constructor:
        if not self.key:
            return self.members[""]
        name = value.get(self.key)
        if isinstance(name, str) and name in self.members:
            return self.members[name]
        do = nearest(name, self.members, f"known {self.key}s are")
        wrong = refuse("is not known", do, "name") if self.key in value else refuse("must be given", do, "missing")
        raise _below(_blame(wrong, (self.key,), name))


@cache
def _model(table: Table, build: Constructor) -> type[BaseModel]:
    """The arguments of a constructor as fields."""
    hints, fields = typing.get_type_hints(build), {}
    for name, argument in arguments_of(build).items():
        check = table.special.get(name) or check_of(hints[argument.name])
        default = ... if argument.default is inspect.Parameter.empty else None
        fields[name] = (Annotated[Any, PlainValidator(check)], default)
    return create_model(build.__name__, __config__=ConfigDict(extra="forbid"), **fields)  # type: ignore[call-overload]


def _explained(error: ValidationError, table: Table, build: Constructor) -> ValidationError:
    """The errors that pydantic found, each as what was expected and what to do."""
    found, strange = error.errors(), 0
    told = []
    for one in found:
        strange += one["type"] == "extra_forbidden"
        many = one["type"] == "extra_forbidden" and strange > 1  # only the first is told, the others are counted
        wrong = refuse("is not a known key", "drop it", "key") if many else _in_our_words(one, table, build)
        told.append(_blame(wrong, one["loc"], one["input"]))
    return _below(*told)


def _in_our_words(one: Any, table: Table, build: Constructor) -> PydanticCustomError:
    if one["type"] == "spec":
        return PydanticCustomError("spec", "{expected}", one["ctx"])
    key = one["loc"][-1]
    if one["type"] == "missing":
        meaning = explained(build).get(key)
        return refuse("must be given", f"add it ({meaning})" if meaning else "add it", "missing")
    known = [*([table.key] if table.key else []), *arguments_of(build)]
    homes = [name for name, inside in table.special.items() if key in _keys(inside)]
    do = f"write it as {homes[0]}.{key}" if homes else nearest(key, known, "known keys are")
    return refuse("is not a known key", do, "key")


def _keys(check: Check) -> Iterable[str]:
    """The keys of a table that always calls the same constructor."""
    return arguments_of(check.members[""]) if isinstance(check, Table) and not check.key else ()


def _blame(wrong: PydanticCustomError, path: tuple[str | int, ...], value: object) -> InitErrorDetails:
    return InitErrorDetails(type=wrong, loc=path, input=value)


def _below(*errors: InitErrorDetails) -> ValidationError:
    return ValidationError.from_exception_data("spec", list(errors))


def _number_or(table: Table) -> Check:
    def check(value: object) -> Any:
        if isinstance(value, dict):
            return table(value)
        try:
            return number(value)
        except PydanticCustomError:
            raise refuse("must be a number or a table", f'try 1.0 or {{law = "{next(iter(table.members))}"}}') from None

    return check


def _alpha(value: object) -> float | str:
    """A number, or the word for √n."""
    try:
        return LAZY if value == LAZY else number(value)
    except PydanticCustomError:
        raise refuse(f'must be a number or "{LAZY}"', "try 1.0") from None


def _activation(value: object) -> Call:
    """A name or an expression, or a table of a name and arguments."""
    if isinstance(value, str):
        return Call(activation, {"choice": value})
    if isinstance(value, dict):
        return ACTIVATION(value)
    raise refuse("must be text or a table", 'try "relu", "tanh(3*x)" or {name = "hermite", k = 2}')


def _methods(values: object) -> tuple[Call, ...]:
    if not isinstance(values, list) or not values:
        raise refuse("must be a list of one or more tables", "write [[method]], with two brackets, above each")
    return tuple(TypeAdapter(list[Annotated[Any, PlainValidator(METHOD)]]).validate_python(values))


ACTIVATION = Table(ACTIVATIONS, "name")
METHOD = Table(METHODS, "name")
SCHEDULE = Table(SCHEDULES)
SCALAR = _number_or(Table(SCALAR_LAWS))
RATE = _number_or(SCHEDULE)
START = Table(_named(initial, "gaussian", "sphere"), "law", {"a": SCALAR, "b": SCALAR})
PROBLEM = Table(
    {"": Problem},
    key="",
    special={
        "data": Table(DATA),
        "neuron": Table({"": ridge}, "", {"activation": _activation}),
        "initial": Table(INITIAL, "law", {"a": SCALAR, "b": SCALAR, "start": START}),
        "schedule": SCHEDULE,
        "alpha": _alpha,
        "regulariser": Table(REGULARISERS),
        "mobility": Table({"": Mobility}, "", {"a": RATE, "b": RATE, "w": RATE}),
    },
)


def document(assemble: Constructor, run: Constructor) -> Table:
    """The whole file: the problem, how long to run and what to save, and the methods."""
    return Table({"": assemble}, "", {"problem": PROBLEM, "run": Table({"": run}, ""), "method": _methods})
