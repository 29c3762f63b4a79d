"""Problems written in a file: problem, methods, horizon, seed, what to save.

    [problem]  [problem.data]  [problem.neuron]  [problem.initial]
               [problem.schedule]  [problem.mobility]  [problem.regulariser]
    [run]      t_end, seed, save, replicas, keep
    [[method]] name, and the fields of the method; as many of these tables as there are methods

The words are those of the Python arguments. Reference: docs/spec.md.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from widelimit.dynamics.methods import FiniteVolume, Limit, Method
from widelimit.errors import InputError, require
from widelimit.experiments import spec_reading
from widelimit.experiments.data_files import anchored
from widelimit.experiments.spec_checks import complaint, located
from widelimit.problem.data.data_law import require_finite
from widelimit.problem.problem import Problem
from widelimit.solving.settings import Settings
from widelimit.solving.written import toml_of

LARGEST = 1_000_000  # characters
LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){30}""")  # slow to parse


class Spec(Settings):
    """A problem, the methods to run on it, and how long: what a spec file holds.

    problem   a `Problem`
    methods   one or more of `SGD`, `GD`, `ParticleFlow`, `NonlinearFlow`, `MeanField`, `FiniteVolume`, `JKO`,
              `TangentFlow`, `TangentSGD`

    >>> spec = Spec.from_toml('''
    ... [problem]
    ... data = {law = "gaussian_classes", d = 40, delta = 0.8}
    ... neuron = {activation = "ramp"}
    ... initial = {law = "gaussian", scale = 0.8}
    ... [run]
    ... t_end = 10.0
    ... [[method]]
    ... name = "SGD"
    ... n = 800
    ... step = 1e-4
    ... ''')
    >>> spec.methods
    (SGD(n=800, step=0.0001),)
    >>> Spec.from_toml(spec.to_toml()) == spec
    True
    """

    problem: Problem
    methods: tuple[Method, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.problem, Problem), "problem must be a wl.Problem", self.problem, "build one first")
        chosen = self.methods if isinstance(self.methods, list | tuple) else (self.methods,)
        good = bool(chosen) and all(isinstance(method, Method) for method in chosen)
        require(good, "methods must be one or more methods such as wl.SGD(n=800, step=1e-4)", self.methods, "give one")
        self.settle(methods=tuple(chosen))
        for method in self.methods:
            self._check_method(method)

    def _check_method(self, method: Method) -> None:
        """What can be refused before anything is computed."""
        name, law = type(method).__name__, self.problem.data
        if not in_reduced(method):
            require_finite(law.d, f"neurons of {name}")
            return
        if isinstance(method, FiniteVolume):
            names = self.problem.reduced_coordinates
            require(len(names) <= 2, "FiniteVolume needs one or two reduced coordinates", names[:6], "use MeanField")
        if not self.problem.reduced.is_reduced:  # there is nothing to reduce
            return
        if law.no_reduction:
            raise InputError(f"{name} needs reduced coordinates, got d = {law.d:g}: {law.no_reduction}.")
        good = self.keep == "reduced"
        require(good, f"keep must be 'reduced' because {name} runs in reduced coordinates", self.keep, "drop it")

    @classmethod
    def from_toml(cls, source: str | os.PathLike) -> Spec:
        """Read a spec from a path (a ``Path``, or a text that ends in ".toml") or from the text of a file."""
        written = read_document(source)
        return spec_in(written.document, written.folder)

    def to_toml(self) -> str:
        """The spec in its normal form; an InputError says what has no form in a file."""
        return toml_of(self.problem, self.plain(), self.methods)

    def plain(self) -> Settings:
        """The settings alone."""
        return Settings(**self.settings())

    def settings(self) -> dict[str, Any]:
        """The arguments of [run]."""
        return {f.name: getattr(self, f.name) for f in fields(Settings)}


def in_reduced(method: Method) -> bool:
    """Whether a method runs in reduced coordinates."""
    return isinstance(method, Limit) or getattr(method, "coordinates", "full") == "reduced"


class TomlDocument(NamedTuple):
    """A document in TOML, and the folder that paths in it start from."""

    document: dict[str, Any]
    folder: Path


def read_document(source: str | os.PathLike) -> TomlDocument:
    """The tables of a file, from its path or its text."""
    good = isinstance(source, str | os.PathLike)
    require(good, "a spec must be the path or the text of a TOML file", source, "try Spec.from_toml('spec.toml')")
    is_path = not isinstance(source, str) or ("\n" not in source and source.endswith(".toml"))
    text = _contents(Path(source)) if is_path else str(source)
    return TomlDocument(_parsed(text), Path(source).parent if is_path else Path())


def _contents(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4 * LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"a spec must be a TOML file, got {str(path)!r}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise InputError(f"a spec must be a TOML file, got {str(path)!r}: {reason}.") from None


def _parsed(text: str) -> dict[str, Any]:
    require(len(text) <= LARGEST, f"a spec must have at most {LARGEST} characters", len(text), "shorten it")
    if LONG_KEY.search(text):
        raise InputError("a key must have at most 30 parts, got more: write tables instead.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("a spec must be readable, got brackets inside brackets without end: remove some.") from None
    except ValueError as error:  # also for numbers and dates that Python cannot hold
        raise InputError(f"a spec must be TOML, got a mistake: {_plain(error)}.") from None


def _plain(error: ValueError) -> str:
    return " ".join(str(error).split())[:200]


def spec_in(document: dict[str, Any], folder: Path) -> Spec:
    """The spec that a document holds."""
    _anchor(document, folder)
    try:
        checked = spec_reading.document(_assembled, Settings)(document)
    except ValidationError as error:
        raise complaint(error) from None
    return spec_reading.made(checked)


def _assembled(problem: Problem, run: Settings, method: tuple[Method, ...]) -> Spec:
    """A whole spec.

    problem  write [problem.data], [problem.neuron] and [problem.initial]
    run      write [run] with t_end
    method   write [[method]] with a name
    """
    settings = {f.name: getattr(run, f.name) for f in fields(Settings)}
    try:
        return Spec(problem, method, **settings)
    except InputError as error:
        raise located(error, ("run",), settings) if str(error).startswith(tuple(settings)) else error from None


def _anchor(document: dict[str, Any], folder: Path) -> None:
    """Make the path of a data file, which is relative to the spec, absolute."""
    problem = document.get("problem")
    data = problem.get("data") if isinstance(problem, dict) else None
    if isinstance(data, dict) and isinstance(data.get("file"), str):
        data["file"] = anchored(data["file"], folder)
