"""The command line: parse, call, show.

Exit codes: 0 done, 1 a claim failed, or a run diverged or stopped, 2 bad input (one sentence), 130 interrupted,
what was finished is kept.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from widelimit import __version__
from widelimit.errors import Diverged, InputError
from widelimit.interfaces.catalogue_commands import ListCommand, ReproduceCommand, ShowCommand
from widelimit.interfaces.certify_command import CertifyCommand
from widelimit.interfaces.complexity_command import ComplexityCommand
from widelimit.interfaces.gibbs_command import GibbsCommand
from widelimit.interfaces.measure_commands import BenchCommand, PointsCommand
from widelimit.interfaces.options import command
from widelimit.interfaces.plan_command import PlanCommand
from widelimit.interfaces.regime_command import RegimeCommand
from widelimit.interfaces.run_command import NewCommand, RunCommand
from widelimit.interfaces.runs_command import runs
from widelimit.interfaces.sweep_command import SweepCommand
from widelimit.interfaces.two_classes_commands import CompareCommand, DemoCommand

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The infinite-width limit of two-layer neural networks, beside the finite networks it describes.",
)
for name, options in {
    "demo": DemoCommand, "run": RunCommand, "new": NewCommand, "compare": CompareCommand, "gibbs": GibbsCommand,
    "plan": PlanCommand, "regime": RegimeCommand, "complexity": ComplexityCommand, "bench": BenchCommand,
    "certify": CertifyCommand, "points": PointsCommand, "sweep": SweepCommand,
    "list": ListCommand, "show": ShowCommand, "reproduce": ReproduceCommand,
}.items():  # fmt: skip
    command(app, name)(options)
app.add_typer(runs, name="runs")


def run(arguments: list[str]) -> int:
    """Run one command line, turning every failure into one sentence; returns the exit code."""
    try:
        code = app(arguments, prog_name="widelimit", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except InputError as error:
        return _complain(str(error), 2)
    except Diverged as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted.", 130)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of the parser
            return _complain(_usage(error, error.format_message(), arguments), 2)
        raise


def _usage(error: Exception, message: str, arguments: list[str]) -> str:
    """The parser's complaint as one sentence, with what arrived and what to do."""
    options = getattr(getattr(error, "param", None), "opts", ())
    values = [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in options]
    got = f", got {values[-1]!r}" if values else ""
    said = message.rstrip(".") + got
    return f"{said} See widelimit --help." if said.endswith("?") else f"{said}: see widelimit --help."


def _complain(sentence: str, code: int) -> int:
    print(f"widelimit: {sentence}", file=sys.stderr)
    return code


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"widelimit {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The infinite-width limit of two-layer neural networks, beside the finite networks it describes."""
