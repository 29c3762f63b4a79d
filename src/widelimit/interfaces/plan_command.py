"""The command ``widelimit plan``: how wide a network and how small a step stay near the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.interfaces.options import FileSeed, Json, require_writable, show
from widelimit.interfaces.run_command import read
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.theory.gap.network_plan import NetworkPlan


@dataclass(frozen=True)
class PlanCommand:
    """Width and step that keep the risk of SGD within a tolerance of the limit's, verified by fresh runs."""

    spec: Annotated[Path, typer.Argument(help="The spec file; its problem and t_end are planned for.")]
    tolerance: Annotated[float, typer.Option(help="Largest gap of the risk over time.")] = 0.05
    confidence: Annotated[float, typer.Option(help="Share of runs that must stay below it.")] = 0.95
    t_end: Annotated[float | None, typer.Option(help="Horizon instead of the file's.", show_default=False)] = None
    runs: Annotated[int, typer.Option(help="Fresh runs that verify the plan.")] = 40
    out: Annotated[
        Path | None, typer.Option(help="Folder for a picture of the fresh runs, if wanted.", show_default=False)
    ] = None
    seed: FileSeed = None
    as_json: Json = False

    def run(self) -> int:
        """Pilot, choose, verify, show; 1 if no plan was confirmed."""
        chosen = read(self.spec, self.seed)
        from widelimit.theory.gap.planner import plan

        if self.out is not None:
            require_writable(self.out)
        horizon = chosen.t_end if self.t_end is None else self.t_end
        found = plan(chosen.problem, self.tolerance, self.confidence, horizon, runs=self.runs, seed=chosen.seed)
        files = [] if self.out is None else [str(_picture(found, self.out))]

        def tell() -> None:
            print_plan(found)
            for name in files:
                print(f"saved {name}")

        show({**found.document(), "files": files}, self.as_json, tell)
        return 0 if found.holds else 1


def _picture(found: NetworkPlan, folder: Path) -> Path:
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure

    return save_picture(figure(found), folder / "plan.png")


def print_plan(found: NetworkPlan) -> None:
    """The evidence as a table, and the plan in one sentence."""
    quantile = f"{found.confidence:.0%}"
    title = f"sup |R_N − R| up to t = {found.t_end:g}, below {found.tolerance:g} in {quantile} of runs"
    headings = {"": "kind", "n": "n", "step": "step", f"gap at {quantile}": "gap", "of the width": "width",
                "of the step": "rest", "runs inside": "inside"}  # fmt: skip
    cells = [[_cell(key, row[key]) for key in headings.values()] for row in found.table()]
    print_table(title, list(headings), cells, left=("",))
    print(
        f"probability of staying inside at least {found.at_least:.3g} (at 95 %); a gap is known to {found.error:.2g}."
    )
    print(found.sentence)


def _cell(key: str, value: str | float) -> str:
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return ""
    return f"{value:.0%}" if key == "inside" else f"{value:.3g}"
