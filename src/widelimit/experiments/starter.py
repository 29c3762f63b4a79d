"""A commented spec file to start from, one for each data law.

Keys and their explanations come from the signatures and docstrings of the library; only values are chosen here. A key
that may be left out stands behind a '#'.
"""

from __future__ import annotations

import inspect
import math
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w

from widelimit.errors import InputError, require, require_known
from widelimit.experiments import spec_reading as names
from widelimit.experiments.spec import Settings
from widelimit.problem.neurons import DOMAINS, ROLES
from widelimit.problem.problem import Problem
from widelimit.solving.whole_files import write_whole

COLUMN = 40
EXAMPLES = {  # of keys that are left out
    "informative": 10, "deviations": [1.8, 0.2], "labels": [1.0, -1.0], "weights": [0.5, 0.5], "noise": 0.1,
    "nodes": 64, "k": 2, "classes": [0, 1], "replicas": 4, "cells": 100, "box": [[0.0, 5.0]], "step": 1e-3,
    "stiff": False,
}  # fmt: skip
REQUIRED = {"n": 200, "step": 1e-2}  # keys of the methods that stand behind a '#'
HEAD = """# Run it: widelimit run {target}
# A key behind a '#' may be left out; remove the '#' to use it. Reference: docs/spec.md."""
SMALL: dict[str, dict[str, Any]] = {"SGD": {"n": 200, "step": 1e-3}, "MeanField": {"points": 128}}
IN_FULL: dict[str, dict[str, Any]] = {"SGD": {"n": 200, "step": 1e-3}, "GD": {"n": 200, "step": 1e-2}}


@dataclass(frozen=True)
class Start:
    """The values of a starter: arguments of the data law, and of the methods by their names."""

    data: Mapping[str, Any]
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: SMALL)
    activation: str = "erf"
    outer: str = "trained"


STARTS = {
    "gaussian_classes": Start({"d": 20, "delta": 0.8}, activation="ramp", outer="absent"),
    "single_index": Start({"d": 20, "link": "He1(z) - 0.5*He2(z)"}),
    "multi_index": Start({"d": 20, "k": 2, "link": "z1 + z1*z2", "nodes": 10}),
    "hypercube": Start({"d": 20, "target": "z1 + z1*z2"}, IN_FULL),
    "sphere": Start({"d": 20, "target": "z1 + z1*z2", "nodes": 10}),
    "empirical": Start({"file": "", "replacement": True}, IN_FULL),
}


def write_starter(name: str, law: str = "gaussian_classes") -> list[Path]:
    """Write NAME.toml, and NAME.csv with some rows of data for ``law="empirical"``; returns the paths."""
    require_known("data law", law, STARTS)
    target = Path(f"{name.removesuffix('.toml')}.toml")
    require(target.stem != ".toml", "new needs a name for its file", name, "try widelimit new first")
    wanted = {target: starter(law, target)}
    if law == "empirical":
        wanted[target.with_suffix(".csv")] = _rows()
    for path in wanted:
        if os.path.lexists(path):
            raise InputError(f"new writes a file that does not exist yet, got {str(path)!r}: choose another name.")
    try:
        for path, text in wanted.items():
            write_whole(path, partial(_write, text))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"new must be able to write its file, got {str(target)!r}: {reason}.") from None
    return list(wanted)


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")


