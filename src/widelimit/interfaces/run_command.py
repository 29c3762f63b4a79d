"""The commands of problems written in a file: ``widelimit new`` writes one, ``widelimit run`` runs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import InputError, finite_or_none
from widelimit.interfaces.options import FileSeed, Json, Out, advise, show
from widelimit.interfaces.tables import print_table, with_error

if TYPE_CHECKING:
    import numpy as np

    from widelimit.experiments.launch import Launch
    from widelimit.experiments.spec import Spec
    from widelimit.solving.solution import Solution

ROWS = 8
SAME = 1e-9  # relative distance of times that are one
CODES = {"done": 0, "diverged": 1, "stopped": 1, "interrupted": 130}


@dataclass(frozen=True)
class NewCommand:
    """Write a commented spec file to start from, which runs as it is."""

    name: Annotated[str, typer.Argument(help="Name of the file, with or without .toml.")]
    law: Annotated[str, typer.Option(help="Data law: gaussian_classes, single_index, …")] = "gaussian_classes"

    def run(self) -> int:
        """Write the file."""
        from widelimit.experiments.starter import write_starter

        for path in write_starter(self.name, self.law):
            print(f"wrote {path}")
        print(f"try   widelimit run {self.name.removesuffix('.toml')}.toml")
        return 0


@dataclass(frozen=True)
class RunCommand:
    """Run the problem written in a file: a table, a picture, and a record for each method."""

    spec: Annotated[Path, typer.Argument(help="The spec file, see docs/spec.md.")]
    out: Out = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False
    check: Annotated[bool, typer.Option("--check", help="Only say what would run.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how long it would take, and how much memory.")
    ] = False
    seed: FileSeed = None
    devices: Annotated[
        int | None,
        typer.Option(help="Spread neurons or replicas over devices, see docs/devices.md.", show_default=False),
    ] = None
    as_json: Json = False

    def run(self) -> int:
        """Run every method, keep the records, show the risks."""
        chosen = read(self.spec, self.seed)
        folder = Path(self.spec.stem) if self.out is None else self.out
        if self.check:
            show_plan(chosen, folder, self.as_json)
            return 0
        if self.dry_run:
            show_forecasts(chosen, self.as_json)
            return 0
        from widelimit.experiments.launch import launch

        with room_in(folder):
            launched = launch(chosen, folder, self.overwrite, self.resume, self.devices)
            files = _files(launched, folder)
        rows = table(chosen, launched)

        def tell() -> None:
            print_risks(rows, list(launched.solutions), chosen.problem.data.risk_name)
            print("\n".join(f"saved {file}" for file in files))

        show(document(launched, rows, files), self.as_json, tell)
        warn(launched)
        return CODES[launched.outcome]


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Say in one sentence that results cannot be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out must have room for the results, got {str(folder)!r}: {reason}.") from None


def read(path: Path, seed: int | None = None) -> Spec:
    """The spec in a file, with another seed if one is given."""
    from widelimit.experiments.spec import Spec

    chosen = Spec.from_toml(path)
    return chosen if seed is None else replace(chosen, seed=seed)


def show_plan(spec: Spec, folder: Path, as_json: bool) -> None:
    """Print what would run."""
    plan = {**spec.settings(), "methods": [repr(method) for method in spec.methods], "folder": str(folder)}

    def tell() -> None:
        print(spec.problem)
        for method in spec.methods:
            print(f"{'method':<10} {method}")
        many = f", {spec.replicas} replicas" if spec.replicas else ""
        print(f"{'run':<10} t = 0 to {spec.t_end:g}, seed {spec.seed}{many}, neurons kept {spec.keep}, into {folder}")

    show({"outcome": "checked", "problem": str(spec.problem), **plan}, as_json, tell)


def show_forecasts(spec: Spec, as_json: bool) -> None:
    """Print what every method would take."""
    from widelimit.experiments.launch import forecasts

    found = forecasts(spec)

    def tell() -> None:
        for name, forecast in found.items():
            print(f"{name:<16} {repr(forecast).removeprefix('<Forecast: ').removesuffix('>')}")
        print("an estimate, from a short pilot of each")

    show({"outcome": "estimated", "methods": {name: f.document() for name, f in found.items()}}, as_json, tell)
    for name, forecast in found.items():
        advise(forecast.advice, name)


def table(spec: Spec, launched: Launch) -> list[dict[str, float | None]]:
    """The risk of each method, averaged over replicas, at about eight times: those that most runs have near those that
    were asked for; a run says nothing at a time it was not saved at."""
    import numpy as np

    wished = np.linspace(0, spec.t_end, spec.save) if isinstance(spec.save, int) else np.array(spec.save)
    rows = sorted({round(i) for i in np.linspace(0, len(wished) - 1, ROWS)})
    return [
        {
            "t": t,
            **{name: _mean(s, s.risk, t) for name, s in launched.solutions.items()},
            **{f"{name}_error": _mean(s, s.error, t) for name, s in launched.solutions.items()},
        }
        for t in _held(list(launched.solutions.values()), wished[rows])
    ]


def _held(solutions: Sequence[Solution], wished: np.ndarray) -> list[float]:
    """For each time that is wished for the one near it that most runs have, of those the nearest."""
    saved = sorted({float(t) for s in solutions for t in s.times})
    many = {t: sum(_place(s, t) is not None for s in solutions) for t in saved}
    near = (wished[-1] - wished[0]) / len(wished) / 2
    chosen = [min(saved, key=lambda s: (abs(s - t) > near, -many[s], abs(s - t))) for t in wished if saved]
    return list(dict.fromkeys(chosen))


def _place(solution: Solution, t: float) -> int | None:
    """The number of the save at t, None if there is none."""
    import numpy as np

    there = np.flatnonzero(np.isclose(solution.times, t, rtol=SAME, atol=0.0))
    return int(there[0]) if len(there) else None


def _mean(solution: Solution, values: np.ndarray, t: float) -> float | None:
    """The mean over replicas at time t; None where the run was not saved, or an error not measured."""
    place = _place(solution, t)
    return None if place is None else finite_or_none(values[..., place].mean())


def _files(launched: Launch, folder: Path) -> list[str]:
    """Draw the picture, of the methods that reached the end if there are any, and list what is in the folder."""
    from widelimit.experiments.launch import FIGURE, SPEC
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure

    if not launched.solutions:
        return []
    files = [folder / SPEC, *(folder / f"{name}.nc" for name in launched.solutions)]
    begun = [solution for solution in launched.solutions.values() if len(solution.times)]
    done = [solution for solution in begun if solution.outcome == "done"]
    if begun:
        files.append(save_picture(figure(*(done or begun)), folder / FIGURE))
    return [str(file) for file in files]


def document(launched: Launch, rows: Sequence[Mapping[str, object]], files: list[str]) -> dict[str, object]:
    """The JSON document of a run."""
    methods = [
        {"record": name, "method": s.name, "outcome": s.outcome, "advice": s.advice, "t": float(s.times[-1])}
        for name, s in launched.solutions.items()
        if len(s.times)
    ]
    return {"outcome": launched.outcome, "methods": methods, "rows": rows, "files": files}


def print_risks(rows: list[dict[str, float | None]], names: list[str], title: str) -> None:
    """t and the risk of each method."""
    cells = [(f"{row['t']:.3g}", *(with_error(row[name], row[f"{name}_error"]) for name in names)) for row in rows]
    print_table(f"{title} R", ("t", *names), cells)


def warn(launched: Launch) -> None:
    """One sentence on stderr for each method that did not reach the end, or whose step looks too large."""
    for name, solution in launched.solutions.items():
        reached = f"t = {solution.times[-1]:g}" if len(solution.times) else "nothing"
        ended = "" if solution.outcome == "done" else f" {solution.outcome} after {reached}"
        advise(solution.advice, name + ended)
    if launched.interrupted:
        kept = ", ".join(f"{name} to t = {s.times[-1]:g}" for name, s in launched.solutions.items() if len(s.times))
        told = f"kept {kept}; --resume goes on" if kept else "before anything was kept"
        print(f"widelimit: interrupted, {told}.", file=sys.stderr)
