"""Commands as values: a dataclass whose fields are the options, and whose ``run`` does the work.

@command(app, "demo")
@dataclass(frozen=True)
class Demo:
    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 800

    def run(self) -> int: ...
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import typer

from widelimit.errors import InputError, writing_to


class Command(Protocol):
    """A command with its options."""

    def run(self) -> int:
        """Run the command and return its exit code."""


C = TypeVar("C", bound=type[Command])

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
Seed = Annotated[int, typer.Option(help="Seed of every random stream.")]
FileSeed = Annotated[int | None, typer.Option(help="Seed instead of the file's.", show_default=False)]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the results (default: named after the file).", show_default=False)
]


def command(app: typer.Typer, name: str) -> Callable[[C], C]:
    """Register a dataclass as a command: its docstring is the help, its fields are the options."""

    def register(options: C) -> C:
        hints = typing.get_type_hints(options, include_extras=True)

        def run(**values: object) -> int:
            return options(**values).run()

        parameters = [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
                default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            )
            for field in dataclasses.fields(options)  # type: ignore[arg-type]
        ]  # fmt: skip
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__ = options.__doc__
        app.command(name)(run)
        return options

    return register


def show(document: Mapping[str, object] | Sequence[object], as_json: bool, otherwise: Callable[[], None]) -> None:
    """One JSON document on stdout, or what a person reads."""
    if as_json:
        print(json.dumps(document, allow_nan=False))
    else:
        otherwise()


def advise(advice: str, of: str = "") -> None:
    """One sentence on stderr about a run that may be in need of it; none if there is nothing to say."""
    if advice:
        print(f"widelimit: {of}{': ' if of else ''}{advice}.", file=sys.stderr)


def dimension(text: str) -> float:
    """A dimension from its text; an infinite one is refused, because SGD needs a finite one."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"d must be a whole number of at least 1, got {text!r}: try --d 40.") from None
    if math.isnan(value):
        raise InputError("d must be a whole number of at least 1, got nan: try --d 40.")
    if math.isinf(value):
        raise InputError("SGD needs a finite dimension, got inf: try --d 1000.")
    return int(value) if value == int(value) else value


def require_writable(folder: Path) -> None:
    """Say why a folder cannot be made or written to; a new one is made with the first file, if it comes to that."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with writing_to(folder):
            pass
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()