def starter(law: str, target: Path) -> str:
    """The text of a starter."""
    start = STARTS[law]
    sections = [
        [HEAD.format(target=target)],
        ["[problem]", *_keys(Problem, {"ridge": 0.0, "beta": math.inf, "alpha": 1.0}, only=("ridge", "beta", "alpha"))],
        ["[problem.data]", _name("law", law, names.DATA), *_data(law, start, target)],
        ["[problem.neuron]", *_neuron(start)],
        ["[problem.initial]", _name("law", "gaussian", names.INITIAL), *_initial(start)],
        _off(["[problem.schedule]", _name("law", "power", names.SCHEDULES), _line("exponent", 0.25, "ξ(t) = t^−¼")]),
        _off(["[problem.mobility]", _line("w", 0.5, "rate of a block: a, b or w; a number or a schedule")]),
        ["[run]", *_keys(Settings, {"t_end": 1.0, "seed": 0, "save": 21, "keep": "reduced"})],
        *(["[[method]]", _name("name", name, names.METHODS), *_method(name, start)] for name in start.methods),
        *(_off(["[[method]]", _line("name", name, _first(name)), *_method(name, start)]) for name in _others(start)),
    ]  # fmt: skip
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _keys(build: names.Constructor, values: Mapping[str, Any], only: tuple[str, ...] = ()) -> list[str]:
    """A line for each argument of a constructor; those without a value are left out, with an example."""
    meaning = _meanings() | names.explained(build)
    lines = []
    for key, argument in names.arguments_of(build).items():
        if only and key not in only:
            continue
        if key in values:
            lines.append(_line(key, values[key], meaning.get(key, "")))
            continue
        default = argument.default
        example = EXAMPLES[key] if default is None or key in EXAMPLES else default
        lines.append(_line(f"# {key}", example, meaning.get(key, "")))
    return lines


def _meanings() -> dict[str, str]:
    """Explanations of arguments that several data laws share."""
    return {key: text for build in reversed(list(names.DATA.values())) for key, text in names.explained(build).items()}


def _line(key: str, value: object, meaning: str) -> str:
    code = f"{key} = {_toml(value)}"
    text = meaning.replace("``math.inf``", "inf").replace("`", "")
    return f"{code:<{COLUMN}} # {text}" if text else code


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()


def _name(key: str, name: str, known: Mapping[str, Any]) -> str:
    return _line(key, name, f"one of {', '.join(known)}")


def _off(lines: list[str]) -> list[str]:
    """Lines that are left out, their comments in the same column."""
    return [line if line.startswith("#") else f"# {line}".replace("   # ", " # ", 1) for line in lines]


def _data(law: str, start: Start, target: Path) -> list[str]:
    values = {key: target.with_suffix(".csv").name if key == "file" else value for key, value in start.data.items()}
    return _keys(names.DATA[law], values)


def _neuron(start: Start) -> list[str]:
    roles, where = (f"one of {', '.join(words)}" for words in (ROLES, DOMAINS))
    return [
        _line("activation", start.activation, 'σ: a name, an expression such as "tanh(3*x)", or a table'),
        _line("outer", start.outer, f"outer weight a: {roles}"),
        _line("bias", "absent", f"bias b: {roles}"),
        _line("inner", "free", f"inner weights w: {where}"),
    ]


def _initial(start: Start) -> list[str]:
    a = "a" if start.outer != "absent" else "# a"
    normal = f'{a} = {{law = "normal", mean = 0.0, std = 1.0}}'
    return [
        _line("scale", 0.8, "κ in w ~ N(0, κ²/d I); the sphere has a radius instead"),
        f"{normal} # the outer weight: a number, or one of {', '.join(names.SCALAR_LAWS)}",
        _line("# b", 0.0, "the bias: the same"),
    ]


def _method(name: str, start: Start) -> list[str]:
    if name in start.methods:
        return _keys(names.METHODS[name], start.methods[name])
    needed = {
        k for k, argument in names.arguments_of(names.METHODS[name]).items() if argument.default is argument.empty
    }
    return _keys(names.METHODS[name], {key: value for key, value in REQUIRED.items() if key in needed})


def _others(start: Start) -> list[str]:
    return [name for name in names.METHODS if name not in start.methods]


def _first(name: str) -> str:
    return (inspect.getdoc(names.METHODS[name]) or "").splitlines()[0].rstrip(".")


def _rows() -> str:
    """Two hundred points in five dimensions, told apart by the sign of x1 + x2."""
    draw = random.Random(0)
    lines = ["x1,x2,x3,x4,x5,y"]
    for _ in range(200):
        x = [draw.gauss(0, 1) for _ in range(5)]
        lines.append(",".join([*(f"{v:.4f}" for v in x), "1" if x[0] + x[1] > 0 else "-1"]))
    return "\n".join(lines) + "\n"
