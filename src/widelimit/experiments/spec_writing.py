"""From objects of the library to tables of a spec file: the call that makes an object again.

An object is written as the constructor that returns its class, with the arguments that are its attributes. Where the
object has forgotten its arguments (a ramp knows its slopes, not its end points), candidates are tried, and the first
call that gives an equal object is written. What no call gives cannot be written.
"""

from __future__ import annotations

import itertools
import math
import numbers
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from widelimit.errors import InputError
from widelimit.experiments import spec_names as names
from widelimit.experiments.data_files import source_of
from widelimit.experiments.spec_errors import shown
from widelimit.problem import activations, data
from widelimit.problem.expressions import Expression
from widelimit.problem.initial import ConstantLaw, ScalarLaw
from widelimit.problem.neurons import Ridge
from widelimit.problem.schedules import Schedule

if TYPE_CHECKING:
    from widelimit.experiments.spec import Spec

Arguments = dict[str, Any]


def written(spec: Spec) -> Arguments:
    """The document of a spec."""
    return {
        "problem": _problem(spec),
        "run": _plain(spec.settings()),
        "method": [
            {"name": type(m).__name__, **_plain({f.name: getattr(m, f.name) for f in fields(m)})} for m in spec.methods
        ],
    }


def _problem(spec: Spec) -> Arguments:
    problem = spec.problem
    return {
        "ridge": _value(problem.ridge),
        "beta": _value(problem.beta),
        "data": _call("data law", problem.data, names.DATA),
        "neuron": _neuron(problem.neuron),
        "initial": _call("initial law", problem.initial, names.INITIAL),
        "schedule": _call("schedule", problem.schedule, names.SCHEDULES),
        "mobility": _plain({f.name: getattr(problem.mobility, f.name) for f in fields(problem.mobility)}),
    }


def _neuron(neuron: Any) -> Arguments:
    if not isinstance(neuron, Ridge):
        raise _unwritable("neuron", neuron, ["ridge"])
    rest = {name: getattr(neuron, name) for name in ("outer", "bias", "inner")}
    return {"activation": _activation(neuron.activation), **rest}


def _activation(choice: activations.Activation) -> str | Arguments:
    if activations.NAMED.get(choice.name) == choice:
        return choice.name
    function = getattr(choice, "function", None)
    if isinstance(function, Expression) and activations.activation(function) == choice:
        return str(function)
    return _call("activation", choice, names.ACTIVATIONS, key="name")


def _call(kind: str, thing: Any, members: Mapping[str, names.Constructor], key: str = "law") -> Arguments:
    """{law = name, arguments}: the first call that gives an equal object."""
    for name, build in members.items():
        if not isinstance(thing, typing.get_type_hints(build).get("return", ())):
            continue
        for arguments in _candidates(name, thing, build):
            if _gives(build, arguments, thing):
                return {key: name, **_plain(arguments)}
    raise _unwritable(kind, thing, members)


def _gives(build: names.Constructor, arguments: Arguments, thing: Any) -> bool:
    try:
        return build(**arguments) == thing
    except InputError:
        return False


def _unwritable(kind: str, thing: Any, known: Any) -> InputError:
    return InputError(
        f"in a file the {kind} must be one of {', '.join(known)}, got {shown(thing)}: keep this spec in Python."
    )


def _candidates(name: str, thing: Any, build: names.Constructor) -> Iterator[Arguments]:
    """Arguments that may have made an object, the most readable first."""
    if name in SPECIAL:
        yield from SPECIAL[name](thing)
        return
    attributes = {"nodes": "points"}  # the name of an argument that is kept under another
    yield {n: _text(getattr(thing, attributes.get(n, n), None)) for n in names.arguments_of(build)}


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Expression) else value


def _gaussian_classes(law: data.GaussianClasses) -> Iterator[Arguments]:
    """Two classes by their contrast if it gives the deviations; weights as they are, or scaled so that they survive."""
    start = {"d": law.d, "informative": law.informative}
    delta = {"delta": _decimal(law.deviations[0] - 1)}
    yield start | delta
    for scale in range(1, 200):
        rest = {"labels": law.labels, "weights": tuple(_decimal(scale * p) for p in law.weights)}
        yield start | delta | rest
        yield start | {"deviations": law.deviations} | rest
        yield start | {"deviations": law.deviations} | rest | {"weights": tuple(scale * p for p in law.weights)}


def _decimal(value: float) -> float:
    """The short decimal number next to a value, if it is that up to rounding."""
    short = float(f"{value:.12g}")
    return short if math.isclose(short, value, rel_tol=1e-14, abs_tol=1e-15) else value


def _empirical(law: data.Empirical) -> Iterator[Arguments]:
    found = source_of(law)
    if found is not None:
        yield found


def _ramp(choice: activations.PiecewiseLinear) -> Iterator[Arguments]:
    """The height of the end is searched among the numbers that give the slope."""
    if len(choice.knots) != 2:
        return
    (s, t), start = choice.knots, choice.intercept
    height = start + choice.jumps[0] * (t - s)
    unit = math.ulp(max(abs(start), abs(height))) / 8
    near = (height + sign * k * unit for k in range(64) for sign in (1, -1))
    for end in itertools.chain([_decimal(height)], near):
        yield {"start": (s, start), "end": (t, end)}


def _piecewise_linear(choice: activations.PiecewiseLinear) -> Iterator[Arguments]:
    """The points on the graph, if they give the jumps to the last digit; `hinges` does in any case."""
    slopes = list(itertools.accumulate(choice.jumps, initial=choice.slope))
    heights = [choice.intercept + choice.slope * choice.knots[0]] if choice.knots else []
    for (s, t), slope in zip(itertools.pairwise(choice.knots), slopes[1:], strict=False):
        heights.append(heights[-1] + slope * (t - s))
    for tidy in (_decimal, float):
        points = [(t, tidy(v)) for t, v in zip(choice.knots, heights, strict=True)]
        yield {"knots": points, "left_slope": choice.slope, "right_slope": tidy(slopes[-1])}


def _hermite(choice: activations.Polynomial) -> Iterator[Arguments]:
    yield {"k": len(choice.coefficients) - 1}


def _custom(choice: activations.General) -> Iterator[Arguments]:
    if isinstance(choice.function, Expression):
        yield {"function": str(choice.function), "kinks": choice.kinks}


SPECIAL: dict[str, Callable[[Any], Iterator[Arguments]]] = {
    "gaussian_classes": _gaussian_classes,
    "empirical": _empirical,
    "ramp": _ramp,
    "piecewise_linear": _piecewise_linear,
    "hermite": _hermite,
    "custom": _custom,
}


def _plain(arguments: Mapping[str, Any]) -> Arguments:
    """Arguments as values of a file; those that are None are left out."""
    return {name: _value(value) for name, value in arguments.items() if value is not None}


def _value(value: Any) -> Any:
    """Numbers, text and lists of Python; laws of scalars and schedules as tables."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, ConstantLaw):
        return _value(value.value)
    if isinstance(value, ScalarLaw):
        return _call("law of a scalar", value, names.SCALAR_LAWS)
    if isinstance(value, Schedule):
        return _call("schedule", value, names.SCHEDULES)
    if not isinstance(value, numbers.Real):
        raise InputError(f"in a file a function must be an expression, got {shown(value)}: keep this spec in Python.")
    return int(value) if isinstance(value, numbers.Integral) else float(value)
