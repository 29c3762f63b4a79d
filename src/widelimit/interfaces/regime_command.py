"""The command ``widelimit regime``: lazy, intermediate or feature learning?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from widelimit.errors import InputError, require
from widelimit.interfaces.options import FileSeed, Json, require_writable, show
from widelimit.interfaces.run_command import read
from widelimit.interfaces.tables import print_table

if TYPE_CHECKING:
    from widelimit.experiments.spec import Spec
    from widelimit.theory.lazy.regime import Regime, Regimes


@dataclass(frozen=True)
class RegimeCommand:
    """Whether the network of a spec trains lazily or learns features: a table and a verdict in one sentence."""

    spec: Annotated[Path, typer.Argument(help="The spec file; its first method with a width n is judged.")]
    alpha: Annotated[
        str, typer.Option(help="Scales to go through, such as 1,4,16: a figure over them.", show_default=False)
    ] = ""
    widths: Annotated[
        str,
        typer.Option(help="Widths to go through, such as 50,200: a figure with both scalings.", show_default=False),
    ] = ""
    inputs: Annotated[int, typer.Option(help="Inputs on which outputs and kernels are compared.")] = 128
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("widelimit-regime")
    seed: FileSeed = None
    as_json: Json = False

    def run(self) -> int:
        """Train, judge, show."""
        chosen = read(self.spec, self.seed)
        n, step = judged(chosen)
        from widelimit.theory.lazy.regime import regime, regimes

        scales, widths = numbers("--alpha", self.alpha), numbers("--widths", self.widths)
        require(not (scales and widths), "regime takes --alpha or --widths", "both", "give one of them")
        if not scales and not widths:
            found = regime(chosen.problem, n, chosen.t_end, step=step, seed=chosen.seed, inputs=self.inputs)
            show(found.document(), self.as_json, lambda: print_regime(found))
            return 0
        require_writable(self.out)
        whole = [int(width) for width in widths]
        require(whole == widths, "--widths must be whole numbers", self.widths, "try 50,200")
        several = regimes(
            chosen.problem, n if scales else whole, chosen.t_end, alpha=scales or None, step=step, seed=chosen.seed,
            inputs=self.inputs,
        )  # fmt: skip
        target = _picture(several, self.out)

        def tell() -> None:
            for name, rows in several.found.items():
                for row in rows:
                    print(f"{name}, {several.over} = {getattr(row, several.over):g}: {row.verdict.sentence}")
            print(f"saved {target}")

        show({**several.document(), "files": [str(target)]}, self.as_json, tell)
        return 0


def judged(spec: Spec) -> tuple[int, float | None]:
    """The width and the step of the first method that has a width; no step for a flow."""
    for method in spec.methods:
        if hasattr(method, "n"):
            return method.n, getattr(method, "step", None)
    names = ", ".join(type(method).__name__ for method in spec.methods)
    raise InputError(f"regime needs a method with a width, such as SGD or ParticleFlow, got {names}: add one.")


def numbers(option: str, text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"{option} must be numbers separated by commas, got {text!r}: try 1,4,16.") from None


def _picture(several: Regimes, folder: Path) -> Path:
    from widelimit.interfaces.canvas import save_picture
    from widelimit.interfaces.figures import figure

    return save_picture(figure(several), folder / "regime.png")


def print_regime(found: Regime) -> None:
    """The table and the verdict."""
    headings, cells = ("quantity", "value", "between two seeds"), []
    for row in found.table():
        floor = row["floor"]
        cells.append((str(row["quantity"]), f"{row['value']:.4g}", "" if floor is None else f"{floor:.4g}"))
    print_table(f"n = {found.n}, α = {found.alpha:g}", headings, cells, left=("quantity",))
    print(found.verdict.sentence)
