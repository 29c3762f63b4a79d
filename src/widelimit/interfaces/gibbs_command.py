"""The command ``widelimit gibbs``: where the noise of a spec leads, beside the methods that approach it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from widelimit.errors import finite_or_none, require, require_known
from widelimit.interfaces.options import FileSeed, Json, Out, show
from widelimit.interfaces.run_command import CODES, document, read, room_in, warn
from widelimit.interfaces.tables import print_table, with_error

if TYPE_CHECKING:
    from widelimit.experiments.launch import Launch
    from widelimit.experiments.spec import Spec
    from widelimit.solving.solution import Solution
    from widelimit.theory.noise.gibbs import Gibbs

WORDS = {"risk": "risk R", "free_energy": "free energy F"}


@dataclass(frozen=True)
class GibbsCommand:
    """The Gibbs law of a noisy problem, and how near the methods of its spec (and the PDE on a grid) come to it."""

    spec: Annotated[Path, typer.Argument(help="The spec file, with beta and ridge; see docs/spec.md.")]
    points: Annotated[
        int | None,
        typer.Option(help="Nodes for each coordinate (default: 256 in one, 80 in two).", show_default=False),
    ] = None
    n: Annotated[int, typer.Option(help="Neurons of the runs that simulate the law in three coordinates or more.")] = (
        1000
    )
    out: Out = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False
    coordinate: Annotated[
        str | None,
        typer.Option(help="Coordinate to show (default: u, or a radius).", show_default=False),
    ] = None
    seed: FileSeed = None
    as_json: Json = False

    def run(self) -> int:
        """Find the law, run the methods, show both."""
        chosen = comparable(read(self.spec, self.seed))
        folder = Path(self.spec.stem) if self.out is None else self.out
        if self.coordinate is not None:
            require_known("coordinate", self.coordinate, chosen.problem.reduced_coordinates)
        from widelimit.experiments.launch import launch
        from widelimit.theory.noise.gibbs import gibbs

        law = gibbs(chosen.problem, self.points, n=self.n, seed=chosen.seed)
        with room_in(folder):
            launched = launch(chosen, folder, self.overwrite)
            files = _files(chosen, law, launched, folder, self.coordinate)
        rows = table(law, launched)

        def tell() -> None:
            print_quantities(rows, list(launched.solutions), chosen.t_end)
            sampled = f"R found by simulation, ± {law.error:.1g}"
            found = f"primal–dual gap {law.gap:.1g}" if math.isfinite(law.gap) else sampled
            print(f"β = {law.beta:g}, {found}")
            print("\n".join(f"saved {file}" for file in files))

        show({**document(launched, rows, files), "gibbs": _numbers(law)}, self.as_json, tell)
        warn(launched)
        return CODES[launched.outcome]


def comparable(spec: Spec) -> Spec:
    """The spec with the PDE on a grid among its methods, where there is a grid."""
    from widelimit.dynamics.methods import FiniteVolume

    require(spec.keep == "reduced", "run.keep must be 'reduced' beside a Gibbs law", spec.keep, "drop it")
    given = any(isinstance(method, FiniteVolume) for method in spec.methods)
    if given or len(spec.problem.reduced_coordinates) > 2 or spec.problem.data.no_reduction:
        return spec
    return replace(spec, methods=(*spec.methods, FiniteVolume()))


def table(law: Gibbs, launched: Launch) -> list[dict[str, Any]]:
    """Risk, free energy and the mean of each coordinate: of the law, and of each method that reached the end.

    Beside each is how far it may be off, where that is known; of the free energy of the law, its gap.
    """
    means = {f"mean {c}": float(law.rho.mean(law.rho.column(c))) for c in law.rho.coordinates}
    wished = {"risk": law.risk, "free_energy": law.free_energy, **means}
    errors = {"risk": law.error, "free_energy": law.gap}
    found = {name: _last(solution) for name, solution in launched.solutions.items()}
    return [
        {
            "quantity": quantity,
            "gibbs": finite_or_none(value),
            **{name: last.get(quantity) for name, last in found.items()},
            "gibbs_error": finite_or_none(errors.get(quantity, math.nan)),
            **{f"{name}_error": last.get(f"{quantity}_error") for name, last in found.items()},
        }
        for quantity, value in wished.items()
    ]


def _last(solution: Solution) -> dict[str, float | None]:
    """The quantities of `table`, of a solution at its last time; empty if the run did not reach the end."""
    from widelimit.interfaces.series import measure_at

    if solution.outcome != "done":
        return {}
    rho = measure_at(solution, solution.times[-1])
    means = {f"mean {c}": float(rho.mean(rho.column(c))) for c in rho.coordinates}
    energy = {"free_energy": float(solution.dataset["free_energy"][-1])} if solution.is_density else {}
    error = finite_or_none(solution.error[..., -1].mean())
    return {"risk": float(solution.risk[..., -1].mean()), "risk_error": error, **energy, **means}


def _numbers(law: Gibbs) -> dict[str, float | None]:
    """The numbers of a law for JSON; one found by simulation has no gap and may have no free energy."""
    values = {"beta": law.beta, "risk": law.risk, "free_energy": law.free_energy, "gap": law.gap, "error": law.error}
    return {name: finite_or_none(value) for name, value in values.items()}


def _files(spec: Spec, law: Gibbs, launched: Launch, folder: Path, coordinate: str | None) -> list[str]:
    """Write the law and the picture, and list what is in the folder."""
    from widelimit.experiments.launch import LAW, LAW_FIGURE, SPEC
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure
    from widelimit.interfaces.noise_figures import is_on_a_grid
    from widelimit.solving.whole_files import write_whole

    densities = {c: law.density(c) for c in law.rho.coordinates}
    shown = {c: {"edges": edges.tolist(), "values": values.tolist()} for c, (edges, values) in densities.items()}
    text = json.dumps({**_numbers(law), "density": shown}, allow_nan=False)
    files = [write_whole(folder / LAW, lambda path: path.write_text(text, encoding="utf-8"))]
    if launched.solutions:
        files += [folder / SPEC, *(folder / f"{name}.nc" for name in launched.solutions)]
    begun = [solution for solution in launched.solutions.values() if len(solution.times)]
    done = [solution for solution in begun if solution.outcome == "done"]
    drawn = done if any(map(is_on_a_grid, done)) else begun
    if any(map(is_on_a_grid, drawn)):
        picture = figure(where_it_rests(spec, law, drawn), *drawn, coordinate=coordinate)
        files.append(save_picture(picture, folder / LAW_FIGURE))
    else:
        (folder / LAW_FIGURE).unlink(missing_ok=True)
    return [str(file) for file in files]


def where_it_rests(spec: Spec, law: Gibbs, drawn: list[Solution]) -> Gibbs:
    """The law on the cells of the PDE, whose free energy then falls to rounding instead of to the error of the grid."""
    from widelimit.measures import Density
    from widelimit.theory.noise.gibbs import gibbs as gibbs_law

    last = next((solution.final for solution in drawn if solution.name == "FiniteVolume"), None)
    sampled = law.log_density is None
    return gibbs_law(spec.problem, on=last) if isinstance(last, Density) and not sampled else law


def print_quantities(rows: list[dict[str, Any]], names: list[str], t_end: float) -> None:
    """Each quantity, of the Gibbs law and of each method."""
    cells = []
    for row in rows:
        values = (with_error(row[name], row[f"{name}_error"]) for name in ("gibbs", *names))
        quantity = str(row["quantity"])
        cells.append((WORDS.get(quantity, quantity), *values))
    title = f"the Gibbs law, and each method at t = {t_end:g}"
    print_table(title, ("quantity", "Gibbs law", *names), cells, left=("quantity",))
