"""The command line: parse, call, show.

Exit codes: 0 done, 1 a run diverged, 2 bad input (one sentence), 130 interrupted with what was finished kept.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widelimit import __version__
from widelimit.errors import Diverged, InputError, Interrupted
from widelimit.interfaces import gibbs_command, run_command, tables

if TYPE_CHECKING:
    from widelimit.solving.solution import Solution
    from widelimit.theory.coupling import Comparison

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The infinite-width limit of two-layer neural networks, beside the finite networks it describes.",
)


app.command("run")(run_command.run)
app.command("new")(run_command.new)
app.command("gibbs")(gibbs_command.gibbs)


def main() -> None:
    """Entry point: run a command and turn every failure into one sentence and an exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit code."""
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
            return _complain(_usage(error, arguments), 2)
        raise


def _usage(error: Any, arguments: list[str]) -> str:
    """The parser's complaint as one sentence, with what arrived and what to do."""
    options = getattr(getattr(error, "param", None), "opts", ())
    values = [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in options]
    got = f", got {values[-1]!r}" if values else ""
    return f"{error.format_message().rstrip('.')}{got}: see widelimit --help."


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


@app.command()
def demo(
    d: Annotated[str, typer.Option(help="Dimension of the data.")] = "40",
    delta: Annotated[float, typer.Option(help="Contrast Δ of the two classes, in (0, 1).")] = 0.8,
    informative: Annotated[
        int | None, typer.Option(help="Number of informative directions [default: all].", show_default=False)
    ] = None,
    activation: Annotated[str, typer.Option(help="Activation σ, by name.")] = "ramp",
    scale: Annotated[float, typer.Option(help="κ of the start w ~ N(0, κ²/d I).")] = 0.8,
    initial: Annotated[
        Path | None, typer.Option(help="Start from the neurons in this .npy file, shape (n, d).", show_default=False)
    ] = None,
    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 800,
    step: Annotated[float, typer.Option(help="Step ε of SGD.")] = 1e-4,
    t_end: Annotated[float, typer.Option(help="Horizon in time t = kε.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path("widelimit-demo"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
) -> int:
    """Two Gaussian classes: SGD against its mean-field limit, a table and a picture."""
    from widelimit.experiments.demo import two_classes

    setting = two_classes(
        _dimension(d), delta, informative, activation, scale, _neurons(initial), n, step, 400, t_end, seed
    )
    _require_writable(out)
    from widelimit.experiments import demo as experiment

    kept: dict[str, Solution] = {}
    try:
        kept["sgd"] = experiment.run_finite(setting)
        kept["mean_field"] = experiment.run_limit(setting, kept["sgd"])
    except (Diverged, Interrupted) as stop:
        kept["mean_field" if kept else "sgd"] = stop.solution
        files = _save(kept, out)
        if as_json:
            print(json.dumps({"outcome": stop.solution.outcome, "advice": stop.solution.advice, "files": files}))
        raise
    finite, limit = kept["sgd"], kept["mean_field"]
    files = _save(kept, out)
    rows = experiment.table(finite, limit)
    if as_json:
        print(json.dumps({"outcome": finite.outcome, "rows": rows, "files": files}))
    else:
        tables.print_gap(rows)
        print("\n".join(f"saved {name}" for name in files))
    return 0


@app.command()
def compare(
    d: Annotated[str, typer.Option(help="Dimension of the data.")] = "40",
    delta: Annotated[float, typer.Option(help="Contrast Δ of the two classes, in (0, 1).")] = 0.8,
    informative: Annotated[
        int | None, typer.Option(help="Number of informative directions [default: all].", show_default=False)
    ] = None,
    activation: Annotated[str, typer.Option(help="Activation σ, by name.")] = "ramp",
    scale: Annotated[float, typer.Option(help="κ of the start w ~ N(0, κ²/d I).")] = 0.8,
    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 200,
    step: Annotated[float, typer.Option(help="Step ε of SGD and GD.")] = 1e-3,
    t_end: Annotated[float, typer.Option(help="Horizon in time t = kε.")] = 1.0,
    replicas: Annotated[
        int | None, typer.Option(help="Independent couplings, averaged [default: one].", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path("widelimit-compare"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
) -> int:
    """The five dynamics from the same neurons: where the gap between SGD and the PDE comes from."""
    from widelimit.experiments import gap

    chosen = gap.setting(_dimension(d), delta, informative, activation, scale, n, step, t_end, seed, replicas)
    _require_writable(out)
    try:
        result = gap.run(chosen)
    except (Diverged, Interrupted) as stop:
        _show_comparison(stop.solution, out, as_json)
        raise
    _show_comparison(result, out, as_json)
    return 0


def _show_comparison(result: Comparison, out: Path, as_json: bool) -> None:
    from widelimit.interfaces.figures import figure

    files = [str(solution.save(out / f"{name.lower()}.nc")) for name, solution in result.solutions.items()]
    if len(result.times) >= 2 and result.parts:
        picture = out / "compare.png"
        figure(result).savefig(picture, dpi=150)
        files.append(str(picture))
    if as_json:
        print(json.dumps({"outcome": result.outcome, "advice": result.advice, "rows": result.table(), "files": files}))
        return
    tables.print_parts(result.table(), result.parts)
    print("\n".join(f"saved {name}" for name in files))


@app.command()
def bench(
    n: Annotated[int, typer.Option(help="Number of neurons N.")] = 800,
    d: Annotated[int, typer.Option(help="Dimension of the data.")] = 320,
    repeats: Annotated[int, typer.Option(help="Repeats, of which the best counts.")] = 15,
    grid: Annotated[
        bool, typer.Option("--grid", help="The noisy PDE on a grid beside py-pde, instead of SGD.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
) -> int:
    """Our speed beside the plain loops a user would write, in one run."""
    if grid:
        from widelimit.experiments import grid_speed

        result = grid_speed.measure(repeats=repeats)
        print(json.dumps(result)) if as_json else tables.print_grid_speed(result)
        return 0
    from widelimit.experiments.demo import two_classes

    two_classes(d=d, n=n)
    from widelimit.experiments import speed

    results = [speed.measure(n, d, dtype, repeats) for dtype in ("float64", "float32")]
    if as_json:
        print(json.dumps(results))
    else:
        tables.print_speed(results)
    return 0


@app.command()
def points(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("widelimit-points"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")] = False,
) -> int:
    """The error of the mean-field limit against its number of points, for both placements (some minutes)."""
    from dataclasses import asdict

    _require_writable(out)
    from widelimit.experiments import points as experiment

    rows = experiment.measure()
    target = out / "mean_field_points.png"
    experiment.draw(rows).savefig(target, dpi=150)
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "files": [str(target)]}))
        return 0
    for row in rows:
        errors = ", ".join(f"{m}: {e:.1e}" for m, e in zip(row.counts, row.errors, strict=True))
        print(f"{row.setting}, {row.placement}\n  {errors}")
    print(f"saved {target}")
    return 0


def _dimension(text: str) -> float:
    """A whole number or "inf"; SGD then refuses an infinite one in its own words."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"d must be a whole number of at least 1, got {text!r}: try --d 40.") from None
    if math.isnan(value):
        raise InputError("d must be a whole number of at least 1, got nan: try --d 40.")
    if math.isinf(value):
        raise InputError("SGD needs a finite dimension, got inf: try --d 1000.")
    return int(value) if value == int(value) else value


def _neurons(path: Path | None) -> Any:
    if path is None:
        return None
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(
            f"--initial must be a .npy file with numbers, got {str(path)!r}: write one with numpy.save."
        ) from None


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"--out must be a folder that can be written to, got {str(folder)!r}: {error.strerror}."
        ) from None


def _save(solutions: dict[str, Solution], out: Path) -> list[str]:
    from widelimit.interfaces.figures import figure

    files = [str(s.save(out / f"{name}.nc")) for name, s in solutions.items()]
    if all(len(s.times) for s in solutions.values()):
        picture = out / "demo.png"
        figure(*solutions.values()).savefig(picture, dpi=150)
        files.append(str(picture))
    return files
